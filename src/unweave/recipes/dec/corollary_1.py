"""DEC corollaries 1 and 2: for Gaussians, beta is a rescaling of the code and an entropy bonus."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from unweave.plots import theory as theory_plots
from unweave.recipes.claims import equal
from unweave.recipes.dec.equations import BETA, equation_row, header, log_likelihood
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.theory.annealing import LinearVAE, Sides, corollary_one


class Corollaries(NamedTuple):
    """Both sides of corollary 1, and norms of the gradients of corollary 2.

    Example:
        >>> Corollaries(Sides(1.0, {"elbo": 1.0}), 0.0, 0.0, 11.0).rows[0][0]
        'corollary 1'
    """

    sides: Sides
    at_optimum: float
    rescaled: float
    not_rescaled: float

    @property
    def rows(self) -> list[list[str]]:
        """As rows of a table of equations."""
        gradients = {
            "corollary 2, gradient of L_beta at its optimum": self.at_optimum,
            "corollary 2, gradient of L_H,beta there, rescaled": self.rescaled,
            "corollary 2, the same without rescaling (not 0)": self.not_rescaled,
        }
        return [
            equation_row("corollary 1", self.sides.left, self.sides.right),
            *(equation_row(name, gradient, 0.0) for name, gradient in gradients.items()),
        ]


def corollaries(beta: float = BETA, seed: int = 0) -> Corollaries:
    """Corollary 1 for one encoding, corollary 2 for a linear VAE at a stationary point.

    Args:
        beta: the weight of the KL.
        seed: of the codes and of the linear VAE.

    Example:
        >>> found = corollaries()
        >>> found.rescaled < 1e-6 < found.not_rescaled
        True
    """
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(200, 2, generator=generator, dtype=torch.float64)
    covariances = (
        torch.tensor([[0.3, 0.1], [0.1, 0.5]]).double(),
        torch.diag(torch.tensor([2.0, 0.5]).double()),
    )
    sides = corollary_one(log_likelihood, torch.tensor([0.7, -0.4]).double(), *covariances, beta, noise)
    root = torch.randn(4, 4, generator=generator, dtype=torch.float64)
    vae = LinearVAE(root @ root.T, latents=2)
    optimum = vae.stationary_point(beta)
    gradients = []
    for point, target in (
        (optimum, vae.beta_objective),
        (vae.rescaled(optimum, beta), vae.entropy_objective),
        (optimum, vae.entropy_objective),
    ):
        there = point.clone().requires_grad_()
        gradients.append(torch.autograd.grad(target(there, beta), there)[0].norm().item())
    return Corollaries(sides, *gradients)


def _sides_of(betas: Sequence[float]) -> list[Sides]:
    """Corollary 1 for a Gaussian code with a prior N(0, I), for some weights of the KL."""
    mean, covariance = torch.tensor([0.7, -0.4]).double(), torch.tensor([[0.3, 0.1], [0.1, 0.5]]).double()
    noise = torch.randn(200, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    identity = torch.eye(2).double()

    def likelihood(z: Tensor) -> Tensor:
        return -2 * (z.sin() - 0.3).square().sum(-1)

    return [corollary_one(likelihood, mean, covariance, identity, beta, noise) for beta in betas]


@recipe(
    "dec-corollary1",
    title="For Gaussians, beta is a rescaling of the code and an entropy bonus",
    claim="L_β(x; θ, φ) = L(x; θ', φ') + (β − 1)/2 log |S'| + c; stationary points correspond (corollaries 1 and 2).",
    published="an identity: the difference is 0; at a stationary point the rescaled gradient is 0",
)
def corollary_1(job: Job) -> Conclusion:
    """Both sides of corollary 1, and the gradient of corollary 2 at an optimum, rescaled and not."""
    found = corollaries()
    betas = np.geomspace(0.25, 8, 16)
    sides = _sides_of(betas.tolist())
    largest = max(abs(each.left - each.right) for each in sides)
    picture = theory_plots.lines(
        betas,
        {name: [each.parts[name] for each in sides] for name in sides[0].parts},
        xlabel="β",
        ylabel="nats",
        title="ELBO of rescaled networks, bonus and constant",
        level=("objective of the β-VAE", [each.left for each in sides]),
    )
    first = abs(found.sides.left - found.sides.right)
    return Conclusion(
        rows=[header(), *found.rows, ["corollary 1, largest of 16 betas", "", "", f"{largest:.1e}"]],
        pictures={"corollary-1": picture},
        findings=[
            equal(
                "largest difference of the two sides (nats)",
                max(first, largest),
                0.0,
                within=1e-9,
                constructed=True,
            ),
            equal(
                "gradient of L_H,β at the rescaled optimum of L_β, over that without rescaling",
                found.rescaled / found.not_rescaled,
                0.0,
                within=1e-6,
                constructed=True,
            ),
        ],
    )
