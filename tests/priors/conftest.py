"""Integrals over whole space that know nothing of the densities: a double-exponential rule on each half-axis."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.distributions import Distribution


def half_axis(low: float = -3.2, high: float = 7.0, step: float = 0.05) -> tuple[NDArray, NDArray]:
    """Nodes and weights for integrals over (0, inf): z = exp(t - exp(-t)), which thins out towards 0 and infinity."""
    t = np.arange(low, high, step)
    z = np.exp(t - np.exp(-t))
    return z, z * (1 + np.exp(-t)) * step


def line(**range_: float) -> tuple[NDArray, NDArray]:
    z, w = half_axis(**range_)
    return np.concatenate([-z[::-1], z]), np.concatenate([w[::-1], w])


def density_on_grid(law: Distribution, axes: list[NDArray]) -> NDArray:
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    flat = torch.from_numpy(points.reshape(-1, len(axes)))
    logs = [law.log_prob(block) for block in flat.split(200_000)]
    return torch.cat(logs).exp().numpy().reshape(points.shape[:-1])


def mass(law: Distribution, dimension: int, **range_: float) -> float:
    z, w = line(**range_)
    total = density_on_grid(law, [z] * dimension)
    for _ in range(dimension):
        total = total @ w
    return float(total)


def distribution_functions(density: NDArray, z: NDArray, w: NDArray) -> list[NDArray]:
    """The distribution function of each coordinate at the nodes, from the joint density alone."""
    functions = []
    for axis in range(density.ndim):
        total = np.moveaxis(density, axis, 0)
        for _ in range(density.ndim - 1):
            total = total @ w
        masses = total * w
        functions.append(np.cumsum(masses) - masses / 2)  # half of a node's own mass lies below it
    return functions


@pytest.fixture(scope="session")
def quadrature() -> SimpleNamespace:
    return SimpleNamespace(
        line=line, density_on_grid=density_on_grid, mass=mass, distribution_functions=distribution_functions
    )
