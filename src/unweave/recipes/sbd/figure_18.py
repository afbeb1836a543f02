"""SBD figure 18: latent space geometry, circles R-G with a hole in the centre."""

from unweave.recipes.recipe import recipe
from unweave.recipes.sbd.geometry import geometry_conclusion
from unweave.recipes.sbd.models import circles

recipe(
    "sbd-fig18",
    title="Latent space geometry, circles R-G with a hole in the centre",
    claim="With a hole in the data the benefit of the Spatial Broadcast decoder is clearer than without.",
    published="pictures only (figure 18); 15 replicas",
    runs=circles("rg", hole="center", factor=["paper"]),
)(geometry_conclusion)
