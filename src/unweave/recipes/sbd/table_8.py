"""SBD table 8: linear layers of the DeConv decoder, coloured sprites."""

from unweave.recipes.recipe import recipe
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
    trends={"kl": -1, "latents_used": -1},
)

recipe(
    "sbd-table8",
    title="Linear layers of the DeConv decoder, coloured sprites",
    claim="More linear layers make the DeConv VAE represent fewer factors: less KL, fewer latents used.",
    published="KL 25.8, 23.7, 19.7 and latents used 7.97, 6.68, 5.24 with 1 to 3 layers (table 8)",
    runs=sprites(ABLATION.variants),
)(ABLATION.conclude)
