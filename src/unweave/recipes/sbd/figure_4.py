"""SBD figure 4: latent space geometry, circles X-Y."""

from unweave.recipes.recipe import recipe
from unweave.recipes.sbd.geometry import geometry_conclusion
from unweave.recipes.sbd.models import circles

recipe(
    "sbd-fig4",
    title="Latent space geometry: DeConv against Spatial Broadcast, circles X-Y",
    claim="The Spatial Broadcast decoder maps the plane of positions onto a plane of latents; DeConv does not.",
    published="pictures only (figure 4); 15 replicas. MIG does not capture the contrast, as it minds rotations",
    runs=circles("xy"),
)(geometry_conclusion)
