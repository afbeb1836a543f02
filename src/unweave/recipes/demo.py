"""The demonstration: the effect of a decoder's architecture on the latent space, in a few minutes on two cores."""

from unweave.runs.config import Config

TITLE = "Same data, same loss, another decoder"

INTRO = """\
Both models are plain VAEs (beta = 1, ten latents) trained on the same images: one white circle at a random position,
so that the data have exactly two factors, x and y. One decodes with the usual stack of up-convolutions (DeConv), the
other with the Spatial Broadcast decoder, in which every pixel receives the code and its own coordinates. Each was
trained on one CPU core for about the same time. A good representation of these data is a map of the square of
positions."""


def demo_configs(seed: int = 0) -> dict[str, Config]:
    """The two runs of the demonstration by name: circles X-Y, networks of SBD table 1, batch 16, Adam at 3e-4.

    The paper trains for 500,000 steps; here 600 (broadcast) and 2,000 (DeConv, whose steps are cheaper), so that both
    take about the same time.

    Reference: SBD figure 4, tables 1, 3 and 4.

    Example:
        >>> [config.decoder.name for config in demo_configs().values()]
        ['Deconv', 'SpatialBroadcast']
    """
    shared = {
        "data": {"name": "Circles", "variant": "xy"},
        "encoder": {"name": "Conv", "channels": [64, 64, 64, 64], "initialisation": "truncated_normal"},
        "batch_size": 16,
        "learning_rate": 3e-4,
        "latents": 10,
        "seed": seed,
    }
    deconv = {
        "name": "Deconv",
        "channels": [64, 64, 64, 64, 64],
        "hidden": [],
        "initialisation": "truncated_normal",
    }
    return {
        "DeConv VAE": Config.of({**shared, "decoder": deconv, "steps": 2000}),
        "Spatial Broadcast VAE": Config.of({**shared, "decoder": "SpatialBroadcast", "steps": 600}),
    }
