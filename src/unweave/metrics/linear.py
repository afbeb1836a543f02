"""Linear classifiers that are fast, deterministic and solved to convergence."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Softmax:
    """A multinomial logistic regression: ``log p(class | x)`` is ``x @ weights + intercepts`` up to a constant.

    Example:
        >>> x = np.array([[-1.0], [-2.0], [1.0], [2.0]])
        >>> fit_softmax(x, np.array([0, 0, 1, 1]), 2).predict(x).tolist()
        [0, 0, 1, 1]
    """

    weights: Floats
    intercepts: Floats

    def log_probabilities(self, features: Floats) -> Floats:
        """(n, classes)."""
        return _log_softmax(features @ self.weights + self.intercepts)

    def predict(self, features: Floats) -> NDArray[np.int64]:
        """The likeliest class, (n,)."""
        best: NDArray[np.int64] = np.argmax(features @ self.weights + self.intercepts, axis=1).astype(
            np.int64
        )
        return best


def fit_softmax(
    features: Floats,
    labels: NDArray[np.int64],
    classes: int,
    *,
    ridge: float = 1.0,
    sample_weights: Floats | None = None,
    tolerance: float = 1e-9,
    steps: int = 100,
) -> Softmax:
    """The minimum of ``-sum_i w_i log p(y_i | x_i) + ridge/2 ||weights||^2``, by Newton's method.

    Intercepts are not penalised; two classes share one vector of weights, which is penalised once. With ``ridge=1``
    this is what scikit-learn's ``LogisticRegression()`` minimises. All classes share one Hessian, formed by one matrix
    product, so a handful of steps is all it takes.

    Args:
        features: (n, d).
        labels: (n,) classes 0 .. classes-1.
        classes: how many.
        ridge: penalty.
        sample_weights: (n,).
        tolerance: the decrement, relative to n, at which to stop.
        steps: at most.

    Example:
        >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> model = fit_softmax(x, np.array([0, 1, 0, 1]), 2)
        >>> round(float(model.weights[0, 1] - model.weights[0, 0]), 4)
        0.4529

    """
    n, d = features.shape
    design = np.hstack([features, np.ones((n, 1))])
    w = np.ones(n) if sample_weights is None else sample_weights
    hits = np.zeros((n, classes))
    hits[np.arange(n), labels] = 1.0
    # The small penalty on the intercepts only picks one of the equivalent solutions.
    # Two opposite vectors of weights count half their squared distance.
    penalty = np.append(np.full(d, 2 * ridge if classes == 2 else ridge), 1e-8)[:, None]
    beta = np.zeros((d + 1, classes))

    def cost(b: Floats) -> tuple[float, Floats]:
        logs = _log_softmax(design @ b)
        return -float(np.sum(w * logs[np.arange(n), labels])) + 0.5 * float(np.sum(penalty * b**2)), logs

    value, logs = cost(beta)
    for _ in range(steps):
        p = np.exp(logs)
        gradient = design.T @ (w[:, None] * (p - hits)) + penalty * beta
        step = _newton_step(design, w, p, penalty, gradient)
        slope = float(np.sum(gradient * step))
        size = 1.0
        while size > 1e-6:
            tried, tried_logs = cost(beta - size * step)
            if tried <= value - 1e-4 * size * slope:
                break
            size /= 2
        else:
            break
        beta, value, logs = beta - size * step, tried, tried_logs
        if slope < tolerance * n:
            break
    return Softmax(beta[:-1], beta[-1])


def _newton_step(design: Floats, w: Floats, p: Floats, penalty: Floats, gradient: Floats) -> Floats:
    n, d = design.shape
    classes = p.shape[1]
    # sum_i w_i (diag(p_i) - p_i p_i^T) (x) x_i x_i^T, ordered by class, then feature.
    spread = (np.sqrt(w)[:, None, None] * p[:, :, None] * design[:, None, :]).reshape(n, -1)
    hessian = -(spread.T @ spread)
    for k in range(classes):
        block = slice(k * d, (k + 1) * d)
        hessian[block, block] += (design * (w * p[:, k])[:, None]).T @ design
    hessian[np.diag_indices_from(hessian)] += np.tile(penalty[:, 0], classes) + 1e-10 * n
    step: Floats = cho_solve(cho_factor(hessian), gradient.T.reshape(-1)).reshape(classes, d).T
    return step


def _log_softmax(logits: Floats) -> Floats:
    shifted = logits - logits.max(axis=1, keepdims=True)
    result: Floats = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result


def fit_thresholds(
    code: Floats, labels: NDArray[np.int64], classes: int, *, penalty: float = 0.01, balanced: bool = True
) -> tuple[Floats, Floats]:
    """Slopes and intercepts (classes,) of one-against-the-rest linear support vector machines on a single code.

    Each minimises ``(w^2 + b^2) / 2 + C sum_i c_i max(0, 1 - y_i (w z_i + b))^2``, with ``c_i = n / (classes n_k)`` for
    the samples of the class and 1 for the rest (both classes weighted if there are only two), as scikit-learn's
    ``LinearSVC(C=0.01, class_weight="balanced")`` does. All classes are solved at once, by Newton's method.

    Args:
        code: (n,).
        labels: (n,) classes 0 .. classes-1.
        classes: how many.
        penalty: C.
        balanced: weigh the classes.

    Example:
        >>> slopes, intercepts = fit_thresholds(np.array([0.0, 0.1, 2.0, 2.1]), np.array([0, 0, 1, 1]), 2, penalty=1.0)
        >>> bool(slopes[1] > 0 > slopes[0])
        True

    """
    n = len(code)
    counts = np.maximum(np.bincount(labels, minlength=classes), 1)
    weight = n / (classes * counts) if balanced else np.ones(classes)
    y = np.full((n, classes), -1.0)
    y[np.arange(n), labels] = 1.0
    c = np.where(y > 0, penalty * weight, penalty * (weight[::-1] if classes == 2 else 1.0))
    z = code[:, None]
    w, b = np.zeros(classes), np.zeros(classes)

    def cost(w: Floats, b: Floats) -> Floats:
        loss = np.maximum(1 - y * (z * w + b), 0.0)
        total: Floats = 0.5 * (w**2 + b**2) + np.einsum("nk,nk,nk->k", c, loss, loss)
        return total

    value = cost(w, b)
    for _ in range(50):
        loss = 1 - y * (z * w + b)
        active = np.where(loss > 0, c, 0.0)
        pull = 2 * active * loss * y
        gw, gb = w - z[:, 0] @ pull, b - pull.sum(axis=0)
        active *= 2
        hww, hwb, hbb = 1 + (z[:, 0] ** 2) @ active, z[:, 0] @ active, 1 + active.sum(axis=0)
        det = hww * hbb - hwb**2
        sw, sb = (hbb * gw - hwb * gb) / det, (hww * gb - hwb * gw) / det
        slope = gw * sw + gb * sb
        size = np.ones(classes)
        for _ in range(20):
            tried = cost(w - size * sw, b - size * sb)
            bad = tried > value - 1e-4 * size * slope
            if not bad.any():
                break
            size[bad] /= 2
        better = tried < value
        w, b, value = (
            np.where(better, w - size * sw, w),
            np.where(better, b - size * sb, b),
            np.minimum(tried, value),
        )
        if np.all(slope < 1e-12 * n * penalty):
            break
    return w, b
