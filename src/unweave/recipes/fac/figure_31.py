"""FAC figure 31: reconstructions of InfoGAN on MNIST with varying noise, twenty categories."""

from unweave.recipes.fac.digit_noise import class_by_noise, less_than_first
from unweave.recipes.fac.gans import TWENTY_CATEGORIES, gans_on_digits
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig31",
    title="Reconstructions of InfoGAN on MNIST with varying noise, twenty categories",
    claim="With twenty categories the noise has less semantically meaningful information.",
    published="pictures only",
    runs=gans_on_digits(TWENTY_CATEGORIES, stopped=True),
    unstated=("steps", "replicas"),
)(class_by_noise(less_than_first))
