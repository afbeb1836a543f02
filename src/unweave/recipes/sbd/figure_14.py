"""SBD figure 14: latent space geometry, circles X-H."""

from unweave.recipes.recipe import recipe
from unweave.recipes.sbd.geometry import geometry_conclusion
from unweave.recipes.sbd.models import circles

recipe(
    "sbd-fig14",
    title="Latent space geometry, circles X-H",
    claim="With position and hue the Spatial Broadcast decoder helps less than with two positions, but helps.",
    published="pictures only (figure 14); 15 replicas",
    runs=circles("xh", factor=["paper"]),
)(geometry_conclusion)
