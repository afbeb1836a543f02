"""Mutual information gap: whether each factor has one latent of its own."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import check_choice
from unweave.metrics.information import (
    CROWDED,
    STEADY,
    UNSTEADY,
    JointCounts,
    class_entropies,
    mutual_information,
    neighbour_information,
    wider_bins,
)
from unweave.metrics.score import Score, Span, clipped, no_span, span_of
from unweave.metrics.validation import (
    Floats,
    check_count,
    check_pair,
    drop_columns,
    equal_width_bins,
    factor_classes,
)

__all__ = ["mig", "mutual_information"]

_REFERENCE = "Chen et al. 2018, Eq. 6"
Mode = Literal["disentanglement_lib", "disent", "dcf", "ubisoft", "disentangle"]
MODES: dict[str, int] = {"disentanglement_lib": 20, "disent": 20, "dcf": 20, "ubisoft": 10, "disentangle": 0}
"""Definitions in use and their number of bins."""


def mig(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    mode: Mode = "disentanglement_lib",
    bins: int | None = None,
    drop: Sequence[int] = (),
    interval: bool = True,
) -> Score:
    """Mutual information gap from binned codes, in [0, 1]: 1 if each factor sits in exactly one latent.

    MIG = mean_k ( I_(1)k - I_(2)k ) / H(v_k), with I_(1)k and I_(2)k the largest and second largest
    mutual information of factor k with any latent (0 where there is no second latent). It compares single
    latents with single factors, so it is blind to structure that is only rotated (SBD app. H).
    For the definition of its authors, from samples of q, see :func:`unweave.metrics.sampled_mig`.

    The interval is that of the value which a large sample would have. Its half width is 1.96 standard errors, exact to
    first order: the score is a smooth function of counted frequencies, so its error is the mean of one term per sample.
    Its centre is the corrected value: less the bias that counting few samples gives to a mutual information, (occupied
    cells - rows - columns + 1) / 2n. There is none if there are fewer than 3 codes for an occupied cell or 20 for a
    value, or if the bins, which follow the range of the codes, would move the score as that grows (see
    :func:`~unweave.metrics.information.wider_bins`).

    Modes, by the library whose definition they are:

    * ``disentanglement_lib`` (also ``disent``): 20 bins over the range of each code, factors as classes;
    * ``dcf``: 20 bins for codes and for factors (40 orientations become 20);
    * ``ubisoft``: 10 bins for both, and each information is divided by the entropy of the *code*;
    * ``disentangle``: no bins; nearest neighbours (``sklearn.feature_selection.mutual_info_classif``), no interval.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; each must take two values or more.
        mode: whose definition.
        bins: number of equal-width bins of each latent; the mode's own by default.
        drop: columns of ``factors`` to drop (the authors drop the shape of dSprites, column 0).
        interval: whether to compute one.

    References:
        Chen et al. 2018, "Isolating sources of disentanglement in variational autoencoders", Eq. 6;
        binned as by Locatello et al. 2019.

    Example:
        >>> v = np.stack(np.meshgrid(range(10), range(10)), -1).reshape(-1, 2)
        >>> round(mig(v, v).value, 6), mig(v @ [[1, 1], [1, -1]], v).value < 0.1
        (1.0, True)

    """
    check_choice("mode of mig", mode, MODES)
    if mode == "disentangle":
        return _neighbours(codes, factors, drop)
    bins = check_count("bins", MODES[mode] if bins is None else bins, 2)
    codes, table = check_pair(codes, factors, least=bins)
    table, remaining = drop_columns(table, drop)
    if mode in ("dcf", "ubisoft"):
        table = equal_width_bins(table.astype(np.float64), bins).T
    classes, sizes = factor_classes(table, bins)
    joint = JointCounts.of(equal_width_bins(codes, bins), bins, classes, sizes)
    order, gaps = leading_gaps(_shares(joint, of_codes=mode == "ubisoft"))
    value = float(np.mean(gaps))
    span = no_span("the error of shares of a code's entropy is not known" if interval else "")
    if interval and mode != "ubisoft":
        span = _span(codes, bins, joint, sizes, order, gaps)
    constants = {
        "mode": mode,
        "bins": bins,
        "samples": len(codes),
        "factors": remaining,
        "gaps": gaps.tolist(),
        "leading_latents": order[0].tolist(),
        "entropies": joint.entropies.tolist(),
        "mutual_information": joint.information.tolist(),
    }
    reference = f"{_REFERENCE}, from binned posterior means"
    return Score("mig", value, reference=reference, constants=constants, **span)


def _span(
    codes: Floats,
    bins: int,
    joint: JointCounts,
    sizes: tuple[int, ...],
    order: NDArray[np.intp],
    gaps: Floats,
) -> Span:
    """The corrected value and its interval, or why there is none."""
    if joint.crowded:
        return no_span(CROWDED)
    leading = np.unique(order)
    binned = wider_bins(codes[:, leading], bins)
    if binned is None:
        return no_span(UNSTEADY)
    centre, error = float(np.mean(gaps)) - _bias(joint, order, gaps), _error(joint, order, gaps)
    wider = JointCounts.of(binned, bins, joint.classes, sizes)
    moved = leading_gaps(_shares(wider, of_codes=False))
    if abs(float(np.mean(moved[1])) - _bias(wider, *moved) - centre) > STEADY * error:
        return no_span(UNSTEADY)
    low, high = clipped(centre, 1.96 * error)
    return span_of(float(np.mean(gaps)), float(np.clip(centre, 0.0, 1.0)), low, high)


def _shares(joint: JointCounts, *, of_codes: bool) -> Floats:
    """The informations over the entropies of the factors, or over those of the codes, (latents, K)."""
    if not of_codes:
        return np.asarray(joint.information / joint.entropies)
    own = joint.code_entropies[:, None]
    return np.divide(joint.information, own, out=np.zeros_like(joint.information), where=own > 1e-12)


def leading_gaps(shares: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The two leading latents of each factor, (2, K) or (1, K), and the gap between them, (K,).

    Example:
        >>> leading_gaps(np.array([[0.1], [0.9], [0.3]]))[0].tolist()
        [[1], [2]]

    """
    order = np.argsort(-shares, axis=0, kind="stable")[:2]
    leading = np.take_along_axis(shares, order, axis=0)
    return order, leading[0] - (leading[1] if len(leading) > 1 else 0.0)


