"""FAC figure 37: accuracy of FactorVAE's discriminator over training, 2D Shapes."""

from typing import Any

from unweave.plots.seed_bands import banded_curves
from unweave.recipes.claims import higher
from unweave.recipes.fac.curves import histories, late_mean
from unweave.recipes.fac.methods import FACTOR_VAE, variants_of
from unweave.recipes.fac.models import shapes_2d
from unweave.recipes.recipe import Conclusion, Job, Scale, at, recipe
from unweave.recipes.shortfall import shortfall
from unweave.recipes.table_cells import mean_and_deviation

TERM = "discriminator_accuracy"


def five_seeds(scale: Scale) -> dict[str, Any]:
    """The runs on 2D Shapes; the caption says five seeds, where other figures have ten."""
    return {**shapes_2d(scale), "seeds": at(scale, smoke=2, small=5, paper=5)}


@recipe(
    "fac-fig37",
    title="Accuracy of FactorVAE's discriminator over training, 2D Shapes",
    claim="A higher gamma leads to a lower accuracy of the discriminator.",
    published="curves only",
    runs=five_seeds,
)
def figure_37(job: Job) -> Conclusion:
    """Accuracies as logged, and their mean over the last quarter."""
    job.note(shortfall(job))
    variants = variants_of(job, FACTOR_VAE)
    ends = {v.weight: [late_mean(run, TERM) for run in job.runs(v.name)] for v in variants}
    low, high = min(ends), max(ends)
    rows = [["gamma", "accuracy, last quarter"]]
    rows += [[f"{gamma:g}", mean_and_deviation(values)] for gamma, values in ends.items()]
    what = f"accuracy of the discriminator, gamma={low:g} minus gamma={high:g}"
    lines = histories(job, FACTOR_VAE, TERM)
    return Conclusion(
        rows,
        [higher(what, ends[low], ends[high])],
        {"accuracy": banded_curves([[("", lines)]], rows=["discriminator accuracy"], unit_interval=(0,))},
    )
