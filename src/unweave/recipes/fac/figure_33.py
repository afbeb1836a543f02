"""FAC figure 33: losses of InfoWGAN-GP on 2D Shapes over training."""

from unweave.recipes.fac.gan_conclusions import losses_conclusion
from unweave.recipes.fac.gans import gans_2d
from unweave.recipes.recipe import Conclusion, Job, recipe


@recipe(
    "fac-fig33",
    title="Losses of InfoWGAN-GP on 2D Shapes over training",
    claim="InfoWGAN-GP solves the degeneracy: its critic goes on to tell real images from generated ones.",
    published="curves only",
    runs=gans_2d(),
)
def figure_33(job: Job) -> Conclusion:
    """Generator loss, critic gap and information term over training."""
    return losses_conclusion(job)
