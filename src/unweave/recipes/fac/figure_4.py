"""FAC figure 4: reconstruction error and both metrics over training, 2D Shapes."""

from unweave.plots.seed_bands import banded_curves
from unweave.recipes.claims import higher
from unweave.recipes.fac.curves import histories, scores_by_stage
from unweave.recipes.fac.methods import BETA_VAE, FACTOR_VAE, variants_of
from unweave.recipes.fac.models import stages_2d, vaes_2d
from unweave.recipes.fac.scores import (
    ERROR,
    HEADINGS,
    SCORE,
    best_variant,
    higgins_of,
    sacrifice,
    score_table,
)
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.shortfall import shortfall


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
    methods, higgins = (BETA_VAE, FACTOR_VAE), higgins_of(job.scale)
    panels = [[(method.name, histories(job, method, "reconstruction")) for method in methods]]
    panels += [
        [("", scores_by_stage(job, method, score)) for method in methods] for score in (higgins, SCORE)
    ]
    top = best_variant(job, FACTOR_VAE)
    rows = [HEADINGS[score] for score in (ERROR, higgins, SCORE)]
    plain = next(variant for variant in variants_of(job, BETA_VAE) if variant.weight == 1)
    return Conclusion(
        score_table(job, ERROR, higgins, SCORE),
        [
            higher(
                f"FactorVAE score, best gamma ({top.label}) minus {plain.label}",
                job.scores(top.name, SCORE),
                job.scores(plain.name, SCORE),
            ),
            sacrifice(job, top, plain),
        ],
        {"training": banded_curves(panels, rows=rows, unit_interval=(1, 2))},
    )
