"""ISA figure 5b: MIG against reconstruction over beta, dSprites."""

from typing import Any

from unweave.recipes.isa.comparison import Comparison, score_table
from unweave.recipes.isa.models import (
    methods_on_sprites,
    note_protocol_of_sprites,
    sprite_models,
    sprites,
    study,
)
from unweave.recipes.recipe import Conclusion, Job, Scale, recipe


def plan(scale: Scale) -> dict[str, Any]:
    """The runs of the figure.

    Example:
        >>> study = plan("paper")
        >>> len(study["variants"]), study["seeds"]
        (44, 50)
    """
    return study(scale, sprites(scale), sprite_models(scale), methods_on_sprites(scale), paper=50)


@recipe(
    "isa-fig5b",
    title="MIG against reconstruction over beta, dSprites",
    claim="At the same beta the ISA prior has higher MIG than the normal prior, without worse reconstructions; the "
    "baselines reach better MIG only with poor reconstructions.",
    published="scatter only (figure 5b), 50 runs a point, β = 1 to 6; FactorVAE with γ = 1 to 10 in table 1",
    runs=plan,
)
def figure_5b(job: Job) -> Conclusion:
    """One point for each method and beta; MIG is compared at the same beta and seed."""
    note_protocol_of_sprites(job)
    measured = Comparison.measured(job, sprite_models(job.scale))
    return Conclusion(
        rows=score_table(job),
        pictures={"trade-off": measured.trade_off()},
        findings=[
            measured.higher_mig("ISA-VAE", "β-VAE"),
            measured.no_worse("ISA-VAE", "β-VAE"),
            measured.beaten_in_both("ISA-VAE", ("β-VAE", "β-TCVAE")),
        ],
    )
