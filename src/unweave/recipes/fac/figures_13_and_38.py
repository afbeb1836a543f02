"""FAC figures 13 and 38: reconstruction error and traversals of beta-VAE and FactorVAE, 3D Chairs."""

from unweave.recipes.fac.unlabelled import CLAIM, PUBLISHED, TITLE, errors_and_traversals, vaes_on
from unweave.recipes.recipe import Conclusion, Job, recipe


@recipe(
    "fac-fig13",
    "fac-fig38",
    title=TITLE.format("3D Chairs"),
    claim=CLAIM,
    published=PUBLISHED,
    runs=vaes_on("Chairs3D", 1e-5),
)
def figures_13_and_38(job: Job) -> Conclusion:
    """Errors over training in one figure, traversals in the other."""
    return errors_and_traversals(
        job, "Chairs3D", first="traversals" if job.recipe.id == "fac-fig13" else "errors"
    )
