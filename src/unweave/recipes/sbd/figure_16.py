"""SBD figure 16: latent space geometry, circles X-H with a hole in a corner."""

from unweave.recipes.recipe import recipe
from unweave.recipes.sbd.geometry import geometry_conclusion
from unweave.recipes.sbd.models import circles

recipe(
    "sbd-fig16",
    title="Latent space geometry, circles X-H with a hole in a corner",
    claim="The Spatial Broadcast decoder again yields significant improvements.",
    published="pictures only (figure 16); 15 replicas",
    runs=circles("xh", hole="corner", factor=["paper"]),
)(geometry_conclusion)
