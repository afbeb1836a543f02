"""SBD table 5: depth of the Spatial Broadcast decoder, coloured sprites."""

import numpy as np

from unweave.metrics import mutual_information
from unweave.recipes.claims import Finding, correlated
from unweave.recipes.recipe import Job, recipe
from unweave.recipes.sbd.ablations import Ablation
from unweave.recipes.sbd.models import broadcast, sprites
from unweave.recipes.sbd.published import TABLE_5
from unweave.runs.evaluation import codes_of

GROUPS = {
    "colour": ("hue", "saturation", "value"),
    "angle": ("orientation",),
    "shape": ("shape",),
    "size": ("scale",),
    "position": ("x", "y"),
}
"""Factors in the order in which deeper decoders drop them, the first one first (caption of table 5)."""


def order_of_loss(job: Job) -> list[Finding]:
    """The claim that the deepest decoder knows most of positions and least of colours, in the caption's order."""
    places, shares = [], []
    for run in job.runs(job.variants[-1]):
        codes, names = codes_of(run), list(run.dataset().factor_space().names)
        assert codes.factors is not None
        nats = mutual_information(codes.means, codes.factors).max(axis=0)
        for place, factors in enumerate(GROUPS.values()):
            places.append(place)
            shares.append(float(np.mean([nats[names.index(factor)] for factor in factors])))
    return [
        correlated(
            "nats known of a factor, with its place in the order in which factors are dropped", places, shares
        )
    ]


ABLATION = Ablation(
    published=TABLE_5,
    noun="layer",
    varied="depth",
    axis="convolutions",
    decoder=lambda scale, depth: broadcast(scale, depth=depth),
    number=lambda config: int(config.decoder.options["depth"]),
    smoke=(3, 5),
    trends={"kl": -1, "latents_used": -1},
    more=order_of_loss,
)

recipe(
    "sbd-table5",
    title="Depth of the Spatial Broadcast decoder, coloured sprites",
    claim="The deeper the decoder, the lower the rate: less KL, fewer latents used.",
    published="KL 27.5, 24.4, 22.6, 22.7 and latents used 8.33, 7.22, 5.93, 5.70 at depths 2 to 5 (table 5)",
    runs=sprites(ABLATION.variants),
)(ABLATION.conclude)
