"""SBD figure 16: latent space geometry, circles X-H with a hole in a corner."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import broadcast_generalises, broadcast_higher, geometry_conclusion
from unweave.recipes.sbd.models import circles


@recipe(
    "sbd-fig16",
    title="Latent space geometry, circles X-H with a hole in a corner",
    claim="The Spatial Broadcast decoder again yields significant improvements.",
    published="pictures only (figure 16); 15 replicas",
    runs=circles("xh", hole="corner", factor=["paper"]),
)
def figure_16(job: Job) -> Conclusion:
    """Figure 14 with a hole in a corner."""
    return geometry_conclusion(job, [*broadcast_higher(job), *broadcast_generalises(job)])
