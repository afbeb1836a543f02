"""FAC figure 4: reconstruction error and both metrics over training, 2D Shapes."""

from unweave.plots.seed_bands import Band, banded_curves
from unweave.recipes.claims import higher
from unweave.recipes.fac.curves import band, histories
from unweave.recipes.fac.methods import BETA_VAE, FACTOR_VAE, Method, stages_of, variants_of
from unweave.recipes.fac.models import stages_2d, vaes_2d
from unweave.recipes.fac.scores import ERROR, HEADINGS, HIGGINS, SCORE, best_variant, score_table
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.shortfall import shortfall


def scores_by_stage(job: Job, method: Method, score: str) -> dict[str, Band]:
    """A score where the runs of a method were stopped, for each weight."""
    found = {}
    for variant in variants_of(job, method):
        stages = stages_of(job, variant.name)
        found[variant.label] = band(list(stages), [job.scores(stage, score) for stage in stages.values()])
    return found


@recipe(
    "fac-fig4",
    title="Reconstruction error and both metrics over training, 2D Shapes",
    claim="FactorVAE has much better disentanglement scores than VAEs (beta = 1) while barely sacrificing "
    "reconstruction.",
    published="curves only",
    runs=stages_2d(vaes_2d),
)
def figure_4(job: Job) -> Conclusion:
    """Errors as logged, scores where runs were stopped."""
    job.note(shortfall(job))
    methods = (BETA_VAE, FACTOR_VAE)
    panels = [[(method.name, histories(job, method, "reconstruction")) for method in methods]]
    panels += [
        [("", scores_by_stage(job, method, score)) for method in methods] for score in (HIGGINS, SCORE)
    ]
    top = best_variant(job, FACTOR_VAE)
    plain = next(variant for variant in variants_of(job, BETA_VAE) if variant.weight == 1)
    return Conclusion(
        score_table(job, ERROR, HIGGINS, SCORE),
        [
            higher(
                f"FactorVAE score, best gamma ({top.label}) minus {plain.label}",
                job.scores(top.name, SCORE),
                job.scores(plain.name, SCORE),
            )
        ],
        {"training": banded_curves(panels, rows=list(HEADINGS.values()), unit_interval=(1, 2))},
    )
