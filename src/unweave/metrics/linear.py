"""Linear classifiers that are fast, deterministic and solved to convergence."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy

from unweave.metrics.validation import Floats, Integers, unit_of


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
    scale: "Scale | None" = field(default=None, repr=False, compare=False)

    def log_probabilities(self, features: Floats) -> Floats:
        """(n, classes)."""
        return _log_softmax(features @ self.weights + self.intercepts)

    def predict(self, features: Floats) -> Integers:
        """The likeliest class, (n,)."""
        return np.asarray(np.argmax(features @ self.weights + self.intercepts, axis=1), np.int64)


AS_GOOD = 1e-6
"""How near a minimum regressions come whose samples are others' halves: the spread between halves is far larger."""
EXACT = 40
"""Regressions of at most so many weights are solved with their whole Hessian, larger ones by conjugate gradients."""
SCALED = 1_000
"""Regressions of at most so many weights scale their conjugate gradients by the Hessian of some of the samples."""
FAR = 2.0**20
"""Features whose largest value is above this, or below its inverse, are solved in another unit."""
LEAST = 2.0**-400
"""The least number that is squared."""
NOTHING = 1e-20
"""Probabilities in single precision below which they count as 0: their products would be denormal, which some
processors compute ten times as slowly."""
SCALE_SAMPLES = 2_000
"""How many these are."""

Scale = Callable[[Floats], Floats]
"""What a gradient (d + 1, classes) is multiplied with: about the inverse of the Hessian, up to a factor."""


def fit_softmax(
    features: Floats,
    labels: Integers,
    classes: int,
    *,
    ridge: float | Floats = 1.0,
    sample_weights: Floats | None = None,
    start: Softmax | None = None,
    enough: float = 1e-9,
) -> Softmax:
    """The minimum of ``-sum_i w_i log p(y_i | x_i) + ridge/2 ||weights||^2``, by Newton's method.

    Intercepts are not penalised; two classes share one vector of weights, which is penalised once. With ``ridge=1``
    this is what scikit-learn's ``LogisticRegression()`` minimises. Many classes begin at their linear discriminant and
    solve Newton's equations by conjugate gradients, whose cost grows with the number of classes, not its cube. Where
    the classes can be separated and ``ridge`` is 0 there is no minimum: it stops once the loss is as good as 0.

    Args:
        features: (n, d).
        labels: (n,) classes 0 .. classes-1.
        classes: how many.
        ridge: penalty, or one for each feature.
        sample_weights: (n,).
        start: where to begin, e.g. at the solution for nearly the same samples.
        enough: the loss of a sample, below which a further step is not worth taking.

    Example:
        >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> model = fit_softmax(x, np.array([0, 1, 0, 1]), 2)
        >>> round(float(model.weights[0, 1] - model.weights[0, 0]), 4)
        0.4529

    """
    unit = unit_of(features)
    if np.any(
        (unit > FAR) | (unit < 1 / FAR)
    ):  # weights of moderate features, with which the Hessian can be solved
        moderate = np.clip(ridge / np.maximum(unit, LEAST) ** 2, 0.0, FAR**2)
        near = fit_softmax(
            features / unit,
            labels,
            classes,
            ridge=moderate,
            sample_weights=sample_weights,
            enough=enough,
        )
        return Softmax(near.weights / unit[:, None], near.intercepts)
    n, d = features.shape
    w = np.ones(n) if sample_weights is None else sample_weights
    # The small penalty on the intercepts only picks one of the equivalent solutions.
    # Two opposite vectors of weights count half their squared distance.
    penalty = np.append(np.broadcast_to(2 * ridge if classes == 2 else ridge, d), 1e-8)[:, None]
    if start is not None:
        beta = np.vstack([start.weights, start.intercepts])
    else:
        beta = _discriminant(features, labels, classes, w)
    if (d + 1) * classes <= EXACT:
        fine = Loss(features, labels, w, penalty, classes, np.float64)
        beta = _descend(fine, beta, enough * n, fine.exact_step)
        return Softmax(beta[:-1], beta[-1])
    rough = Loss(features, labels, w, penalty, classes, np.float32)
    if start is not None and start.scale is not None:
        rough.scale = start.scale
        if enough >= AS_GOOD:  # within the reach of single precision
            beta = _descend(rough, beta, enough * n, rough.step)
            return Softmax(beta[:-1], beta[-1], rough.scale)
    else:
        beta = _descend(rough, beta, 1e-2 * n, rough.step)
        rough.scale = rough.sampled_scale()
        beta = _descend(rough, beta, 1e-4 * n, rough.step)
    fine = Loss(features, labels, w, penalty, classes, np.float64)
    beta = _descend(fine, beta, enough * n, lambda gradient: rough.at(fine).step(gradient, 1e-4))
    return Softmax(beta[:-1], beta[-1], rough.scale)


