import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Distribution, Independent, Laplace, MultivariateNormal, Normal

from unweave.errors import UnweaveError
from unweave.functional.aggregate_posterior import Estimator, aggregate, mixture_weights
from unweave.functional.decomposition import (
    half_log_determinant,
    pointwise_dimension_wise_kl,
    pointwise_inclusive_kl,
    pointwise_mutual_information,
    pointwise_total_correlation,
)

LATENTS = 3
COVARIANCE = torch.tensor([[1.0, 0.5, 0.2], [0.5, 1.2, -0.2], [0.2, -0.2, 0.9]], dtype=torch.float64)
ALL: list[Estimator] = ["mws", "mss", "split", "batch", "mixture"]


def gaussians(mean: Tensor, scale: Tensor) -> Distribution:
    return Independent(Normal(mean, scale.expand_as(mean)), 1)


def true_tc(covariance: Tensor) -> float:
    deviation = covariance.diagonal().sqrt()
    return -0.5 * torch.linalg.slogdet(covariance / deviation / deviation[:, None])[1].item()


def test_stratified_weights_are_the_published_matrix() -> None:
    """B = 5, N = 100: M = 4; the faulty matrix of the peers has 1/N in column 0 and a row that sums to 1.23."""
    own, next_one, rest = 0.01, (100 - 4) / (100 * 4), 0.25
    expected = torch.tensor(
        [
            [own, next_one, rest, rest, rest],
            [rest, own, next_one, rest, rest],
            [rest, rest, own, next_one, rest],
            [rest, rest, rest, own, next_one],
            [next_one, rest, rest, rest, own],
        ]
    )
    torch.testing.assert_close(mixture_weights("mss", 5, 100), expected)


@settings(max_examples=60, deadline=None)
@given(batch=st.integers(2, 40), more=st.integers(0, 10**6), estimator=st.sampled_from(ALL))
def test_weights_are_never_negative_and_rows_sum_to_one(batch: int, more: int, estimator: Estimator) -> None:
    size = batch - 1 + more
    weights = mixture_weights(estimator, batch, size).double()
    assert (weights >= 0).all()
    total = 1 / size if estimator == "mws" else 1.0
    torch.testing.assert_close(
        weights.sum(1), torch.full((batch,), total, dtype=torch.float64), rtol=1e-5, atol=0
    )
    if estimator in ("mss", "split"):
        torch.testing.assert_close(
            weights.diagonal(), torch.full((batch,), 1 / size, dtype=torch.float64), rtol=1e-6, atol=0
        )


def test_split_weights_are_those_of_dec_equation_10b() -> None:
    weights = mixture_weights("split", 4, 50)
    for b in range(4):
        for other in range(4):
            expected = 1 / 50 if b == other else 49 / (50 * 3)
            assert weights[b, other].item() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("estimator", "batch", "size", "message"),
    [
        ("mss", 8, None, "estimator mss needs the size of the data set"),
        ("mws", 8, None, "estimator mws needs the size of the data set"),
        ("mss", 8, 6, "estimator mss needs a data set of at least batch - 1 = 7 images, got 6"),
        ("batch", 1, None, "needs a batch of at least 2 images, got 1"),
    ],
)
def test_impossible_weights_are_refused(
    estimator: Estimator, batch: int, size: int | None, message: str
) -> None:
    with pytest.raises(UnweaveError, match=message):
        mixture_weights(estimator, batch, size)


