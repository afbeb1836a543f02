"""SBD figure 19: latent space geometry, circles R-G with a hole in a corner."""

from unweave.recipes.recipe import recipe
from unweave.recipes.sbd.geometry import geometry_conclusion
from unweave.recipes.sbd.models import circles

recipe(
    "sbd-fig19",
    title="Latent space geometry, circles R-G with a hole in a corner",
    claim="The Spatial Broadcast decoder reduces the warping of the latent space, though MIG may be lower by rotation.",
    published="pictures only (figure 19); 15 replicas",
    runs=circles("rg", hole="corner", factor=["paper"]),
)(geometry_conclusion)
