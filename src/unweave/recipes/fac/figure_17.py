"""FAC figure 17: the FactorVAE metric against L and the number of points."""

import numpy as np

from unweave.metrics import factor_vae_score
from unweave.plots.metrics import sensitivity_curves
from unweave.recipes.claims import paired
from unweave.recipes.fac.metric_settings import (
    ITERATIONS,
    SAMPLES,
    fixed_codes,
    higgins_by_settings,
    one_beta_vae,
    repeats,
    sensitivity_of,
)
from unweave.recipes.fac.scores import HIGGINS, SCORE
from unweave.recipes.recipe import Conclusion, Job, recipe

POINTS = {"smoke": (50, 100), "small": (200, 400, 800), "paper": (200, 400, 800, 1600)}
"""Numbers of points, or votes."""


@recipe(
    "fac-fig17",
    title="The FactorVAE metric against L and the number of points",
    claim="The FactorVAE metric is much less sensitive to its settings than the metric of Higgins et al.",
    published="curves only (figures 16 and 17)",
    runs=one_beta_vae,
)
def figure_17(job: Job) -> Conclusion:
    """The range of each metric over its settings, seed by seed, on one fixed model."""
    codes, scales, factors = fixed_codes(job)

    def score(samples: int, votes: int, seed: int) -> float:
        rng = np.random.default_rng(seed)
        return factor_vae_score(
            codes, factors, rng, scales=scales, samples=samples, votes=votes, evaluation_votes=votes
        ).value

    samples, points, seeds = SAMPLES[job.scale], POINTS[job.scale], range(repeats(job))
    ours = np.array([[[score(n, m, seed) for seed in seeds] for m in points] for n in samples])
    theirs = higgins_by_settings(job, codes, factors)
    new = sensitivity_of(SCORE, {"L": samples, "points": points}, ours)
    old = sensitivity_of(HIGGINS, {"L": samples, "iterations": ITERATIONS[job.scale]}, theirs)
    old_range, new_range = (np.ptp(values.reshape(-1, len(seeds)), axis=0) for values in (theirs, ours))
    rows = [["metric", "lowest mean", "highest mean", "range within a seed, mean"]]
    for name, found, ranges in (("Higgins et al.", old, old_range), ("FactorVAE", new, new_range)):
        rows.append([name, *(f"{v:.3f}" for v in (found.means.min(), found.means.max(), ranges.mean()))])
    what = "range of the metric of Higgins et al. minus range of the FactorVAE metric"
    return Conclusion(
        rows, [paired(what, old_range, new_range)], {"sensitivity": sensitivity_curves([new, old])}
    )
