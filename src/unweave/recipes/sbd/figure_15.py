"""SBD figure 15: latent space geometry, circles X-H with a hole in the centre."""

from unweave.recipes.recipe import recipe
from unweave.recipes.sbd.geometry import geometry_conclusion
from unweave.recipes.sbd.models import circles

recipe(
    "sbd-fig15",
    title="Latent space geometry, circles X-H with a hole in the centre",
    claim="The hole is a serious challenge for the DeConv decoder, and the Spatial Broadcast decoder helps a lot.",
    published="pictures only (figure 15); 15 replicas",
    runs=circles("xh", hole="center", factor=["paper"]),
)(geometry_conclusion)
