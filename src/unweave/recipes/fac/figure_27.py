"""FAC figure 27: latent traversals of InfoGAN on MNIST, three continuous codes."""

from unweave.recipes.fac.digit_codes import class_in_codes, more_than_first
from unweave.recipes.fac.gans import THREE_CODES, gans_on_digits
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig27",
    title="Latent traversals of InfoGAN on MNIST, three continuous codes",
    claim="With three continuous codes more of the digit class goes into them.",
    published="pictures only",
    runs=gans_on_digits(THREE_CODES, stopped=True),
    unstated=("steps", "replicas"),
)(class_in_codes(more_than_first))
