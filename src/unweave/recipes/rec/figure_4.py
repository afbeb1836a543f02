"""REC figure 4: distances at all levels of a beta-VAE."""

from typing import Any

import numpy as np

from unweave.metrics import Matrices
from unweave.plots.distances import matrices
from unweave.recipes.claims import exceeds
from unweave.recipes.rec.datasets import matrix_correlation, mean_matrices, varying_factors
from unweave.recipes.rec.models import SMOKE, matrices_of_model, networks, note_protocol, protocol
from unweave.recipes.recipe import Conclusion, Job, Scale, data_or_stand_in, recipe

LEVELS = {"means": "latent means", "posteriors": "latent KL", "reconstructions": "reconstructions"}
"""The levels that are compared with the images: key -> name."""


def plan(scale: Scale) -> dict[str, Any]:
    """beta-VAEs on Cars3D or its stand-in. Neither steps, latents nor beta of the figure are published.

    Example:
        >>> plan("paper")["seeds"]
        5
    """
    data, size = (SMOKE, 16) if scale == "smoke" else (data_or_stand_in("Cars3D", "Objects3D")[0], 64)
    return {
        "base": {
            **protocol(scale, steps=115_200, small=800, latents=9),
            **networks(scale, size, 2),
            "data": data,
            "objective.beta": 0.001,
        },
        "seeds": {"smoke": 2, "small": 3, "paper": 5}[scale],
    }


@recipe(
    "rec-fig4",
    title="Distances at all levels of a β-VAE",
    claim="Latent means, posteriors and reconstructions of a β-VAE keep the distances that its loss perceives.",
    published="pictures only (figure 4, Cars3D)",
    runs=plan,
)
def figure_4(job: Job) -> Conclusion:
    """A row for each factor: true distances, perceived ones, latent means, KL, reconstructions."""
    runs = job.runs(job.variants[0])
    job.note(job.pick(smoke="XYSquares in the place of Cars3D.", small="", paper=""))
    note_protocol(job, runs, 115_200)
    dataset = runs[0].dataset()
    traversals = job.pick(smoke=1, small=20, paper=100)
    correlations: dict[str, list[float]] = {level: [] for level in LEVELS}
    found: dict[str, list[Matrices]] = {factor: [] for factor in varying_factors(dataset)}
    for run in runs:
        model, rng = run.model(), np.random.default_rng(0)
        own: dict[str, list[float]] = {level: [] for level in LEVELS}
        for factor in found:
            job.tell(f"distance matrices: seed {run.config.seed}, {factor}")
            along = matrices_of_model(model, run.config.likelihood, dataset, factor, rng, traversals)
            found[factor].append(along)
            for level, values in own.items():
                values.append(matrix_correlation(along.levels[level], along.levels["observations"]))
        for level, values in own.items():
            correlations[level].append(float(np.mean(values)))
    averaged = [mean_matrices(factor.replace("_", " "), several) for factor, several in found.items()]
    rows = [["factor", *LEVELS.values(), "true distances"]]
    for one in averaged:
        perceived = one.levels["observations"]
        fits = [matrix_correlation(one.levels[level], perceived) for level in (*LEVELS, "factors")]
        rows.append([one.factor, *(f"{fit:.2f}" for fit in fits)])
    findings = [
        exceeds(f"correlation of distances of {name} with perceived ones", correlations[level], 0.0)
        for level, name in LEVELS.items()
    ]
    picture = matrices(averaged, title=f"{type(dataset).__name__}: distances along factors")
    return Conclusion(rows, findings, {"matrices": picture})
