"""FAC figure 11: latent traversals of the best models, 3D Shapes."""

from unweave.recipes.claims import equal
from unweave.recipes.fac.methods import BETA_VAE, FACTOR_VAE
from unweave.recipes.fac.models import shapes_3d
from unweave.recipes.fac.scores import best_run
from unweave.recipes.fac.traversals import model_sheet
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.shortfall import shortfall


@recipe(
    "fac-fig11",
    title="Latent traversals of the best models, 3D Shapes",
    claim="Both models capture the factors of variation in the best case.",
    published="scores 1.00 (beta = 32) and 1.00 (gamma = 7); pictures",
    runs=shapes_3d,
)
def figure_11(job: Job) -> Conclusion:
    """Traversals of the best runs and their scores."""
    job.note(shortfall(job))
    best = [best_run(job, method) for method in (BETA_VAE, FACTOR_VAE)]
    return Conclusion(
        [["model", "best FactorVAE score"], *([each.variant.label, f"{each.score:.3f}"] for each in best)],
        [
            equal(
                f"best FactorVAE score of {each.variant.method.name}",
                each.score,
                1.0,
                within=0.05,
                null=5 / 6,
            )
            for each in best
        ],
        {"traversals": model_sheet([(each.title, each.run) for each in best])},
    )
