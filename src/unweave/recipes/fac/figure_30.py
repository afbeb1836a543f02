"""FAC figure 30: reconstructions of InfoGAN on MNIST with varying noise, two categories."""

from unweave.recipes.fac.digit_noise import class_by_noise, more_than_first
from unweave.recipes.fac.gans import TWO_CATEGORIES, gans_on_digits
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig30",
    title="Reconstructions of InfoGAN on MNIST with varying noise, two categories",
    claim="With two categories the noise has more information about the digit class.",
    published="pictures only",
    runs=gans_on_digits(TWO_CATEGORIES, stopped=True),
    unstated=("steps", "replicas"),
)(class_by_noise(more_than_first))
