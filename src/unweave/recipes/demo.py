"""The demonstration: the effect of a decoder's architecture on the latent space, in a few minutes on two cores."""

from unweave.recipes.sbd.models import broadcast, deconv, vae
from unweave.runs.config import Config

TITLE = "Same data, same loss, another decoder"

INTRO = """\
Both models are plain VAEs (beta = 1, ten latents) trained on the same images: one white circle at a random position,
so that the data have exactly two factors, x and y. One decodes with the usual stack of up-convolutions (DeConv), the
other with the Spatial Broadcast decoder, in which every pixel receives the code and its own coordinates. Each was
trained on one CPU core for about the same time. A good representation of these data is a map of the square of
positions."""

TOUCH = """\
Two VAEs that differ in their decoder alone, trained on one white circle at a random position. Drag a point on the
planes: a representation that is a map of the positions moves the circle along with your hand; one that is folded makes
it jump, double or smear. Both models move together; drop a picture of your own to see what each makes of it."""


def demo_configs(seed: int = 0) -> dict[str, Config]:
    """The two runs of the demonstration by name: circles X-Y, networks of SBD table 1, batch 16, trained with Muon.

    The paper trains for 500,000 steps of Adam at 3e-4; here 500 (broadcast) and 1,700 (DeConv, whose steps are
    cheaper), so that both take about the same time.

    Reference: SBD figure 4, tables 1, 3 and 4.

    Example:
        >>> [config.decoder.name for config in demo_configs().values()]
        ['Deconv', 'SpatialBroadcast']
    """
    circles = {"name": "Circles", "variant": "xy"}
    fast = {
        "learning_rate": 3e-3,
        "optimizer": {"name": "Muon", "adam_rate": 0.3},
        "schedule": {"name": "Linear", "warmup": 20},
        "seed": seed,
    }
    return {
        "DeConv VAE": Config.of({**vae("paper", circles, 1700), **fast, "decoder": deconv("paper")}),
        "Spatial Broadcast VAE": Config.of(
            {**vae("paper", circles, 500), **fast, "decoder": broadcast("paper")}
        ),
    }
