"""FAC figure 16: the metric of Higgins et al. against L and the number of Adagrad iterations."""

import numpy as np

from unweave.plots.metrics import sensitivity_curves
from unweave.recipes.claims import correlated
from unweave.recipes.fac.metric_settings import (
    ITERATIONS,
    SAMPLES,
    fixed_codes,
    higgins_by_settings,
    one_beta_vae,
    sensitivity_of,
)
from unweave.recipes.fac.scores import HIGGINS
from unweave.recipes.recipe import Conclusion, Job, recipe


@recipe(
    "fac-fig16",
    title="The metric of Higgins et al. against L and the number of Adagrad iterations",
    claim="The metric of Higgins et al. is very sensitive to the number of iterations and improves with more of them.",
    published="curves only",
    runs=one_beta_vae,
)
def figure_16(job: Job) -> Conclusion:
    """The score along the optimiser's way, on one fixed model."""
    codes, _, factors = fixed_codes(job)
    values = higgins_by_settings(job, codes, factors)
    iterations = ITERATIONS[job.scale]
    found = sensitivity_of(HIGGINS, {"L": SAMPLES[job.scale], "iterations": iterations}, values)
    where = np.broadcast_to(np.array(iterations)[:, None], values.shape)
    return Conclusion(
        found.table(),
        [correlated("rank correlation of iterations and score", where.ravel(), values.ravel())],
        {"sensitivity": sensitivity_curves([found])},
    )
