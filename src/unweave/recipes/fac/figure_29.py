"""FAC figure 29: latent traversals of InfoGAN on MNIST, twenty categories."""

from unweave.recipes.fac.digit_codes import beyond_chance, class_in_codes
from unweave.recipes.fac.gans import TWENTY_CATEGORIES, gans_on_digits
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig29",
    title="Latent traversals of InfoGAN on MNIST, twenty categories",
    claim="With twenty categories the continuous codes still hold information about the digit class.",
    published="pictures only",
    runs=gans_on_digits(TWENTY_CATEGORIES, stopped=True),
    unstated=("steps", "replicas"),
)(class_in_codes(beyond_chance))
