"""SBD figure 14: latent space geometry, circles X-H."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import broadcast_higher, geometry_conclusion
from unweave.recipes.sbd.models import circles


@recipe(
    "sbd-fig14",
    title="Latent space geometry, circles X-H",
    claim="With position and hue the Spatial Broadcast decoder helps less than with two positions, but helps.",
    published="pictures only (figure 14); 15 replicas",
    runs=circles("xh", factor=["paper"]),
)
def figure_14(job: Job) -> Conclusion:
    """The grid of positions and hues in latent space."""
    return geometry_conclusion(job, broadcast_higher(job))
