import math

import pytest
import torch
from torch.distributions import Independent, Laplace, MultivariateNormal, Normal

from unweave import posteriors
from unweave.functional import averaged_to_summed, kl, kl_per_latent, summed_to_averaged
from unweave.functional.divergence import NarrowNormal, PathwiseNormal, factorises


def posterior(n: int = 3, latents: int = 4) -> Independent:
    generator = torch.Generator().manual_seed(1)
    mean = torch.randn(n, latents, generator=generator, dtype=torch.float64)
    scale = 0.1 + torch.rand(n, latents, generator=generator, dtype=torch.float64)
    return Independent(Normal(mean, scale), 1)


def standard(latents: int = 4) -> Independent:
    zeros = torch.zeros(latents, dtype=torch.float64)
    return Independent(Normal(zeros, zeros + 1), 1)


def test_kl_to_the_standard_normal_is_the_textbook_formula() -> None:
    q = posterior()
    mean, variance = q.mean, q.variance
    expected = 0.5 * (mean**2 + variance - 1 - variance.log())
    torch.testing.assert_close(kl_per_latent(q, standard(), q.sample()), expected)
    torch.testing.assert_close(kl(q, standard(), q.sample()), expected.sum(1))


def test_without_a_closed_form_the_estimate_is_unbiased() -> None:
    one = posterior(n=1, latents=2)
    n = 200_000
    q = Independent(Normal(one.mean.expand(n, 2), one.stddev.expand(n, 2)), 1)
    p = MultivariateNormal(
        torch.zeros(2, dtype=torch.float64), torch.tensor([[1.0, 0.8], [0.8, 1.0]]).double()
    )
    exact = torch.distributions.kl_divergence(
        MultivariateNormal(one.mean[0], torch.diag(one.variance[0])), p
    ).item()
    torch.manual_seed(0)
    estimates = kl(q, p, q.sample())
    assert abs(estimates.mean().item() - exact) < 4 * estimates.std().item() / math.sqrt(n)


def test_a_prior_of_another_factorised_family_is_split_by_latent() -> None:
    q = posterior()
    p = Independent(Laplace(torch.zeros(4).double(), torch.ones(4).double()), 1)
    z = q.sample()
    torch.testing.assert_close(kl_per_latent(q, p, z).sum(1), kl(q, p, z))


def test_a_prior_that_does_not_factorise_is_refused() -> None:
    p = MultivariateNormal(torch.zeros(4).double(), torch.eye(4).double())
    assert not factorises(p)
    with pytest.raises(TypeError, match="factorise"):
        kl_per_latent(posterior(), p, posterior().sample())


def test_the_averaged_and_the_summed_beta_are_inverse() -> None:
    beta = averaged_to_summed(0.00316, (3, 64, 64), 9)
    assert beta == pytest.approx(0.00316 * 12288 / 9)
    assert summed_to_averaged(beta, (3, 64, 64), 9) == pytest.approx(0.00316)


@pytest.mark.parametrize("log_variance", [-100.0, -88.0, -40.0, 0.0, 20.0])
def test_the_gaussian_kl_is_that_of_the_log_variance(log_variance: float) -> None:
    """In float32, where a variance of exp(-100) is zero: value and gradients by the formula in the log-variance."""
    mean, given = (
        torch.tensor([[1.5]], requires_grad=True),
        torch.tensor([[log_variance]], requires_grad=True),
    )
    prior = torch.tensor([0.8], requires_grad=True)
    q = Independent(Normal(mean, (0.5 * given).exp()), 1)
    p = Independent(Normal(torch.zeros(1), (0.5 * prior).exp()), 1)
    value = kl_per_latent(q, p, mean.detach())
    torch.testing.assert_close(kl(q, p, mean.detach()), value.sum(1))
    value.sum().backward()
    ratio = math.exp(log_variance - 0.8)
    expected = 0.5 * (ratio + 1.5**2 / math.exp(0.8) - 1 - (log_variance - 0.8))
    assert value.item() == pytest.approx(expected, rel=1e-5)
    assert given.grad is not None
    assert given.grad.item() == pytest.approx(0.5 * (ratio - 1), rel=1e-5)
    assert mean.grad is not None
    assert mean.grad.item() == pytest.approx(1.5 / math.exp(0.8), rel=1e-5)
    assert prior.grad is not None
    expected = 0.5 * (1 - ratio - 1.5**2 / math.exp(0.8))
    assert prior.grad.item() == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("family", [NarrowNormal, PathwiseNormal])
@pytest.mark.parametrize("log_variance", [-80.0, -90.0, -110.0, -160.0])
def test_an_estimated_kl_of_a_narrow_posterior_is_finite_with_its_gradients(
    family: type[NarrowNormal], log_variance: float
) -> None:
    """To a prior without a closed form; by hand in float64, where such scales are ordinary numbers."""
    values, slopes = [], []
    noise = torch.randn(400, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for kind in (torch.float32, torch.float64):
        mean = torch.tensor([[0.0, 0.0]], dtype=kind).expand(400, 2).clone().requires_grad_()
        width = torch.full((400, 2), log_variance, dtype=kind, requires_grad=True)
        law = family(mean, (0.5 * width).exp(), validate_args=False)
        z = mean + law.scale * noise.to(kind)
        prior = Independent(Laplace(torch.zeros(2, dtype=kind), torch.ones(2, dtype=kind)), 1)
        found = kl(Independent(law, 1), prior.expand((400,)), z)
        found.mean().backward()
        assert width.grad is not None
        assert torch.isfinite(found).all()
        assert torch.isfinite(width.grad).all()
        values.append(found.mean().item())
        slopes.append(width.grad.sum().item())
    assert values[0] == pytest.approx(values[1], rel=1e-5)
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-3)
    entropy = 0.5 * (1 + math.log(2 * math.pi) + log_variance)
    assert values[1] == pytest.approx(2 * (-entropy + math.log(2)), abs=0.2)


def test_wide_normals_are_those_of_pytorch_to_the_last_digit() -> None:
    z = torch.randn(50, 3, generator=torch.Generator().manual_seed(1))
    mean, scale = 0.3 * z.flip(0), z.abs() + 1e-9
    assert torch.equal(NarrowNormal(mean, scale).log_prob(z), Normal(mean, scale).log_prob(z))


@pytest.mark.parametrize("name", ["DiagonalNormal", "IsotropicNormal", "FullNormal"])
@pytest.mark.parametrize("log_variance", [-88.0, -100.0])
def test_the_density_of_a_narrow_posterior_is_finite_with_its_gradients(
    name: str, log_variance: float
) -> None:
    """At the mean it is the sum of -(log_variance + log 2 pi) / 2, whose slope is -1/2 in each log-variance."""
    posterior = getattr(posteriors, name)(2)
    widths = slice(2, 3 if name == "IsotropicNormal" else 4)
    features = torch.zeros(1, posterior.features)
    features[:, widths] = log_variance
    features.requires_grad_()
    value = posterior(features).log_prob(torch.zeros(1, 2))
    value.sum().backward()
    assert value.item() == pytest.approx(-log_variance - math.log(2 * math.pi), rel=1e-6)
    assert features.grad is not None
    expected = torch.zeros_like(features.grad)
    expected[:, widths] = -1.0 if name == "IsotropicNormal" else -0.5
    assert torch.equal(features.grad, expected)
