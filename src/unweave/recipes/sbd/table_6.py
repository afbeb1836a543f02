"""SBD table 6: depth of the DeConv decoder, coloured sprites."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.ablations import Ablation
from unweave.recipes.sbd.models import deconv, sprites
from unweave.recipes.sbd.published import TABLE_6

ABLATION = Ablation(
    published=TABLE_6,
    noun="layer",
    varied="depth",
    axis="up-convolutions",
    decoder=lambda scale, depth: deconv(scale, layers=depth),
    number=lambda config: len(config.decoder.options["channels"]),
    smoke=(5, 6),
)


@recipe(
    "sbd-table6",
    title="Depth of the DeConv decoder, coloured sprites",
    claim="The deeper the decoder, the fewer factors are represented: less KL, fewer latents used.",
    published="KL 26.8, 27.1, 26.0, 23.3 and latents used 9.20, 8.90, 7.95, 6.36 at depths 3 to 6 (table 6)",
    runs=sprites(ABLATION.variants),
)
def table_6(job: Job) -> Conclusion:
    """Scores over the number of up-convolutions of the DeConv decoder."""
    return ABLATION.conclude(job, [ABLATION.trend(job, "kl", -1), ABLATION.trend(job, "latents_used", -1)])
