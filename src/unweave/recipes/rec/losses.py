"""XYSquares with the pixel-wise and with the blurred loss: the models of REC figures 7, 10 and 11."""

from typing import Any

import numpy as np

from unweave.recipes.rec.models import (
    FRAMEWORKS,
    SQUARES,
    Cell,
    blurred,
    networks,
    of_group,
    protocol,
    variants,
)
from unweave.recipes.recipe import Job, Scale

LOSSES = ("MSE", "BoxBlurMSE")
"""The two reconstruction losses of figures 10 and 11 by the paper's names."""

STEPS, SEEDS = 57_600, 5
"""Of the paper."""


def loss_cells(scale: Scale) -> list[Cell]:
    """The grid of figure 11 (table A4): frameworks x losses x beta.

    Example:
        >>> len(loss_cells("paper"))
        8
    """
    size = SQUARES[scale]
    data = {"name": "XYSquares", "size": size}
    likelihoods = {"MSE": "MSE", "BoxBlurMSE": blurred(size)}
    betas: dict[str, dict[str, tuple[float, ...]]] = {
        "smoke": dict.fromkeys(LOSSES, (0.001,)),
        "small": {"MSE": (0.0001,), "BoxBlurMSE": (0.0316,)},
        "paper": dict.fromkeys(LOSSES, (0.0001, 0.0316)),
    }
    return [
        Cell(framework, loss, beta, {"data": data, "likelihood": likelihoods[loss]})
        for framework in FRAMEWORKS
        for loss in LOSSES
        for beta in betas[scale][loss]
    ]


def loss_plan(scale: Scale) -> dict[str, Any]:
    """The runs of figure 11 (table A4).

    Example:
        >>> loss_plan("paper")["base"]["latents"]
        25
    """
    return {
        "base": {**protocol(scale, steps=STEPS, small=1_200, latents=25), **networks(scale, SQUARES[scale])},
        "variants": variants(loss_cells(scale)),
        "seeds": {"smoke": 2, "small": 4, "paper": SEEDS}[scale],
        "metrics": ["elbo", "mig", "dci"],
    }


def beta_vae_plan(scale: Scale) -> dict[str, Any]:
    """Those of them that are beta-VAEs: the runs of figures 7 and 10.

    Example:
        >>> len(beta_vae_plan("paper")["variants"])
        4
    """
    cells = [cell for cell in loss_cells(scale) if cell.framework == "β-VAE"]
    return {**loss_plan(scale), "variants": variants(cells)}


def tuned_beta_vae(job: Job, loss: str) -> Cell:
    """The beta-VAE of a loss whose beta gives the highest mean MIG."""
    cells = of_group(loss_cells(job.scale), "β-VAE", loss)
    return max(cells, key=lambda cell: float(np.mean(job.scores(cell.label, "mig"))))
