"""DEC figure 2 bottom: Student-t priors on 2D Shapes."""

from typing import Any

import numpy as np

from unweave.plots.sweeps import Point, trade_off
from unweave.recipes.claims import paired
from unweave.recipes.dec.models import note_protocol_of_shapes, shapes
from unweave.recipes.dec.scores import disentanglement, score_table
from unweave.recipes.recipe import Conclusion, Job, Scale, recipe

GAUSSIAN = "Gaussian"


def degrees_of_freedom(scale: Scale) -> dict[str, float]:
    """Variant -> degrees of freedom of its Student-t prior.

    Example:
        >>> degrees_of_freedom("small")
        {'ν = 10': 10.0, 'ν = 3': 3.0}
    """
    nus = {"smoke": [5.0], "small": [10.0, 3.0], "paper": [100.0, 30.0, 10.0, 5.0, 3.0, 2.5]}[scale]
    return {f"ν = {nu:g}": nu for nu in nus}


def plan(scale: Scale) -> dict[str, Any]:
    """Products of Student-t distributions at beta 1, and the Gaussian that they tend to.

    Example:
        >>> study = plan("paper")
        >>> study["base"]["steps"], study["base"]["batch_size"], list(study["variants"])[:2]
        (115200, 256, ['Gaussian', 'ν = 100'])
    """
    base = {**shapes(scale), "objective": {"name": "BetaVAE", "beta": 1.0}}
    if scale == "paper":
        base |= {"batch_size": 256, "steps": 40 * 737_280 // 256}
    heavy_tailed = {
        name: {"prior": {"name": "StudentT", "nu": nu}} for name, nu in degrees_of_freedom(scale).items()
    }
    return {
        "base": base,
        "variants": {GAUSSIAN: {"prior": "StandardNormal"}, **heavy_tailed},
        "seeds": {"smoke": 2, "small": 4, "paper": 100}[scale],
    }


@recipe(
    "dec-fig2-bottom",
    title="Reconstruction loss against disentanglement: Student-t priors, 2D Shapes, beta 1",
    claim="Fewer degrees of freedom cost little reconstruction and are better disentangled than the Gaussian.",
    published="curves only (figure 2 bottom): FactorVAE score over reconstruction loss, 100 networks a point",
    runs=plan,
)
def figure_2_bottom(job: Job) -> Conclusion:
    """Scores over the degrees of freedom; the claim is tested on pairs of runs with the same seed."""
    scores = {name: np.array([disentanglement(run) for run in job.runs(name)]) for name in job.variants}
    losses = {name: job.scores(name, "nll") for name in job.variants}
    points = [
        Point("∞" if name == GAUSSIAN else name, list(losses[name]), list(scores[name])) for name in scores
    ]
    note_protocol_of_shapes(job)
    job.note("The degrees of freedom of the figure stand in no text; these are ours.")
    picture = trade_off(
        {"ν": points},
        x="reconstruction loss (nats)",
        y="FactorVAE score",
        swept="degrees of freedom ν (∞: the Gaussian)",
        unit_interval=True,
    )
    few = [scores[name] for name, nu in degrees_of_freedom(job.scale).items() if nu <= 10]
    return Conclusion(
        rows=score_table(scores, losses),
        pictures={"trade-off": picture},
        findings=[
            paired(
                "FactorVAE score, mean over ν of at most 10 minus Gaussian, same seed",
                np.mean(few, axis=0),
                scores[GAUSSIAN],
            )
        ],
    )
