"""Unequal weights of a mixture: the density by scipy, the shares of its samples, and its moments."""

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import norm

from unweave.priors import GaussianMixture, SparseMixture

MEANS = ((0.0, 0.0), (2.0, -1.0), (-1.0, 3.0))
WEIGHTS = (1.0, 5.0, 2.0)


def test_the_density_of_an_unequal_mixture() -> None:
    prior = GaussianMixture(2, means=MEANS, weights=WEIGHTS, variance=0.4)
    points = np.random.default_rng(0).normal(0, 2, (50, 2))
    parts = [
        np.log(w / 8) + norm(m, np.sqrt(0.4)).logpdf(points).sum(1)
        for m, w in zip(MEANS, WEIGHTS, strict=True)
    ]
    ours = prior().log_prob(torch.from_numpy(points).float()).numpy()
    np.testing.assert_allclose(ours, logsumexp(parts, axis=0), rtol=1e-4)


def test_only_ratios_of_weights_count() -> None:
    points = torch.randn(20, 2, generator=torch.Generator().manual_seed(0))
    once = GaussianMixture(2, means=MEANS, weights=WEIGHTS)().log_prob(points)
    tenfold = GaussianMixture(2, means=MEANS, weights=tuple(10 * w for w in WEIGHTS))().log_prob(points)
    torch.testing.assert_close(once, tenfold)


def test_samples_have_the_shares_and_moments_of_the_weights() -> None:
    prior = GaussianMixture(2, means=MEANS, weights=WEIGHTS, variance=0.01)
    torch.manual_seed(0)
    samples = prior().sample((20_000,)).numpy()
    nearest = ((samples[:, None] - np.array(MEANS)) ** 2).sum(-1).argmin(1)
    shares = np.bincount(nearest, minlength=3) / len(samples)
    np.testing.assert_allclose(shares, np.array(WEIGHTS) / 8, atol=0.015)
    means, weights = np.array(MEANS), np.array(WEIGHTS) / 8
    np.testing.assert_allclose(prior().mean.numpy(), weights @ means, rtol=1e-5)
    variance = 0.01 + weights @ means**2 - (weights @ means) ** 2
    np.testing.assert_allclose(prior().variance.numpy(), variance, rtol=1e-5)


@pytest.mark.parametrize("gamma", [0.2, 0.9])
def test_the_density_of_the_sparse_mixture(gamma: float) -> None:
    prior = SparseMixture(3, gamma=gamma, sigma0=0.3)
    points = np.random.default_rng(0).normal(0, 1, (40, 3))
    density = (1 - gamma) * norm(0, 1).pdf(points) + gamma * norm(0, 0.3).pdf(points)
    ours = prior().log_prob(torch.from_numpy(points).float()).numpy()
    np.testing.assert_allclose(ours, np.log(density).sum(1), rtol=1e-4)
