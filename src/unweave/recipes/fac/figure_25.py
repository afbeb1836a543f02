"""FAC figure 25: latent traversals of InfoGAN on MNIST, five seeds."""

from unweave.recipes.fac.digit_codes import beyond_chance, class_in_codes
from unweave.recipes.fac.gans import TEN_CATEGORIES, gans_on_digits
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig25",
    title="Latent traversals of InfoGAN on MNIST, five seeds",
    claim="The digit class changes in the traversals of the continuous codes.",
    published="pictures only",
    runs=gans_on_digits(TEN_CATEGORIES, stopped=True),
    unstated=("steps",),
)(class_in_codes(beyond_chance))
