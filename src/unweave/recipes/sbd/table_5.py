"""SBD table 5: depth of the Spatial Broadcast decoder, coloured sprites."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.ablations import Ablation
from unweave.recipes.sbd.models import broadcast, sprites
from unweave.recipes.sbd.published import TABLE_5

ABLATION = Ablation(
    published=TABLE_5,
    noun="layer",
    varied="depth",
    axis="convolutions",
    decoder=lambda scale, depth: broadcast(scale, depth=depth),
    number=lambda config: int(config.decoder.options["depth"]),
    smoke=(3, 5),
)


@recipe(
    "sbd-table5",
    title="Depth of the Spatial Broadcast decoder, coloured sprites",
    claim="The deeper the decoder, the lower the rate: less KL, fewer latents used.",
    published="KL 27.5, 24.4, 22.6, 22.7 and latents used 8.33, 7.22, 5.93, 5.70 at depths 2 to 5 (table 5)",
    runs=sprites(ABLATION.variants),
)
def table_5(job: Job) -> Conclusion:
    """Scores over the number of convolutions of the Spatial Broadcast decoder."""
    return ABLATION.conclude(job, [ABLATION.trend(job, "kl", -1), ABLATION.trend(job, "latents_used", -1)])
