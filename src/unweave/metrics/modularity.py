"""Modularity and explicitness: whether each latent knows a single factor, and whether a linear classifier reads it."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import unknown
from unweave.metrics.information import JointCounts
from unweave.metrics.linear import fit_softmax
from unweave.metrics.score import Score, interval_of_terms
from unweave.metrics.validation import (
    check_count,
    check_pair,
    equal_width_bins,
    factor_classes,
    split_samples,
    standardised,
)

Mode = Literal["disentanglement_lib", "dcf", "ubisoft"]
MODES: dict[str, int] = {"disentanglement_lib": 20, "dcf": 20, "ubisoft": 10}


def modularity(
    codes: ArrayLike, factors: ArrayLike, *, mode: Mode = "disentanglement_lib", bins: int | None = None
) -> Score:
    """Modularity, in [0, 1]: 1 if each latent has mutual information with one factor at most.

    modularity = mean_j ( 1 - sum_{k != k*} I_jk^2 / (I_jk*^2 (K - 1)) ), with k* the factor that latent j knows most
    of, from binned codes. A latent that knows nothing counts 0. Completeness does not matter: duplicated codes
    score 1.
    The interval is that of the value which a large sample would have: 1.96 standard errors, from the influence of each
    sample on the frequencies that are counted, around the score of the informations less their bias.

    Modes: ``disentanglement_lib``: 20 bins for codes; ``dcf``: 20 bins for codes and factors; ``ubisoft``: 10 for both
    (the last two libraries divide 0 by 0 for a dead code; here it counts 0).

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values.
        mode: whose definition.
        bins: number of bins; the mode's own by default.

    References:
        Ridgeway & Mozer 2018, section 3.

    Example:
        >>> v = np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2)
        >>> round(modularity(v, v).value, 6), round(modularity(v.sum(1, keepdims=True), v).value, 6)
        (1.0, 0.0)

    """
    if mode not in MODES:
        raise unknown("mode of modularity", mode, MODES)
    bins = check_count("bins", MODES[mode] if bins is None else bins, 2)
    codes, table = check_pair(codes, factors, least=bins)
    if mode != "disentanglement_lib":
        table = equal_width_bins(table.astype(np.float64), bins).T
    classes, sizes = factor_classes(table, bins)
    joint = JointCounts.of(equal_width_bins(codes, bins), bins, classes, sizes)
    each = _modularities(joint.information)
    value = float(np.mean(each))
    centre = float(np.mean(_modularities(joint.unbiased())))
    low, high = interval_of_terms(centre, _influence(joint))
    return Score(
        "modularity",
        value,
        low,
        high,
        reference="Ridgeway & Mozer 2018, section 3",
        constants={
            "mode": mode,
            "bins": bins,
            "samples": len(codes),
            "bias": value - centre,
            "of_latents": each.tolist(),
            "mutual_information": joint.information.tolist(),
        },
    )


def _modularities(information: NDArray[np.float64]) -> NDArray[np.float64]:
    squares = information**2
    best = squares.max(axis=1)
    alive = best > 1e-20
    if squares.shape[1] == 1:
        return np.asarray(alive, dtype=np.float64)
    rest = (squares.sum(axis=1) - best) / np.where(alive, best * (squares.shape[1] - 1), 1.0)
    result: NDArray[np.float64] = np.where(alive, 1 - rest, 0.0)
    return result


def _influence(joint: JointCounts) -> NDArray[np.float64]:
    """The effect of each sample on the score, (n,), up to a constant."""
    unbiased = joint.unbiased()
    latents, factors = unbiased.shape
    influence = np.zeros(joint.binned.shape[1])
    if factors == 1:
        return influence
    for j, known in enumerate(unbiased):
        k = int(known.argmax())
        best = known[k]
        if best <= 1e-10:
            continue
        rest = float(np.sum(known**2)) - best**2
        for i in range(factors):
            slope = 2 * rest / best**3 if i == k else -2 * known[i] / best**2
            if slope:
                influence += slope / (factors - 1) / latents * joint.ratios(j, i)
    return influence


def explicitness(
    codes: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator | None = None,
    *,
    mode: Mode = "disentanglement_lib",
    test: float = 1 / 3,
) -> Score:
    """Explicitness, in [0.5, 1]: how well a linear classifier of all latents ranks each value of each factor.

    The mean over factors and their values of the area under the ROC curve, one value against the rest, of a
    multinomial logistic regression on standardised codes, on codes held out. 0.5 is what guessing gets. The interval is
    that of the areas given the classifiers: an area is a U-statistic, whose error is that of the mean of placements.

    Modes: ``disentanglement_lib`` (``dcf`` is the same); ``ubisoft``: classes balanced, tested on the training codes,
    rescaled to [0, 1].

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into 20 bins.
        rng: splits the samples into training and test; ``np.random.default_rng(0)`` by default.
        mode: whose definition.
        test: share of the samples held out.

    References:
        Ridgeway & Mozer 2018, section 3.

    Example:
        >>> v = np.stack(np.meshgrid(range(2), range(2)), -1).reshape(-1, 2).repeat(20, axis=0)
        >>> explicitness(v, v).value, explicitness(0 * v, v).value
        (1.0, 0.5)

    """
    if mode not in MODES:
        raise unknown("mode of explicitness", mode, MODES)
    codes, table = check_pair(codes, factors, least=20)
    rng = np.random.default_rng(0) if rng is None else rng
    classes, _ = factor_classes(table)
    train, held_out = split_samples(len(codes), rng, test)
    if mode == "ubisoft":
        train = held_out = np.arange(len(codes))
    z = standardised(codes, codes[train])
    areas, influence = [], np.zeros(len(held_out))
    for column in classes.T:
        present, labels = np.unique(column[train], return_inverse=True)
        weights = None
        if mode == "ubisoft":
            weights = (len(labels) / (len(present) * np.bincount(labels)))[labels]
        model = fit_softmax(z[train], labels.reshape(-1), len(present), sample_weights=weights)
        area, effect = roc_areas(model.log_probabilities(z[held_out]), column[held_out], present)
        areas.append(area)
        influence += effect / classes.shape[1]
    value, bounds = float(np.mean(areas)), (0.0, 1.0)
    if mode == "ubisoft":
        value, influence = max(0.0, 2 * value - 1), 2 * influence
    low, high = interval_of_terms(value, influence, bounds)
    return Score(
        "explicitness",
        value,
        low,
        high,
        reference="Ridgeway & Mozer 2018, section 3",
        constants={
            "mode": mode,
            "training_samples": len(train),
            "test_samples": len(held_out),
            "chance": 0.0 if mode == "ubisoft" else 0.5,
            "of_factors": areas,
        },
    )


def roc_areas(
    scores: NDArray[np.float64], truth: NDArray[np.int64], present: NDArray[np.int64]
) -> tuple[float, NDArray[np.float64]]:
    """The mean area under the ROC curves of ``scores`` (n, classes), and the effect of each sample on it, (n,).

    A value that does not occur in ``truth``, or is all of it, has no curve and is excluded.

    Example:
        >>> scores = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
        >>> roc_areas(scores, np.array([0, 1, 0]), np.array([0, 1]))[0]
        1.0

    """
    from scipy.stats import rankdata

    n = len(truth)
    hit = truth[:, None] == present
    positives = hit.sum(axis=0)
    usable = (positives > 0) & (positives < n)
    if not usable.any():
        return 0.5, np.zeros(n)
    hit, positives, scores = hit[:, usable], positives[usable], scores[:, usable]
    ranks = rankdata(scores, axis=0)
    areas = (
        (np.where(hit, ranks, 0.0).sum(axis=0) - positives * (positives + 1) / 2)
        / positives
        / (n - positives)
    )
    # Placements: the share of the other kind that a sample is ranked rightly against.
    effect = np.zeros(n)
    for c in range(len(positives)):
        own = np.empty(n)
        own[hit[:, c]] = rankdata(scores[hit[:, c], c])
        own[~hit[:, c]] = rankdata(scores[~hit[:, c], c])
        other = ranks[:, c] - own
        rightly = np.where(hit[:, c], other / (n - positives[c]), 1 - other / positives[c])
        share = np.where(hit[:, c], n / positives[c], n / (n - positives[c]))
        effect += share * (rightly - areas[c]) / len(positives)
    return float(areas.mean()), effect
