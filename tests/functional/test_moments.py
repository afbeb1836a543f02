import numpy as np
import pytest
import torch
from torch.distributions import Independent, Normal

from unweave.functional.moments import code_covariance, covariance, covariance_penalties


@pytest.mark.parametrize("seed", range(3))
def test_covariances_and_penalties_equal_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    means, scales = rng.normal(size=(40, 5)), rng.uniform(0.1, 2, size=(40, 5))
    of_means = np.cov(means.T, bias=True)
    of_codes = of_means + np.diag((scales**2).mean(0))
    q = Independent(Normal(torch.tensor(means), torch.tensor(scales)), 1)
    np.testing.assert_allclose(covariance(q.mean).numpy(), of_means, atol=1e-12)
    np.testing.assert_allclose(code_covariance(q).numpy(), of_codes, atol=1e-12)
    for matrix in (of_means, of_codes):
        off = sum(matrix[i, j] ** 2 for i in range(5) for j in range(5) if i != j)
        diagonal = sum((matrix[i, i] - 1) ** 2 for i in range(5))
        found = covariance_penalties(torch.tensor(matrix))
        assert [value.item() for value in found] == pytest.approx([off, diagonal], rel=1e-9)


def test_the_covariance_of_codes_is_that_of_samples() -> None:
    torch.manual_seed(0)
    q = Independent(Normal(torch.randn(10, 2), torch.rand(10, 2) + 0.1), 1)
    samples = q.sample((40_000,)).reshape(-1, 2)
    torch.testing.assert_close(covariance(samples), code_covariance(q), rtol=0, atol=0.02)
