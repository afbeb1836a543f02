"""Factor analysis with mean-field inference: every quantity of ISA appendix B.2 in closed form."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class FactorAnalysis:
    """``z ~ N(0, I)``, ``x ~ N(W z, diag(noise))``, observed ``n`` times with second moment ``moment = mean(x x^T)``.

    Mean-field variational inference with weight ``beta`` on the KL is exact: it is ordinary inference with the
    likelihood to the power ``1 / beta``, and the best diagonal Gaussian has the mean of that posterior and its diagonal
    precision.

    Args:
        weights: ``W``, ``(observed, latents)``.
        noise: variances of the observation noise, ``(observed,)``.
        moment: ``(observed, observed)``, the empirical covariance plus the outer product of the empirical mean.
        n: number of observations; likelihood and free energy are sums over them.

    Reference: ISA appendix B.2, Eq. 14-16. Eq. 16 divides the reconstruction by beta and does not weight the KL; here
    it is Eq. 13, with beta on the KL, which is beta times that. (The paper's line for the mean of the posterior has one
    inverse too many, and the first form of Eq. 16 lacks a W; the formulas here are tested against sampling and against
    matrix identities.)

    Example:
        >>> model = FactorAnalysis(np.eye(2), np.array([0.1, 0.1]), 1.1 * np.eye(2), 10)
        >>> bool(np.isclose(model.log_likelihood(), model.free_energy()))
        True
    """

    weights: Array
    noise: Array
    moment: Array
    n: int

    def log_likelihood(self) -> float:
        """``log p(x_1 ... x_n)`` in nats."""
        covariance = self.weights @ self.weights.T + np.diag(self.noise)
        fit = np.trace(np.linalg.solve(covariance, self.moment))
        return float(-0.5 * self.n * (_log_det(2 * math.pi * covariance) + fit))

    def posterior_covariance(self, beta: float = 1.0) -> Array:
        """``(W^T D^-1 W / beta + I)^-1``, the same for every observation."""
        precision = self.weights.T @ (self.weights / self.noise[:, None]) / beta
        inverse: Array = np.linalg.inv(precision + np.eye(len(precision)))
        return inverse

    def mean_field_covariance(self, beta: float = 1.0) -> Array:
        """The diagonal Gaussian nearest to the posterior: its precision is the diagonal of the posterior's."""
        return np.diag(1 / np.diag(np.linalg.inv(self.posterior_covariance(beta))))

    def recognition(self, beta: float = 1.0) -> Array:
        """``R``: the posterior mean of an observation ``x`` is ``R x``, ``(latents, observed)``."""
        return self.posterior_covariance(beta) @ self.weights.T / self.noise / beta

    def reconstruction(self, beta: float = 1.0) -> float:
        """``E_q[log p(x|z)]`` under the best mean-field posterior, summed over observations (Eq. 16 times beta)."""
        recognition, precision = self.recognition(beta), np.diag(1 / self.noise)
        reduced = np.eye(len(self.noise)) - self.weights @ recognition
        error = np.trace(reduced.T @ precision @ reduced @ self.moment)
        spread = np.trace(self.weights.T @ precision @ self.weights @ self.mean_field_covariance(beta))
        return float(-0.5 * self.n * (error + spread + np.log(2 * math.pi * self.noise).sum()))

    def divergence(self, beta: float = 1.0) -> float:
        """``KL(q || p)`` of the best mean-field posterior to the prior, summed over observations."""
        covariance, recognition = self.mean_field_covariance(beta), self.recognition(beta)
        spread = np.trace(covariance) - _log_det(covariance) - len(covariance)
        return float(0.5 * self.n * (spread + np.trace(recognition.T @ recognition @ self.moment)))

    def free_energy(self, beta: float = 1.0) -> float:
        """``E_q[log p(x|z)] - beta KL(q || p)`` at its maximum over mean-field ``q``, in nats (Eq. 13)."""
        return self.reconstruction(beta) - beta * self.divergence(beta)

    def rotated(self, angle: float) -> "FactorAnalysis":
        """The same model with its first two latents turned by ``angle``: the likelihood does not change (B.3)."""
        turn = np.eye(self.weights.shape[1])
        turn[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        return FactorAnalysis(self.weights @ turn, self.noise, self.moment, self.n)


def example(n: int = 100) -> FactorAnalysis:
    """A model at its own maximum likelihood with the two numbers that B.3 prints: -17.82 and, turned by pi/4, -57.16.

    The paper gives neither data nor weights. Its numbers fix two of their properties: with orthogonal weights and equal
    noise, the log-likelihood fixes the determinant of the covariance of ``n`` observations, and the drop of the free
    energy the ratio of its two eigenvalues (plus noise). The number of observations, the noise (a tenth of the
    smaller eigenvalue) and the directions (diagonal, as in B.4) are ours, so this is an instance of B.3, not evidence
    for it.

    Reference: ISA appendix B.3.

    Example:
        >>> model = example()
        >>> round(model.log_likelihood(), 2), round(model.free_energy(), 2)
        (-17.82, -17.82)
        >>> turned = model.rotated(math.pi / 4)
        >>> round(turned.log_likelihood(), 2), round(turned.free_energy(), 2)
        (-17.82, -57.16)
    """
    likelihood, turned = -17.82, -57.16
    # Of the covariance, where the trace term of the likelihood is 2.
    log_det = -2 * likelihood / n - 2 - 2 * math.log(2 * math.pi)
    # From (a + b) / (2 sqrt(a b)) = exp(drop / n) for the eigenvalues a and b.
    ratio = math.exp(2 * math.acosh(math.exp((likelihood - turned) / n)))
    larger = math.sqrt(math.exp(log_det) * ratio)
    smaller = larger / ratio
    noise = 0.1 * smaller
    directions = np.array([[1.0, 1.0], [1.0, -1.0]]) / math.sqrt(2)
    weights = directions * np.sqrt([larger - noise, smaller - noise])
    covariance = directions @ np.diag([larger, smaller]) @ directions.T
    return FactorAnalysis(weights, np.full(2, noise), covariance, n)


def over_complete(alpha: float, *, rho: float = 0.5, noise: float = 0.1, n: int = 100) -> FactorAnalysis:
    """Three latents for two dimensions: ``W = [alpha u, sqrt(1 - alpha^2) u, rho v]``, diagonals ``u``, ``v`` (B.4).

    The covariance, and with it the likelihood, does not depend on ``alpha``; at 0 the first latent is pruned.

    Reference: ISA appendix B.4.

    Example:
        >>> a, b = over_complete(0.0), over_complete(0.4)
        >>> bool(np.isclose(a.log_likelihood(), b.log_likelihood())), a.free_energy() > b.free_energy()
        (True, True)
    """
    u, v = np.array([1.0, 1.0]) / math.sqrt(2), np.array([1.0, -1.0]) / math.sqrt(2)
    weights = np.stack([alpha * u, math.sqrt(1 - alpha**2) * u, rho * v], 1)
    variances = np.full(2, noise)
    return FactorAnalysis(weights, variances, weights @ weights.T + np.diag(variances), n)


def _log_det(matrix: ArrayLike) -> float:
    return float(np.linalg.slogdet(np.asarray(matrix))[1])
