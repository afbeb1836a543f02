"""Hoyer sparsity of codes."""

import numpy as np
from numpy.typing import ArrayLike

from unweave.errors import UnweaveError
from unweave.metrics.interval_limits import uncounted
from unweave.metrics.score import Score, Span, clipped, decided_by_one, no_span
from unweave.metrics.validation import Floats, check_codes, unit_of


def hoyer(codes: ArrayLike, *, normalised: bool = True, interval: bool = True) -> Score:
    """Hoyer sparsity, in [0, 1]: 0 if all entries of a code are equally large, 1 if all but one are zero.

    Hoyer(z) = ( sqrt(d) - ||z||_1 / ||z||_2 ) / ( sqrt(d) - 1 ), averaged over the codes. The code of the paper divides
    each latent by its standard deviation over the data first, which the paper does not mention; that is ``normalised``,
    the default. A code that is zero everywhere counts as dense, and a constant latent is divided by 1.

    The interval is 1.96 standard errors, from the effect of each code: its own sparsity, and what it does to the
    standard deviations. There is none if a single code decides (see :func:`~unweave.metrics.score.decided_by_one`).

    Args:
        codes: (n, latents), two latents or more.
        normalised: divide each latent by its standard deviation.
        interval: whether to compute one.

    References:
        Mathieu et al. 2019 (DEC), section 6.3 and appendix B; Hurley & Rickard 2008.

    Example:
        >>> hoyer([[3.0, 0.0], [0.0, 2.0]], normalised=False).value, hoyer([[4.0, 3.0]], normalised=False).value < 0.1
        (1.0, True)

    """
    z = check_codes(codes)
    if z.shape[1] < 2:
        raise UnweaveError(
            "hoyer needs codes with two latents or more, got one: sparsity compares entries of a code"
        )
    scale = np.ones(z.shape[1])
    if normalised:
        unit = unit_of(z)
        spread = (z / unit).std(axis=0)
        scale = np.where(spread > 1e-12, spread * unit, 1.0)
    peak = np.abs(z / scale).max(axis=1, keepdims=True)
    x = z / scale / np.where(peak > 0, peak, 1.0)  # squares of tiny entries would vanish
    root = np.sqrt(x.shape[1])
    length = np.sqrt((x**2).sum(axis=1))
    safe = np.where(length > 0, length, 1.0)
    ratio = np.where(length > 0, np.abs(x).sum(axis=1) / safe, root)
    each = np.clip((root - ratio) / (root - 1), 0.0, 1.0)
    span = no_span(uncounted("hoyer", len(z)) if interval else "")
    if interval and len(z) > 1 and not span["no_interval"]:
        effect, pull = each, np.zeros(len(z))
        if normalised:
            # A larger deviation shrinks its latent: d each / d log x_j, and log s_j moves by (w^2 - 1) / 2.
            pulled = (np.abs(x) / safe[:, None] - ratio[:, None] * (x / safe[:, None]) ** 2) / (root - 1)
            pull = ((z - z.mean(axis=0)) / scale) ** 2 @ pulled.mean(axis=0) / 2
            effect = each + pull
        span = _span(float(np.mean(each)), effect, pull)
    return Score(
        "hoyer",
        float(np.mean(each)),
        reference="Mathieu et al. 2019 (DEC), section 6.3",
        constants={"normalised": normalised, "samples": len(z), "latents": z.shape[1]},
        **span,
    )


def _span(value: float, effect: Floats, pull: Floats) -> Span:
    """The interval; ``pull`` is the part of the effects that the standard deviations have."""
    if decided_by_one(effect) or decided_by_one(pull):
        return no_span("a single code decides: tails are too heavy for a standard deviation")
    half = 1.96 * float(np.std(effect, ddof=1)) / float(np.sqrt(len(effect)))
    low, high = clipped(value, half)
    return Span(low=low, high=high, corrected=None, no_interval="")
