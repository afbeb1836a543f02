"""FAC figures 12 and 14: reconstruction error and traversals of beta-VAE and FactorVAE, 3D Faces."""

from unweave.recipes.fac.unlabelled import CLAIM, PUBLISHED, TITLE, errors_and_traversals, vaes_on
from unweave.recipes.recipe import recipe

recipe(
    "fac-fig12",
    "fac-fig14",
    title=TITLE.format("3D Faces"),
    claim=CLAIM,
    published=PUBLISHED,
    runs=vaes_on("Faces3D", 1e-4, channels=1),
)(errors_and_traversals(errors="fac-fig12"))
