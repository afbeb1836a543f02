"""SBD figure 19: latent space geometry, circles R-G with a hole in a corner."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import broadcast_generalises, broadcast_higher, geometry_conclusion
from unweave.recipes.sbd.models import circles


@recipe(
    "sbd-fig19",
    title="Latent space geometry, circles R-G with a hole in a corner",
    claim="The Spatial Broadcast decoder reduces the warping of the latent space, though MIG may be lower by rotation.",
    published="pictures only (figure 19); 15 replicas",
    runs=circles("rg", hole="corner", factor=["paper"]),
)
def figure_19(job: Job) -> Conclusion:
    """Figure 17 with a hole in a corner."""
    return geometry_conclusion(job, [*broadcast_higher(job), *broadcast_generalises(job)])
