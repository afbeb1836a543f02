"""SBD figure 4: latent space geometry, circles X-Y."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import broadcast_higher, geometry_conclusion
from unweave.recipes.sbd.models import circles


@recipe(
    "sbd-fig4",
    title="Latent space geometry: DeConv against Spatial Broadcast, circles X-Y",
    claim="The Spatial Broadcast decoder maps the plane of positions onto a plane of latents; DeConv does not.",
    published="pictures only (figure 4); 15 replicas. MIG does not capture the contrast, as it minds rotations",
    runs=circles("xy"),
)
def figure_4(job: Job) -> Conclusion:
    """The grid of positions in latent space."""
    return geometry_conclusion(job, broadcast_higher(job))
