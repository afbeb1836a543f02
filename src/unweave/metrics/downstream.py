"""Downstream accuracy: how well simple predictors, given some labels, read the factors off the codes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, check_choice
from unweave.metrics.interval_limits import NEVER, uncounted
from unweave.metrics.learned import Trial, span_of_learned
from unweave.metrics.linear import AS_GOOD, Softmax, fit_softmax
from unweave.metrics.predictors import fit_predictor
from unweave.metrics.score import Score, no_span
from unweave.metrics.validation import (
    Floats,
    Integers,
    check_count,
    check_pair,
    factor_classes,
    standardised,
)

Predictor = Literal["linear", "trees"]
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

    The interval covers the value of infinitely many codes: it is that of the mean over the held-out codes, and the
    corrected value adds what predictors of more codes would gain, see
    :func:`~unweave.metrics.learned.learned_interval`. A value with fewer than 20 codes on either side leaves none, nor
    is there one with ``labels``, or of boosted trees, which have no limit within reach. Guessing the commonest value
    gets ``constants["chance"]``.

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
    trial = Trial.of(codes, classes, rng, test)
    if labels is not None:
        trial = replace(trial, train=trial.train[: check_count("labels", labels, 1)])
    trial = replace(trial, codes=standardised(codes, codes[trial.train]))
    each, models = _right(trial, trial.train, predictor)
    value = float(each.mean())
    span = no_span(uncounted("downstream_accuracy", len(codes)) if interval else "")
    if interval and labels is not None:
        span = no_span("what other labels would have taught is not known")
    elif interval and predictor == "trees":
        span = no_span("trees change with the number of codes without a limit within reach")
    elif interval and not span["no_interval"]:

        def again(rows: Integers) -> tuple[float, Floats]:
            right = _right(trial, rows, predictor, models)[0].mean(axis=1)
            return float(right.mean()), right

        span = span_of_learned(trial, (value, each.mean(axis=1)), again)
    constants = {
        "predictor": predictor,
        "training_samples": len(trial.train),
        "test_samples": len(trial.held_out),
        "chance": _chance(trial),
        "of_factors": each.mean(axis=0).tolist(),
    }
    return Score("downstream_accuracy", value, reference=_REFERENCE, constants=constants, **span)


def transferred_accuracy(
    codes: ArrayLike,
    factors: ArrayLike,
    unseen_codes: ArrayLike,
    unseen_factors: ArrayLike,
    *,
    interval: bool = True,
) -> Score:
    """Mean accuracy, over factors, of linear predictors trained on some codes and tested on codes of another kind.

    It says whether what was learned of seen combinations of factors holds for unseen ones. It has no interval: how
    often one covers has not been counted.

    Args:
        codes: (n, latents) to train on.
        factors: (n, K) their factor values; continuous ones are cut into 20 bins over both kinds.
        unseen_codes: (m, latents) to test on.
        unseen_factors: (m, K) their factor values.
        interval: whether to say why there is none.

    References:
        Locatello et al. 2019, section 5.5 (downstream tasks), of unseen combinations.

    Example:
        >>> v = np.stack(np.meshgrid(range(2), range(2)), -1).reshape(-1, 2).repeat(20, axis=0)
        >>> seen = v.sum(axis=1) > 0
        >>> transferred_accuracy(v[seen], v[seen], v[~seen], v[~seen]).value
        1.0

    """
    (z, v), (unseen, truth) = check_pair(codes, factors, 20), check_pair(unseen_codes, unseen_factors, 1)
    if z.shape[1] != unseen.shape[1] or v.shape[1] != truth.shape[1]:
        raise UnweaveError(
            f"codes and unseen_codes must have the same latents, and their factors the same columns, got "
            f"{z.shape[1]} and {unseen.shape[1]} latents, {v.shape[1]} and {truth.shape[1]} factors"
        )
    rows = np.arange(len(z) + len(unseen))
    classes, _ = factor_classes(np.vstack([v, truth]))
    both = standardised(np.vstack([z, unseen]), z)
    trial = Trial(both, classes, rows[: len(z)], rows[len(z) :], np.random.default_rng(0))
    right, _ = _right(trial, trial.train, "linear")
    constants = {
        "predictor": "linear",
        "training_samples": len(z),
        "test_samples": len(unseen),
        "chance": _chance(trial),
        "of_factors": right.mean(axis=0).tolist(),
    }
    span = no_span(NEVER if interval else "")
    return Score(
        "downstream_accuracy", float(right.mean()), reference=_REFERENCE, constants=constants, **span
    )


def _chance(trial: Trial) -> float:
    """The accuracy of guessing the commonest value."""
    common = [np.bincount(column[trial.train]).argmax() for column in trial.classes.T]
    return float(np.mean(trial.classes[trial.held_out] == common))


def _right(
    trial: Trial, rows: Integers, predictor: str, starts: Sequence[Softmax | None] = ()
) -> tuple[NDArray[np.bool_], list[Softmax | None]]:
    """Which held-out codes predictors of these rows read rightly, (held out, K), and the predictors."""
    right, models = [], []
    held_out = trial.codes[trial.held_out]
    for column, start in zip(trial.classes.T, starts or [None] * trial.classes.shape[1], strict=True):
        guess, model = _guess(trial.codes[rows], column[rows], held_out, predictor, start)
        right.append(guess == column[trial.held_out])
        models.append(model)
    return np.stack(right, axis=1), models


def _guess(
    train: Floats, target: Integers, codes: Floats, predictor: str, start: Softmax | None
) -> tuple[Integers, Softmax | None]:
    """What a predictor guesses, and the predictor if it is linear; ``start`` is used if it has as many classes."""
    present, known = np.unique(target, return_inverse=True)
    if len(present) < 2:
        return np.full(len(codes), present[0]), None
    if predictor == "trees":
        return np.asarray(fit_predictor(train, target, "lightgbm", 0)[1](codes)), None
    if start is not None and start.weights.shape[1] != len(present):
        start = None
    enough = 1e-9 if start is None else AS_GOOD
    model = fit_softmax(train, known.reshape(-1), len(present), start=start, enough=enough)
    return np.asarray(present[model.predict(codes)]), model
