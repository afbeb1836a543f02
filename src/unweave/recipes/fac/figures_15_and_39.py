"""FAC figures 15 and 39: reconstruction error and traversals of beta-VAE and FactorVAE, CelebA."""

from unweave.recipes.fac.unlabelled import CLAIM, PUBLISHED, TITLE, errors_and_traversals, vaes_on
from unweave.recipes.recipe import Conclusion, Job, recipe


@recipe(
    "fac-fig15",
    "fac-fig39",
    title=TITLE.format("CelebA"),
    claim=CLAIM,
    published=PUBLISHED,
    runs=vaes_on("CelebA", 1e-5),
)
def figures_15_and_39(job: Job) -> Conclusion:
    """Errors over training in one figure, traversals in the other."""
    return errors_and_traversals(
        job, "CelebA", first="traversals" if job.recipe.id == "fac-fig15" else "errors"
    )
