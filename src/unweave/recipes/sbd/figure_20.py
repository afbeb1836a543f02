"""SBD figure 20: latent space geometry, circles X-H, half of the images blank."""

from unweave.recipes.claims import exceeds
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import broadcast_higher, geometry_conclusion
from unweave.recipes.sbd.models import BROADCAST, circles


@recipe(
    "sbd-fig20",
    title="Latent space geometry, circles X-H, half of the images blank",
    claim="Geometry and MIG are better with the Spatial Broadcast decoder, which spends a third latent on presence.",
    published="pictures only (figure 20); 15 replicas",
    runs=circles("xh", blank=0.5, factor=["paper"]),
)
def figure_20(job: Job) -> Conclusion:
    """Figure 14 with black images; their code is the black star."""
    used = job.scores(f"{BROADCAST} VAE", "latents_used")
    return geometry_conclusion(
        job,
        [
            *broadcast_higher(job),
            *broadcast_higher(job, "mig", "MIG"),
            exceeds(f"latents used by the {BROADCAST} VAE, against the two factors of a circle", used, 2.0),
        ],
    )
