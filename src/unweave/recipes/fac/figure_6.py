"""FAC figure 6: latent traversals of the best models, 2D Shapes."""

import numpy as np
from numpy.typing import NDArray

from unweave.metrics import mutual_information
from unweave.recipes.claims import equal, exceeds, paired
from unweave.recipes.fac.methods import BETA_VAE, FACTOR_VAE, variants_of
from unweave.recipes.fac.models import shapes_2d
from unweave.recipes.fac.scores import best_run
from unweave.recipes.fac.traversals import model_sheet
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.shortfall import shortfall
from unweave.runs.evaluation import codes_of

PUBLISHED = {"beta = 4": 0.814, "gamma = 35": 0.889}
"""The scores of the models that the paper shows."""

FACTORS = {"shape": 3, "scale": 6, "orientation": 40, "x": 32, "y": 32}
"""Factors of 2D Shapes and how many values each has."""


def _shares_known(job: Job) -> NDArray[np.float64]:
    """How much of each factor the latent knows that knows most of it, a share of its entropy, (runs, factors)."""
    known = []
    for variant in [*variants_of(job, BETA_VAE), *variants_of(job, FACTOR_VAE)]:
        for run in job.runs(variant.name):
            codes = codes_of(run)
            assert codes.factors is not None
            nats = mutual_information(codes.means, codes.factors).max(axis=0)
            known.append(nats / np.log(list(FACTORS.values())))
    return np.array(known)


@recipe(
    "fac-fig6",
    title="Latent traversals of the best models, 2D Shapes",
    claim="Both models find x, y and scale but struggle to disentangle orientation and shape.",
    published="scores 0.814 (beta = 4) and 0.889 (gamma = 35); pictures",
    runs=shapes_2d,
)
def figure_6(job: Job) -> Conclusion:
    """Traversals, and how much of each factor the latent knows that knows most of it."""
    job.note(shortfall(job))
    share = _shares_known(job)
    rows = [["factor", "share of it that the best latent knows, mean over runs"]]
    rows += [[name, f"{value:.3f}"] for name, value in zip(FACTORS, share.mean(axis=0), strict=True)]
    best = [best_run(job, method) for method in (BETA_VAE, FACTOR_VAE)]
    for each, (weight, published) in zip(best, PUBLISHED.items(), strict=True):
        rows.append([f"best FactorVAE score, {each.variant.label}", f"{each.score:.3f}"])
        rows.append([f"  published, {weight}", f"{published:g}"])
    return Conclusion(
        rows,
        [
            *(
                equal(
                    f"best FactorVAE score of {each.variant.method.name}",
                    each.score,
                    published,
                    within=0.05,
                    null=0.2,
                )
                for each, published in zip(best, PUBLISHED.values(), strict=True)
            ),
            exceeds(
                "share known of x, y and scale, mean over runs; claimed: found, so more than half",
                share[:, [1, 3, 4]].mean(axis=1),
                0.5,
            ),
            paired(
                "share known of x, y and scale minus share known of orientation and shape",
                share[:, [1, 3, 4]].mean(axis=1),
                share[:, [0, 2]].mean(axis=1),
            ),
        ],
        {"traversals": model_sheet([(each.title, each.run) for each in best])},
    )
