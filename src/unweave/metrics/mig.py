"""Mutual information gap: whether each factor has one latent of its own."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, unknown
from unweave.metrics.information import JointCounts, mutual_information
from unweave.metrics.score import Score
from unweave.metrics.validation import check_count, check_pair, drop_columns, equal_width_bins, factor_classes

__all__ = ["mig", "mutual_information"]

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
    intervals: int = 1,
) -> Score:
    """Mutual information gap from binned codes, in [0, 1]: 1 if each factor sits in exactly one latent.

    MIG = mean_k ( I_(1)k - I_(2)k ) / H(v_k), with I_(1)k and I_(2)k the largest and second largest
    mutual information of factor k with any latent (0 where there is no second latent). It compares single
    latents with single factors, so it is blind to structure that is only rotated (SBD app. H).
    For the definition of its authors, from samples of q, see :func:`unweave.metrics.sampled_mig`.

    The interval is that of the value which a large sample would have. Its half width is 1.96 standard errors, exact to
    first order: the score is a smooth function of counted frequencies, so its error is the mean of one term per
    sample. Its centre is the value less the bias that counting few samples gives to a mutual information, (occupied
    cells - rows - columns + 1) / 2n; with many bins and few samples it can lie beside the value.

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
        intervals: 0 for no interval.

    References:
        Chen et al. 2018, "Isolating sources of disentanglement in variational autoencoders", Eq. 6;
        binned as by Locatello et al. 2019.

    Example:
        >>> v = np.stack(np.meshgrid(range(10), range(10)), -1).reshape(-1, 2)
        >>> round(mig(v, v).value, 6), mig(v @ [[1, 1], [1, -1]], v).value < 0.1
        (1.0, True)

    """
    if mode not in MODES:
        raise unknown("mode of mig", mode, MODES)
    if mode == "disentangle":
        return _neighbours(codes, factors, drop)
    bins = check_count("bins", MODES[mode] if bins is None else bins, 2)
    intervals = check_count("intervals", intervals, 0)
    codes, table = check_pair(codes, factors, least=bins)
    table, remaining = drop_columns(table, drop)
    if mode in ("dcf", "ubisoft"):
        table = equal_width_bins(table.astype(np.float64), bins).T
    joint = JointCounts.of(equal_width_bins(codes, bins), bins, *factor_classes(table, bins))
    order, gaps = leading_gaps(_shares(joint, of_codes=mode == "ubisoft"))
    value, low, high, bias = float(np.mean(gaps)), None, None, 0.0
    if intervals and mode != "ubisoft":
        bias, error = _error(joint, order, gaps)
        low, high = np.clip(value - bias + 1.96 * error * np.array([-1.0, 1.0]), 0.0, 1.0).tolist()
    return Score(
        "mig",
        value,
        low,
        high,
        reference="Chen et al. 2018, Eq. 6, from binned posterior means",
        constants={
            "mode": mode,
            "bins": bins,
            "samples": len(codes),
            "factors": remaining,
            "bias": bias,
            "gaps": gaps.tolist(),
            "leading_latents": order[0].tolist(),
            "entropies": joint.entropies.tolist(),
            "mutual_information": joint.information.tolist(),
        },
    )


def _shares(joint: JointCounts, *, of_codes: bool) -> NDArray[np.float64]:
    """The informations over the entropies of the factors, or over those of the codes, (latents, K)."""
    if not of_codes:
        return np.asarray(joint.information / joint.entropies)
    own = joint.code_entropies[:, None]
    return np.divide(joint.information, own, out=np.zeros_like(joint.information), where=own > 1e-12)


def leading_gaps(shares: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The two leading latents of each factor, (2, K) or (1, K), and the gap between them, (K,).

    Example:
        >>> leading_gaps(np.array([[0.1], [0.9], [0.3]]))[0].tolist()
        [[1], [2]]

    """
    order = np.argsort(-shares, axis=0, kind="stable")[:2]
    leading = np.take_along_axis(shares, order, axis=0)
    return order, leading[0] - (leading[1] if len(leading) > 1 else 0.0)


def _error(joint: JointCounts, order: NDArray[np.intp], gaps: NDArray[np.float64]) -> tuple[float, float]:
    """Bias and standard error of the mean gap."""
    n, factors = joint.binned.shape[1], joint.classes.shape[1]
    influence, bias, second = np.zeros(n), 0.0, 0.0
    for k, entropy in enumerate(joint.entropies):
        gap = np.zeros(n)
        for sign, j in zip((1, -1), order[:, k], strict=False):
            gap += sign * joint.ratios(int(j), k)
            free = joint.freedoms(int(j), k)
            bias += sign * free / (2 * n) / entropy / factors
            # Where a latent knows nothing the first order vanishes: 2 n I is then chi-squared.
            second += max(free, 0) / (2 * n**2) / entropy**2 / factors**2
        values = int(np.sum(joint.counts[k][0].any(axis=0)))
        bias += gaps[k] * (values - 1) / (2 * n) / entropy / factors
        influence += (gap - gaps[k] * joint.surprises(k)) / entropy / factors
    return float(bias), float(np.sqrt(np.var(influence) / n + second))


def _neighbours(codes: ArrayLike, factors: ArrayLike, drop: Sequence[int]) -> Score:
    from sklearn.feature_selection import mutual_info_classif

    codes, table = check_pair(codes, factors, least=20)
    table, remaining = drop_columns(table, drop)
    classes, sizes = factor_classes(table)
    information = np.stack([mutual_info_classif(codes, column, random_state=0) for column in classes.T], 1)
    counts = [np.bincount(column) / len(column) for column in classes.T]
    entropies = np.array([-float(np.sum(p * np.log(np.where(p > 0, p, 1.0)))) for p in counts])
    order, gaps = leading_gaps(information / entropies)
    if len(sizes) == 0:
        raise UnweaveError("at least one factor must remain")
    return Score(
        "mig",
        min(1.0, float(np.mean(gaps))),
        reference="Chen et al. 2018, Eq. 6, from nearest neighbours of posterior means",
        constants={
            "mode": "disentangle",
            "neighbours": 3,
            "samples": len(codes),
            "factors": remaining,
            "gaps": gaps.tolist(),
            "leading_latents": order[0].tolist(),
            "entropies": entropies.tolist(),
            "mutual_information": information.tolist(),
        },
    )
