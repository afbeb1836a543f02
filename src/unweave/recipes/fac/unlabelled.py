"""Data sets without factors: 3D Faces, 3D Chairs and CelebA (FAC figures 12 to 15, 38, 39; tables 2 and 3).

The paper's text names no beta and gamma for them: they are those of its figure 40.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from unweave.plots.seed_bands import banded_curves
from unweave.recipes.claims import higher
from unweave.recipes.fac.curves import histories
from unweave.recipes.fac.methods import BETA_VAE, FACTOR_VAE, variants_of
from unweave.recipes.fac.models import beta_vaes, factor_vaes, networks, protocol
from unweave.recipes.fac.scores import ERROR, score_table
from unweave.recipes.fac.traversals import model_sheet
from unweave.recipes.recipe import Conclusion, Job, Plan, Scale, at, data_or_stand_in
from unweave.recipes.shortfall import shortfall

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Reconstruction error and traversals of beta-VAE and FactorVAE, {}"
CLAIM = (
    "FactorVAE has a smaller reconstruction error than beta-VAE, and learns sensible factors of variation."
)
PUBLISHED = "curves and pictures only"


def vaes_on(name: str, rate: float, **stand_in: Any) -> Plan:
    """The runs on a data set without factors, five seeds each in the paper.

    Args:
        name: of the data set.
        rate: learning rate of the discriminator.
        stand_in: options of the data set that is used if this one is missing.
    """

    def plan(scale: Scale) -> dict[str, Any]:
        betas = at(scale, smoke=(4,), small=(4, 16), paper=(1, 4, 16, 64))
        gammas = at(scale, smoke=(10,), small=(10, 40), paper=(10, 20, 40, 80))
        base = {
            "data": data_or_stand_in(name, "Objects3D", **stand_in)[0],
            **networks(scale, 256),
            **protocol(scale, latents=10, small_steps=3000, steps=1_000_000),
        }
        variants = {**beta_vaes(betas), **factor_vaes(scale, gammas, rate)}
        return {"base": base, "variants": variants, "seeds": at(scale, smoke=2, small=3, paper=5)}

    return plan


def errors_and_traversals(errors: str) -> Callable[[Job], Conclusion]:
    """Reconstruction errors over training, and traversals of a model of each kind.

    Args:
        errors: id of the recipe of the errors, whose first picture they are; of others, traversals are.
    """

    def conclude(job: Job) -> Conclusion:
        """Table of the errors, their curves, and a sheet of traversals."""
        job.note(shortfall(job))
        ours = variants_of(job, FACTOR_VAE)
        theirs = [variant for variant in variants_of(job, BETA_VAE) if variant.weight > 1]
        panels = [
            (method.name, histories(job, method, "reconstruction")) for method in (BETA_VAE, FACTOR_VAE)
        ]
        shown = [
            (f"{variant.method.name}, {variant.label}", job.runs(variant.name)[0])
            for variant in (theirs[0], ours[0])
        ]
        pictures: dict[str, Figure] = {
            "errors": banded_curves([panels], rows=["reconstruction error"]),
            "traversals": model_sheet(shown),
        }
        return Conclusion(
            score_table(job, ERROR),
            [
                higher(
                    "reconstruction error, beta-VAE (beta > 1) minus FactorVAE",
                    np.concatenate([job.scores(variant.name, ERROR) for variant in theirs]),
                    np.concatenate([job.scores(variant.name, ERROR) for variant in ours]),
                )
            ],
            pictures if job.recipe.id == errors else dict(reversed(pictures.items())),
        )

    return conclude
