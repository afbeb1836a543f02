"""FAC figure 24: accuracy of InfoGAN's discriminator on MNIST over training."""

import numpy as np

from unweave.plots.seed_bands import banded_curves
from unweave.recipes.claims import equal
from unweave.recipes.fac.curves import history, late_mean
from unweave.recipes.fac.gans import TEN_CATEGORIES, gans_on_digits
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.shortfall import shortfall
from unweave.recipes.table_cells import mean_and_deviation

TERM = "discriminator_accuracy"


@recipe(
    "fac-fig24",
    title="Accuracy of InfoGAN's discriminator on MNIST over training",
    claim="In all runs the discriminator eventually degenerates and takes all inputs for real.",
    published="curve only; an accuracy of one half is that of a discriminator that takes all for real",
    runs=gans_on_digits(TEN_CATEGORIES),
)
def figure_24(job: Job) -> Conclusion:
    """Accuracies as logged, and their mean over the last quarter."""
    job.note(shortfall(job))
    (variant,) = job.variants
    ends = np.array([late_mean(run, TERM) for run in job.runs(variant)])
    line = history(job.runs(variant), TERM)
    return Conclusion(
        [["runs", "accuracy, last quarter"], [variant, mean_and_deviation(ends)]],
        [equal("accuracy over the last quarter of training", float(ends.mean()), 0.5, within=0.05, null=1.0)],
        {"accuracy": banded_curves([[("", {"InfoGAN": line})]], rows=["accuracy"], unit_interval=(0,))},
    )
