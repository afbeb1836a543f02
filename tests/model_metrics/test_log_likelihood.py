import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Independent, MultivariateNormal, Normal

from unweave import VAE
from unweave.errors import UnweaveError
from unweave.likelihoods import Gaussian
from unweave.model_metrics import iwae, log_likelihood
from unweave.priors import StandardNormal

W = torch.tensor([[1.0, 0.5], [0.0, -1.0], [2.0, 0.3]])
VARIANCE = 0.4


class Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(W.clone())

    def forward(self, z: Tensor) -> Tensor:
        return (z @ self.weight.T).view(-1, 1, 3, 1)


class Exact(nn.Module):
    """The true posterior of the linear model, or something near it."""

    latents = 2

    def __init__(self, shift: float = 0.0, stretch: float = 1.0) -> None:
        super().__init__()
        self.covariance = torch.linalg.inv(torch.eye(2) + W.T @ W / VARIANCE)
        self.shift, self.stretch = shift, stretch

    def forward(self, x: Tensor) -> torch.distributions.Distribution:
        mean = x.flatten(1) @ (W @ self.covariance / VARIANCE)
        return MultivariateNormal(mean + self.shift, self.stretch * self.covariance)


def linear_vae(**options: float) -> VAE:
    return VAE(
        nn.Identity(), Exact(**options), StandardNormal(2), Linear(), Gaussian((1, 3, 1), variance=VARIANCE)
    )


def exact(x: Tensor) -> Tensor:
    return MultivariateNormal(torch.zeros(3), W @ W.T + VARIANCE * torch.eye(3)).log_prob(x.flatten(1))


def test_with_the_true_posterior_one_particle_is_exact() -> None:
    x = torch.randn(4, 1, 3, 1)
    bound, effective = iwae(linear_vae(), x, particles=1)
    assert bound.float() == pytest.approx(exact(x), abs=1e-4)
    bound, effective = iwae(linear_vae(), x, particles=50, block=7)
    assert bound.float() == pytest.approx(exact(x), abs=1e-4)
    assert effective == pytest.approx(torch.full((4,), 50.0).double(), rel=1e-3)


def test_with_another_posterior_the_bound_rises_to_the_truth() -> None:
    torch.manual_seed(0)
    x = torch.randn(20, 1, 3, 1)
    vae = linear_vae(shift=0.3, stretch=1.5)
    means = [float((iwae(vae, x, particles=k)[0].float() - exact(x)).mean()) for k in (1, 10, 5_000)]
    assert means[0] < means[1] < 0.02
    assert means[2] == pytest.approx(0, abs=0.02)


def test_blocks_do_not_change_the_bound_and_large_weights_do_not_overflow() -> None:
    x = 300 * torch.ones(1, 1, 3, 1)  # log-likelihoods near -100,000
    torch.manual_seed(1)
    whole, _ = iwae(linear_vae(shift=0.1), x, particles=60, block=60)
    torch.manual_seed(1)
    parts, _ = iwae(linear_vae(shift=0.1), x, particles=60, block=30)
    assert math.isfinite(float(whole))
    assert float(parts) == pytest.approx(float(whole), rel=1e-6)


@pytest.mark.parametrize("prior", ["StandardNormal", "StudentT", "SparseMixture", "ISA"])
@pytest.mark.parametrize("likelihood", ["Bernoulli", "Gaussian", "MSE"])
def test_every_prior_and_likelihood_has_a_log_likelihood(prior: str, likelihood: str) -> None:
    torch.manual_seed(0)
    vae = VAE.assemble((1, 32, 32), 4, prior=prior, likelihood=likelihood).eval()
    images = np.random.default_rng(0).integers(0, 256, (2, 1, 32, 32), dtype=np.uint8)
    score = log_likelihood(vae, images, particles=6)
    assert math.isfinite(score.value)
    assert score == log_likelihood(vae, images, particles=6)
    assert score.constants["normalised"] is (likelihood != "MSE")


def test_a_model_without_a_likelihood_says_so() -> None:
    with pytest.raises(UnweaveError, match="has none"):
        log_likelihood(object(), np.zeros((1, 1, 8, 8), np.uint8))
    with pytest.raises(UnweaveError, match="at least 1"):
        iwae(linear_vae(), torch.zeros(1, 1, 3, 1), particles=0)
    assert isinstance(Independent(Normal(torch.zeros(2), 1.0), 1), torch.distributions.Distribution)
