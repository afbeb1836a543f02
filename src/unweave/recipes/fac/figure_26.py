"""FAC figure 26: reconstructions of InfoGAN on MNIST with varying noise."""

from unweave.recipes.fac.digit_noise import class_by_noise, oftener_than_misread
from unweave.recipes.fac.gans import TEN_CATEGORIES, gans_on_digits
from unweave.recipes.recipe import Conclusion, Job, recipe


@recipe(
    "fac-fig26",
    title="Reconstructions of InfoGAN on MNIST with varying noise",
    claim="The digit class often changes with the noise.",
    published="pictures only",
    runs=gans_on_digits(TEN_CATEGORIES),
)
def figure_26(job: Job) -> Conclusion:
    """Reconstructions with different noise, and how often it changes their class."""
    return class_by_noise(job, oftener_than_misread)
