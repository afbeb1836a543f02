"""Downstream accuracy: how well simple predictors, given some labels, read the factors off the codes."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import check_choice
from unweave.metrics.linear import fit_softmax
from unweave.metrics.predictors import fit_predictor
from unweave.metrics.score import Score, Span, interval_of_terms, no_span, span_of_learned
from unweave.metrics.validation import (
    Floats,
    Integers,
    check_count,
    check_pair,
    factor_classes,
    split_samples,
    standardised,
)

Predictor = Literal["linear", "trees"]
FEWEST = 20
"""Codes of a value, held out or trained on, below which it is not known what more of them would teach."""
_REFERENCE = "Locatello et al. 2019, section 5.5"


def downstream_accuracy(
    codes: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator | None = None,
    *,
    predictor: Predictor = "linear",
    labels: int | None = None,
    test: float = 1 / 3,
    interval: bool = True,
) -> Score:
    """Mean accuracy, over factors, of predictors trained on labelled codes and tested on codes held out.

    The interval covers the value of infinitely many codes, or with ``labels`` that of predictors trained on as many: it
    is that of the mean over the held-out codes, and the corrected value adds what predictors of more codes would gain,
    see :func:`~unweave.metrics.score.span_of_learned`. A value with fewer than 20 codes on either side leaves none.
    Boosted trees have no limit within reach, and so no interval without ``labels``. Guessing the commonest value gets
    ``constants["chance"]``.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into 20 bins.
        rng: splits the samples into training and test; ``np.random.default_rng(0)`` by default.
        predictor: ``linear``: multinomial logistic regression on standardised codes; ``trees``: boosted trees.
        labels: how many of the training codes have labels (10, 100, 1000 show how many are needed); all by default.
        test: share of the samples held out.
        interval: whether to compute one.

    References:
        Locatello et al. 2019, section 5.5 (downstream tasks).

    Example:
        >>> v = np.stack(np.meshgrid(range(3), range(3)), -1).reshape(-1, 2).repeat(20, axis=0)
        >>> downstream_accuracy(np.eye(3)[v].reshape(-1, 6), v).value
        1.0

    """
    check_choice("predictor of downstream_accuracy", predictor, ("linear", "trees"))
    codes, table = check_pair(codes, factors, least=20)
    rng = np.random.default_rng(0) if rng is None else rng
    classes, _ = factor_classes(table)
    train, held_out = split_samples(len(codes), rng, test)
    if labels is not None:
        train = train[: check_count("labels", labels, 1)]
    z = standardised(codes, codes[train])
    each = _right(z, classes, train, held_out, predictor)
    value = float(each.mean())
    span = no_span()
    if interval and labels is None:
        span = _span(value, z, classes, train, held_out, predictor, each.mean(axis=1), rng)
    elif interval:
        low, high = interval_of_terms(value, each.mean(axis=1))
        span = Span(low=low, high=high, corrected=None, no_interval="")
    common = [np.bincount(column[train]).argmax() for column in classes.T]
    chance = [float(np.mean(c[held_out] == value)) for c, value in zip(classes.T, common, strict=True)]
    constants = {
        "predictor": predictor,
        "training_samples": len(train),
        "test_samples": len(held_out),
        "chance": float(np.mean(chance)),
        "of_factors": each.mean(axis=0).tolist(),
    }
    return Score("downstream_accuracy", value, reference=_REFERENCE, constants=constants, **span)


def _right(
    z: Floats, classes: Integers, train: Integers, held_out: Integers, predictor: str
) -> NDArray[np.bool_]:
    """Which held-out codes are read rightly, for each factor, (held out, K)."""
    columns = [_guess(z[train], c[train], z[held_out], predictor) == c[held_out] for c in classes.T]
    return np.stack(columns, axis=1)


def _span(
    value: float,
    z: Floats,
    classes: Integers,
    train: Integers,
    held_out: Integers,
    predictor: str,
    terms: Floats,
    rng: np.random.Generator,
) -> Span:
    """The corrected value and its interval, from predictors of two halves of the training codes."""
    if predictor == "trees":
        return no_span("trees change with the number of codes without a limit within reach")
    for column in classes.T:
        sizes = [
            np.bincount(column[rows], minlength=int(column.max()) + 1).min() for rows in (train, held_out)
        ]
        if min(sizes) < FEWEST:
            return no_span(f"a value has fewer than {FEWEST} codes to train or test on")
    order = rng.permutation(train)
    halves = (order[: len(order) // 2], order[len(order) // 2 :])
    of_halves = [float(_right(z, classes, half, held_out, predictor).mean()) for half in halves]
    return span_of_learned(value, of_halves, terms)


def _guess(train: Floats, target: Integers, codes: Floats, predictor: str) -> Integers:
    present, known = np.unique(target, return_inverse=True)
    if len(present) < 2:
        return np.full(len(codes), present[0])
    if predictor == "linear":
        return np.asarray(present[fit_softmax(train, known.reshape(-1), len(present)).predict(codes)])
    return np.asarray(fit_predictor(train, target, "lightgbm", 0)[1](codes))
