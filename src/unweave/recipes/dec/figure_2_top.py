"""DEC figure 2 top: anisotropic Gaussian priors on 2D Shapes."""

from typing import Any, NamedTuple

import numpy as np

from unweave.plots.sweeps import Point, trade_off
from unweave.recipes.claims import paired
from unweave.recipes.dec.models import note_protocol_of_shapes, shapes
from unweave.recipes.dec.scores import disentanglement, score_table
from unweave.recipes.recipe import Conclusion, Job, Scale, recipe

GAUSSIANS: dict[str, dict[str, Any]] = {
    "isotropic": {"prior": "StandardNormal"},
    "anisotropic, PCA": {"prior": {"name": "AnisotropicNormal"}},
    "anisotropic, learned": {"prior": {"name": "AnisotropicNormal", "learned": True}},
}
"""The three priors of the figure."""


class Model(NamedTuple):
    """A prior and a weight of the KL.

    Example:
        >>> Model("isotropic", 4.0).label
        'isotropic, β = 4'
    """

    prior: str
    beta: float

    @property
    def label(self) -> str:
        """The name of the variant."""
        return f"{self.prior}, β = {self.beta:g}"


def models(scale: Scale) -> list[Model]:
    """Three Gaussian priors at several betas.

    Example:
        >>> len(models("paper"))
        15
    """
    betas = {"smoke": [1.0], "small": [1.0], "paper": [1.0, 2.0, 4.0, 6.0, 8.0]}[scale]
    return [Model(prior, beta) for prior in GAUSSIANS for beta in betas]


def plan(scale: Scale) -> dict[str, Any]:
    """The runs of the figure.

    Example:
        >>> study = plan("paper")
        >>> study["seeds"], study["base"]["steps"], study["base"]["batch_size"]
        (100, 230400, 64)
    """
    return {
        "base": shapes(scale),
        "variants": {
            model.label: {**GAUSSIANS[model.prior], "objective": {"name": "BetaVAE", "beta": model.beta}}
            for model in models(scale)
        },
        "seeds": {"smoke": 2, "small": 4, "paper": 100}[scale],
    }


@recipe(
    "dec-fig2-top",
    title="Reconstruction loss against disentanglement: anisotropic Gaussian priors, 2D Shapes",
    claim="For a given beta, Gaussian priors that are not isotropic (of principal components, or learned) are better "
    "disentangled than the isotropic one.",
    published="curves only (figure 2 top): FactorVAE score over reconstruction loss, 100 networks a point",
    runs=plan,
)
def figure_2_top(job: Job) -> Conclusion:
    """Scores of the three priors; the claim is tested on pairs of runs with the same beta and seed."""
    scores = {name: np.array([disentanglement(run) for run in job.runs(name)]) for name in job.variants}
    losses = {name: job.scores(name, "nll") for name in job.variants}
    series: dict[str, list[Point]] = {prior: [] for prior in GAUSSIANS}
    for model in models(job.scale):
        x, y = losses[model.label], scores[model.label]
        series[model.prior].append(Point(f"{model.beta:g}", list(x), list(y)))
    isotropic, of_components, learned = (
        np.concatenate([np.asarray(point.y) for point in points]) for points in series.values()
    )
    note_protocol_of_shapes(job)
    job.note("The betas of the figure stand in no text; these are ours.")
    return Conclusion(
        rows=score_table(scores, losses),
        pictures={
            "trade-off": trade_off(
                series, x="reconstruction loss (nats)", y="FactorVAE score", swept="β", unit_interval=True
            )
        },
        findings=[
            paired(
                "FactorVAE score, mean of both anisotropic priors minus isotropic, same beta and seed",
                (of_components + learned) / 2,
                isotropic,
            )
        ],
    )
