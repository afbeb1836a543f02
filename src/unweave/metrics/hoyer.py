"""Hoyer sparsity of codes."""

import numpy as np
from numpy.typing import ArrayLike

from unweave.errors import UnweaveError
from unweave.metrics.score import Score, interval_of_mean
from unweave.metrics.validation import check_codes


def hoyer(codes: ArrayLike, *, normalised: bool = True, interval: bool = True) -> Score:
    """Hoyer sparsity, in [0, 1]: 0 if all entries of a code are equally large, 1 if all but one are zero.

    Hoyer(z) = ( sqrt(d) - ||z||_1 / ||z||_2 ) / ( sqrt(d) - 1 ), averaged over the codes. The code of the paper divides
    each latent by its standard deviation over the data first, which the paper does not mention; that is ``normalised``,
    the default. A code that is zero everywhere counts as dense, and a constant latent is divided by 1.

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
    if normalised:
        spread = z.std(axis=0)
        z = z / np.where(spread > 1e-12 * np.maximum(np.abs(z).max(axis=0), 1e-30), spread, 1.0)
    peak = np.abs(z).max(axis=1, keepdims=True)
    z = z / np.where(peak > 0, peak, 1.0)  # squares of tiny entries would vanish
    root = np.sqrt(z.shape[1])
    length = np.sqrt((z**2).sum(axis=1))
    ratio = np.where(length > 0, np.abs(z).sum(axis=1) / np.where(length > 0, length, 1.0), root)
    value, low, high = interval_of_mean(np.clip((root - ratio) / (root - 1), 0.0, 1.0))
    return Score(
        "hoyer",
        value,
        None if low is None or not interval else max(0.0, low),
        None if high is None or not interval else min(1.0, high),
        reference="Mathieu et al. 2019 (DEC), section 6.3",
        constants={"normalised": normalised, "samples": len(z), "latents": z.shape[1]},
    )
