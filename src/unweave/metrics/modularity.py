"""Modularity: whether each latent knows a single factor."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import check_choice
from unweave.metrics.information import CROWDED, DOUBTFUL, STEADY, UNSTEADY, JointCounts, wider_bins
from unweave.metrics.score import Score, Span, interval_of_terms, no_span, span_of
from unweave.metrics.validation import (
    Floats,
    check_count,
    check_pair,
    equal_width_bins,
    factor_classes,
)

Mode = Literal["disentanglement_lib", "dcf", "ubisoft"]
MODES: dict[str, int] = {"disentanglement_lib": 20, "dcf": 20, "ubisoft": 10}
_REFERENCE = "Ridgeway & Mozer 2018, section 3"


def modularity(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    mode: Mode = "disentanglement_lib",
    bins: int | None = None,
    interval: bool = True,
) -> Score:
    """Modularity, in [0, 1]: 1 if each latent has mutual information with one factor at most.

    modularity = mean_j ( 1 - sum_{k != k*} I_jk^2 / (I_jk*^2 (K - 1)) ), with k* the factor that latent j knows most
    of, from binned codes. A latent that knows nothing counts 0. Completeness does not matter: duplicated codes
    score 1.

    A latent of pure noise has 0 / 0: whatever its bins happen to count decides. So the corrected value, that of a large
    sample, is made of the informations less their bias, and latents that independence explains count 0 (see
    :meth:`~unweave.metrics.information.JointCounts.informed`). Its interval is 1.96 standard errors, from the influence
    of each sample on the frequencies that are counted. There is none if codes are few for the cells, if their range
    moves the bins, or if a latent can hardly be told from noise.

    Modes: ``disentanglement_lib``: 20 bins for codes; ``dcf``: 20 bins for codes and factors; ``ubisoft``: 10 for both
    (the last two libraries divide 0 by 0 for a dead code; here it counts 0).

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values.
        mode: whose definition.
        bins: number of bins; the mode's own by default.
        interval: whether to compute one.

    References:
        Ridgeway & Mozer 2018, section 3.

    Example:
        >>> v = np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2)
        >>> round(modularity(v, v).value, 6), round(modularity(v.sum(1, keepdims=True), v).value, 6)
        (1.0, 0.0)

    """
    check_choice("mode of modularity", mode, MODES)
    bins = check_count("bins", MODES[mode] if bins is None else bins, 2)
    codes, table = check_pair(codes, factors, least=bins)
    if mode != "disentanglement_lib":
        table = equal_width_bins(table.astype(np.float64), bins).T
    classes, sizes = factor_classes(table, bins)
    joint = JointCounts.of(equal_width_bins(codes, bins), bins, classes, sizes)
    each = _modularities(joint.information)
    value = float(np.mean(each))
    constants = {
        "mode": mode,
        "bins": bins,
        "samples": len(codes),
        "of_latents": each.tolist(),
        "mutual_information": joint.information.tolist(),
    }
    span = _span(value, codes, bins, joint, sizes) if interval else no_span()
    return Score("modularity", value, reference=_REFERENCE, constants=constants, **span)


def _span(value: float, codes: Floats, bins: int, joint: JointCounts, sizes: tuple[int, ...]) -> Span:
    """The corrected value and its interval, or why there is none."""
    if joint.crowded:
        return no_span(CROWDED)
    informed, doubtful = joint.informed()
    if doubtful.any():
        return no_span(DOUBTFUL)
    binned = wider_bins(codes, bins)
    if binned is None:
        return no_span(UNSTEADY)
    centre, influence = _corrected(joint, informed), _influence(joint, informed)
    wider = JointCounts.of(binned, bins, joint.classes, sizes)
    error = float(np.std(influence)) / float(np.sqrt(len(codes)))
    if abs(_corrected(wider, informed) - centre) > STEADY * error:
        return no_span(UNSTEADY)
    return span_of(value, centre, *interval_of_terms(centre, influence))


def _corrected(joint: JointCounts, informed: NDArray[np.bool_]) -> float:
    """The score of the informations less their bias; latents that are not informed count 0."""
    return float(np.mean(np.where(informed, _modularities(joint.unbiased()), 0.0)))


def _modularities(information: Floats) -> Floats:
    squares = information**2
    best = squares.max(axis=1)
    alive = best > 1e-20
    if squares.shape[1] == 1:
        return np.asarray(alive, dtype=np.float64)
    rest = (squares.sum(axis=1) - best) / np.where(alive, best * (squares.shape[1] - 1), 1.0)
    return np.where(alive, 1 - rest, 0.0)


def _influence(joint: JointCounts, informed: NDArray[np.bool_]) -> Floats:
    """The effect of each sample on the corrected score, (n,), up to a constant."""
    unbiased = joint.unbiased()
    latents, factors = unbiased.shape
    influence = np.zeros(joint.binned.shape[1])
    if factors == 1:
        return influence
    for j in np.flatnonzero(informed):
        known = unbiased[j]
        k = int(known.argmax())
        best = known[k]
        rest = float(np.sum(known**2)) - best**2
        for i in range(factors):
            slope = 2 * rest / best**3 if i == k else -2 * known[i] / best**2
            if slope:
                influence += slope / (factors - 1) / latents * joint.ratios(int(j), i)
    return influence
