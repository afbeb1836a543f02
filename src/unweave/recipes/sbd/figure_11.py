"""SBD figure 11: latent space geometry, circles X-Y, VAE and FactorVAE."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import broadcast_higher, geometry_conclusion
from unweave.recipes.sbd.models import circles


@recipe(
    "sbd-fig11",
    title="Latent space geometry, circles X-Y: VAE and FactorVAE",
    claim="The Spatial Broadcast decoder flattens the latent space of a FactorVAE as well as that of a VAE.",
    published="pictures only (figure 11); 15 replicas",
    runs=circles("xy", factor=["small", "paper"]),
)
def figure_11(job: Job) -> Conclusion:
    """Figure 4 with FactorVAE."""
    return geometry_conclusion(job, broadcast_higher(job))
