"""DEC theorem 1 and corollaries 1 and 2, each side computed on its own."""

import math

import pytest
import torch

from unweave.priors import ISA, GaussianMixture, GeneralizedNormal, SparseMixture, StudentT
from unweave.theory.annealing import LinearVAE, corollary_one, diagonal, theorem_one

AXIS = torch.linspace(-14, 14, 701, dtype=torch.float64)
WEIGHTS = torch.full_like(AXIS, 28 / 700)


def likelihood(z: torch.Tensor) -> torch.Tensor:
    """Of some image under some decoder that is not linear."""
    hidden = torch.tanh(z @ torch.tensor([[1.0, -0.5, 0.3], [0.2, 0.8, -1.0]], dtype=z.dtype))
    return -3 * (hidden - torch.tensor([0.5, -0.2, 0.1], dtype=z.dtype)).square().sum(-1) - 1


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize(
    "prior",
    [
        StudentT(2, nu=5.0),
        GaussianMixture(2),
        GaussianMixture(2, variance=0.4),
        SparseMixture(2, gamma=0.5, sigma0=0.3),
        GeneralizedNormal(2, p=1.5),
        ISA(2, subspaces=(2,), p0=1.3, p=3.0),
    ],
    ids=lambda prior: type(prior).__name__,
)
def test_theorem_one_holds_for_every_prior(prior: torch.nn.Module, beta: float) -> None:
    q = diagonal(
        torch.tensor([0.7, -0.4], dtype=torch.float64), torch.tensor([0.3, 0.6], dtype=torch.float64)
    )
    sides = theorem_one(likelihood, q, prior.double()(), beta, AXIS, WEIGHTS)
    assert sides.left == pytest.approx(sides.right, abs=1e-9)
    if beta == 1:
        assert sides.parts["entropy"] == 0
        assert sides.parts["log F"] == pytest.approx(0, abs=5e-3)  # a prior has mass one
    else:
        assert abs(sides.parts["entropy"]) > 0.1 and abs(sides.parts["log F"]) > 0.1


@pytest.mark.parametrize("p", [1.0, 2.0, 3.5])
def test_annealing_only_rescales_a_generalised_gaussian(p: float) -> None:
    """DEC section 4: f_beta(z) = beta^(1/p) p(beta^(1/p) z); so F_beta is known."""
    law, beta = GeneralizedNormal(2, p=p).double()(), 3.0
    q = diagonal(torch.zeros(2).double(), torch.ones(2).double())
    found = theorem_one(likelihood, q, law, beta, AXIS, WEIGHTS).parts["log F"]
    z = torch.tensor([0.3, -0.9], dtype=torch.float64)
    rescaled = law.log_prob(beta ** (1 / p) * z) + 2 / p * math.log(beta)
    assert (beta * law.log_prob(z) - found).item() == pytest.approx(
        rescaled.item(), abs=5e-3
    )  # the grid cuts the cusp


@pytest.mark.parametrize("beta", [0.3, 1.0, 4.0])
def test_corollary_one(beta: float) -> None:
    generator = torch.Generator().manual_seed(0)
    root = torch.randn(3, 3, generator=generator, dtype=torch.float64)
    prior = torch.diag(torch.tensor([2.0, 1.0, 0.3], dtype=torch.float64))
    noise = torch.randn(50, 3, generator=generator, dtype=torch.float64)
    mean = torch.tensor([0.5, -1.0, 0.2], dtype=torch.float64)
    sides = corollary_one(
        lambda z: torch.tanh(z).sum(-1), mean, root @ root.T + 0.1 * torch.eye(3).double(), prior, beta, noise
    )
    assert sides.left == pytest.approx(sides.right, abs=1e-10)


def model() -> LinearVAE:
    root = torch.randn(4, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    return LinearVAE(root @ root.T, latents=2)


def gradient(objective: object, at: torch.Tensor, beta: float) -> torch.Tensor:
    at = at.clone().requires_grad_()
    return torch.autograd.grad(objective(at, beta), at)[0]


@pytest.mark.parametrize("beta", [0.5, 3.0])
def test_corollary_two_gradients_are_related_by_the_jacobian(beta: float) -> None:
    vae = model()
    at = torch.randn(18, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda p: vae.rescaled(p, beta), at)
    assert 0 < torch.linalg.det(jacobian).abs() < math.inf
    after = gradient(vae.entropy_objective, vae.rescaled(at, beta), beta)
    torch.testing.assert_close(gradient(vae.beta_objective, at, beta), jacobian.T @ after)


@pytest.mark.parametrize("beta", [0.5, 3.0])
def test_corollary_two_stationary_points_are_the_same_up_to_scale(beta: float) -> None:
    vae = model()
    at = vae.stationary_point(beta)
    assert gradient(vae.beta_objective, at, beta).norm() < 1e-6
    assert gradient(vae.entropy_objective, vae.rescaled(at, beta), beta).norm() < 1e-5
    assert gradient(vae.entropy_objective, at, beta).norm() > 0.1  # without the rescaling it is not one


def test_the_linear_vae_is_what_sampling_says() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(500, 3, generator=generator, dtype=torch.float64)
    vae = LinearVAE(x.T @ x / len(x), latents=2, variance=0.7)
    at = 0.5 * torch.randn(14, generator=generator, dtype=torch.float64)
    weights, recognition, log_scale = vae.parts(at)
    mean = x @ recognition.T
    z = mean + log_scale.exp() * torch.randn(2000, 500, 2, generator=generator, dtype=torch.float64)
    likely = diagonal(z @ weights.T, torch.full((3,), math.sqrt(0.7), dtype=torch.float64)).log_prob(x)
    reconstruction, rate = vae.bound(at)
    assert likely.mean().item() == pytest.approx(reconstruction.item(), abs=0.02)
    q = diagonal(mean, log_scale.exp())
    exact = torch.distributions.kl_divergence(q, diagonal(torch.zeros(2).double(), torch.ones(2).double()))
    assert exact.mean().item() == pytest.approx(rate.item(), abs=1e-9)
