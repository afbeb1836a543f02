"""SBD figure 16: latent space geometry, circles X-H with a hole in a corner."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import contraction, geometry_conclusion, usual_findings
from unweave.recipes.sbd.models import circles


@recipe(
    "sbd-fig16",
    title="Latent space geometry, circles X-H with a hole in a corner",
    claim="The Spatial Broadcast decoder again yields significant improvements. "
    "FactorVAE contracts the hole in latent space.",
    published="pictures only (figure 16); 15 replicas",
    runs=circles("xh", hole="corner", factor=["paper"]),
)
def figure_16(job: Job) -> Conclusion:
    """Figure 14 with a hole in the data."""
    return geometry_conclusion(job, [*usual_findings(job), *contraction(job)])
