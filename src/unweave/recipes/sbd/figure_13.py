"""SBD figure 13: latent space geometry, circles X-Y with a hole in a corner."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import broadcast_generalises, broadcast_higher, geometry_conclusion
from unweave.recipes.sbd.models import circles


@recipe(
    "sbd-fig13",
    title="Latent space geometry, circles X-Y with a hole in a corner",
    claim="The Spatial Broadcast decoder helps extrapolation in factor space too.",
    published="pictures only (figure 13); 15 replicas",
    runs=circles("xy", hole="corner", factor=["paper"]),
)
def figure_13(job: Job) -> Conclusion:
    """Figure 12 with the hole in a corner."""
    return geometry_conclusion(job, [*broadcast_higher(job), *broadcast_generalises(job)])
