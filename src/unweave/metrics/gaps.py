"""Relatives of MIG: gaps between factors instead of latents, joint entropies, and both gaps together."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import check_choice
from unweave.metrics.information import JointCounts
from unweave.metrics.mig import leading_gaps
from unweave.metrics.score import Score, no_span
from unweave.metrics.validation import (
    Floats,
    check_count,
    check_pair,
    equal_width_bins,
    factor_classes,
    standardised,
    unit_of,
)

Mode = Literal["paper", "ubisoft"]
MODES: dict[str, int] = {"paper": 20, "ubisoft": 10}
"""Definitions in use and their number of bins."""
_UNKNOWN = "the error of this score is not known"


def mig_sup(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    mode: Mode = "paper",
    bins: int | None = None,
    interval: bool = True,
) -> Score:
    """MIG-sup, in [0, 1]: 1 if each latent knows one factor alone. (MIG asks each factor, this each latent.)

    MIG-sup = mean_j ( N_j(1) - N_j(2) ), with N_jk = I(z_j; v_k) / H(v_k) of binned codes and N_j(1), N_j(2) the two
    largest of latent j. It misses factors that no latent knows, and a dead latent costs 1 / latents; copies cost
    nothing.

    Modes: ``paper``: 20 bins, factors as classes; ``ubisoft``: 10 bins for codes and factors, and informations over the
    entropy of the *code*.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into bins.
        mode: whose definition.
        bins: number of bins; the mode's own by default.
        interval: there is none; the score says why.

    References:
        Li et al. 2020, "Progressive learning and disentanglement of hierarchical representations", section 4.

    Example:
        >>> v = np.stack(np.meshgrid(range(8), range(8)), -1).reshape(-1, 2)
        >>> round(mig_sup(np.hstack([v, v]), v).value, 6), round(mig_sup(v.sum(1, keepdims=True), v).value, 6)
        (1.0, 0.0)

    """
    joint, bins = _counted("mig_sup", codes, factors, mode, bins)
    by_factor = joint.information / joint.entropies
    own = joint.code_entropies[:, None]
    by_code = np.divide(joint.information, own, out=np.zeros_like(joint.information), where=own > 1e-12)
    _, gaps = leading_gaps((by_code if mode == "ubisoft" else by_factor).T)
    constants = {"mode": mode, "bins": bins, "samples": joint.binned.shape[1], "of_latents": gaps.tolist()}
    return _score("mig_sup", float(np.mean(gaps)), "Li et al. 2020, section 4", constants, interval)


def jemmig(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    mode: Mode = "paper",
    bins: int | None = None,
    interval: bool = True,
) -> Score:
    """JEMMIG, in [0, 1]: 1 if each factor has one latent of its own that knows nothing else.

    JEMMIG = mean_k 1 - ( H(z_j*, v_k) - I(z_j*; v_k) + I(z_j'; v_k) ) / ( H(v_k) + log bins ), with j* and j' the
    latents that know most and second most of factor k. Unlike MIG it is lowered by what else latent j* holds; with more
    bins than values, or noise in a latent, it stays below 1, since H(z_j*, v_k) counts the noise.

    Modes: ``paper``: 20 bins, factors as classes; ``ubisoft``: 10 bins for codes and factors.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into bins.
        mode: whose definition.
        bins: number of bins; the mode's own by default.
        interval: there is none; the score says why.

    References:
        Do & Tran 2020, "Theory and evaluation metrics for learning disentangled representations", section 3.

    Example:
        >>> v = np.stack(np.meshgrid(range(10), range(10)), -1).reshape(-1, 2)
        >>> round(jemmig(v, v, bins=10).value, 6), round(jemmig(0 * v, v, bins=10).value, 6)
        (1.0, 0.5)

    """
    joint, bins = _counted("jemmig", codes, factors, mode, bins)
    order, gaps = leading_gaps(joint.information)
    each = np.arange(len(joint.entropies))
    together = joint.entropies + joint.code_entropies[order[0]] - joint.information[order[0], each]
    values = 1 - (together - gaps) / (joint.entropies + np.log(bins))
    constants = {"mode": mode, "bins": bins, "samples": joint.binned.shape[1], "of_factors": values.tolist()}
    return _score("jemmig", float(np.mean(values)), "Do & Tran 2020, section 3", constants, interval)


def dcimig(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    mode: Mode = "paper",
    bins: int | None = None,
    interval: bool = True,
) -> Score:
    """DCIMIG, in [0, 1]: the part of all factors' entropy that sits in latents which know one factor more than others.

    Latent j gives its best factor the gap G_j = I_j(1) - I_j(2); DCIMIG = sum_k max_(j best at k) G_j / sum_k H(v_k). A
    factor that is no latent's best adds 0. It misses copies: only the best latent of a factor counts.

    Modes: ``paper``: 20 bins, factors as classes; ``ubisoft``: 10 bins for codes and factors.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into bins.
        mode: whose definition.
        bins: number of bins; the mode's own by default.
        interval: there is none; the score says why.

    References:
        Sepliarskaia et al. 2019, "Evaluating disentangled representations" (there 3CharM).

    Example:
        >>> v = np.stack(np.meshgrid(range(8), range(8)), -1).reshape(-1, 2)
        >>> round(dcimig(v, v).value, 6), round(dcimig(v[:, :1], v).value, 6)
        (1.0, 0.5)

    """
    joint, bins = _counted("dcimig", codes, factors, mode, bins)
    best, gaps = leading_gaps(joint.information.T)
    own = np.zeros(len(joint.entropies))
    np.maximum.at(own, best[0], gaps)
    constants = {"mode": mode, "bins": bins, "samples": joint.binned.shape[1], "of_factors": own.tolist()}
    value = float(own.sum() / joint.entropies.sum())
    return _score("dcimig", value, "Sepliarskaia et al. 2019", constants, interval)


def _counted(
    name: str, codes: ArrayLike, factors: ArrayLike, mode: str, bins: int | None
) -> tuple[JointCounts, int]:
    check_choice(f"mode of {name}", mode, MODES)
    bins = check_count("bins", MODES[mode] if bins is None else bins, 2)
    z, table = check_pair(codes, factors, least=bins)
    classes, sizes = factor_classes(table, bins)
    if mode == "ubisoft":
        classes, sizes = factor_classes(equal_width_bins(table.astype(np.float64), bins).T)
    return JointCounts.of(equal_width_bins(z, bins), bins, classes, sizes), bins


def _score(name: str, value: float, reference: str, constants: Mapping[str, object], interval: bool) -> Score:
    span = no_span(_UNKNOWN if interval else "")
    return Score(name, float(np.clip(value, 0.0, 1.0)), reference=reference, constants=constants, **span)


Kind = Literal["pearson", "spearman"]
Alignment = Literal["none", "linear", "nonlinear"]


def mcc(
    codes: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator | None = None,
    *,
    kind: Kind = "pearson",
    alignment: Alignment = "none",
    test: float = 1 / 3,
    interval: bool = True,
) -> Score:
    """Mean correlation coefficient, in [0, 1]: 1 if each factor is a function of a latent of its own, up to sign and scale.

    MCC = (1/K) max_pi sum_k |corr(z_pi(k), v_k)| over assignments pi of distinct latents to factors (a factor that is left
    without a latent counts 0). With ``spearman`` any monotone function of a factor scores 1; a folded latent does not.

    With an alignment the correlation is that of factor k and its prediction from *all* latents, on codes held out:
    ``linear`` (least squares) measures recovery up to a linear map, ``nonlinear`` (boosted trees) up to any map; both
    are blind to entanglement, which is what makes the comparison with ``none`` telling. Factors count as numbers.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values.
        rng: splits the samples for an alignment; ``np.random.default_rng(0)`` by default.
        kind: of the correlation.
        alignment: what may be undone before correlations are taken.
        test: share of the samples held out for an alignment.
        interval: there is none; the score says why.

    References:
        Hyvärinen & Morioka 2016, section 6; Khemakhem et al. 2020, section 5, for weak identifiability up to linear maps.

    Example:
        >>> v = np.random.default_rng(0).uniform(size=(600, 2))
        >>> turned = v @ [[1, 1], [1, -1]]
        >>> round(mcc(-v[:, ::-1], v).value, 6), mcc(turned, v).value < 0.8, round(mcc(turned, v, alignment="linear").value, 6)
        (1.0, True, 1.0)

    """  # noqa: E501
    from scipy.optimize import linear_sum_assignment

    check_choice("kind of mcc", kind, ("pearson", "spearman"))
    check_choice("alignment of mcc", alignment, ("none", "linear", "nonlinear"))
    z, table = check_pair(codes, factors, least=20)
    factor_classes(table)  # for its errors
    v = table.astype(np.float64)
    if alignment == "none":
        found = _absolute_correlations(z, v, kind)
        rows, columns = linear_sum_assignment(-found)
        each, latents = np.zeros(v.shape[1]), np.full(v.shape[1], -1)
        each[columns], latents[columns] = found[rows, columns], rows
    else:
        guess, truth = _predictions(z, v, np.random.default_rng(0) if rng is None else rng, alignment, test)
        each = np.diag(_absolute_correlations(guess, truth, kind))
        latents = np.full(v.shape[1], -1)
    constants = {
        "kind": kind,
        "alignment": alignment,
        "samples": len(z),
        "of_factors": each.tolist(),
        "latents": latents.tolist(),
    }
    return _score("mcc", float(np.mean(each)), "Hyvärinen & Morioka 2016, section 6", constants, interval)


def _absolute_correlations(one: Floats, other: Floats, kind: str) -> Floats:
    if kind == "spearman":
        from unweave.metrics.statistics import standard_ranks

        return np.abs(standard_ranks(one).T @ standard_ranks(other))
    a, b = (x / unit_of(x) for x in (y - y.mean(axis=0) for y in (one, other)))
    lengths = np.linalg.norm(a, axis=0)[:, None] * np.linalg.norm(b, axis=0)
    return np.asarray(np.abs(a.T @ b) / np.where(lengths > 0, lengths, np.inf))


def _predictions(
    z: Floats, v: Floats, rng: np.random.Generator, alignment: str, test: float
) -> tuple[Floats, NDArray[np.float64]]:
    """Factors predicted from held-out codes, and what they are."""
    from unweave.metrics.validation import split_samples

    train, held_out = split_samples(len(z), rng, test)
    if alignment == "linear":
        design = np.hstack([standardised(z, z[train]), np.ones((len(z), 1))])
        weights = np.linalg.lstsq(design[train], v[train], rcond=None)[0]
        return np.asarray(design[held_out] @ weights), v[held_out]
    from sklearn.ensemble import HistGradientBoostingRegressor

    columns = [
        HistGradientBoostingRegressor(random_state=0).fit(z[train], column[train]).predict(z[held_out])
        for column in v.T
    ]
    return np.stack(columns, axis=1), v[held_out]
