"""FAC figure 36: latent traversals of InfoWGAN-GP on MNIST, five seeds."""

from unweave.recipes.fac.digit_codes import beyond_chance, class_in_codes
from unweave.recipes.fac.gans import TEN_CATEGORIES, gans_on_digits
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig36",
    title="Latent traversals of InfoWGAN-GP on MNIST, five seeds",
    claim="The digit class changes in the traversals of the continuous codes of InfoWGAN-GP too.",
    published="pictures only",
    runs=gans_on_digits(TEN_CATEGORIES, "InfoWGANGP"),
    unstated=("steps",),
)(class_in_codes(beyond_chance))
