"""ISA figures 8 to 16: the latents of representative models; a figure for each beta and shape."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from unweave.metrics.statistics import mean_interval
from unweave.recipes.claims import higher
from unweave.recipes.isa.models import SCORE, Model, note_protocol_of_sprites, sprites, variants
from unweave.recipes.isa.portraits import portrait
from unweave.recipes.recipe import Conclusion, Job, Plan, Scale, recipe

Array = NDArray[np.float64]

REPRESENTATIVE = {
    1.0: {"β-VAE": (0.14, -21.99), "ISA-VAE": (0.20, -20.93)},
    2.0: {"β-VAE": (0.28, -29.40), "β-TCVAE": (0.30, -27.15), "ISA-VAE": (0.41, -25.86)},
    3.0: {"β-VAE": (0.47, -33.44), "β-TCVAE": (0.43, -33.40), "ISA-VAE": (0.48, -32.42)},
}
"""MIG and expected log-likelihood of the models drawn in figures 8 to 16, by beta."""

FIGURES = list(
    enumerate(((beta, shape) for beta in REPRESENTATIVE for shape in ("ellipse", "square", "heart")), start=8)
)
"""Number of the figure, and its beta and shape."""


def models(beta: float) -> list[Model]:
    """The methods drawn at one beta.

    Example:
        >>> [model.label for model in models(2.0)]
        ['β-VAE, β = 2', 'β-TCVAE, β = 2', 'ISA-VAE, β = 2']
    """
    return [Model(method, beta) for method in REPRESENTATIVE[beta]]


def plan_of(beta: float) -> Plan:
    """The runs of the figures at one beta, as a function of the scale.

    Example:
        >>> list(plan_of(1.0)("paper")["variants"])
        ['β-VAE, β = 1', 'ISA-VAE, β = 1']
    """

    def plan(scale: Scale) -> dict[str, Any]:
        return {
            "base": sprites(scale),
            "variants": variants(models(beta)),
            "seeds": {"smoke": 2, "small": 6 if beta == 1 else 4, "paper": 50}[scale],
            "metrics": [SCORE],
        }

    return plan


def representative(migs: Array, fits: Array) -> int:
    """Number of the run that represents the upper half of MIG scores (A.5).

    Of the runs with a MIG of at least the median, the one nearest to their mean of MIG and log-likelihood, each in
    units of its standard deviation among these runs.

    Example:
        >>> representative(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), np.zeros(5))
        3
    """
    upper = np.flatnonzero(migs >= np.median(migs))
    both = np.stack([migs[upper], fits[upper]], 1)
    spread = both.std(0)
    apart = ((both - both.mean(0)) / np.where(spread > 0, spread, 1)) ** 2
    return int(upper[apart.sum(1).argmin()])


def conclusion_of(beta: float, shape: str) -> Callable[[Job], Conclusion]:
    """The conclusion of one figure: a representative model of each method."""

    def conclude(job: Job) -> Conclusion:
        """Representative models of the upper half of MIG scores; the claim is tested on all runs."""
        printed = REPRESENTATIVE[beta]
        rows = [["method", "MIG of all runs", "MIG of the model drawn", "log p(x|z) (nats)", "published"]]
        pictures: dict[str, Figure] = {}
        migs = {model.method: job.scores(model.label, SCORE) for model in models(beta)}
        for model in models(beta):
            own, fits = migs[model.method], -job.scores(model.label, "nll")
            k = representative(own, fits)
            job.tell(f"latents of {model.label}")
            mig, fit = printed[model.method]
            cells = (str(mean_interval(own)), f"{own[k]:.3f}", f"{fits[k]:.2f}")
            rows.append([model.label, *cells, f"MIG {mig:g}, log p(x|z) {fit:g}"])
            title = f"{model.label}: MIG {own[k]:.2f}, log p(x|z) {fits[k]:.1f}"
            pictures[model.method.replace("β", "beta").lower()] = portrait(
                job.runs(model.label)[k], shape, title=title
            )
        note_protocol_of_sprites(job)
        job.note(
            "The published numbers are those of the models drawn, which stand for the upper half of 50 runs."
        )
        claim = f"MIG, ISA-VAE minus β-VAE, β = {beta:g}"
        published = round(printed["ISA-VAE"][0] - printed["β-VAE"][0], 2)
        finding = higher(claim, migs["ISA-VAE"], migs["β-VAE"], published=published)
        return Conclusion(rows=rows, pictures=pictures, findings=[finding])

    return conclude


for _number, (_beta, _shape) in FIGURES:
    recipe(
        f"isa-fig{_number}",
        title=f"What the latents of representative models stand for, beta {_beta:g}, {_shape}",
        claim=f"At beta {_beta:g} the ISA prior is better disentangled than the normal one and reconstructs no worse.",
        published="; ".join(
            f"{m}: MIG {a:g}, log p(x|z) {b:g}" for m, (a, b) in REPRESENTATIVE[_beta].items()
        ),
        runs=plan_of(_beta),
    )(conclusion_of(_beta, _shape))
