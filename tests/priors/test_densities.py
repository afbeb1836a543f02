"""Densities: total mass, limits, entropies and variances, none of which the densities are built from."""

import math
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
import torch
from scipy import integrate, special, stats
from torch.distributions import Independent, Laplace, MixtureSameFamily, Normal

from unweave.priors import (
    ISA,
    PRIORS,
    AnisotropicNormal,
    GaussianMixture,
    GeneralizedNormal,
    LpNested,
    SparseMixture,
    StandardNormal,
    StudentT,
)
from unweave.priors.student import FactoredStudentT

TWO = [
    StandardNormal(2),
    AnisotropicNormal(2, scales="ones"),
    StudentT(2, nu=3.0),
    StudentT(2, nu=100.0),
    GaussianMixture(2),
    GaussianMixture(2, means=((-1.0, 0.0), (2.0, 1.0)), variance=0.5, weights=(1.0, 3.0)),
    SparseMixture(2),
    SparseMixture(2, gamma=0.3, sigma0=0.22),
    GeneralizedNormal(2, p=0.7),
    GeneralizedNormal(2, p=(1.0, 4.0), tau=2.0),
    LpNested(2, p=0.7),
    LpNested(2, p=9.0),
    LpNested(2, tree=[[1], [1]], p=(3.0, 1.0, 5.0)),
    ISA(2, subspaces=(2,), p0=1.3, p=0.6),
    ISA(2, subspaces=(2,), p0=1.0, p=20.0, s=3.0),
]
THREE = [
    LpNested(3, tree=[1, [1, 1]], p=(1.0, 2.0)),
    LpNested(3, tree=[1, [1, 1]], p=(2.0, 9.0)),
    LpNested(3, tree=[[2], [1]], p=(1.5, 0.8, 2.0), s=0.7),
    LpNested(3, tree=[1, [1, [1]]], p=(2.2, 1.1, 3.0)),
    ISA(3, subspaces=(2, 1)),
    ISA(3, subspaces=(1, 1, 1), p0=4.0),
    StudentT(3, nu=5.0),
    GaussianMixture(3, variance=0.2),
]


def name(prior: torch.nn.Module) -> str:
    return type(prior).__name__


@pytest.mark.parametrize("prior", TWO, ids=name)
def test_the_mass_in_two_dimensions_is_one(prior: torch.nn.Module, quadrature: SimpleNamespace) -> None:
    assert quadrature.mass(prior.double()(), 2, step=0.03) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("prior", THREE, ids=name)
def test_the_mass_in_three_dimensions_is_one(prior: torch.nn.Module, quadrature: SimpleNamespace) -> None:
    assert quadrature.mass(prior.double()(), 3, low=-2.6, high=4.6, step=0.1) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("latents", [1, 2, 7, 40])
