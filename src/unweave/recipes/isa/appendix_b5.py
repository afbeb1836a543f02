"""ISA appendix B.5: factor analysis with beta."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from unweave.plots import theory as theory_plots
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.theory.factor_analysis import example

Array = NDArray[np.float64]

BETAS = (1.0, 2.0, 5.0, 10.0)
DEGREES = np.linspace(0, 180, 181)


class Bias(NamedTuple):
    """How strongly the free energy depends on the rotation, and the rotation that it prefers.

    Example:
        >>> Bias(swing=39.3, angle=0.0).angle
        0.0
    """

    swing: float
    angle: float


def energies() -> dict[float, Array]:
    """Beta -> the free energy in the paper's units (over beta) at every angle.

    Example:
        >>> [values.shape for values in energies().values()][0]
        (181,)
    """
    model = example()
    return {
        beta: np.array([model.rotated(math.radians(angle)).free_energy(beta) / beta for angle in DEGREES])
        for beta in BETAS
    }


def biases(curves: Mapping[float, Array]) -> dict[float, Bias]:
    """Beta -> swing of the free energy in nats and preferred angle in degrees, modulo 90.

    Example:
        >>> {beta: round(bias.swing) for beta, bias in biases(energies()).items()}
        {1.0: 39, 2.0: 36, 5.0: 30, 10.0: 22}
    """
    return {
        beta: Bias(float(np.ptp(values)), float(DEGREES[values.argmax()] % 90))
        for beta, values in curves.items()
    }


def picture(curves: Mapping[float, Array]) -> Figure:
    """The free energy below its best over the rotation, a line for each beta.

    Example:
        >>> len(picture(energies()).axes[0].lines)
        4
    """
    return theory_plots.lines(
        DEGREES,
        {f"β = {beta:g}": values - values.max() for beta, values in curves.items()},
        xlabel="rotation (degrees)",
        ylabel="free energy / β below its best (nats)",
        title="β changes the size of the bias, not its direction",
    )


@recipe(
    "isa-b5",
    title="Factor analysis with beta: the directions stay",
    claim="Beta shrinks the swing of the free energy under rotation and does not change its preferred directions.",
    published="curves only (B.5)",
)
def appendix_b5(job: Job) -> Conclusion:
    """The free energy in the paper's units (over beta) at every angle, for several betas."""
    curves = energies()
    found = biases(curves)
    rows = [["beta", "swing of the free energy (nats)", "highest at (degrees, modulo 90)"]]
    rows += [[f"{beta:g}", f"{bias.swing:.2f}", f"{bias.angle:g}"] for beta, bias in found.items()]
    job.note("The model is that of B.3, whose weights and data are ours.")
    moved = float(np.ptp([bias.angle for bias in found.values()]))
    shrunk = float(np.sum(np.diff([bias.swing for bias in found.values()]) < 0))
    return Conclusion(
        rows=rows,
        pictures={"beta": picture(curves)},
        findings=[
            equal("largest change of the preferred angle over beta (degrees)", moved, 0.0),
            equal("steps up in beta that shrink the swing, of 3", shrunk, 3.0),
        ],
    )
