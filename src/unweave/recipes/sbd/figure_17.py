"""SBD figure 17: latent space geometry, circles R-G."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import broadcast_higher, geometry_conclusion
from unweave.recipes.sbd.models import circles


@recipe(
    "sbd-fig17",
    title="Latent space geometry, circles R-G",
    claim="Without positional variation the Spatial Broadcast decoder does not hurt.",
    published="pictures only (figure 17); 15 replicas; 3 of 15 DeConv VAEs have a MIG near zero",
    runs=circles("rg", factor=["paper"]),
)
def figure_17(job: Job) -> Conclusion:
    """The grid of reds and greens in latent space; not worse means by less than 0.1 of the geometry score."""
    return geometry_conclusion(job, broadcast_higher(job, margin=0.1))
