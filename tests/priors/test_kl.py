"""Divergences from a Gaussian posterior to every prior: closed forms, estimates, and their gradients."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from torch import Tensor
from torch.distributions import Independent, Laplace, Normal, kl_divergence

from unweave.functional.divergence import PathwiseNormal, factorises, kl, kl_per_latent
from unweave.functional.gaussian_moments import absolute_moment
from unweave.posteriors import DiagonalNormal
from unweave.priors import ISA, PRIORS, AnisotropicNormal, GeneralizedNormal, StandardNormal

finite = {"allow_nan": False, "allow_infinity": False}


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    mean=st.lists(st.floats(-3, 3, **finite), min_size=3, max_size=3),
    scale=st.lists(st.floats(0.05, 2, **finite), min_size=3, max_size=3),
    which=st.sampled_from(["normal", "anisotropic", "learned", "p"]),
    p=st.floats(0.5, 6, **finite),
    seed=st.integers(0, 2**31),
)
def test_closed_forms_are_what_monte_carlo_says(
    mean: list[float], scale: list[float], which: str, p: float, seed: int
) -> None:
    if which == "normal":
        prior: torch.nn.Module = StandardNormal(3)
    elif which == "p":
        prior = GeneralizedNormal(3, p=p)
    else:
        prior = AnisotropicNormal(3, learned=which == "learned")
        with torch.no_grad():
            prior.log_variance.copy_(torch.tensor([1.0, 0.0, -1.5]))
    law = prior.double()()
    q = Independent(Normal(torch.tensor([mean]).double(), torch.tensor([scale]).double()), 1)
    torch.manual_seed(seed)
    z = q.sample((20_000,)).squeeze(1)
    exact = kl_divergence(q, law.expand((1,))).item()
    estimates = (q.log_prob(z.unsqueeze(1)).squeeze(1) - law.log_prob(z)).detach()
    # 25 examples at 4 standard errors: the chance of a false alarm is 1 in 600, and the examples are fixed
    assert abs(estimates.mean().item() - exact) < 4 * estimates.std().item() / math.sqrt(len(z)) + 1e-9
    torch.testing.assert_close(kl_per_latent(q, law, q.sample()).sum(1), kl(q, law, q.sample()))


@pytest.mark.parametrize("p", [0.5, 1.0, 1.3, 2.0, 2.1, 7.7, 19.5, 20.0])
def test_absolute_moments_are_kummers_function(p: float) -> None:
    mean = torch.tensor([0.0, 1e-9, 0.3, -2.0, 5.0, 7.99, 8.01, 30.0, 1000.0], dtype=torch.float64)
    scale = torch.full_like(mean, 0.7)
    got = absolute_moment(0.7 * mean, scale, torch.tensor(p, dtype=torch.float64))
    near = mean.abs() < 15  # scipy's function loses its digits beyond
    front = 0.7**p * 2 ** (p / 2) * special.gamma((p + 1) / 2) / math.sqrt(math.pi)
    expected = front * special.hyp1f1(-p / 2, 0.5, -(mean[near].numpy() ** 2) / 2)
    np.testing.assert_allclose(got[near].numpy(), expected, rtol=1e-9)
    nodes, weights = np.polynomial.hermite_e.hermegauss(
        40
    )  # far from 0 the function is smooth, so this is exact
    far = np.abs(0.7 * (mean[~near].numpy()[:, None] + nodes)) ** p @ weights / math.sqrt(2 * math.pi)
    np.testing.assert_allclose(got[~near].numpy(), far, rtol=1e-9)


def test_absolute_moments_have_the_right_gradients() -> None:
    mean = torch.tensor([0.1, -2.0, 4.0, 9.0], dtype=torch.float64, requires_grad=True)
    scale = torch.tensor([0.5, 1.0, 1.0, 0.3], dtype=torch.float64, requires_grad=True)
    p = torch.tensor([0.7, 1.0, 3.3, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(absolute_moment, (mean, scale, p))
    at_zero = torch.zeros(1, requires_grad=True)
    absolute_moment(at_zero, torch.ones(1), torch.tensor(1.0)).sum().backward()
    assert at_zero.grad.item() == 0


def test_the_divergence_to_exponents_one_and_two_is_that_of_pytorch() -> None:
    q = Normal(torch.tensor([0.3, -2.0, 0.0]), torch.tensor([0.5, 1.5, 0.01]))
    for p, reference in (
        (1.0, Laplace(torch.zeros(3), torch.ones(3))),
        (2.0, Normal(torch.zeros(3), torch.ones(3))),
    ):
        torch.testing.assert_close(
            kl_divergence(q, GeneralizedNormal(3, p=p)().base_dist),
            kl_divergence(q, reference),
            rtol=1e-5,
            atol=1e-5,
        )


def posterior(stick: bool, mean: Tensor, log_variance: Tensor, n: int) -> Independent:
    features = torch.cat([mean, log_variance]).expand(n, -1)
    return DiagonalNormal(len(mean), sticking_the_landing=stick)(features)


@pytest.mark.parametrize("which", sorted(PRIORS))
def test_sticking_the_landing_has_the_same_value_and_the_same_expected_gradient(which: str) -> None:
    """The values agree sample by sample; the gradients only on average."""
    prior, n = PRIORS[which](3)(), 200_000
    gradients = []
    for stick in (False, True):
        mean = torch.tensor([0.5, -0.3, 0.2], requires_grad=True)
        log_variance = torch.tensor([-1.0, 0.0, -2.0], requires_grad=True)
        q = posterior(stick, mean, log_variance, n)
        torch.manual_seed(0)
        z = q.rsample()
        estimate = kl(q, prior, z) if stick else q.log_prob(z) - prior.log_prob(z)
        plain = (q.log_prob(z) - prior.log_prob(z)).detach()
        if stick:
            torch.testing.assert_close(estimate.detach(), plain)
            if factorises(prior):
                torch.testing.assert_close(
                    kl_per_latent(q, prior, z).sum(1).detach(), plain, rtol=1e-4, atol=1e-4
                )
        (estimate.mean()).backward()
        gradients.append(torch.cat([mean.grad, log_variance.grad]))
    # the part that is left out is a mean of n scores with unit (mean: 1 / sd) scale
    scores = torch.cat([(-0.5 * torch.tensor([-1.0, 0.0, -2.0])).exp(), torch.full((3,), 0.5 * math.sqrt(2))])
    assert ((gradients[0] - gradients[1]).abs() < 4 * scores / math.sqrt(n)).all()


def test_sticking_the_landing_is_exact_at_the_optimum_and_the_plain_estimate_is_not() -> None:
    spreads = {}
    for stick in (False, True):
        mean = torch.zeros(2000, 4, requires_grad=True)
        log_variance = torch.zeros(2000, 4, requires_grad=True)
        q = DiagonalNormal(4, sticking_the_landing=stick)(torch.cat([mean, log_variance], 1))
        prior = StandardNormal(4)()
        torch.manual_seed(1)
        z = q.rsample()
        (kl(q, prior, z) if stick else q.log_prob(z) - prior.log_prob(z)).sum().backward()
        spreads[stick] = torch.cat([mean.grad, log_variance.grad], 1).std().item()
    assert spreads[True] == 0.0
    assert spreads[False] > 0.5


def test_near_the_isa_prior_the_path_has_the_smaller_variance() -> None:
    prior = ISA(4, subspaces=(2, 2))()
    spread = {}
    for stick in (False, True):
        mean = torch.zeros(20_000, 4, requires_grad=True)
        q = DiagonalNormal(4, sticking_the_landing=stick)(torch.cat([mean, torch.zeros(20_000, 4)], 1))
        torch.manual_seed(2)
        kl(q, prior, q.rsample()).sum().backward()
        spread[stick] = mean.grad.std().item()
    assert spread[True] < 0.5 * spread[False]


def test_the_pathwise_posterior_is_otherwise_a_gaussian() -> None:
    q = DiagonalNormal(2, sticking_the_landing=True)(torch.tensor([[1.0, 2.0, 0.0, 0.6]]))
    same = DiagonalNormal(2)(torch.tensor([[1.0, 2.0, 0.0, 0.6]]))
    assert isinstance(q.base_dist, PathwiseNormal) and factorises(q)
    z = torch.randn(5, 1, 2)
    torch.testing.assert_close(q.log_prob(z), same.log_prob(z))
    assert isinstance(q.expand((3,)).base_dist, PathwiseNormal)
