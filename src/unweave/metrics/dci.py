"""Disentanglement, completeness and informativeness, from the latents that predict each factor."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, unknown
from unweave.metrics.score import Score, interval_of_halves, interval_of_held_out
from unweave.metrics.validation import check_count, check_pair, factor_classes, split_samples

Backend = Literal["lightgbm", "sklearn", "forest", "lasso"]
BACKENDS = ("lightgbm", "sklearn", "forest", "lasso")
Mode = Literal["disentanglement_lib", "dcf", "ubisoft"]
MODES = ("disentanglement_lib", "dcf", "ubisoft")
Floats = NDArray[np.float64]


def dci(
    codes: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator | None = None,
    *,
    mode: Mode = "disentanglement_lib",
    backend: Backend = "lightgbm",
    test: float = 1 / 3,
    half_samples: int = 6,
    seed: int = 0,
) -> dict[str, Score]:
    """DCI: ``dci`` (disentanglement), ``dci_completeness`` and ``dci_informativeness``, each in [0, 1].

    A predictor of each factor k from all latents weighs latent i by R_ik >= 0. With P_ik = R_ik / sum_k R_ik and
    Q_ik = R_ik / sum_i R_ik, and entropies H in the base of what they run over,

        disentanglement = sum_i rho_i ( 1 - H(P_i) ),  rho_i = sum_k R_ik / sum R
        completeness    = sum_k w_k ( 1 - H(Q_k) ),    w_k = sum_i R_ik / sum R
        informativeness = mean accuracy of the predictors on codes held out.

    So a latent of its own for each factor gives 1, also if it is folded; duplicated codes lower completeness only
    (exact copies share their weight evenly).

    The intervals cover the mean of each score over samples of this number of codes. That is not the value of
    infinitely many: trees split on chance as long as codes are few, and the scores of 10,000 can lie several standard
    errors below their limit, so compare equal numbers of codes only. The intervals come from the same computation
    on ``half_samples`` random halves of the training codes, see
    :func:`~unweave.metrics.score.interval_of_halves`; that of informativeness adds the variance between predictors
    trained on halves to that of the held-out codes, see :func:`~unweave.metrics.score.interval_of_held_out`. Equal
    seeds give equal numbers.

    Backends:

    * ``lightgbm``: 30 boosted trees of depth 3 a class, learning rate 0.3, a ridge of 1 on their leaves, histograms of
      63 bins, weighed by the gain of their splits (``pip install 'unweave[trees]'``); ranks representations as
      ``sklearn`` does, in seconds;
    * ``sklearn``: ``GradientBoostingClassifier`` as in the reference library: 100 trees of depth 3 a class;
      minutes for factors with many values;
    * ``forest``: a random forest of 50 trees;
    * ``lasso``: linear, alpha = 0.01, on standardised codes and factors; factors count as numbers.

    Modes: ``disentanglement_lib``; ``dcf``: the same on codes scaled to [0, 1]; ``ubisoft``: a random forest or a lasso
    that *regresses* factors scaled to [0, 1], an unweighted mean for completeness, and max(1 - 12 MSE, 0) on the
    training codes for informativeness (12 being 1 / variance of a uniform factor).

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into 20 bins, or regressed by ``ubisoft`` and ``lasso``.
        rng: splits the samples into training and test; ``np.random.default_rng(seed)`` by default.
        mode: whose definition.
        backend: what predicts.
        test: share of the samples held out.
        half_samples: random halves of the training codes for the intervals, each with predictors of its own; 0 for
            no intervals of the first two, and one of informativeness that takes the predictors as given.
        seed: of the predictors.

    References:
        Eastwood & Williams 2018; importance-weighted as by Locatello et al. 2019.

    Example:
        >>> v = np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2).repeat(20, axis=0)
        >>> scores = dci(v * 1.0, v, half_samples=0)
        >>> {name: round(score.value, 2) for name, score in scores.items()}
        {'dci': 1.0, 'dci_completeness': 1.0, 'dci_informativeness': 1.0}

    """
    if mode not in MODES:
        raise unknown("mode of dci", mode, MODES)
    if backend not in BACKENDS:
        raise unknown("backend of dci", backend, BACKENDS)
    if mode == "ubisoft" and backend not in ("forest", "lasso"):
        backend = "forest"
    half_samples, seed = check_count("half_samples", half_samples, 0), check_count("seed", seed, 0)
    z, table = check_pair(codes, factors, least=20)
    rng = np.random.default_rng(seed) if rng is None else rng
    if mode == "dcf":
        spans = np.ptp(z, axis=0)
        z = (z - z.min(axis=0)) / np.where(spans > 0, spans, 1.0)
    targets = _targets(table, mode, backend)
    train, held_out = split_samples(len(z), rng, test)
    if mode == "ubisoft":
        train = held_out = np.arange(len(z))
    importance, right = _weigh(z[train], targets[train], z[held_out], targets[held_out], backend, mode, seed)
    values = disentanglement(importance), completeness(importance, weighted=mode != "ubisoft")
    intervals: list[tuple[float | None, float | None]] = [(None, None), (None, None)]
    of_halves: list[Floats] = []
    if half_samples > 1 and len(train) >= 40:
        found = []
        tested = held_out[:0] if mode == "ubisoft" or backend == "lasso" else held_out
        for _ in range(half_samples):
            half = rng.permutation(train)[: len(train) // 2]
            r, guessed = _weigh(z[half], targets[half], z[tested], targets[tested], backend, mode, seed)
            found.append((disentanglement(r), completeness(r, weighted=mode != "ubisoft")))
            of_halves.append(guessed.mean(axis=1))
        intervals = [interval_of_halves(values[i], [each[i] for each in found]) for i in (0, 1)]
    constants = {
        "mode": mode,
        "backend": backend,
        "training_samples": len(train),
        "test_samples": len(held_out),
        "half_samples": half_samples,
        "seed": seed,
    }
    reference = "Eastwood & Williams 2018"
    informative = float(np.mean(right))
    low, high = None, None
    if mode != "ubisoft" and backend != "lasso":
        low, high = interval_of_held_out(right.mean(axis=1), of_halves)
    return {
        "dci": Score(
            "dci",
            values[0],
            *intervals[0],
            reference=reference,
            constants={**constants, "importance": importance.tolist()},
        ),
        "dci_completeness": Score(
            "dci_completeness", values[1], *intervals[1], reference=reference, constants=constants
        ),
        "dci_informativeness": Score(
            "dci_informativeness",
            informative,
            low,
            high,
            reference=reference,
            constants={**constants, "of_factors": right.mean(axis=0).tolist()},
        ),
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
        weights, predict = _fit(train, targets[:, k], backend, mode, seed)
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
    result: Floats = (alike / alike.sum(axis=1, keepdims=True)) @ importance
    return result


def _fit(train: Floats, target: NDArray[Any], backend: str, mode: str, seed: int) -> tuple[Floats, Any]:
    """The importance of each latent for one factor, and a function that predicts the factor."""
    if target.dtype.kind == "f":
        return _regress(train, target, backend, seed)
    present = np.unique(target)
    if len(present) < 2 or not np.ptp(train, axis=0).any():
        common = np.bincount(target).argmax()
        return np.zeros(train.shape[1]), lambda x: np.full(len(x), common)
    model: Any
    if backend == "lightgbm":
        return _boost(train, np.searchsorted(present, target), present, seed)
    if backend == "sklearn":
        from sklearn.ensemble import GradientBoostingClassifier

        model = GradientBoostingClassifier(random_state=seed).fit(train, target)
    else:
        from sklearn.ensemble import RandomForestClassifier

        model = RandomForestClassifier(50, random_state=seed, min_samples_leaf=2).fit(train, target)
    return np.asarray(model.feature_importances_, dtype=np.float64), model.predict


def _boost(train: Floats, target: NDArray[Any], present: NDArray[Any], seed: int) -> tuple[Floats, Any]:
    if not has_lightgbm():
        raise UnweaveError(
            "backend lightgbm of dci is not installed: pip install 'unweave[trees]', or choose backend='forest'"
        )
    import lightgbm

    classes = len(present)
    parameters = {
        "objective": "multiclass" if classes > 2 else "binary",
        "learning_rate": 0.3,
        "num_leaves": 8,
        "max_depth": 3,
        "max_bin": 63,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 1e-9,
        # Leaves of codes that are as good as certain have no curvature: without a ridge their values explode, and with
        # twenty values of a factor and more so does all that is learned from then on.
        "lambda_l2": 1.0,
        "num_threads": 1,
        "deterministic": True,
        "force_row_wise": True,
        "seed": seed,
        "verbosity": -1,
        **({"num_class": classes} if classes > 2 else {}),
    }
    data = lightgbm.Dataset(
        train, label=target, params={"verbosity": -1, "max_bin": 63, "min_data_in_bin": 1}
    )
    model = lightgbm.train(parameters, data, num_boost_round=30)
    gains = np.asarray(model.feature_importance("gain"), dtype=np.float64)

    def predict(x: Floats) -> NDArray[Any]:
        p = np.asarray(model.predict(x))
        guess: NDArray[Any] = present[p.argmax(axis=1) if classes > 2 else (p > 0.5).astype(np.int64)]
        return guess

    return gains / max(float(gains.sum()), 1e-300), predict


def has_lightgbm() -> bool:
    """Whether the fast backend is installed.

    Example:
        >>> isinstance(has_lightgbm(), bool)
        True

    """
    from importlib.util import find_spec

    return find_spec("lightgbm") is not None


def _regress(train: Floats, target: Floats, backend: str, seed: int) -> tuple[Floats, Any]:
    spread = train.std(axis=0)
    centre, scale = train.mean(axis=0), np.where(spread > 1e-12, spread, 1.0)
    if backend == "lasso":
        from sklearn.linear_model import Lasso

        deviation = max(float(target.std()), 1e-12)
        model: Any = Lasso(alpha=0.01).fit((train - centre) / scale, (target - target.mean()) / deviation)
        mean = float(target.mean())
        return np.abs(model.coef_), lambda x: model.predict((x - centre) / scale) * deviation + mean
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(10, random_state=seed).fit(train, target)
    return np.asarray(model.feature_importances_, dtype=np.float64), model.predict
