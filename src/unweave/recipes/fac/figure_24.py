"""FAC figure 24: accuracy of InfoGAN's discriminator on MNIST over training."""

import numpy as np

from unweave.plots.seed_bands import banded_curves
from unweave.recipes.claims import higher
from unweave.recipes.fac.curves import history, late_mean
from unweave.recipes.fac.gans import ACCURACY, AS_PUBLISHED, gans_on_digits
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.shortfall import shortfall
from unweave.recipes.table_cells import mean_and_deviation

RATES = {
    "discriminator at 1e-4": AS_PUBLISHED,
    "discriminator at 1e-5": {**AS_PUBLISHED, "critic_learning_rate": 1e-5},
}
"""The published rate, and a smaller one, which FAC appendix H tried; it does not say how small."""


@recipe(
    "fac-fig24",
    title="Accuracy of InfoGAN's discriminator on MNIST over training",
    claim="In all runs the discriminator eventually degenerates and takes all for real; a smaller rate delays it.",
    published="curve only; an accuracy of one half is that of a discriminator that takes all for real",
    runs=gans_on_digits(RATES),
    unstated=("steps", "replicas"),
)
def figure_24(job: Job) -> Conclusion:
    """Accuracies as logged, and their mean over the last quarter."""
    job.note(shortfall(job))
    job.note(
        "Not tested: that the discriminator takes all for real. Its accuracy is one half then, and also in a fair game."
    )
    ends = {v: np.array([late_mean(run, ACCURACY) for run in job.runs(v)]) for v in job.variants}
    lines = {v: history(job.runs(v), ACCURACY) for v in job.variants}
    usual, slower = job.variants
    what = "accuracy over the last quarter of training"
    return Conclusion(
        [["runs", "accuracy, last quarter"], *([v, mean_and_deviation(each)] for v, each in ends.items())],
        [
            higher(f"{what}, {slower} minus {usual} (it delays the degeneration)", ends[slower], ends[usual]),
        ],
        {"accuracy": banded_curves([[("", lines)]], rows=["accuracy"], unit_interval=(0,))},
    )
