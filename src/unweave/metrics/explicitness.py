"""Explicitness: how well a linear classifier ranks the values of the factors."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import check_choice
from unweave.metrics.interval_limits import uncounted
from unweave.metrics.learned import Trial, span_of_learned
from unweave.metrics.linear import AS_GOOD, Softmax, fit_softmax
from unweave.metrics.score import Score, no_span
from unweave.metrics.validation import (
    Floats,
    Integers,
    check_pair,
    equal_width_bins,
    factor_classes,
    standardised,
)

Mode = Literal["disentanglement_lib", "dcf", "ubisoft"]
MODES = ("disentanglement_lib", "dcf", "ubisoft")
_REFERENCE = "Ridgeway & Mozer 2018, section 3"


def explicitness(
    codes: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator | None = None,
    *,
    mode: Mode = "disentanglement_lib",
    test: float = 1 / 3,
    interval: bool = True,
) -> Score:
    """Explicitness, in [0.5, 1]: how well a linear classifier of all latents ranks each value of each factor.

    The mean over factors and their values of the area under the ROC curve, one value against the rest, of a
    multinomial logistic regression on standardised codes, on codes held out. 0.5 is what guessing gets.

    The interval covers the value of infinitely many codes. Given the classifiers, an area is a U-statistic, whose error
    is that of the mean of placements. Classifiers of more codes would do better: the corrected value adds by how much
    those of all training codes beat those of their two halves, see :func:`~unweave.metrics.learned.learned_interval`.
    There is none if a value has fewer than 20 codes on either side, and none for ``ubisoft``, which tests on the
    training codes.

    Modes: ``disentanglement_lib`` (``dcf`` is the same); ``ubisoft``: codes scaled to [0, 1], factors cut into 10 bins,
    one balanced classifier for each value, tested on the training codes, rescaled to [0, 1].

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into 20 bins.
        rng: splits the samples into training and test; ``np.random.default_rng(0)`` by default.
        mode: whose definition.
        test: share of the samples held out.
        interval: whether to compute one.

    References:
        Ridgeway & Mozer 2018, section 3.

    Example:
        >>> v = np.stack(np.meshgrid(range(2), range(2)), -1).reshape(-1, 2).repeat(20, axis=0)
        >>> explicitness(v, v).value, explicitness(0 * v, v).value
        (1.0, 0.5)

    """
    check_choice("mode of explicitness", mode, MODES)
    codes, table = check_pair(codes, factors, least=20)
    rng = np.random.default_rng(0) if rng is None else rng
    classes, _ = factor_classes(table)
    if mode == "ubisoft":
        return _one_against_the_rest(
            codes, factor_classes(equal_width_bins(table.astype(np.float64), 10).T)[0]
        )
    trial = Trial.of(codes, classes, rng, test)
    trial = replace(trial, codes=standardised(codes, codes[trial.train]))
    areas, models, effect = _areas(trial, trial.train)
    value = float(np.mean(areas))
    span = no_span(uncounted("explicitness", len(codes)) if interval else "")
    if interval and not span["no_interval"]:

        def again(rows: Integers) -> tuple[float, Floats]:
            areas, _, effect = _areas(trial, rows, models)
            return float(np.mean(areas)), effect

        span = span_of_learned(trial, (value, effect), again)
    constants = {
        "mode": mode,
        "training_samples": len(trial.train),
        "test_samples": len(trial.held_out),
        "chance": 0.5,
        "of_factors": areas,
    }
    return Score("explicitness", value, reference=_REFERENCE, constants=constants, **span)


def _areas(
    trial: Trial, rows: Integers, starts: Sequence[Softmax | None] = ()
) -> tuple[list[float], list[Softmax], Floats]:
    """The area of each factor, its classifier of these rows, and the effect of each held-out code on their mean."""
    areas, models, effects = [], [], []
    held_out = trial.codes[trial.held_out]
    for column, start in zip(trial.classes.T, starts or [None] * trial.classes.shape[1], strict=True):
        model, present = _fit(trial.codes[rows], column[rows], start)
        area, effect = roc_areas(model.log_probabilities(held_out), column[trial.held_out], present)
        areas.append(area)
        models.append(model)
        effects.append(effect)
    return areas, models, np.mean(effects, axis=0)


def _fit(z: Floats, column: Integers, start: Softmax | None = None) -> tuple[Softmax, Integers]:
    """A classifier of the values that occur, and these values; ``start`` is used if it has as many."""
    present, labels = np.unique(column, return_inverse=True)
    if start is not None and start.weights.shape[1] != len(present):
        start = None
    enough = 1e-9 if start is None else AS_GOOD
    return fit_softmax(z, labels.reshape(-1), len(present), start=start, enough=enough), present


def _one_against_the_rest(codes: Floats, classes: Integers) -> Score:
    spans = np.ptp(codes, axis=0)
    z = (codes - codes.min(axis=0)) / np.where(spans > 0, spans, 1.0)
    areas = []
    for column in classes.T:
        present = np.unique(column)
        chances = []
        for value in present if len(present) > 2 else present[1:]:
            labels = (column == value).astype(np.int64)
            weights = (len(labels) / (2 * np.bincount(labels)))[labels]
            chances.append(
                np.exp(fit_softmax(z, labels, 2, sample_weights=weights).log_probabilities(z)[:, 1])
            )
        p = np.stack(chances, axis=1) if len(present) > 2 else np.stack([1 - chances[0], chances[0]], axis=1)
        areas.append(roc_areas(p / p.sum(axis=1, keepdims=True), column, present)[0])
    constants = {
        "mode": "ubisoft",
        "training_samples": len(z),
        "test_samples": len(z),
        "chance": 0.0,
        "of_factors": areas,
    }
    value, why = (
        max(0.0, 2 * float(np.mean(areas)) - 1),
        "classifiers are tested on the codes they were trained on",
    )
    return Score("explicitness", value, reference=_REFERENCE, constants=constants, **no_span(why))


def roc_areas(scores: Floats, truth: Integers, present: Integers) -> tuple[float, Floats]:
    """The mean area under the ROC curves of ``scores`` (n, classes), and the effect of each sample on it, (n,).

    A value that does not occur in ``truth``, or is all of it, has no curve and is excluded.

    Example:
        >>> scores = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
        >>> roc_areas(scores, np.array([0, 1, 0]), np.array([0, 1]))[0]
        1.0

    """
    n, areas, effect = len(truth), [], np.zeros(len(truth))
    for value, column in zip(present, scores.T, strict=True):
        hit = truth == value
        positives = int(hit.sum())
        if not 0 < positives < n:
            continue
        rightly = _placements(column, hit, positives)
        areas.append(float(rightly[hit].mean()))
        share = np.where(hit, n / positives, n / (n - positives))
        effect += share * (rightly - areas[-1])
    if not areas:
        return 0.5, effect
    return float(np.mean(areas)), effect / len(areas)


def _placements(score: Floats, hit: NDArray[np.bool_], positives: int) -> Floats:
    """The share of the other kind that each sample is ranked rightly against, ties by half, (n,)."""
    n = len(score)
    order = np.argsort(score)
    ranked, kind = score[order], hit[order]
    firsts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
    together = np.diff(firsts, append=n)
    own = np.add.reduceat(kind, firsts, dtype=np.int64)
    before = np.cumsum(own) - own
    below = np.repeat(before + own / 2, together)  # of positives
    others = np.repeat(firsts - before + (together - own) / 2, together)  # of the rest
    found = np.empty(n)
    found[order] = np.where(kind, others / (n - positives), 1 - below / positives)
    return found
