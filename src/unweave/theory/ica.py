"""Over-complete independent component analysis with mean-field inference for each data point (ISA B.7, B.8)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unweave.theory.maximise import maximise

Array = NDArray[Any]

DIRECTIONS = (90.0, 210.0, 330.0)
"""Angles of the true components in degrees; those of the paper's figure are not in its text."""


@dataclass(frozen=True)
class Components:
    """Components that variational inference with weight beta finds in data with known components.

    ``true`` and ``found`` are weights ``(2, 3)``; ``path`` holds the weights after every step, ``(steps + 1, 2, 3)``,
    and ``free_energy`` the objective per data point after every step, in nats, which never decreases.

    Example:
        >>> fit = fit_components(beta=1.0, n=20, steps=2)
        >>> fit.path.shape, fit.lengths.shape
        ((3, 2, 3), (3,))
    """

    beta: float
    data: Array
    true: Array
    path: Array
    free_energy: Array

    @property
    def found(self) -> Array:
        """The weights after the last step."""
        last: Array = self.path[-1]
        return last

    @property
    def lengths(self) -> Array:
        """The length of each found component; one that is pruned has length 0."""
        lengths: Array = np.linalg.norm(self.found, axis=0)
        return lengths

    def angle(self) -> float:
        """The angle between the two longest components as lines, in degrees: 90 if they are orthogonal."""
        first, second = self.found[:, np.argsort(-self.lengths)[:2]].T
        cosine = abs(first @ second) / (np.linalg.norm(first) * np.linalg.norm(second))
        return math.degrees(math.acos(min(1.0, float(cosine))))


def fit_components(
    *,
    beta: float = 1.0,
    n: int = 300,
    noise: float = 0.1,
    nu: float = 3.5,
    steps: int = 80,
    seed: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> Components:
    """Maximise the free energy over weights and one Gaussian posterior for each data point and component.

    The model: ``z_k ~ t(nu)`` for three components, ``x ~ N(W z, noise^2 I)`` in the plane. The posterior factorises,
    ``q(z_nk) = N(mu_nk, s_nk^2)``; the reconstruction is a quadratic form and analytic, so is the entropy of ``q``,
    and the cross-entropy with the prior is a one-dimensional integral for each ``n, k`` (Gauss-Hermite, 32 nodes).

    Learning starts at the true weights and every step improves the free energy, as in the paper: the posteriors are
    improved with a line search, then the weights are set to their optimum given the posteriors,
    ``W = (sum_n x mu^T) (sum_n mu mu^T + diag(s^2))^-1``, which does not depend on beta.

    Args:
        beta: weight of the KL.
        n: number of data points.
        noise: standard deviation of the observation noise.
        nu: degrees of freedom of the sources; 3.5 in the paper.
        steps: number of updates of both.
        seed: of the data.
        tell: receives texts on the progress.

    Reference: ISA appendix B.7 and B.8, figure 1. The number of data points, the noise and the directions are ours.

    Example:
        >>> fit_components(beta=5.0, n=10, steps=1).beta
        5.0
    """
    rng = np.random.default_rng(seed)
    angles = np.radians(DIRECTIONS)
    true = np.stack([np.cos(angles), np.sin(angles)])
    data = rng.standard_t(nu, size=(n, 3)) @ true.T + noise * rng.standard_normal((n, 2))
    x, weights = torch.from_numpy(data), torch.from_numpy(true)
    mean = torch.zeros(n, 3, dtype=torch.float64, requires_grad=True)
    log_scale = torch.full((n, 3), -1.0, dtype=torch.float64, requires_grad=True)
    log_prior = _Expected(nu)

    def free_energy() -> Tensor:
        spread = (2 * log_scale).exp() @ weights.square().sum(0)
        error = (x - mean @ weights.T).square().sum(1) + spread
        reconstruction = -0.5 * error / noise**2 - math.log(2 * math.pi * noise**2)
        entropy = log_scale + 0.5 * math.log(2 * math.pi * math.e)
        return (reconstruction + beta * (entropy + log_prior(mean, log_scale.exp())).sum(1)).mean()

    path, energies = [true], []
    for step in range(steps):
        maximise(lambda: n * free_energy(), [mean, log_scale], steps=200 if step == 0 else 15)
        with torch.no_grad():
            moment = mean.T @ mean + torch.diag((2 * log_scale).exp().sum(0))
            weights = torch.linalg.solve(moment, mean.T @ x).T.contiguous()
            energies.append(free_energy().item())
        path.append(weights.numpy().copy())
        tell(f"beta {beta:g}: step {step + 1} of {steps}")
    return Components(beta, data, true, np.stack(path), np.array(energies))


class _Expected:
    """``E[log t(z; nu)]`` for ``z ~ N(mean, scale^2)``, by Gauss-Hermite quadrature."""

    def __init__(self, nu: float) -> None:
        nodes, weights = np.polynomial.hermite_e.hermegauss(32)
        self.nodes = torch.from_numpy(nodes)
        self.weights = torch.from_numpy(weights / math.sqrt(2 * math.pi))
        self.nu = nu
        self.constant = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - 0.5 * math.log(math.pi * nu)

    def __call__(self, mean: Tensor, scale: Tensor) -> Tensor:
        z = mean.unsqueeze(-1) + scale.unsqueeze(-1) * self.nodes
        return self.constant - 0.5 * (self.nu + 1) * torch.log1p(z.square() / self.nu) @ self.weights
