"""SBD figure 7: small objects."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import small_objects_conclusion
from unweave.recipes.sbd.models import circles


@recipe(
    "sbd-fig7",
    title="Small objects: circles of 0.1 frame widths in all positions and hues",
    claim="A DeConv VAE learns an entangled, discontinuous code of small objects, Spatial Broadcast does not.",
    published="pictures only (figure 7)",
    runs=circles("xyh_small", paper=5),
)
def figure_7(job: Job) -> Conclusion:
    """Traversals of the four most informative latents, and the geometry of x and y."""
    return small_objects_conclusion(job)
