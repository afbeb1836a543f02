"""What metrics compute in numpy, because they must not import torch, equals what functional computes in torch."""

import numpy as np
import pytest
import torch
from torch.distributions import Independent, Normal

from unweave.functional import aggregate, blur, blur_profile, pointwise_total_correlation
from unweave.metrics import decomposition, log_joint, log_marginals
from unweave.metrics.distances import box_blurred


@pytest.mark.parametrize("shape", [(2, 3, 16, 16), (1, 1, 5, 12)])
@pytest.mark.parametrize("radius", [0, 1, 4, 31])
def test_the_box_blur_is_that_of_the_losses(shape: tuple[int, ...], radius: int) -> None:
    images = np.random.default_rng(0).random(shape, dtype=np.float32)
    expected = blur(torch.from_numpy(images), blur_profile("box", radius)).numpy()
    np.testing.assert_allclose(box_blurred(images, radius), expected, atol=1e-6)


def test_the_aggregate_posterior_is_that_of_the_objectives() -> None:
    rng = np.random.default_rng(0)
    means, scales = rng.normal(size=(300, 4)), rng.uniform(0.1, 1.5, size=(300, 4))
    z = means[:80] + scales[:80] * rng.normal(size=(80, 4))
    q = Independent(Normal(torch.from_numpy(means), torch.from_numpy(scales)), 1)
    at = aggregate(q, torch.from_numpy(z))
    np.testing.assert_allclose(log_joint(z, means, scales), at.joint.numpy(), rtol=0, atol=1e-10)
    for j in range(4):
        one = log_joint(*(values[:, j : j + 1] for values in (z, means, scales)))
        np.testing.assert_allclose(one, at.marginals[:, j].numpy(), rtol=0, atol=1e-10)
    np.testing.assert_allclose(log_marginals(z, means, scales), at.marginals.numpy(), atol=1e-4)


def test_the_total_correlation_is_that_of_the_objectives() -> None:
    rng = np.random.default_rng(1)
    means = rng.normal(size=(200, 1)) @ np.ones((1, 2))
    scales = np.full_like(means, 0.3)
    score = decomposition(means, scales, rng, samples=20_000)["total_correlation"]
    q = Independent(Normal(torch.from_numpy(means), torch.from_numpy(scales)), 1)
    index = torch.randint(200, (20_000,), generator=torch.Generator().manual_seed(0))
    noise = torch.randn(20_000, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    z = torch.from_numpy(means)[index] + 0.3 * noise
    assert score.value == pytest.approx(float(pointwise_total_correlation(aggregate(q, z)).mean()), abs=0.03)
