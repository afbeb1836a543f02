"""REC figure 10: distances at all levels of beta-VAEs on XYSquares, blurred and pixel-wise loss."""

import numpy as np

from unweave.metrics import Matrices
from unweave.plots.distances import matrices
from unweave.recipes.claims import equal, paired
from unweave.recipes.rec.datasets import mean_matrices, varying_factors
from unweave.recipes.rec.losses import SEEDS, STEPS, beta_vae_plan, tuned_beta_vae
from unweave.recipes.rec.models import matrices_of_model, note_protocol
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.runs.run import Run

LEVELS = ("observations", "means", "posteriors", "reconstructions")


@recipe(
    "rec-fig10",
    title="XYSquares: distances at all levels of β-VAEs, blurred and pixel-wise loss",
    claim="With the blurred loss latent distances follow true ones; a pixel-wise loss has none to follow.",
    published="pictures only (figure 10)",
    runs=beta_vae_plan,
)
def figure_10(job: Job) -> Conclusion:
    """Two rows of matrices, averaged over factors and seeds, which all have the same statistics."""
    rows = [["loss", "images", "latent means", "latent KL", "reconstructions"]]
    fits: dict[str, list[float]] = {}
    shown: dict[str, Matrices] = {}
    for loss, name in (("BoxBlurMSE", "box blur MSE"), ("MSE", "pixel-wise MSE")):
        runs = job.runs(tuned_beta_vae(job, loss).label)
        note_protocol(job, runs, STEPS, SEEDS)
        found = []
        for run in runs:
            job.tell(f"distance matrices: {loss}, seed {run.config.seed}")
            along = _matrices_of(run, job.pick(smoke=1, small=20, paper=100))
            fits.setdefault(loss, []).append(float(np.mean([one.correlations()["means"] for one in along])))
            found += along
        shown[loss] = mean_matrices(name, found)
        correlations = shown[loss].correlations()
        rows.append([name, *(f"{correlations[level]:.2f}" for level in LEVELS)])
    pixelwise = shown["MSE"].levels["observations"][~np.eye(8, dtype=bool)]
    spread = float(np.ptp(pixelwise) / np.mean(pixelwise))
    claim = "correlation of latent with true distances along a factor, blurred minus pixel-wise loss"
    constant = "pixel-wise distances along a factor vary by (share of their mean)"
    return Conclusion(
        rows,
        [
            paired(claim, fits["BoxBlurMSE"], fits["MSE"]),
            equal(constant, spread, 0.0, within=1e-6, constructed=True),
        ],
        {"matrices": matrices(list(shown.values()))},
    )


def _matrices_of(run: Run, traversals: int) -> list[Matrices]:
    """The distance matrices of a run along every factor."""
    model, dataset, rng = run.model(), run.dataset(), np.random.default_rng(0)
    likelihood = run.config.likelihood
    return [
        matrices_of_model(model, likelihood, dataset, factor, rng, traversals)
        for factor in varying_factors(dataset)
    ]
