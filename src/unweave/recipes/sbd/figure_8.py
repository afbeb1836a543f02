"""SBD figure 8: tiny objects."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import small_objects_conclusion
from unweave.recipes.sbd.models import circles


@recipe(
    "sbd-fig8",
    title="Tiny objects: circles of 0.075 frame widths in all positions and hues",
    claim="A DeConv VAE learns an entangled, discontinuous code of tiny objects, Spatial Broadcast does not.",
    published="pictures only (figure 8)",
    runs=circles("xyh_tiny", paper=5),
)
def figure_8(job: Job) -> Conclusion:
    """Traversals of the four most informative latents, and the geometry of x and y."""
    return small_objects_conclusion(job)