def _descend(loss: "Loss", beta: Floats, enough: float, newton: Callable[[Floats], Floats]) -> Floats:
    """Newton's method from ``beta``, until a step promises less than ``enough``."""
    value = loss.cost(beta)
    for _ in range(100):
        gradient = loss.gradient(beta)
        step = newton(gradient)
        slope = float(np.sum(gradient * step))
        size = 1.0
        while (tried := loss.cost(beta - size * step)) > value - 1e-4 * size * slope and size > 1e-6:
            size /= 2
        if tried > value:
            break
        beta, value = beta - size * step, tried
        if slope < enough:
            break
    return beta


class Loss:
    """What :func:`fit_softmax` minimises. Its large arrays are made once: fresh memory costs more than arithmetic.

    Example:
        >>> loss = Loss(np.array([[0.0], [1.0]]), np.array([0, 1]), np.ones(2), np.ones((2, 1)), 2, np.float64)
        >>> round(loss.cost(np.zeros((2, 2))), 4)
        1.3863

    Args:
        features: (n, d); ``design`` has a last column of ones.
        labels: (n,).
        w: (n,) weights of the samples.
        penalty: (d + 1, 1).
        classes: how many.
        kind: of the numbers; single precision is several times as fast and good enough for the steps, if the last
            gradients are in double precision.
    """

    def __init__(
        self, features: Floats, labels: Integers, w: Floats, penalty: Floats, classes: int, kind: type
    ) -> None:
        n = len(features)
        self.design: Floats = np.hstack([features, np.ones((n, 1))]).astype(kind)
        self.w: Floats = w.astype(kind)
        self.penalty = penalty
        self._own = np.arange(n) * classes + labels
        self._p: Floats = np.empty((n, classes), kind)
        self._work: Floats = np.empty((n, classes), kind)
        self._weighted: Floats = np.empty((n, classes), kind)
        self.scale: Scale | None = None

    def cost(self, beta: Floats) -> float:
        """The value at ``beta`` (d + 1, classes)."""
        p = np.matmul(self.design, beta.astype(self.design.dtype), out=self._p)
        p -= p.max(axis=1)[:, None]
        own = p.ravel()[self._own]
        np.exp(p, out=p)
        totals = p.sum(axis=1)
        p /= totals[:, None]
        self._flush()
        losses = (np.log(totals) - own).astype(np.float64)
        return float(self.w @ losses) + 0.5 * float(np.sum(self.penalty * beta**2))

    def at(self, other: "Loss") -> "Loss":
        """This loss, moved to where the other one was computed last."""
        np.copyto(self._p, other._p, casting="same_kind")
        self._flush()
        return self

    def _flush(self) -> None:
        if self._p.dtype == np.float32:
            self._p *= self._p > NOTHING

    def errors(self) -> Floats:
        """w_i (p_i - y_i), (n, classes), where the cost was computed last; valid until the next call."""
        error = np.multiply(self._p, self.w[:, None], out=self._work)
        error.ravel()[self._own] -= self.w
        return error

    def gradient(self, beta: Floats) -> Floats:
        """The gradient, (d + 1, classes), where the cost was computed last."""
        return np.asarray(self.design.T @ self.errors() + self.penalty * beta, dtype=np.float64)

    def solve(self, side: Floats) -> Floats:
        """The inverse of the Hessian times ``side`` (d + 1, classes), where the cost was computed last."""
        return self.exact_step(side) if side.size <= EXACT else self.step(side, 1e-8)

    def exact_step(self, gradient: Floats) -> Floats:
        """Newton's step, from the whole Hessian."""
        p = self._p
        n, d = self.design.shape
        classes = p.shape[1]
        # sum_i w_i (diag(p_i) - p_i p_i^T) (x) x_i x_i^T, ordered by class, then feature.
        spread = (np.sqrt(self.w)[:, None, None] * p[:, :, None] * self.design[:, None, :]).reshape(n, -1)
        hessian = -(spread.T @ spread)
        for k in range(classes):
            block = slice(k * d, (k + 1) * d)
            hessian[block, block] += (self.design * (self.w * p[:, k])[:, None]).T @ self.design
        hessian[np.diag_indices_from(hessian)] += np.tile(self.penalty[:, 0], classes) + 1e-10 * n
        return np.asarray(
            scipy.linalg.cho_solve(scipy.linalg.cho_factor(hessian), gradient.T.reshape(-1))
            .reshape(classes, d)
            .T
        )

    def sampled_scale(self) -> Scale | None:
        """The inverse of the Hessian of some samples, where the cost was computed last.

        None if it is too large, or if probabilities are so near 0 and 1 that rounding outweighs their curvature.
        """
        classes, d = self._p.shape[1], self.design.shape[1]
        if classes * d > SCALED:
            return None
        for kind in (np.float32, np.float64):
            try:
                factor = scipy.linalg.cho_factor(self._sampled_hessian(kind), check_finite=False)
            except scipy.linalg.LinAlgError:
                continue
            return lambda r: np.asarray(
                scipy.linalg.cho_solve(factor, r.T.reshape(-1), check_finite=False).reshape(classes, d).T
            )
        return None

    def _sampled_hessian(self, kind: type) -> Floats:
        """About the Hessian, from some samples, with a little more on its diagonal."""
        some = slice(None, None, max(1, len(self.design) // SCALE_SAMPLES))
        p: Floats = self._p[some].astype(kind)
        x: Floats = self.design[some].astype(kind)
        w: Floats = self.w[some, None].astype(kind)
        (n, classes), d = p.shape, x.shape[1]
        spread = ((np.sqrt(w) * p)[:, :, None] * x[:, None, :]).reshape(n, -1)
        hessian: Floats = -(spread.T @ spread).astype(np.float64)
        blocks = ((w * p).T @ (x[:, :, None] * x[:, None, :]).reshape(n, -1)).reshape(classes, d, d)
        for k in range(classes):
            hessian[k * d : (k + 1) * d, k * d : (k + 1) * d] += blocks[k]
        hessian *= len(self.design) / n
        more = np.tile(self.penalty[:, 0], classes) + 1e-4 * float(np.mean(np.diag(hessian)))
        hessian[np.diag_indices_from(hessian)] += more
        return hessian

    def _class_scale(self, weighted: Floats) -> Scale:
        """The inverse of a Hessian without what classes have in common: each is scaled by its own curvature."""
        n = len(self.design)
        curvature = np.maximum(weighted.sum(axis=0) - np.einsum("nk,nk->k", weighted, self._p), 1e-9 * n)
        inner = (self.design.T @ self.design).astype(np.float64)
        factor = scipy.linalg.cho_factor(inner + np.diag(self.penalty[:, 0] + 1e-6 * np.diag(inner)))
        return lambda r: np.asarray(scipy.linalg.cho_solve(factor, r, check_finite=False) * (n / curvature))

    def step(self, gradient: Floats, to: float = 0.1) -> Floats:
        """Newton's step by conjugate gradients, until the square of its error falls to the share ``to``."""
        n, p = len(self.design), self._p
        weighted = np.multiply(self.w[:, None], p, out=self._weighted)
        more = self.penalty + 1e-10 * n
        solve = self._class_scale(weighted) if self.scale is None else self.scale

        def times(v: Floats) -> Floats:
            u = np.matmul(self.design, v.astype(self.design.dtype), out=self._work)
            u -= np.einsum("nk,nk->n", p, u)[:, None]
            u *= weighted
            return np.asarray(self.design.T @ u + more * v)

        found, rest = np.zeros_like(gradient), gradient.copy()
        turned = solve(rest)
        direction, length = turned, float(np.sum(rest * turned))
        enough = to * length
        for _ in range(60):
            bent = times(direction)
            size = length / float(np.sum(direction * bent))
            found += size * direction
            rest -= size * bent
            turned = solve(rest)
            length, before = float(np.sum(rest * turned)), length
            if length < enough:
                break
            direction = turned + length / before * direction
        return found


def _discriminant(features: Floats, labels: Integers, classes: int, w: Floats) -> Floats:
    """Weights and intercepts (d + 1, classes) of the linear discriminant: classes as Gaussians of one covariance."""
    totals = np.maximum(np.bincount(labels, w, minlength=classes), 1e-12)
    means = np.stack([np.bincount(labels, w * x, minlength=classes) for x in features.T]) / totals
    centred = (features - means.T[labels]) * np.sqrt(w)[:, None]
    within = centred.T @ centred / w.sum()
    # A tenth of the whole variance: Newton's method does not come back from weights that are far too large.
    within[np.diag_indices_from(within)] += 0.1 * np.maximum(features.var(axis=0), 1e-6)
    weights = scipy.linalg.cho_solve(scipy.linalg.cho_factor(within), means)
    return np.vstack([weights, np.log(totals / w.sum()) - 0.5 * np.sum(means * weights, axis=0)])


def _log_softmax(logits: Floats) -> Floats:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
