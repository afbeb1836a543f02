"""REC figure 1: weak and strong regularisation, and how often a sample is attributed to a neighbour."""

import math
from typing import TYPE_CHECKING

import numpy as np

from unweave.plots.style import PALETTE, new_figure
from unweave.recipes.claims import above, equal
from unweave.recipes.recipe import Conclusion, Job, recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DISTANCE = 1.0
"""Between the means of neighbouring distributions."""

WEAK, STRONG = 0.15, 0.6
"""Standard deviations; the figure has no numbers."""


def mistaken(deviation: float) -> float:
    """How often a sample of the middle one of three equal normal distributions is nearer to a neighbour's mean.

    P(|e| > d / 2) for e ~ N(0, s^2), that is erfc(d / (2 sqrt(2) s)).

    Example:
        >>> round(mistaken(0.5), 4)  # one deviation
        0.3173
    """
    return math.erfc(DISTANCE / (2 * math.sqrt(2) * deviation))


@recipe(
    "rec-fig1",
    title="Nearby latent distributions under weak and strong regularisation",
    claim="Strong regularisation makes distributions overlap, so that samples are attributed to nearby inputs.",
    published="a sketch without numbers (figure 1)",
)
def figure_1(job: Job) -> Conclusion:
    """The share of mistakes, in closed form and by drawing."""
    rows, findings, counted = [["regularisation", "deviation", "mistakes", "drawn"]], [], []
    rng = np.random.default_rng(0)
    for name, deviation in (("weak", WEAK), ("strong", STRONG)):
        exact = mistaken(deviation)
        drawn = float(np.mean(np.abs(rng.normal(0, deviation, 200_000)) > DISTANCE / 2))
        counted.append(exact)
        rows.append([name, f"{deviation:g}", f"{exact:.4f}", f"{drawn:.4f}"])
        findings.append(
            equal(f"{name}: share of mistakes, drawn", drawn, exact, within=0.005, constructed=True)
        )
    more = above(
        "share of mistakes, strong minus weak regularisation", counted[1] - counted[0], constructed=True
    )
    return Conclusion(rows, [more, *findings], {"distributions": _picture()})


def _picture() -> "Figure":
    x = np.linspace(-2.5, 2.5, 400)
    with new_figure(7.0, 2.2) as figure:
        for axes, deviation in zip(figure.subplots(1, 2), (WEAK, STRONG), strict=True):
            for place, color in zip((-DISTANCE, 0.0, DISTANCE), PALETTE, strict=False):
                axes.fill_between(x, np.exp(-0.5 * ((x - place) / deviation) ** 2), color=color, alpha=0.5)
            axes.set(
                title=f"deviation {deviation:g}: {mistaken(deviation):.0%} mistaken", yticks=[], xlabel="z"
            )
    return figure
