import math

import numpy as np
import pytest
import torch
from torch import Tensor

from unweave.errors import UnweaveError
from unweave.likelihoods import MSE, Bernoulli, Gaussian

SHAPE = (2, 3, 5)


def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(4, *SHAPE, generator=generator), torch.rand(4, *SHAPE, generator=generator)


def test_bernoulli_is_the_cross_entropy_in_nats_summed_over_pixels() -> None:
    logits, images = batch()
    p = 1 / (1 + np.exp(-logits.double().numpy()))
    x = images.double().numpy()
    expected = (x * np.log(p) + (1 - x) * np.log(1 - p)).sum((1, 2, 3))
    np.testing.assert_allclose(Bernoulli(SHAPE)(logits).log_prob(images), expected, rtol=1e-5)


def test_bernoulli_is_finite_for_extreme_logits() -> None:
    logits = torch.full((1, *SHAPE), 200.0)
    assert Bernoulli(SHAPE)(logits).log_prob(torch.zeros(1, *SHAPE)).item() == pytest.approx(-200.0 * 30)


def test_gaussian_is_the_normal_density_with_its_constant() -> None:
    means, images = batch()
    expected = torch.distributions.Normal(means, math.sqrt(0.3)).log_prob(images).sum((1, 2, 3))
    torch.testing.assert_close(Gaussian(SHAPE, variance=0.3)(means).log_prob(images), expected)


def test_learned_variance_has_its_maximum_likelihood_at_the_mean_square() -> None:
    means, images = batch()
    optimum = (images - means).square().mean().item()
    likelihood = Gaussian(SHAPE, variance=optimum, learned=True)
    likelihood(means).log_prob(images).sum().backward()
    [parameter] = likelihood.parameters()
    assert abs(parameter.grad.item()) < 1e-4
    assert not list(Gaussian(SHAPE).parameters())


def test_mse_is_the_gaussian_of_variance_one_half_without_its_constant() -> None:
    means, images = batch()
    gaussian = Gaussian(SHAPE, variance=0.5)(means).log_prob(images)
    constant = 0.5 * math.prod(SHAPE) * math.log(math.pi)
    torch.testing.assert_close(MSE(SHAPE)(means).log_prob(images), gaussian + constant)


@pytest.mark.parametrize("likelihood", [Bernoulli(SHAPE), Gaussian(SHAPE, variance=0.04), MSE(SHAPE)])
def test_samples_have_the_mean_and_the_log_prob_its_shape(likelihood: torch.nn.Module) -> None:
    features, _ = batch()
    p = likelihood(features)
    torch.manual_seed(0)
    samples = p.sample(torch.Size([4000]))
    assert samples.shape == (4000, 4, *SHAPE)
    error = samples.std(0) / math.sqrt(4000)
    assert ((samples.mean(0) - p.mean).abs() < 5 * error + 1e-6).all()
    assert p.log_prob(samples[0]).shape == (4,)


def test_variance_must_be_positive() -> None:
    with pytest.raises(UnweaveError, match=r"likelihood\.variance must be greater than 0, got -1"):
        Gaussian(SHAPE, variance=-1.0)
