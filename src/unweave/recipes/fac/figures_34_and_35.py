"""FAC figures 34 and 35: InfoWGAN-GP with a bigger architecture on 2D Shapes."""

from unweave.recipes.fac.gan_conclusions import scores_conclusion
from unweave.recipes.fac.gans import gans_2d
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig34",
    "fac-fig35",
    title="InfoWGAN-GP with a bigger architecture on 2D Shapes",
    claim="A bigger architecture does not lift the scores of InfoWGAN-GP: they stay below FactorVAE's.",
    published="scores for lambda from 0 to 1, pictures only; best run at lambda = 0.6",
    runs=gans_2d(bigger=True),
    unstated=("steps",),
)(scores_conclusion)
