"""FAC appendix A: smaller discriminators work as well, with small improvements up to six layers of 1000 units."""

from typing import Any

from unweave.plots.sweeps import violins
from unweave.recipes.claims import correlated, higher
from unweave.recipes.fac.methods import config_of
from unweave.recipes.fac.models import critic, study_2d
from unweave.recipes.fac.scores import ERROR, SCORE, score_table
from unweave.recipes.recipe import Conclusion, Job, Scale, at, recipe
from unweave.recipes.shortfall import shortfall

SIZES: dict[str, tuple[tuple[int, int], ...]] = {
    "smoke": ((1, 4), (1, 8)),
    "small": ((1, 50), (3, 200)),
    "paper": ((2, 200), (4, 500), (6, 1000)),
}
"""Layers and units of discriminators; FAC names the largest only."""


def discriminators(scale: Scale) -> dict[str, Any]:
    """FactorVAEs on 2D Shapes with discriminators of several sizes."""
    gamma = at(scale, smoke=40, small=10, paper=40)
    return study_2d(
        scale,
        {
            f"{layers} x {width}": {
                "objective": {
                    "name": "FactorVAE",
                    "gamma": gamma,
                    **critic(scale),
                    "critic_layers": layers,
                    "critic_width": width,
                }
            }
            for layers, width in SIZES[scale]
        },
    )


@recipe(
    "fac-appa",
    title="FactorVAE with smaller discriminators, 2D Shapes",
    claim="Smaller discriminators work fine; there are small improvements up to six layers of 1000 units.",
    published="in words only (appendix A)",
    runs=discriminators,
)
def appendix_a(job: Job) -> Conclusion:
    """Scores by the size of the discriminator."""
    job.note(shortfall(job))
    small, large = job.variants[0], job.variants[-1]
    sizes, scores = [], []
    for variant in job.variants:
        options = config_of(job, variant).objective.options
        values = list(job.scores(variant, SCORE))
        scores += values
        sizes += [float(options["critic_layers"] * options["critic_width"])] * len(values)
    return Conclusion(
        score_table(job, ERROR, SCORE),
        [
            higher(
                f"FactorVAE score, {small} plus 0.1 minus {large} (works fine)",
                job.scores(small, SCORE) + 0.1,
                job.scores(large, SCORE),
            ),
            correlated(
                "rank correlation of FactorVAE score with the size of the discriminator", sizes, scores
            ),
        ],
        {
            "scores": violins(
                {variant: job.scores(variant, SCORE) for variant in job.variants},
                y="FactorVAE score",
                unit_interval=True,
            )
        },
    )
