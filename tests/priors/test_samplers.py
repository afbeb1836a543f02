"""Samplers against densities: distribution functions from quadrature of the density, radii, moments."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import nn
from torch.distributions import Chi2, LogNormal

from unweave.priors import (
    ISA,
    AnisotropicNormal,
    GaussianMixture,
    GeneralizedNormal,
    LpNested,
    LpNestedSymmetric,
    SparseMixture,
    StandardNormal,
    StudentT,
    Tree,
)

N = 100_000
PRIORS_3 = [
    LpNested(3, tree=[1, [1, 1]], p=(1.0, 3.0)),
    LpNested(3, tree=[1, [1, [1]]], p=(2.2, 1.1, 3.0)),
    LpNested(3, tree=[[2], [1]], p=(4.0, 0.8, 2.0), s=0.7),
    ISA(3, subspaces=(2, 1), p0=2.1, p=(2.2, 2.2)),
]
PRIORS_2 = [
    StandardNormal(2),
    AnisotropicNormal(2),
    StudentT(2, nu=5.0),
    GaussianMixture(2, means=((0.0, 0.0), (1.0, 2.0)), variance=0.1, weights=(1.0, 2.0)),
    SparseMixture(2, gamma=0.6, sigma0=0.3),
    GeneralizedNormal(2, p=0.6),
    GeneralizedNormal(2, p=9.0),
    LpNested(2, p=0.7),
    ISA(2, subspaces=(1, 1), p0=5.0),
]


def name(prior: nn.Module) -> str:
    return type(prior).__name__


def draw(prior: nn.Module, seed: int = 0, n: int = N) -> NDArray:
    torch.manual_seed(seed)
    return prior.float()().sample((n,)).numpy().astype(np.float64)


@pytest.mark.parametrize("prior", PRIORS_2 + PRIORS_3, ids=name)
def test_marginals_and_moments_of_samples_are_those_of_the_density(
    prior: nn.Module, quadrature: SimpleNamespace
) -> None:
    samples = draw(prior)
    law, latents = prior.double()(), samples.shape[1]
    rule = {"step": 0.04} if latents == 2 else {"low": -2.6, "high": 4.0, "step": 0.1}
    z, w = quadrature.line(**rule)
    density = quadrature.density_on_grid(law, [z] * latents)
    for axis, below in enumerate(quadrature.distribution_functions(density, z, w)):
        assert stats.kstest(samples[:, axis], lambda x, f=below: np.interp(x, z, f)).pvalue > 1e-3
    for powers in ((2, 0, 0), (0, 0, 2), (2, 2, 0), (0, 2, 2), (1, 1, 0), (1, 0, 2)) if latents == 3 else ():
        values = np.prod([samples[:, k] ** p for k, p in enumerate(powers)], axis=0)
        exact = np.einsum("ijk,i,j,k->", density, *(w * z**p for p in powers), optimize=True)
        assert abs(values.mean() - exact) < 4 * values.std() / math.sqrt(N) + 1e-4, powers


@pytest.mark.parametrize(
    "prior",
    [
        LpNested(20, p=0.5),
        LpNested(20, p=20.0),
        LpNested(7, tree=[1, [2, [3]], 1], p=(1.2, 4.0, 0.8), s=3.0),
        ISA(20),
        ISA(20, subspaces=(5, 5, 5, 5), p0=0.9, p=(1.0, 2.0, 8.0, 20.0)),
    ],
    ids=name,
)
def test_the_radius_has_the_law_of_equation_eleven(prior: nn.Module) -> None:
    """psi(v) is the law of v with v^p0 / s ~ Gamma(n / p0)."""
    samples = torch.from_numpy(draw(prior))
    law = prior.double()()
    p0, s = law.exponents[0].item(), law.s.item()
    radius = law.log_function(samples).exp().numpy()
    assert stats.kstest(radius**p0 / s, stats.gamma(samples.shape[1] / p0).cdf).pvalue > 1e-3
    variance = samples.var(0).numpy()
    error = (samples**2).numpy().std(0) / math.sqrt(N)
    assert (np.abs(variance - law.variance.numpy()) < 4.5 * error).all()


def test_radii_and_shares_of_the_subspaces_of_isa() -> None:
    """Each subspace's norm and each latent's share of it have known laws (Sinz and Bethge 2010)."""
    prior = ISA(9, subspaces=(4, 3, 2), p0=1.6, p=(1.0, 3.0, 7.0))
    samples = np.abs(draw(prior, seed=3))
    for start, size, p in ((0, 4, 1.0), (4, 3, 3.0), (7, 2, 7.0)):
        powers = samples[:, start : start + size] ** p
        total = powers.sum(1)
        assert stats.kstest(total ** (1.6 / p) / 1.6, stats.gamma(size / 1.6).cdf).pvalue > 1e-3
        for k in range(size):
            assert stats.kstest(powers[:, k] / total, stats.beta(1 / p, (size - 1) / p).cdf).pvalue > 1e-3


def test_signs_are_fair_and_independent() -> None:
    signs = np.sign(draw(ISA(6), seed=4))
    assert np.abs(signs.mean(0)).max() < 4.5 / math.sqrt(N)
    off = (signs.T @ signs / N)[~np.eye(6, dtype=bool)]
    assert np.abs(off).max() < 4.5 / math.sqrt(N)


def test_small_gamma_draws_do_not_underflow() -> None:
    """At exponent 20 the shares are Gamma(1/20) draws: one float32 draw in eighty would be exactly 0."""
    assert (draw(LpNested(4, p=20.0)) != 0).all()
    assert (draw(GeneralizedNormal(4, p=20.0)) != 0).all()


def test_another_radial_law_is_sampled_and_scored(quadrature: SimpleNamespace) -> None:
    law = LpNestedSymmetric(
        Tree.parse([[1], [1]]),
        torch.tensor([1.5, 2.0, 3.0], dtype=torch.float64),
        torch.tensor(1.0, dtype=torch.float64),
        LogNormal(torch.tensor(0.0, dtype=torch.float64), torch.tensor(0.4, dtype=torch.float64)),
    )
    assert quadrature.mass(law, 2, step=0.03) == pytest.approx(1, abs=1e-3)
    torch.manual_seed(0)
    samples = law.sample((N,))
    assert stats.kstest(law.log_function(samples).numpy(), stats.norm(0, 0.4).cdf).pvalue > 1e-3
    z, w = quadrature.line(step=0.03)
    below = quadrature.distribution_functions(quadrature.density_on_grid(law, [z] * 2), z, w)[0]
    assert stats.kstest(samples[:, 0].numpy(), lambda x: np.interp(x, z, below)).pvalue > 1e-3
    assert law.variance[0].item() == pytest.approx(samples[:, 0].var().item(), rel=0.03)
    with pytest.raises(NotImplementedError, match=r"Eq\. 11"):
        law.entropy()


def test_independence_of_subspaces_exactly_under_equation_eleven() -> None:
    """Distance correlation of two subspaces, against its permutation distribution."""
    tree = Tree.parse([[2], [2]])
    p = torch.tensor([2.1, 1.0, 4.0])
    s = torch.tensor(2.1)
    laws = {
        "Eq. 11": LpNestedSymmetric(tree, p, s),
        "Eq. 11, another scale": LpNestedSymmetric(tree, p, 5 * s),
        "near a sphere": LpNestedSymmetric(tree, p, s, LogNormal(torch.tensor(0.5), torch.tensor(0.1))),
        "heavy tails": LpNestedSymmetric(tree, p, s, LogNormal(torch.tensor(0.0), torch.tensor(1.0))),
        "Eq. 11 of another exponent": LpNestedSymmetric(tree, p, s, Chi2(torch.tensor(4.0))),
    }
    for told, law in laws.items():
        torch.manual_seed(0)
        draws = law.sample((4, 700)).double().numpy()
        each = [independence_test(samples[:, :2], samples[:, 2:]) for samples in draws]
        significance = stats.combine_pvalues(each).pvalue
        if told.startswith("Eq. 11") and "exponent" not in told:
            assert significance > 0.01, told
        else:
            assert significance < 0.01, told


def independence_test(a: NDArray, b: NDArray, permutations: int = 59) -> float:
    """How likely independent data have so large a distance covariance (Szekely, Rizzo and Bakirov 2007)."""

    def centred(x: NDArray) -> NDArray:
        d = np.linalg.norm(x[:, None] - x[None], axis=-1).astype(np.float32)
        return d - d.mean(0) - d.mean(1)[:, None] + d.mean()

    first, second = centred(a), centred(b)
    rng = np.random.default_rng(0)
    observed = np.vdot(first, second)
    shuffled = []
    for _ in range(permutations):
        order = rng.permutation(len(a))
        shuffled.append(np.vdot(first, second[order][:, order]))
    return (1 + sum(value >= observed for value in shuffled)) / (permutations + 1)
