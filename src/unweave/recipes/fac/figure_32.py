"""FAC figure 32: losses of InfoWGAN-GP on MNIST over training."""

from unweave.recipes.fac.gan_conclusions import losses_conclusion
from unweave.recipes.fac.gans import AS_PUBLISHED, gans_on_digits
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig32",
    title="Losses of InfoWGAN-GP on MNIST over training",
    claim="InfoWGAN-GP solves the degeneracy: its critic goes on to tell real images from generated ones.",
    published="curves only",
    runs=gans_on_digits({"lambda=1": {**AS_PUBLISHED, "lambda_mi": 1.0}}, "InfoWGANGP"),
    unstated=("steps", "replicas"),
)(losses_conclusion)
