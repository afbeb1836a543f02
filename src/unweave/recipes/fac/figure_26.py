"""FAC figure 26: reconstructions of InfoGAN on MNIST with varying noise."""

from unweave.recipes.fac.digit_noise import class_by_noise, oftener_than_misread
from unweave.recipes.fac.gans import TEN_CATEGORIES, gans_on_digits
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig26",
    title="Reconstructions of InfoGAN on MNIST with varying noise",
    claim="The digit class often changes with the noise.",
    published="pictures only",
    runs=gans_on_digits(TEN_CATEGORIES, stopped=True),
    unstated=("steps", "replicas"),
)(class_by_noise(oftener_than_misread))
