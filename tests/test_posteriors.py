"""Families of posteriors against densities of scipy, quadrature, and what DEC says of them."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from torch.distributions import MultivariateNormal

from unweave.errors import UnweaveError
from unweave.functional.decomposition import half_log_determinant
from unweave.functional.divergence import kl, kl_parts
from unweave.posteriors import POSTERIORS, BallMixture, DiagonalNormal, FullNormal, IsotropicNormal
from unweave.priors import AnisotropicNormal, GeneralizedNormal, StandardNormal
from unweave.runs.config import Config
from unweave.runs.run import Run
from unweave.theory.rotation import random_rotation


def full_features(mean: torch.Tensor, lower: torch.Tensor) -> torch.Tensor:
    rows, columns = torch.tril_indices(len(mean), len(mean), -1)
    return torch.cat([mean, 2 * lower.diagonal().log(), lower[rows, columns]])[None]


@pytest.fixture
def lower() -> torch.Tensor:
    return torch.tensor([[0.5, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.6, 0.2, 1.3]], dtype=torch.float64)


def test_the_full_normal_has_any_covariance(lower: torch.Tensor) -> None:
    mean = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)
    q = FullNormal(3)(full_features(mean, lower))
    z = torch.randn(1, 3, dtype=torch.float64)
    expected = stats.multivariate_normal.logpdf(z[0].numpy(), mean.numpy(), (lower @ lower.T).numpy())
    assert q.log_prob(z).item() == pytest.approx(float(expected), rel=1e-10)
    torch.testing.assert_close(q.stddev[0], (lower @ lower.T).diagonal().sqrt())


def test_its_kl_to_gaussian_priors_is_that_of_two_multivariate_normals(lower: torch.Tensor) -> None:
    mean = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)
    q = FullNormal(3)(full_features(mean, lower))
    narrow = AnisotropicNormal(3, scales="ones").double()
    narrow.log_variance.copy_(torch.tensor([0.5, 0.0, -1.0]))
    for prior in (StandardNormal(3).double(), narrow):
        p = prior()
        expected = torch.distributions.kl_divergence(
            q, MultivariateNormal(torch.zeros(3).double(), torch.diag(p.variance))
        )
        torch.testing.assert_close(kl(q, p, q.rsample()), expected)
        assert kl_parts(q, p, q.rsample()).shape == (1, 1)


def test_without_covariances_it_is_the_diagonal_normal() -> None:
    features = torch.randn(5, 8, dtype=torch.float64)
    none = torch.zeros(5, 6, dtype=torch.float64)
    full, diagonal = FullNormal(4)(torch.cat([features, none], 1)), DiagonalNormal(4)(features)
    z = torch.randn(5, 4, dtype=torch.float64)
    torch.testing.assert_close(full.log_prob(z), diagonal.log_prob(z))
    p = StandardNormal(4).double()()
    torch.testing.assert_close(kl(full, p, z), kl(diagonal, p, z))
    torch.testing.assert_close(half_log_determinant(full), half_log_determinant(diagonal))


def test_where_no_closed_form_exists_the_kl_is_the_estimate(lower: torch.Tensor) -> None:
    q = FullNormal(3)(full_features(torch.zeros(3).double(), lower))
    p, z = GeneralizedNormal(3, p=1.0).double()(), q.rsample()
    torch.testing.assert_close(kl(q, p, z), q.log_prob(z) - p.log_prob(z))


def test_the_determinant_counts_covariances(lower: torch.Tensor) -> None:
    q = FullNormal(3)(full_features(torch.zeros(3).double(), lower))
    expected = 0.5 * torch.logdet(lower @ lower.T)
    torch.testing.assert_close(half_log_determinant(q)[0], expected)
    assert half_log_determinant(q) < q.stddev.log().sum(-1) - 0.1


def test_rotations_keep_the_kl_of_the_full_normal_and_leave_the_diagonal_family(lower: torch.Tensor) -> None:
    """DEC theorem 2: R S R^T is again a full normal, with the same KL to N(0, I); a diagonal S does not stay so."""
    turn = random_rotation(3, torch.Generator().manual_seed(0))
    mean = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)
    turned = torch.linalg.cholesky(turn @ lower @ lower.T @ turn.T)
    p = StandardNormal(3).double()()
    before = FullNormal(3)(full_features(mean, lower))
    after = FullNormal(3)(full_features(turn @ mean, turned))
    torch.testing.assert_close(kl(before, p, before.rsample()), kl(after, p, after.rsample()))
    diagonal = torch.diag(torch.tensor([0.1, 1.0, 2.0], dtype=torch.float64))
    covariance = turn @ diagonal @ turn.T
    assert (covariance - torch.diag(covariance.diagonal())).abs().max() > 0.1


def test_one_width_for_all_latents() -> None:
    q = IsotropicNormal(3)(torch.tensor([[1.0, 2.0, 3.0, math.log(4.0)]]))
    assert q.mean.tolist() == [[1.0, 2.0, 3.0]] and q.stddev.tolist() == [[2.0, 2.0, 2.0]]
    expected = 0.5 * (14 + 3 * (4 - 1 - math.log(4)))
    assert kl(q, StandardNormal(3)(), q.rsample()).item() == pytest.approx(expected, rel=1e-6)


def test_the_wider_latent_of_the_prior_holds_more_of_an_isotropic_code() -> None:
    """DEC section 7: codes fill the prior, the width is shared: 1/2 log(prior / encoder variance) nats a latent."""
    prior_deviations, width = torch.tensor([4.0, 0.5]), 0.3
    means = torch.randn(20_000, 2, generator=torch.Generator().manual_seed(0))
    means = means * (prior_deviations.square() - width**2).sqrt()
    q = IsotropicNormal(2)(torch.cat([means, torch.full((20_000, 1), 2 * math.log(width))], 1))
    narrow = AnisotropicNormal(2, scales="ones")
    narrow.log_variance.copy_(2 * prior_deviations.log())
    nats = kl_parts(q, narrow(), q.rsample()).mean(0)
    torch.testing.assert_close(nats, (prior_deviations / width).log(), rtol=0.03, atol=0.01)
    assert nats[0] > 4 * nats[1]


@pytest.mark.parametrize(("share", "radius"), [(0.3, 0.7), (0.9, 0.4), (1.0, 0.5)])
def test_the_density_of_ball_and_normal(share: float, radius: float) -> None:
    q = BallMixture(2, share=share, radius=radius)(torch.tensor([[0.6, -0.4]], dtype=torch.float64))
    axis = torch.linspace(-7, 7, 1401, dtype=torch.float64)
    z = torch.cartesian_prod(axis, axis)
    mass = q.log_prob(z).exp() * (14 / 1400) ** 2
    assert mass.sum().item() == pytest.approx(1, abs=2e-3)
    mean = (mass[:, None] * z).sum(0)
    torch.testing.assert_close(mean, q.mean[0], atol=2e-3, rtol=0)
    variance = (mass[:, None] * (z - mean).square()).sum(0)
    torch.testing.assert_close(variance, q.variance[0], atol=5e-3, rtol=0)
    torch.manual_seed(0)
    drawn = q.rsample((200_000,))[:, 0]
    torch.testing.assert_close(drawn.mean(0), q.mean[0], atol=0.01, rtol=0)
    torch.testing.assert_close(drawn.var(0), q.variance[0], atol=0.015, rtol=0)
    radii = (drawn - torch.tensor([0.6, -0.4])).norm(dim=1)
    inside = share + (1 - share) * float(stats.ncx2.cdf(radius**2, 2, 0.6**2 + 0.4**2))
    assert (radii < radius).double().mean().item() == pytest.approx(inside, abs=0.005)
    ours = (q.log_prob(drawn[:, None]) - StandardNormal(2).double()().log_prob(drawn)[:, None]).mean()
    log_prior = StandardNormal(2).double()().log_prob(z)
    exact = torch.where(mass > 0, mass * (q.log_prob(z) - log_prior), 0.0).sum()
    assert ours.item() == pytest.approx(exact.item(), abs=0.02)


def test_a_code_in_the_ball_moves_with_its_centre() -> None:
    centre = torch.zeros(4000, 3, requires_grad=True)
    torch.manual_seed(0)
    BallMixture(3, share=0.7)(centre).rsample().sum().backward()
    assert centre.grad is not None and set(centre.grad.unique().tolist()) == {0.0, 1.0}
    assert centre.grad[:, 0].mean().item() == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_the_share_sets_the_mutual_information_and_the_places_do_not(share: float) -> None:
    """DEC section 3.1: with n balls apart, I(x; z) = share * log n nats, wherever the balls are."""
    n = 16
    found = []
    for seed in (0, 1):
        centres = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        q = BallMixture(4, share=share, radius=1e-3)(centres)
        torch.manual_seed(seed)
        z = q.rsample((4000,))
        own = q.log_prob(z)
        every = torch.logsumexp(q.log_prob(z.unsqueeze(2).expand(-1, -1, n, -1)), -1) - math.log(n)
        found.append((own - every).mean().item())
    assert found == pytest.approx([share * math.log(n)] * 2, abs=0.03)


def test_mistakes_are_named() -> None:
    with pytest.raises(UnweaveError, match=r"posterior.share must be greater than 0 and at most 1, got 0"):
        BallMixture(2, share=0.0)
    with pytest.raises(UnweaveError, match=r"posterior.radius"):
        BallMixture(2, radius=0.0)


@pytest.mark.parametrize("name", list(POSTERIORS))
@pytest.mark.parametrize("objective", ["BetaVAE", "DecompositionVAE", "MaxEntropyVAE"])
def test_every_posterior_trains_or_says_why_not(name: str, objective: str, tmp_path: Path) -> None:
    words = ["data=circles", "data.size=16", "encoder=MLP", "encoder.hidden=[8]", "decoder=MLP"]
    words += ["decoder.hidden=[8]", "latents=3", "batch_size=4", "steps=2", f"posterior={name}"]
    divergence = ["objective.divergence=mmd"] if objective == "DecompositionVAE" else []
    run = Run.create(Config.read(words=[*words, f"objective={objective}", *divergence]), tmp_path / "run")
    if (name, objective) == ("BallMixture", "MaxEntropyVAE"):
        with pytest.raises(UnweaveError, match="BallMixture"):
            run.train()
        return
    assert run.train().status == "finished"
    codes = run.model().codes(run.dataset().sample(5, np.random.default_rng(0)).images)
    assert codes[0].shape == codes[1].shape == (5, 3) and (codes[1] > 0).all()
