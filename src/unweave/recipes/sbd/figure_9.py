"""SBD figure 9: CoordConv VAE on coloured sprites."""

from typing import Any

from unweave.recipes.claims import higher, similar
from unweave.recipes.recipe import Conclusion, Job, Scale, recipe
from unweave.recipes.sbd.models import BROADCAST, COORDCONV, DECONV, WIDTH, both_decoders, sprites
from unweave.recipes.sbd.published import BROADCAST_ROW, DECONV_ROW
from unweave.recipes.sbd.score_table import column, score_rows
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
    broadcast, coordconv, deconv = (column(job, variant, "mig") for variant in (BROADCAST, COORDCONV, DECONV))
    return Conclusion(
        score_rows(job, {DECONV: DECONV_ROW, BROADCAST: BROADCAST_ROW}),
        [
            higher(f"MIG, {BROADCAST} minus {COORDCONV}", broadcast, coordconv),
            *similar(f"MIG of {COORDCONV} and {DECONV}", coordconv, deconv),
        ],
        {"traversals": median_traversals(job, [COORDCONV], latents=10, compared=job.variants)},
    )
