"""FAC figure 33: losses of InfoWGAN-GP on 2D Shapes over training."""

from unweave.recipes.fac.gan_conclusions import losses_conclusion
from unweave.recipes.fac.gans import gan_on_2d_shapes
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig33",
    title="Losses of InfoWGAN-GP on 2D Shapes over training",
    claim="InfoWGAN-GP solves the degeneracy: its critic goes on to tell real images from generated ones.",
    published="curves only",
    runs=gan_on_2d_shapes,
    unstated=("steps", "replicas"),
)(losses_conclusion)