@pytest.mark.parametrize("family", [Normal, Laplace])
@pytest.mark.parametrize("weighted", [False, True])
def test_densities_equal_a_triple_loop(family: type[Distribution], weighted: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    mean, z = torch.randn(4, 3, generator=generator), torch.randn(5, 3, generator=generator)
    scale = torch.rand(4, 3, generator=generator) + 0.5
    weights = torch.rand(5, 4, generator=generator) if weighted else None
    at = aggregate(Independent(family(mean, scale), 1), z, weights)  # type: ignore[arg-type]
    for i in range(5):
        joint, marginal = 0.0, np.zeros(3)
        for k in range(4):
            w = 0.25 if weights is None else weights[i, k].item()
            each = family(mean[k], scale[k]).log_prob(z[i]).exp().numpy()  # type: ignore[call-arg]
            joint += w * each.prod()
            marginal += w * each
        assert at.joint[i].item() == pytest.approx(math.log(joint), rel=1e-5)
        np.testing.assert_allclose(at.marginals[i].numpy(), np.log(marginal), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("block", [1, 7, 40, 300])
def test_blocks_change_neither_values_nor_gradients(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    def computed() -> tuple[Tensor, ...]:
        torch.manual_seed(0)
        mean = torch.randn(9, 4, dtype=torch.float64, requires_grad=True)
        scale = (torch.rand(9, 4, dtype=torch.float64) + 0.5).requires_grad_()
        z = torch.randn(9, 4, dtype=torch.float64, requires_grad=True)
        at = aggregate(gaussians(mean, scale), z, mixture_weights("mss", 9, 100))
        value = pointwise_total_correlation(at).square().sum() + at.joint.sum()
        return value, *torch.autograd.grad(value, (mean, scale, z))

    whole = computed()
    monkeypatch.setattr("unweave.functional.aggregate_posterior.BLOCK", block)
    for ours, expected in zip(computed(), whole, strict=True):
        torch.testing.assert_close(ours, expected)


def estimates(estimator: str, replicates: int, batch: int, scale: float, size: int = 10**6) -> Tensor:
    """The TC of independent batches of codes whose aggregate is Gaussian with ``COVARIANCE``."""
    torch.manual_seed(0)
    inner = COVARIANCE - scale**2 * torch.eye(LATENTS, dtype=torch.float64)
    data = MultivariateNormal(torch.zeros(LATENTS, dtype=torch.float64), inner)
    values = []
    for _ in range(replicates):
        q = gaussians(data.sample((batch,)), torch.tensor(scale, dtype=torch.float64))
        z = q.sample()
        weights = None if estimator == "exact" else mixture_weights(estimator, batch, size)  # type: ignore[arg-type]
        values.append(pointwise_total_correlation(aggregate(q, z, weights)).mean())
    return torch.stack(values)


@pytest.mark.parametrize("estimator", ["mss", "split", "batch", "mixture", "exact", "mws"])
def test_every_estimator_converges_to_the_total_correlation_of_a_gaussian(estimator: str) -> None:
    """To -1/2 log det of the correlations, within four of its own standard errors."""
    found = estimates(estimator, replicates=25, batch=800, scale=0.5)
    if estimator == "mws":  # a lower bound on log q that misses log N, once for q(z) and once for each q(z_j)
        found = found - (LATENTS - 1) * math.log(10**6)
    error = found.std().item() / math.sqrt(len(found))
    assert error < 0.008
    assert abs(found.mean().item() - true_tc(COVARIANCE)) < 4 * error


def test_the_plain_batch_mixture_is_biased_downwards_below_zero() -> None:
    """FAC appendix D: with narrow posteriors and a batch that is not enormous, a negative "KL divergence"."""
    found = estimates("batch", replicates=50, batch=64, scale=0.03)
    error = found.std().item() / math.sqrt(len(found))
    assert found.mean().item() < true_tc(COVARIANCE) - 10 * error
    assert found.mean().item() < 0


def test_weighted_sampling_keeps_its_constants() -> None:
    torch.manual_seed(0)
    q = gaussians(torch.randn(6, 4), torch.tensor(0.5))
    z = q.sample()
    at = aggregate(q, z, mixture_weights("mws", 6, 1000))
    each = Normal(q.mean, 0.5).log_prob(z[:, None])
    constant = math.log(1000 * 6)
    torch.testing.assert_close(at.joint, torch.logsumexp(each.sum(2), 1) - constant)
    torch.testing.assert_close(at.marginals, torch.logsumexp(each, 1) - constant)
    plain = aggregate(q, z, mixture_weights("mixture", 6))
    torch.testing.assert_close(
        pointwise_total_correlation(at), pointwise_total_correlation(plain) + 3 * math.log(1000)
    )


@pytest.mark.parametrize("estimator", [*ALL, "exact"])
def test_the_three_parts_sum_to_the_kl(estimator: str) -> None:
    torch.manual_seed(0)
    q = gaussians(torch.randn(16, 4, dtype=torch.float64), torch.tensor(0.4))
    prior = Independent(Normal(torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)), 1)
    z = q.sample()
    at = aggregate(q, z, None if estimator == "exact" else mixture_weights(estimator, 16, 500))  # type: ignore[arg-type]
    parts = (
        pointwise_mutual_information(q, z, at)
        + pointwise_total_correlation(at)
        + pointwise_dimension_wise_kl(prior, z, at)
    )
    torch.testing.assert_close(parts, q.log_prob(z) - prior.log_prob(z), rtol=0, atol=1e-9)


def test_the_exact_mutual_information_of_codes_far_apart_is_log_n() -> None:
    q = gaussians(100.0 * torch.arange(8.0)[:, None].expand(8, 2), torch.tensor(1.0))
    z = q.sample()
    at = aggregate(q, z)
    torch.testing.assert_close(pointwise_mutual_information(q, z, at), torch.full((8,), math.log(8)))


def test_the_minibatch_entropy_of_codes_far_apart_is_off_by_log_n() -> None:
    """DEC appendix C: then ``E[H^] = log n + H[q(z|x)]`` whatever the batch."""
    torch.manual_seed(0)
    q = gaussians(1000.0 * torch.arange(8.0, dtype=torch.float64)[:, None].expand(8, 2), torch.tensor(1.0))
    z = q.sample((4000,)).transpose(0, 1).reshape(8, -1, 2)
    entropy = -torch.stack(
        [aggregate(q, z[:, i], mixture_weights("split", 8, 5000)).joint.mean() for i in range(500)]
    )
    expected = math.log(5000) + math.log(2 * math.pi * math.e)
    assert abs(entropy.mean().item() - expected) < 4 * entropy.std().item() / math.sqrt(500)


def test_a_prior_that_does_not_factorise_has_no_dimension_wise_kl() -> None:
    q = gaussians(torch.zeros(2, 2), torch.tensor(1.0))
    prior = MultivariateNormal(torch.zeros(2), torch.eye(2))
    with pytest.raises(TypeError, match="factorises"):
        pointwise_dimension_wise_kl(prior, torch.zeros(2, 2), aggregate(q, torch.zeros(2, 2)))


def test_inclusive_kl_of_two_gaussians_is_the_closed_form() -> None:
    """KL(N(0,1)^2 || N(m, s)^2): the mixture has one component, so q(z) is known."""
    torch.manual_seed(0)
    prior = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
    mean, scale = 0.7, 1.3
    q = gaussians(torch.full((5, 2), mean), torch.tensor(scale))
    found = pointwise_inclusive_kl(prior, q, prior.sample((20_000,)))
    expected = 2 * (math.log(scale) + (1 + mean**2) / (2 * scale**2) - 0.5)
    assert abs(found.mean().item() - expected) < 4 * found.std().item() / math.sqrt(20_000)


def test_half_log_determinant() -> None:
    scale = torch.tensor([[0.5, 2.0, 3.0]])
    q = Independent(Normal(torch.zeros(1, 3), scale), 1)
    expected = 0.5 * torch.logdet(torch.diag(scale[0] ** 2))
    torch.testing.assert_close(half_log_determinant(q)[0], expected)
