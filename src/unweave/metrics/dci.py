"""Disentanglement, completeness and informativeness, from the latents that predict each factor."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import check_choice
from unweave.metrics.predictors import BACKENDS, Backend, fit_predictor
from unweave.metrics.score import SINGLE_FACTOR, SINGLE_LATENT, Score, no_span
from unweave.metrics.validation import (
    Floats,
    check_count,
    check_pair,
    factor_classes,
    split_samples,
    unit_of,
)

Mode = Literal["unweave", "disentanglement_lib", "dcf", "ubisoft"]
MODES: dict[str, Backend] = {
    "unweave": "lightgbm",
    "disentanglement_lib": "sklearn",
    "dcf": "sklearn",
    "ubisoft": "lasso",
}
"""Definitions in use, and what predicts in each."""
_REFERENCE = "Eastwood & Williams 2018"
UNCOUNTED = (
    "trees split on chance as long as codes are few: how often an interval covers has not been counted"
)


def dci(
    codes: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator | None = None,
    *,
    mode: Mode = "unweave",
    backend: Backend | None = None,
    test: float = 1 / 3,
    seed: int = 0,
    interval: bool = True,
) -> dict[str, Score]:
    """DCI: ``dci`` (disentanglement), ``dci_completeness`` and ``dci_informativeness``, each in [0, 1].

    A predictor of each factor k from all latents weighs latent i by R_ik >= 0. With P_ik = R_ik / sum_k R_ik and
    Q_ik = R_ik / sum_i R_ik, and entropies H in the base of what they run over,

        disentanglement = sum_i rho_i ( 1 - H(P_i) ),  rho_i = sum_k R_ik / sum R
        completeness    = sum_k w_k ( 1 - H(Q_k) ),    w_k = sum_i R_ik / sum R
        informativeness = mean accuracy of the predictors on codes held out.

    So a latent of its own for each factor gives 1, also if it is folded; duplicated codes lower completeness only
    (exact copies share their weight evenly).

    There are no intervals: to count how often one covers would take hours, and has not been done. Trees split on chance
    as long as codes are few, and the scores of 10,000 can lie several standard errors below those of infinitely many,
    so compare equal numbers of codes only. Equal seeds give equal numbers.

    Modes, by whose definition they are; trees of different kinds give different numbers:

    * ``unweave``: 30 boosted trees of LightGBM a class, of depth 3, learning rate 0.3, a ridge of 1 on their leaves,
      histograms of 63 bins, weighed by the gain of their splits; ranks representations as the next does, in seconds;
    * ``disentanglement_lib``: scikit-learn's ``GradientBoostingClassifier``: 100 trees of depth 3 a class; minutes for
      factors with many values;
    * ``dcf``: the same on codes scaled to [0, 1];
    * ``ubisoft``: a lasso that *regresses* factors scaled to [0, 1] on codes scaled likewise, its penalty chosen by ten
      folds, an unweighted mean for completeness, and max(1 - 12 MSE, 0) on the training codes for informativeness (12
      being 1 / variance of a uniform factor). (That library's loop ends at the first latent without weight; here it
      does not.)

    ``backend`` puts another predictor into a mode: ``lightgbm``, ``sklearn``, ``forest`` (a random forest of 50 trees;
    10 that regress in ``ubisoft``) or ``lasso`` (outside of ``ubisoft``: alpha = 0.01, on standardised codes and
    factors, which count as numbers).

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into 20 bins, or regressed by ``ubisoft`` and ``lasso``.
        rng: splits the samples into training and test; ``np.random.default_rng(seed)`` by default.
        mode: whose definition.
        backend: what predicts; that of the mode by default.
        test: share of the samples held out.
        seed: of the predictors.
        interval: whether to say why there is none.

    References:
        Eastwood & Williams 2018; importance-weighted as by Locatello et al. 2019.

    Example:
        >>> v = np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2).repeat(20, axis=0)
        >>> scores = dci(v * 1.0, v)
        >>> {name: round(score.value, 2) for name, score in scores.items()}
        {'dci': 1.0, 'dci_completeness': 1.0, 'dci_informativeness': 1.0}

    """
    check_choice("mode of dci", mode, MODES)
    backend = MODES[mode] if backend is None else backend
    check_choice("backend of dci", backend, ("forest", "lasso") if mode == "ubisoft" else BACKENDS)
    seed = check_count("seed", seed, 0)
    z, table = check_pair(codes, factors, least=20)
    rng = np.random.default_rng(seed) if rng is None else rng
    if mode in ("dcf", "ubisoft"):
        z = _unit_range(z)
    elif backend == "lightgbm":
        z = z / unit_of(z)  # it takes numbers below 1e-35 for 0
    targets = _targets(table, mode, backend)
    train, held_out = split_samples(len(z), rng, test)
    if mode == "ubisoft":
        train = held_out = np.arange(len(z))

    chosen = "cross_validated_lasso" if mode == "ubisoft" and backend == "lasso" else backend
    whole = _weigh(z[train], targets[train], z[held_out], targets[held_out], chosen, mode, seed)
    constants = {
        "mode": mode,
        "backend": backend,
        "training_samples": len(train),
        "test_samples": len(held_out),
        "seed": seed,
    }
    return _scores(*whole, mode != "ubisoft", UNCOUNTED if interval else "", constants)


def _unit_range(codes: Floats) -> Floats:
    spans = np.ptp(codes, axis=0)
    return np.asarray((codes - codes.min(axis=0)) / np.where(spans > 0, spans, 1.0))


def _scores(
    importance: Floats, right: Floats, weighted: bool, why_not: str, constants: Mapping[str, Any]
) -> dict[str, Score]:
    """The three scores from importances (latents, K) and what was predicted rightly (n, K), or how well."""
    alone = {
        "dci": SINGLE_FACTOR if importance.shape[1] == 1 else "",
        "dci_completeness": SINGLE_LATENT if len(importance) == 1 else "",
    }
    measures: dict[str, tuple[float, dict[str, Any]]] = {
        "dci": (disentanglement(importance), {"importance": importance.tolist()}),
        "dci_completeness": (completeness(importance, weighted=weighted), {}),
        "dci_informativeness": (float(np.mean(right)), {"of_factors": right.mean(axis=0).tolist()}),
    }
    return {
        name: Score(
            *(name, value),
            reference=_REFERENCE,
            constants={**constants, **parts},
            **no_span(alone.get(name) or why_not),
        )
        for name, (value, parts) in measures.items()
    }


def disentanglement(importance: ArrayLike) -> float:
    """``sum_i rho_i (1 - H_K(P_i))`` of importances (latents, K): 1 if each latent serves one factor.

    Example:
        >>> round(disentanglement([[1.0, 0.0], [0.5, 0.5]]), 4)
        0.5

    """
    r = np.asarray(importance, dtype=np.float64)
    if r.sum() == 0:
        r = np.ones_like(r)
    return float(np.sum(_peaked(r.T) * r.sum(axis=1)) / r.sum())


def completeness(importance: ArrayLike, *, weighted: bool = True) -> float:
    """``sum_k w_k (1 - H_latents(Q_k))`` of importances (latents, K): 1 if each factor needs one latent.

    Example:
        >>> round(completeness([[1.0, 0.5], [0.0, 0.5]]), 4)
        0.5

    """
    r = np.asarray(importance, dtype=np.float64)
    if r.sum() == 0:
        r = np.ones_like(r)
    each = _peaked(r)
    return float(np.sum(each * r.sum(axis=0)) / r.sum()) if weighted else float(np.mean(each))


def _peaked(r: Floats) -> Floats:
    """1 - entropy of each column of ``r`` in the base of its length; 1 for a single row."""
    if len(r) == 1:
        return np.ones(r.shape[1])
    p = (r + 1e-11) / (r + 1e-11).sum(axis=0)
    result: Floats = 1 + np.sum(p * np.log(p), axis=0) / np.log(len(r))
    return np.clip(result, 0.0, 1.0)


def _targets(table: NDArray[Any], mode: str, backend: str) -> NDArray[Any]:
    if mode == "ubisoft" or backend == "lasso":
        factor_classes(table)  # for its errors
        low, span = table.min(axis=0), np.ptp(table, axis=0)
        return np.asarray((table - low) / span, dtype=np.float64)
    return factor_classes(table)[0]


def _weigh(
    train: Floats,
    targets: NDArray[Any],
    held_out: Floats,
    truth: NDArray[Any],
    backend: str,
    mode: str,
    seed: int,
) -> tuple[Floats, Floats]:
    """Importances (latents, K) and, for each held-out code and factor, how right the prediction is (n, K)."""
    columns, right = [], []
    for k in range(targets.shape[1]):
        weights, predict = fit_predictor(train, targets[:, k], backend, seed)
        columns.append(weights)
        if len(held_out) == 0:
            continue
        guess = predict(held_out)
        if targets.dtype.kind == "f":
            wrong = (guess - truth[:, k]) ** 2
            right.append(
                np.full(len(wrong), max(0.0, 1 - 12 * float(np.mean(wrong)))) if mode == "ubisoft" else wrong
            )
        else:
            right.append((guess == truth[:, k]).astype(np.float64))
    importance = np.abs(np.stack(columns, axis=1))
    if backend == "lightgbm":
        importance = _shared(importance, train)
    if mode != "ubisoft" and backend == "lasso" and right:
        spread = np.maximum(truth.var(axis=0), 1e-12)
        right = [1 - wrong / spread[k] for k, wrong in enumerate(right)]
    return importance, np.stack(right, axis=1) if right else np.zeros((0, targets.shape[1]))


def _shared(importance: Floats, codes: Floats) -> Floats:
    """Latents that are copies of each other, which no tree can distinguish, share their weight evenly.

    LightGBM splits on the first of equal features; scikit-learn picks one at random, which comes to the same.
    """
    spread = codes.std(axis=0)
    moves = spread > 0
    white = np.where(moves, (codes - codes.mean(axis=0)) / np.where(moves, spread, 1.0), 0.0)
    alike = np.abs(white.T @ white) / len(codes) > 1 - 1e-12
    np.fill_diagonal(alike, True)
    return np.asarray((alike / alike.sum(axis=1, keepdims=True)) @ importance)
