"""SBD figure 12: latent space geometry, circles X-Y with a hole in the centre."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import broadcast_generalises, broadcast_higher, geometry_conclusion
from unweave.recipes.sbd.models import circles


@recipe(
    "sbd-fig12",
    title="Latent space geometry, circles X-Y with a hole in the centre",
    claim="With dependent factors the Spatial Broadcast decoder still flattens the space, even through the hole.",
    published="pictures only (figure 12); 15 replicas",
    runs=circles("xy", hole="center", factor=["paper"]),
)
def figure_12(job: Job) -> Conclusion:
    """The grid of positions in latent space; positions that training never saw are black."""
    return geometry_conclusion(job, [*broadcast_higher(job), *broadcast_generalises(job)])
