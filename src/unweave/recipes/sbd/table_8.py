"""SBD table 8: linear layers of the DeConv decoder, coloured sprites."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.ablations import Ablation
from unweave.recipes.sbd.models import deconv, sprites
from unweave.recipes.sbd.published import TABLE_8

ABLATION = Ablation(
    published=TABLE_8,
    noun="layer",
    varied="linear layers",
    axis="linear layers",
    decoder=lambda scale, linear: deconv(scale, linear=linear),
    number=lambda config: len(config.decoder.options["hidden"]) + 1,  # the layer to the first map counts too
    smoke=(1, 3),
)


@recipe(
    "sbd-table8",
    title="Linear layers of the DeConv decoder, coloured sprites",
    claim="More linear layers make the DeConv VAE represent fewer factors: less KL, fewer latents used.",
    published="KL 25.8, 23.7, 19.7 and latents used 7.97, 6.68, 5.24 with 1 to 3 layers (table 8)",
    runs=sprites(ABLATION.variants),
)
def table_8(job: Job) -> Conclusion:
    """Scores over the number of linear layers of the DeConv decoder."""
    return ABLATION.conclude(job, [ABLATION.trend(job, "kl", -1), ABLATION.trend(job, "latents_used", -1)])
