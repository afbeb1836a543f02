"""Predictors of factors from all latents, and how much they use each latent."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unweave.errors import UnweaveError
from unweave.metrics.validation import Floats, standardised

Backend = Literal["lightgbm", "sklearn", "forest", "lasso"]
BACKENDS = ("lightgbm", "sklearn", "forest", "lasso")
"""Boosted trees (LightGBM, scikit-learn), a random forest, a lasso."""

PENALTIES = (0.0001, 0.001, 0.01, 0.1, 0.2, 0.4, 0.8, 1.0)
"""Among which cross-validation chooses."""

Predict = Callable[[Floats], NDArray[Any]]
"""Codes (n, latents) to the predicted factor, (n,)."""


def fit_predictor(train: Floats, target: NDArray[Any], backend: str, seed: int) -> tuple[Floats, Predict]:
    """The importance of each latent for one factor, (latents,), and a function that predicts the factor from codes.

    Args:
        train: (n, latents) codes.
        target: (n,) classes, or numbers (float) to regress.
        backend: one of ``BACKENDS``, of which only ``forest`` and ``lasso`` regress, or ``cross_validated_lasso``.
        seed: of the predictor.

    Example:
        >>> codes = np.array([[0.0, 5.0], [1.0, 5.0]] * 20)
        >>> importance, predict = fit_predictor(codes, np.array([3, 7] * 20), "forest", 0)
        >>> importance.tolist(), predict(codes[:2]).tolist()
        ([1.0, 0.0], [3, 7])

    """
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


def _boost(train: Floats, target: NDArray[Any], present: NDArray[Any], seed: int) -> tuple[Floats, Predict]:
    try:
        import lightgbm
    except (ImportError, OSError) as error:
        raise UnweaveError(
            f"lightgbm, which unweave installs for its boosted trees, cannot be imported ({error}): install it again, "
            f"or choose other trees by name, e.g. dci with mode='disentanglement_lib'"
        ) from None

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
        return np.asarray(present[p.argmax(axis=1) if classes > 2 else (p > 0.5).astype(np.int64)])

    return gains / max(float(gains.sum()), 1e-300), predict


def _regress(train: Floats, target: Floats, backend: str, seed: int) -> tuple[Floats, Predict]:
    if backend == "cross_validated_lasso":
        return _cross_validate(train, target)
    if backend == "lasso":
        from sklearn.linear_model import Lasso

        mean, deviation = float(target.mean()), max(float(target.std()), 1e-12)
        model: Any = Lasso(alpha=0.01).fit(standardised(train), (target - target.mean()) / deviation)
        return np.abs(model.coef_), lambda x: model.predict(standardised(x, train)) * deviation + mean
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(10, random_state=seed).fit(train, target)
    return np.asarray(model.feature_importances_, dtype=np.float64), model.predict


def _cross_validate(train: Floats, target: Floats) -> tuple[Floats, Predict]:
    """A lasso of codes as they are, its penalty chosen by the error of ten folds."""
    from sklearn.linear_model import Lasso, LassoCV

    chosen = LassoCV(alphas=PENALTIES, cv=10, max_iter=5_000).fit(train, target).alpha_
    model = Lasso(alpha=chosen).fit(train, target)
    return np.abs(model.coef_), model.predict
