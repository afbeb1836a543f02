"""SBD figure 13: latent space geometry, circles X-Y with a hole in a corner."""

from unweave.recipes.recipe import recipe
from unweave.recipes.sbd.geometry import geometry_conclusion
from unweave.recipes.sbd.models import circles

recipe(
    "sbd-fig13",
    title="Latent space geometry, circles X-Y with a hole in a corner",
    claim="The Spatial Broadcast decoder helps extrapolation in factor space too.",
    published="pictures only (figure 13); 15 replicas",
    runs=circles("xy", hole="corner", factor=["paper"]),
)(geometry_conclusion)
