"""FAC figure 27: latent traversals of InfoGAN on MNIST, three continuous codes."""

from unweave.recipes.fac.digit_codes import class_in_codes, more_than_first
from unweave.recipes.fac.gans import THREE_CODES, gans_on_digits
from unweave.recipes.recipe import Conclusion, Job, recipe


@recipe(
    "fac-fig27",
    title="Latent traversals of InfoGAN on MNIST, three continuous codes",
    claim="With three continuous codes more of the digit class goes into them.",
    published="pictures only",
    runs=gans_on_digits(THREE_CODES),
)
def figure_27(job: Job) -> Conclusion:
    """Traversals of codes, and how much of the class the continuous codes hold."""
    return class_in_codes(job, more_than_first)
