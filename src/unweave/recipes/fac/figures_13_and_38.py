"""FAC figures 13 and 38: reconstruction error and traversals of beta-VAE and FactorVAE, 3D Chairs."""

from unweave.recipes.fac.unlabelled import CLAIM, PUBLISHED, TITLE, errors_and_traversals, vaes_on
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig13",
    "fac-fig38",
    title=TITLE.format("3D Chairs"),
    claim=CLAIM,
    published=PUBLISHED,
    runs=vaes_on("Chairs3D", 1e-5),
)(errors_and_traversals(errors="fac-fig38"))
