"""SBD figure 18: latent space geometry, circles R-G with a hole in the centre."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import broadcast_generalises, broadcast_higher, geometry_conclusion
from unweave.recipes.sbd.models import circles


@recipe(
    "sbd-fig18",
    title="Latent space geometry, circles R-G with a hole in the centre",
    claim="With a hole in the data the benefit of the Spatial Broadcast decoder is clearer than without.",
    published="pictures only (figure 18); 15 replicas",
    runs=circles("rg", hole="center", factor=["paper"]),
)
def figure_18(job: Job) -> Conclusion:
    """Figure 17 with a hole in the centre."""
    return geometry_conclusion(job, [*broadcast_higher(job), *broadcast_generalises(job)])
