"""ISA figure 5b: MIG against reconstruction over beta, dSprites."""

from typing import Any

from unweave.recipes.isa.comparison import compare
from unweave.recipes.isa.models import (
    METHODS,
    SCORE,
    Model,
    grid,
    note_protocol_of_sprites,
    sprites,
    variants,
)
from unweave.recipes.recipe import Conclusion, Job, Scale, recipe


def models(scale: Scale) -> list[Model]:
    """Four methods over beta.

    Example:
        >>> len(models("paper"))
        34
    """
    betas = {
        "smoke": [1.0, 2.0],
        "small": [1.0, 2.0, 4.0],
        "paper": [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0],
    }
    names = ["β-VAE", "β-TCVAE", "ISA-VAE"] if scale == "smoke" else list(METHODS)
    return grid(names, betas[scale])


def plan(scale: Scale) -> dict[str, Any]:
    """The runs of the figure.

    Example:
        >>> study = plan("paper")
        >>> len(study["variants"]), study["seeds"]
        (34, 50)
    """
    return {
        "base": sprites(scale),
        "variants": variants(models(scale)),
        "seeds": {"smoke": 2, "small": 4, "paper": 50}[scale],
        "metrics": [SCORE],
    }


@recipe(
    "isa-fig5b",
    title="MIG against reconstruction over beta, dSprites",
    claim="At the same beta the ISA prior has higher MIG than the normal prior, without worse reconstructions.",
    published="scatter only (figure 5b), 50 runs a point, β = 1 to 6",
    runs=plan,
)
def figure_5b(job: Job) -> Conclusion:
    """One point for each method and beta; MIG is compared at the same beta and seed."""
    note_protocol_of_sprites(job)
    return compare(job, models(job.scale), "ISA-VAE", "β-VAE")
