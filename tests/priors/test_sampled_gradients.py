"""Samples of a learned prior carry the gradient of its parameters: divergences at samples against quadrature."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution, Gamma, Independent, MixtureSameFamily, Normal

from unweave.errors import UnweaveError
from unweave.objectives import AAE, DecompositionVAE, FactorVAE, Progress
from unweave.priors import PRIORS, LpNestedSymmetric, Prior, Tree
from unweave.vae import VAE

IMAGES = 300
LINES = {1: torch.linspace(-20, 20, 1601).double(), 2: torch.linspace(-9, 9, 181).double()}
"""Points of each latent. With two latents exponents are at least 1.2, so that tails end within the square."""

PRIOR_OF = {
    "GeneralizedNormal": (1, {"p": 1.3, "learned": True}),
    "LpNested": (2, {"tree": [[1, 1]], "p": (2.5, 1.6), "learned": True, "learned_root": True}),
    "ISA": (2, {"subspaces": (2,), "p": 1.6, "learned": True}),
}
CASES = [(name, divergence) for name in PRIOR_OF for divergence in ("inclusive_kl", "mmd")]


def build(name: str) -> tuple[VAE, Tensor]:
    latents, options = PRIOR_OF[name]
    torch.manual_seed(0)
    parts: dict[str, Any] = {key: {"name": "MLP", "hidden": [4]} for key in ("encoder", "decoder")}
    vae = VAE.assemble((1, 2, 2), latents, prior={"name": name, **options}, **parts).double()
    with torch.no_grad():
        head: Any = vae.encoder.linear[-1]  # type: ignore[index, union-attr]
        head.weight[:latents].mul_(6)
        head.bias[:latents].add_(0.5)
        head.bias[latents:].add_(0.5)
    return vae, torch.rand(IMAGES, 1, 2, 2, dtype=torch.float64)


def population(vae: VAE, objective: DecompositionVAE, images: Tensor) -> Tensor:
    """The divergence of the prior and the mixture of posteriors as a function of the prior, by quadrature."""
    line = LINES[vae.latents]
    points = torch.cartesian_prod(*[line] * vae.latents).reshape(-1, vae.latents)
    cell = (line[1] - line[0]).item() ** vae.latents
    log_p = vae.prior().log_prob(points)
    p = log_p.exp() * cell
    assert p.sum().item() == pytest.approx(1.0, abs=1e-3)
    with torch.no_grad():
        q = vae.encode(images)
        shares = torch.split(points, 2_000)
        log_q = torch.cat([torch.logsumexp(q.log_prob(part[:, None]), 1) for part in shares]) - math.log(
            IMAGES
        )
    if objective.divergence == "inclusive_kl":
        return (p * (log_p - log_q)).sum()
    difference = (p - log_q.exp() * cell).reshape([len(line)] * vae.latents)
    total = p.new_zeros(())
    for scale in objective.scales:  # the Gaussian kernel is a product over latents
        kernel = torch.exp(-((line[:, None] - line) ** 2) / (2 * vae.latents * scale))
        smooth = kernel @ difference if vae.latents == 1 else kernel @ difference @ kernel
        total = total + (difference * smooth).sum()
    return total


@pytest.mark.parametrize(("name", "divergence"), CASES)
def test_the_gradient_at_samples_is_that_of_the_integral(name: str, divergence: Any) -> None:
    vae, images = build(name)
    [raw] = vae.prior.parameters()
    objective = DecompositionVAE(divergence=divergence, kernel="gaussian")
    objective.check(vae)
    (truth,) = torch.autograd.grad(population(vae, objective, images), raw)
    found = []
    for seed in range(40):
        torch.manual_seed(seed)
        term = objective(vae, images, Progress(0, 1)).terms[divergence]
        found.append(torch.autograd.grad(term, raw)[0])
    estimates = torch.stack(found)
    error = estimates.std(0) / math.sqrt(len(estimates))
    learned = truth != 0
    assert learned.any()
    assert ((estimates.mean(0) - truth).abs() <= 4 * error + 1e-12).all(), (truth, estimates.mean(0), error)
    assert (error[learned] < 0.15 * truth[learned].abs().max()).all(), "too noisy to tell a wrong gradient"


@pytest.mark.parametrize("name", PRIOR_OF)
def test_samples_with_and_without_gradients_are_the_same_numbers(name: str) -> None:
    latents, options = PRIOR_OF[name]
    law = PRIORS.make({"name": name, **options}, latents=latents)()
    torch.manual_seed(0)
    plain = law.sample((50,))
    torch.manual_seed(0)
    assert torch.equal(law.rsample((50,)), plain)
    assert not plain.requires_grad


def test_padding_of_an_uneven_tree_makes_no_gradient_nan() -> None:
    exponents = torch.tensor([2.1, 1.0, 3.0, 0.6], requires_grad=True)
    law = LpNestedSymmetric(Tree.parse([[1, 1], [1, 1, 1], [1]]), exponents, torch.tensor(2.0))
    law.rsample((1000,)).abs().sum().backward()
    assert torch.isfinite(exponents.grad).all()  # type: ignore[arg-type]
    assert (exponents.grad[:3] != 0).all()  # type: ignore[index]


def test_a_given_radius_decides_whether_samples_are_differentiable() -> None:
    tree, exponents = Tree.parse([[1, 1], [1]]), torch.tensor([2.0, 1.5, 2.0])
    radius = Gamma(torch.tensor(3.0), torch.tensor(1.0))
    assert LpNestedSymmetric(tree, exponents, torch.tensor(2.0), radius).has_rsample
    which = Categorical(torch.ones(2))
    mixed = MixtureSameFamily(which, Gamma(torch.tensor([3.0, 5.0]), torch.ones(2)))
    law = LpNestedSymmetric(tree, exponents, torch.tensor(2.0), mixed)
    assert law.sample((4,)).shape == (4, 3)
    with pytest.raises(NotImplementedError):
        law.rsample((4,))


class LearnedMixture(Prior):
    """Of two Gaussians with learned means, of which torch has no differentiable samples."""

    def __init__(self, latents: int) -> None:
        super().__init__(latents)
        self.means = nn.Parameter(torch.randn(2, latents))

    def forward(self) -> Distribution:
        each = Independent(Normal(self.means, torch.ones_like(self.means)), 1)
        return MixtureSameFamily(Categorical(torch.ones(2)), each)


@pytest.mark.parametrize("divergence", ["inclusive_kl", "mmd"])
def test_a_prior_whose_gradient_would_be_wrong_is_refused_before_the_first_step(divergence: Any) -> None:
    vae = VAE.assemble((1, 8, 8), 2, encoder="MLP", decoder="MLP", prior=LearnedMixture)
    with pytest.raises(
        UnweaveError, match=r"DecompositionVAE trains a prior .* LearnedMixture .* choose a prior"
    ):
        DecompositionVAE(divergence=divergence).check(vae)
    vae.prior.requires_grad_(False)
    DecompositionVAE(divergence=divergence).check(vae)


@pytest.mark.parametrize("objective", [FactorVAE, AAE])
def test_the_critics_divergence_to_a_learned_prior_reaches_it(objective: Any) -> None:
    """All images have one posterior N(m, s^2), so KL(q(z) || p) is that of two Gaussians and its gradient is known."""
    torch.manual_seed(0)
    prior = {"name": "AnisotropicNormal", "scales": "ones", "learned": True}
    parts: dict[str, Any] = {key: {"name": "MLP", "hidden": [4]} for key in ("encoder", "decoder")}
    vae = VAE.assemble((1, 2, 2), 2, prior=prior, **parts).double()
    with torch.no_grad():
        vae.encoder.linear[-1].bias.copy_(torch.tensor([1.0, -1.2, 0.3, -0.6]))  # type: ignore[index, union-attr]
        vae.prior.log_variance.copy_(torch.tensor([0.7, -0.4]))  # type: ignore[operator, union-attr]
    options = {"target": "prior"} if objective is FactorVAE else {}
    made = objective(2, critic_layers=1, critic_width=4, **options).double()
    images = torch.zeros(8000, 1, 2, 2, dtype=torch.float64)
    made.check(vae)
    with torch.no_grad():
        q = vae.encode(images[:1])
    log_variance: Any = vae.prior.log_variance
    second = (q.mean**2 + q.variance)[0]
    truth = 0.5 * (1 - second / log_variance.detach().exp())
    found = []
    for seed in range(2):
        torch.manual_seed(seed)
        loss = made(vae, images, Progress(0, 1))
        found.append(torch.autograd.grad(loss.terms["aggregate_kl"], log_variance)[0])
    np.testing.assert_allclose(torch.stack(found).mean(0), truth, atol=0.03)
    assert truth.abs().min() > 0.1