def _bias(joint: JointCounts, order: NDArray[np.intp], gaps: Floats) -> float:
    """Of the mean gap: those of the two informations, and of the entropy that divides them."""
    n = int(joint.binned.shape[1])
    each = np.take_along_axis(joint.freedoms, order, axis=0)
    values = np.array([int(counts[0].any(axis=0).sum()) for counts in joint.counts])
    own: Floats = each[0] - (each[1] if len(each) > 1 else 0.0) + gaps * (values - 1)
    return float(np.mean(own / joint.entropies)) / (2 * n)


def _error(joint: JointCounts, order: NDArray[np.intp], gaps: Floats) -> float:
    """The standard error of the mean gap."""
    n, factors = joint.binned.shape[1], joint.classes.shape[1]
    influence, second = np.zeros(n), 0.0
    for k, entropy in enumerate(joint.entropies):
        gap = np.zeros(n)
        for sign, j in zip((1, -1), order[:, k], strict=False):
            gap += sign * joint.ratios(int(j), k)
            # Where a latent knows nothing the first order vanishes: 2 n I is then chi-squared.
            second += max(joint.freedoms[j, k], 0) / (2 * n**2) / entropy**2 / factors**2
        influence += (gap - gaps[k] * joint.surprises(k)) / entropy / factors
    return float(np.sqrt(np.var(influence) / n + second))


def _neighbours(codes: ArrayLike, factors: ArrayLike, drop: Sequence[int]) -> Score:
    codes, table = check_pair(codes, factors, least=20)
    table, remaining = drop_columns(table, drop)
    classes, _ = factor_classes(table)
    information = neighbour_information(codes, classes)
    entropies = class_entropies(classes)
    order, gaps = leading_gaps(information / entropies)
    constants = {
        "mode": "disentangle",
        "neighbours": 3,
        "samples": len(codes),
        "factors": remaining,
        "gaps": gaps.tolist(),
        "leading_latents": order[0].tolist(),
        "entropies": entropies.tolist(),
        "mutual_information": information.tolist(),
    }
    reference = f"{_REFERENCE}, from nearest neighbours of posterior means"
    value, span = min(1.0, float(np.mean(gaps))), no_span("the error of nearest neighbours is not known")
    return Score("mig", value, reference=reference, constants=constants, **span)
