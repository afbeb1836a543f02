"""SBD figure 6: DeConv against Spatial Broadcast, FactorVAE on coloured sprites."""

from typing import Any

from unweave.recipes.recipe import Conclusion, Job, Scale, recipe
from unweave.recipes.sbd.models import (
    BROADCAST,
    DECONV,
    FACTOR_STEPS,
    SMALL_SPRITES,
    SPRITES,
    broadcast,
    factor_deconv,
    factor_vae,
    mig_metrics,
    seeds,
    vae,
)
from unweave.recipes.sbd.traversals import broadcast_against_deconv


def factor_vaes(scale: Scale) -> dict[str, Any]:
    """FactorVAEs with either decoder on coloured sprites."""
    steps = FACTOR_STEPS["sprites"] if scale == "paper" else SMALL_SPRITES
    return {
        "base": vae(scale, SPRITES, steps),
        "variants": {
            DECONV: {"decoder": factor_deconv(scale), **factor_vae(scale, steps)},
            BROADCAST: {"decoder": broadcast(scale), **factor_vae(scale, steps)},
        },
        "seeds": seeds(scale, 25),
        "metrics": mig_metrics(scale),
    }


@recipe(
    "sbd-fig6",
    title="DeConv against Spatial Broadcast, FactorVAE on coloured sprites",
    claim="A Spatial Broadcast FactorVAE has a higher MIG than a DeConv FactorVAE.",
    published="pictures only (figure 6); about 15 % of the seeds diverged (appendix A.2)",
    runs=factor_vaes,
)
def figure_6(job: Job) -> Conclusion:
    """MIG over seeds; reconstructions and traversals of the median seeds."""
    found = broadcast_against_deconv(job)
    width = len(found.rows[0])
    rows = [*found.rows, *(_diverged(job, variant, width) for variant in job.variants)]
    return Conclusion(
        [*rows, _padded("  published: seeds that diverged", "about 15 %", width)],
        found.findings,
        found.pictures,
    )


def _diverged(job: Job, variant: str, width: int) -> list[str]:
    lost, all_of_them = job.diverged(variant)
    return _padded(f"{variant}: seeds that diverged", f"{lost} of {all_of_them}", width)


def _padded(name: str, cell: str, width: int) -> list[str]:
    return [name, cell, *[""] * (width - 2)]
