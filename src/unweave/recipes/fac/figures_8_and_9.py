"""FAC figures 8 and 9: InfoWGAN-GP on 2D Shapes, scores, and traversals of the best run."""

from unweave.recipes.fac.gan_conclusions import scores_conclusion
from unweave.recipes.fac.gans import gans_2d
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig8",
    "fac-fig9",
    title="InfoWGAN-GP on 2D Shapes: scores, and traversals of the best run",
    claim="The disentanglement scores of InfoWGAN-GP are disappointingly low.",
    published="scores for lambda from 0 to 1, pictures only; best run at lambda = 0.2",
    runs=gans_2d(),
    unstated=("steps",),
)(scores_conclusion)
