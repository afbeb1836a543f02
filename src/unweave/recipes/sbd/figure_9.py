"""SBD figure 9: CoordConv VAE on coloured sprites."""

from typing import Any

from unweave.recipes.claims import higher
from unweave.recipes.recipe import Conclusion, Job, Scale, recipe
from unweave.recipes.sbd.models import BROADCAST, COORDCONV, DECONV, WIDTH, both_decoders, sprites
from unweave.recipes.sbd.published import BROADCAST_ROW, DECONV_ROW
from unweave.recipes.sbd.score_table import score_rows
from unweave.recipes.sbd.traversals import median_traversals
from unweave.recipes.shortfall import shortfall


def three_decoders(scale: Scale) -> dict[str, Any]:
    """The two decoders of table 1, and the CoordConv decoder of SBD appendix E with as many layers."""
    coordconv = {"name": "CoordConv", "channels": [WIDTH[scale]] * 5}
    return {**both_decoders(scale), COORDCONV: {"decoder": coordconv}}


@recipe(
    "sbd-fig9",
    title="CoordConv VAE on coloured sprites",
    claim="A CoordConv VAE has a far lower MIG than a Spatial Broadcast VAE, about that of a DeConv VAE.",
    published="pictures only (figure 9); Spatial Broadcast 0.147, DeConv 0.052 (tables 5 and 8)",
    runs=sprites(three_decoders),
)
def figure_9(job: Job) -> Conclusion:
    """MIG of the three decoders; traversals of all latents of the median CoordConv VAE."""
    job.note(shortfall(job))
    broadcast, coordconv = job.scores(BROADCAST, "mig"), job.scores(COORDCONV, "mig")
    return Conclusion(
        score_rows(job, {DECONV: DECONV_ROW, BROADCAST: BROADCAST_ROW}),
        [higher(f"MIG, {BROADCAST} minus {COORDCONV}", broadcast, coordconv)],
        {"traversals": median_traversals(job, [COORDCONV], latents=10, compared=job.variants)},
    )
