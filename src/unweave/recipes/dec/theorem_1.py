"""DEC theorem 1: the beta-VAE is a VAE with annealed prior and an entropy bonus."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from unweave.plots import theory as theory_plots
from unweave.priors import GaussianMixture, GeneralizedNormal, LpNested, StudentT
from unweave.recipes.claims import equal
from unweave.recipes.dec.equations import BETA, equation_row, header, log_likelihood
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.theory.annealing import Sides, diagonal, theorem_one

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BETAS = tuple(np.geomspace(0.25, 8, 16).tolist())
"""Weights of the KL in the picture."""


def both_sides(
    beta: float = BETA, nu: float = 5.0, reach: float = 14.0, nodes: int = 351
) -> dict[str, Sides]:
    """Both sides of the equation for four priors.

    Args:
        beta: the weight of the KL.
        nu: degrees of freedom of the Student-t prior.
        reach: the quadrature runs from minus this to this.
        nodes: of the quadrature, along each axis.

    Example:
        >>> list(both_sides())
        ['theorem 1, StudentT', 'theorem 1, GaussianMixture', 'theorem 1, GeneralizedNormal', 'theorem 1, LpNested']
    """
    priors: tuple[nn.Module, ...] = (
        StudentT(2, nu=nu),
        GaussianMixture(2, variance=0.4),
        GeneralizedNormal(2, p=1.5),
        LpNested(2, p=1.3),
    )
    return {f"theorem 1, {type(prior).__name__}": _integrated(prior, beta, reach, nodes) for prior in priors}


def picture(
    betas: Sequence[float] = BETAS, nu: float = 5.0, reach: float = 14.0, nodes: int = 351
) -> "Figure":
    """The terms of the right side over beta, for the Student-t prior.

    Example:
        >>> picture().axes[0].get_xlabel()
        'β'
    """
    sides = [_integrated(StudentT(2, nu=nu), beta, reach, nodes) for beta in betas]
    return theory_plots.lines(
        np.array(betas),
        {
            "(β − 1) entropy" if name == "entropy" else name: [each.parts[name] for each in sides]
            for name in sides[0].parts
        },
        xlabel="β",
        ylabel="nats",
        title="Three terms whose sum is the β-VAE's objective",
        level=("objective", [each.left for each in sides]),
    )


def _integrated(prior: nn.Module, beta: float, reach: float, nodes: int) -> Sides:
    axis = torch.linspace(-reach, reach, nodes, dtype=torch.float64)
    q = diagonal(
        torch.tensor([0.7, -0.4], dtype=torch.float64), torch.tensor([0.3, 0.6], dtype=torch.float64)
    )
    return theorem_one(
        log_likelihood,
        q,
        prior.double()(),
        beta,
        axis,
        weights=torch.full_like(axis, 2 * reach / (nodes - 1)),
    )


@recipe(
    "dec-theorem1",
    title="The beta-VAE is a VAE with annealed prior and an entropy bonus",
    claim="L_β(x) = L(x; annealed target) + (β − 1) H[q] + log F_β for every prior (theorem 1).",
    published="an identity: the difference is 0",
)
def theorem_1(job: Job) -> Conclusion:
    """Both sides by quadrature, for four priors."""
    sides = both_sides()
    largest = max(abs(each.left - each.right) for each in sides.values())
    return Conclusion(
        rows=[header(), *(equation_row(name, each.left, each.right) for name, each in sides.items())],
        pictures={"theorem-1": picture()},
        findings=[
            equal("largest difference of the two sides (nats)", largest, 0.0, within=1e-9, constructed=True)
        ],
    )
