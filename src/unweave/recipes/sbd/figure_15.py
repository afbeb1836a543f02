"""SBD figure 15: latent space geometry, circles X-H with a hole in the centre."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import contraction, geometry_conclusion, usual_findings
from unweave.recipes.sbd.models import circles


@recipe(
    "sbd-fig15",
    title="Latent space geometry, circles X-H with a hole in the centre",
    claim="The hole is a serious challenge for the DeConv decoder, and the Spatial Broadcast decoder helps a lot. "
    "FactorVAE contracts the hole in latent space.",
    published="pictures only (figure 15); 15 replicas",
    runs=circles("xh", hole="center", factor=["paper"]),
)
def figure_15(job: Job) -> Conclusion:
    """Figure 14 with a hole in the data."""
    return geometry_conclusion(job, [*usual_findings(job), *contraction(job)])
