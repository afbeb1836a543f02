"""FAC figure 28: latent traversals of InfoGAN on MNIST, two categories."""

from unweave.recipes.fac.digit_codes import class_in_codes, more_than_first
from unweave.recipes.fac.gans import TWO_CATEGORIES, gans_on_digits
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig28",
    title="Latent traversals of InfoGAN on MNIST, two categories",
    claim="With two categories much more of the digit class goes into the continuous codes.",
    published="pictures only",
    runs=gans_on_digits(TWO_CATEGORIES, stopped=True),
    unstated=("steps", "replicas"),
)(class_in_codes(more_than_first))
