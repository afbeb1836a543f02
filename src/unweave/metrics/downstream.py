"""Downstream accuracy: how well simple predictors, given some labels, read the factors off the codes."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import unknown
from unweave.metrics.linear import fit_softmax
from unweave.metrics.predictors import fit_predictor, has_lightgbm
from unweave.metrics.score import Score, interval_of_terms
from unweave.metrics.validation import check_count, check_pair, factor_classes, split_samples, standardised

Predictor = Literal["linear", "trees"]


def downstream_accuracy(
    codes: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator | None = None,
    *,
    predictor: Predictor = "linear",
    labels: int | None = None,
    test: float = 1 / 3,
) -> Score:
    """Mean accuracy, over factors, of predictors trained on labelled codes and tested on codes held out.

    The interval is that of the mean over the held-out codes. Guessing the commonest value gets ``constants["chance"]``.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into 20 bins.
        rng: splits the samples into training and test; ``np.random.default_rng(0)`` by default.
        predictor: ``linear``: multinomial logistic regression on standardised codes; ``trees``: boosted trees.
        labels: how many of the training codes have labels (10, 100, 1000 show how many are needed); all by default.
        test: share of the samples held out.

    References:
        Locatello et al. 2019, section 5.5 (downstream tasks).

    Example:
        >>> v = np.stack(np.meshgrid(range(3), range(3)), -1).reshape(-1, 2).repeat(20, axis=0)
        >>> downstream_accuracy(np.eye(3)[v].reshape(-1, 6), v).value
        1.0

    """
    if predictor not in ("linear", "trees"):
        raise unknown("predictor of downstream_accuracy", predictor, ("linear", "trees"))
    codes, table = check_pair(codes, factors, least=20)
    rng = np.random.default_rng(0) if rng is None else rng
    classes, _ = factor_classes(table)
    train, held_out = split_samples(len(codes), rng, test)
    if labels is not None:
        train = train[: check_count("labels", labels, 1)]
    z = standardised(codes, codes[train])
    right, chance = [], []
    for column in classes.T:
        present, counts = np.unique(column[train], return_counts=True)
        chance.append(float(np.mean(column[held_out] == present[counts.argmax()])))
        right.append(_guess(z[train], column[train], z[held_out], predictor) == column[held_out])
    each = np.stack(right, axis=1).astype(np.float64)
    value = float(each.mean())
    low, high = interval_of_terms(value, each.mean(axis=1))
    return Score(
        "downstream_accuracy",
        value,
        low,
        high,
        reference="Locatello et al. 2019, section 5.5",
        constants={
            "predictor": predictor,
            "training_samples": len(train),
            "test_samples": len(held_out),
            "chance": float(np.mean(chance)),
            "of_factors": each.mean(axis=0).tolist(),
        },
    )


def _guess(
    train: NDArray[np.float64], target: NDArray[np.int64], codes: NDArray[np.float64], predictor: str
) -> NDArray[np.int64]:
    present, known = np.unique(target, return_inverse=True)
    if len(present) < 2:
        return np.full(len(codes), present[0])
    if predictor == "linear":
        return np.asarray(present[fit_softmax(train, known.reshape(-1), len(present)).predict(codes)])
    return np.asarray(fit_predictor(train, target, "lightgbm" if has_lightgbm() else "forest", 0)[1](codes))
