"""FAC figures 15 and 39: reconstruction error and traversals of beta-VAE and FactorVAE, CelebA."""

from unweave.recipes.fac.unlabelled import CLAIM, PUBLISHED, TITLE, errors_and_traversals, vaes_on
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig15",
    "fac-fig39",
    title=TITLE.format("CelebA"),
    claim=CLAIM,
    published=PUBLISHED,
    runs=vaes_on("CelebA", 1e-5),
)(errors_and_traversals(errors="fac-fig39"))
