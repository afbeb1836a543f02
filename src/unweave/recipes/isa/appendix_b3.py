"""ISA appendix B.3: factor analysis, rotated weights, likelihood and free energy."""

import math
from typing import TYPE_CHECKING

import numpy as np

from unweave.plots import theory as theory_plots
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.theory.factor_analysis import FactorAnalysis, example

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEGREES = np.linspace(0, 360, 361)
"""The rotations of the figure."""


def cases(n: int = 100, angle: float = 45.0) -> dict[str, FactorAnalysis]:
    """The two models of which the paper prints the free energy, with ``n`` observations; the second is turned.

    Example:
        >>> [round(model.free_energy(), 2) for model in cases().values()]
        [-17.82, -57.16]
    """
    turned = example(n).rotated(math.radians(angle))
    return {"orthogonal": example(n), f"turned by {angle:g} degrees": turned}


def rotated(n: int = 100) -> list[FactorAnalysis]:
    """The model at every rotation.

    Example:
        >>> len(rotated())
        361
    """
    model = example(n)
    return [model.rotated(math.radians(angle)) for angle in DEGREES]


def picture(n: int = 100, angle: float = 45.0) -> "Figure":
    """Weights and posteriors of the two models, and likelihood and free energy over the rotation.

    Example:
        >>> len(picture().axes)
        5
    """
    panels = [
        (name, model.weights, model.posterior_covariance(), model.mean_field_covariance())
        for name, model in zip(("0°", f"{angle:g}°"), cases(n, angle).values(), strict=True)
    ]
    likelihood = [model.log_likelihood() for model in rotated(n)]
    energy = [model.free_energy() for model in rotated(n)]
    return theory_plots.factor_analysis(panels, np.radians(DEGREES), likelihood, {"free energy": energy})


@recipe(
    "isa-b3",
    title="Factor analysis: rotated weights, likelihood and free energy",
    claim="Turning maximum-likelihood weights leaves the likelihood as it is and lowers the free energy, except at "
    "multiples of 90 degrees: mean-field inference finds the PCA directions.",
    published="log-likelihood -17.82 nats at both angles; free energy -17.82 and, turned by 45 degrees, -57.16 (B.3)",
)
def appendix_b3(job: Job) -> Conclusion:
    """A model with the two published numbers, and the rotations between them."""
    model, turned = cases().values()
    gaps = np.array([each.log_likelihood() - each.free_energy() for each in rotated()])
    job.note(
        "The paper prints neither weights nor data. Ours are chosen so that the two free energies are the published "
        "ones; that the likelihood stays, and that only multiples of 90 degrees reach it, is what is checked."
    )
    rows = [["weights", "log-likelihood (nats)", "free energy (nats)"]]
    rows += [[name, f"{m.log_likelihood():.2f}", f"{m.free_energy():.2f}"] for name, m in cases().items()]
    unexpected = float(np.sum((gaps < 1e-6) != (DEGREES % 90 == 0)))
    angle = "turned by 45 degrees (nats)"
    return Conclusion(
        rows=rows,
        pictures={"rotation": picture()},
        findings=[
            equal(
                "free energy, orthogonal weights (nats)",
                model.free_energy(),
                -17.82,
                within=0.005,
                constructed=True,
            ),
            equal(f"free energy, {angle}", turned.free_energy(), -57.16, within=0.005, constructed=True),
            equal(
                f"log-likelihood, {angle}", turned.log_likelihood(), -17.82, within=0.005, constructed=True
            ),
            equal(
                "angles of 361 at which the free energy reaches the likelihood, beyond multiples of 90 degrees",
                unexpected,
                0.0,
            ),
        ],
    )
