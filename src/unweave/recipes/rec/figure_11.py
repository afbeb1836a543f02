"""REC figure 11: XYSquares with the pixel-wise and with the blurred loss."""

from unweave.plots.half_violins import half_violins
from unweave.recipes.claims import higher
from unweave.recipes.rec.losses import LOSSES, SEEDS, STEPS, loss_cells, loss_plan
from unweave.recipes.rec.models import (
    FRAMEWORKS,
    SCORES,
    Floats,
    mean_and_deviation,
    note_protocol,
    of_group,
    scores_of_best_beta,
)
from unweave.recipes.recipe import Conclusion, Job, recipe


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
    panels: dict[str, dict[str, dict[str, Floats]]] = {title: {} for title in SCORES}
    for title, score in SCORES.items():
        for loss in LOSSES:
            panels[title][loss] = {
                f: scores_of_best_beta(job, of_group(grid, f, loss), score) for f in FRAMEWORKS
            }
    rows = [["framework", "loss", *SCORES]]
    for f in FRAMEWORKS:
        rows += [
            [f, loss, *(mean_and_deviation(panels[title][loss][f]) for title in SCORES)] for loss in LOSSES
        ]
    migs = panels["MIG"]
    findings = [
        higher(f"{f}: MIG, blurred minus pixel-wise loss", migs["BoxBlurMSE"][f], migs["MSE"][f])
        for f in FRAMEWORKS
    ]
    return Conclusion(rows, findings, {"scores": half_violins(panels)})
