"""Metrics must not import torch, so two equations exist in numpy as well: both versions give the same numbers."""

import numpy as np
import pytest
import torch
from torch.distributions import Independent, Normal

from unweave.functional.aggregate_posterior import aggregate
from unweave.functional.blur import blur, blur_profile
from unweave.metrics.aggregate import log_joint, log_marginals
from unweave.metrics.distances import mse, overlap


def test_the_aggregate_posterior_of_metrics_is_that_of_functional() -> None:
    rng = np.random.default_rng(0)
    means, z = rng.normal(size=(300, 4)), 1.5 * rng.normal(size=(50, 4))
    scales = 0.1 + rng.random((300, 4))
    at = aggregate(Independent(Normal(torch.tensor(means), torch.tensor(scales)), 1), torch.tensor(z))
    np.testing.assert_allclose(log_joint(z, means, scales), at.joint.numpy(), rtol=0, atol=1e-10)
    for j in range(4):
        one = log_joint(z[:, j : j + 1], means[:, j : j + 1], scales[:, j : j + 1])
        np.testing.assert_allclose(one, at.marginals[:, j].numpy(), rtol=0, atol=1e-10)
    # The numpy marginals are read off a grid, to 1e-4 as their docstring says.
    np.testing.assert_allclose(log_marginals(z, means, scales), at.marginals.numpy(), rtol=0, atol=1e-4)


@pytest.mark.parametrize(("radius", "shape"), [(0, (2, 1, 4, 4)), (2, (3, 3, 9, 14)), (31, (2, 1, 64, 64))])
def test_the_box_blur_of_metrics_is_that_of_functional(radius: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.random(shape).astype(np.float32) for _ in range(2))
    blurred = [blur(torch.tensor(x), blur_profile("box", radius)).numpy() for x in (a, b)]
    expected = mse(a, b) + 7.0 * mse(*blurred)
    np.testing.assert_allclose(overlap(mse, radius=radius, weight=7.0)(a, b), expected, rtol=1e-5)
