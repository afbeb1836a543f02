"""SBD table 10: up-convolutions in the Spatial Broadcast decoder, coloured sprites."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.ablations import Ablation
from unweave.recipes.sbd.models import broadcast, sprites
from unweave.recipes.sbd.published import TABLE_10

ABLATION = Ablation(
    published=TABLE_10,
    noun="upscale",
    varied="upscales",
    axis="upscales",
    decoder=lambda scale, upscales: broadcast(scale, upscales=upscales),
    number=lambda config: int(config.decoder.options["upscales"]),
    smoke=(0, 3),
)


@recipe(
    "sbd-table10",
    title="Up-convolutions in the Spatial Broadcast decoder, coloured sprites",
    claim="Replacing convolutions by up-convolutions from a smaller tile lowers MIG and leaves the bound as it is.",
    published="MIG 0.147, 0.149, 0.122, 0.110 and −ELBO 329, 327, 329, 330 with 0 to 3 upscales (table 10)",
    runs=sprites(ABLATION.variants),
)
def table_10(job: Job) -> Conclusion:
    """Scores over the number of up-convolutions in the place of convolutions."""
    return ABLATION.conclude(job, [ABLATION.trend(job, "mig", -1)])
