"""REC figure 11: XYSquares with the pixel-wise and with the blurred loss."""

from unweave.plots.half_violins import half_violins
from unweave.recipes.claims import higher
from unweave.recipes.rec.losses import LOSSES, SEEDS, STEPS, loss_cells, loss_plan
from unweave.recipes.rec.models import (
    FRAMEWORKS,
    SCORES,
    note_protocol,
    score_panels,
    scores_of_best_beta,
)
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.table_cells import mean_and_deviation


@recipe(
    "rec-fig11",
    title="XYSquares: pixel-wise and blurred loss",
    claim="A loss that sees through a blur lets VAEs disentangle the data set that defeats pixel-wise losses.",
    published="pictures only (figure 11)",
    runs=loss_plan,
)
def figure_11(job: Job) -> Conclusion:
    """Densities of MIG and DCI over runs, Ada-GVAE to the left and beta-VAE to the right of each loss."""
    grid = loss_cells(job.scale)
    note_protocol(job, job.runs(grid[0].label), STEPS, SEEDS)
    panels = score_panels(grid, lambda cells, score: scores_of_best_beta(job, cells, score))
    rows = [["framework", "loss", *SCORES]]
    for f in FRAMEWORKS:
        rows += [
            [f, loss, *(mean_and_deviation(panels[title][loss][f]) for title in SCORES)] for loss in LOSSES
        ]
    findings = [
        higher(f"{f}: {title}, blurred minus pixel-wise loss", panel["BoxBlurMSE"][f], panel["MSE"][f])
        for title, panel in panels.items()
        for f in FRAMEWORKS
    ]
    return Conclusion(rows, findings, {"scores": half_violins(panels)})
