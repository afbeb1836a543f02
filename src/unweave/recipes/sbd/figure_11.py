"""SBD figure 11: latent space geometry, circles X-Y, VAE and FactorVAE."""

from unweave.recipes.recipe import recipe
from unweave.recipes.sbd.geometry import geometry_conclusion
from unweave.recipes.sbd.models import circles

recipe(
    "sbd-fig11",
    title="Latent space geometry, circles X-Y: VAE and FactorVAE",
    claim="The Spatial Broadcast decoder flattens the latent space of a FactorVAE as well as that of a VAE.",
    published="pictures only (figure 11); 15 replicas",
    runs=circles("xy", factor=["small", "paper"]),
)(geometry_conclusion)