def test_all_exponents_two_is_the_gaussian(latents: int) -> None:
    z = 2 * torch.randn(1000, latents, generator=torch.Generator().manual_seed(0))
    expected = Independent(Normal(torch.zeros(latents), torch.ones(latents)), 1).log_prob(z.double())
    tree = [1] * (latents // 2) + [[1, [latents - latents // 2 - 1]]] if latents > 2 else [latents]
    for prior in (
        GeneralizedNormal(latents, p=2.0),
        LpNested(latents, p=2.0),
        LpNested(latents, tree=tree, p=2.0),
        ISA(latents, p0=2.0, p=2.0),
    ):
        got = prior().log_prob(z)
        assert got.dtype == torch.float32
        torch.testing.assert_close(got, expected.float(), atol=1e-5, rtol=3e-7)


def test_exponent_one_is_the_laplace() -> None:
    z = 3 * torch.randn(1000, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = Independent(Laplace(torch.zeros(6), torch.ones(6)), 1).log_prob(z)
    for prior in (
        GeneralizedNormal(6, p=1.0),
        LpNested(6, p=1.0),
        ISA(6, subspaces=(3, 2, 1), p0=1.0, p=1.0),
    ):
        torch.testing.assert_close(prior().log_prob(z), expected, atol=1e-5, rtol=0)


def test_the_other_families_have_the_gaussian_as_a_limit() -> None:
    z = torch.randn(1000, 4, generator=torch.Generator().manual_seed(0))
    expected = StandardNormal(4)().log_prob(z)
    limits = {
        "nu": StudentT(4, nu=1e6),
        "gamma": SparseMixture(4, gamma=0.0),
        "off": SparseMixture(4, gamma=1.0, sigma0=1.0),
        "one component": GaussianMixture(4, means=((0.0,) * 4,), variance=1.0),
        "equal components": GaussianMixture(4, means=((0.0,) * 4,) * 3, variance=1.0),
        "ones": AnisotropicNormal(4, scales="ones"),
    }
    for told, prior in limits.items():
        # at nu = 10^6 the two differ by z^4 / (4 nu) to first order, 8e-5 nats at these codes
        assert (prior().log_prob(z) - expected).abs().max() < (1e-4 if told == "nu" else 1e-5), told
    assert (StudentT(4, nu=100.0)().log_prob(z) - expected).abs().max() > 1e-3


def test_student_t_against_scipy() -> None:
    z = torch.linspace(-30, 30, 301, dtype=torch.float64).unsqueeze(1)
    for nu in (0.7, 3.0, 5.0, 100.0):
        expected = stats.t.logpdf(z.squeeze(1).numpy(), nu)
        np.testing.assert_allclose(StudentT(1, nu=nu).double()().log_prob(z).numpy(), expected, atol=2e-6)


def test_the_entropy_of_student_t_against_scipy() -> None:
    for nu in (0.7, 5.0, 1e6):
        entropy = StudentT(3, nu=nu)().entropy().item()
        assert entropy == pytest.approx(
            3 * stats.t(nu).entropy() if nu < 1e5 else 3 * stats.norm.entropy(), rel=1e-5
        )


def test_generalised_normal_against_scipy() -> None:
    z = torch.linspace(-4, 4, 81, dtype=torch.float64).unsqueeze(1)
    for p, tau in ((0.5, 1.0), (1.7, 0.4), (20.0, 0.05)):
        law = GeneralizedNormal(1, p=p, tau=tau).double()()
        reference = stats.gennorm(p, scale=tau ** (-1 / p))
        np.testing.assert_allclose(law.log_prob(z).numpy(), reference.logpdf(z.squeeze(1).numpy()), rtol=1e-5)
        assert law.entropy().item() == pytest.approx(reference.entropy(), rel=1e-5)
        assert law.variance.item() == pytest.approx(reference.var(), rel=1e-5)


def test_the_sparse_prior_is_the_formula_of_the_paper() -> None:
    z = torch.tensor([[0.3], [-1.2]], dtype=torch.float64)
    expected = 0.1 * stats.norm.pdf(z) + 0.9 * stats.norm.pdf(z, scale=0.05)
    torch.testing.assert_close(SparseMixture(1).double()().log_prob(z).exp(), torch.tensor(expected)[:, 0])


def test_the_mixture_is_equation_nine_at_its_defaults() -> None:
    law = GaussianMixture(2).double()()
    z = torch.tensor([[0.2, 0.9], [0.5, 0.5]], dtype=torch.float64)
    expected = sum(
        0.25 * stats.multivariate_normal([a, b], 0.03 * np.eye(2)).pdf(z.numpy())
        for a in (0, 1)
        for b in (0, 1)
    )
    np.testing.assert_allclose(law.log_prob(z).exp().numpy(), expected, rtol=1e-6)
    assert isinstance(law, MixtureSameFamily)


def test_the_nested_function_is_equation_six() -> None:
    law = LpNested(3, tree=[1, [1, 1]], p=(1.3, 0.7)).double()()
    z = torch.tensor([[0.5, -1.5, 0.25]], dtype=torch.float64)
    inner = 1.5**0.7 + 0.25**0.7
    expected = (0.5**1.3 + inner ** (1.3 / 0.7)) ** (1 / 1.3)
    assert law.log_function(z).exp().item() == pytest.approx(expected, rel=1e-6)


def test_the_surface_of_the_unit_ball_of_the_l1_norm() -> None:
    """n = 3, p = 1: the octahedron's area over sqrt(3), since S_f integrates along the radius of f, is 4."""
    law = LpNested(3, p=1.0).double()()
    assert law.log_surface().exp().item() == pytest.approx(4.0, rel=1e-6)
    assert LpNested(3, p=2.0).double()().log_surface().exp().item() == pytest.approx(4 * math.pi, rel=1e-6)


@pytest.mark.parametrize(
    "prior",
    [ISA(3, subspaces=(2, 1), p0=1.4, p=3.0), LpNested(3, tree=[1, [2]], p=(3.0, 1.0), s=0.4)],
    ids=name,
)
def test_entropy_and_variance_against_quadrature(prior: torch.nn.Module, quadrature: SimpleNamespace) -> None:
    law = prior.double()()
    z, w = quadrature.line(low=-2.6, high=4.0, step=0.1)
    density = quadrature.density_on_grid(law, [z] * 3)
    entropy = -special.xlogy(density, density) @ w @ w @ w
    assert law.entropy().item() == pytest.approx(entropy, abs=1e-3)
    for axis in range(3):
        second = np.moveaxis(density, axis, 0) @ w @ w @ (w * z**2)
        assert law.variance[axis].item() == pytest.approx(second, rel=2e-3)


def test_the_radial_law_is_equation_eleven() -> None:
    """The density integrated over the sphere of radius v is psi(v): in one dimension that is 2 p(v)."""
    law = LpNested(1, p=1.7, s=0.6).double()()
    v = np.linspace(0.1, 3, 20)
    psi = 1.7 / (special.gamma(1 / 1.7) * 0.6 ** (1 / 1.7)) * np.exp(-(v**1.7) / 0.6)
    np.testing.assert_allclose(2 * law.log_prob(torch.from_numpy(v)[:, None]).exp().numpy(), psi, rtol=1e-6)
    assert integrate.trapezoid(psi, v) < 1


@pytest.mark.parametrize("which", sorted(PRIORS))
def test_density_and_gradient_are_finite_in_float32_with_512_latents(which: str) -> None:
    for p in (0.5, 2.1, 20.0):
        options = {"LpNested": {"p": p}, "ISA": {"p0": p, "p": 22 - p}, "GeneralizedNormal": {"p": p}}.get(
            which, {}
        )
        prior = PRIORS[which](512, **options)
        z = torch.randn(4, 512, generator=torch.Generator().manual_seed(0)).clamp(-3, 3)
        z[0] = 0
        z[1, 5] = 0
        z.requires_grad_()
        density = prior().log_prob(z)
        density.sum().backward()
        assert torch.isfinite(density).all() and torch.isfinite(z.grad).all(), p
        exact = prior.double()().log_prob(z.detach().double())
        torch.testing.assert_close(density.double(), exact, rtol=1e-5, atol=1e-3)
        assert torch.isfinite(prior.float()().sample((10,))).all()


@pytest.mark.parametrize("which", sorted(PRIORS))
def test_every_prior_is_a_distribution_over_codes(which: str) -> None:
    law = PRIORS[which](6)()
    assert law.event_shape == (6,) and law.batch_shape == ()
    assert law.sample().shape == (6,)
    assert law.sample((3, 2)).shape == (3, 2, 6)
    wide = law.expand((5,))
    assert wide.batch_shape == (5,) and wide.sample((2,)).shape == (2, 5, 6)
    z = law.sample((5,))
    torch.testing.assert_close(wide.log_prob(z), law.log_prob(z))
    assert law.mean.shape == (6,) and law.variance.shape == (6,)


@pytest.mark.parametrize("nu", [0.5, 5.0, 99.0, 101.0, 1e4, 1e8, 1e12, 1e30])
def test_student_t_holds_for_any_degrees_of_freedom(nu: float) -> None:
    """Against 60 digits; the difference of two values of lgamma is off by 3e-3 at 1e12, in double precision."""
    law = FactoredStudentT(torch.tensor(nu, dtype=torch.float64))
    with mpmath.workdps(60):
        degrees = mpmath.mpf(nu)
        gammas = mpmath.loggamma((degrees + 1) / 2) - mpmath.loggamma(degrees / 2)
        peak = gammas - mpmath.log(mpmath.pi * degrees) / 2
        slope = mpmath.digamma((degrees + 1) / 2) - mpmath.digamma(degrees / 2)
        entropy = (degrees + 1) / 2 * slope - peak
    assert law.log_prob(torch.zeros((), dtype=torch.float64)).item() == pytest.approx(float(peak), rel=1e-13)
    assert law.entropy().item() == pytest.approx(float(entropy), rel=1e-12)
