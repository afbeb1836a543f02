"""ISA appendix B.5: factor analysis with beta."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unweave.plots import theory as theory_plots
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.theory.factor_analysis import example, over_complete

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def energies(betas: Sequence[float] = BETAS, n: int = 100) -> dict[float, Array]:
    """Beta -> the free energy in the paper's units (over beta) at every angle, of ``n`` observations.

    Example:
        >>> [values.shape for values in energies().values()][0]
        (181,)
    """
    model = example(n)
    return {
        beta: np.array([model.rotated(math.radians(angle)).free_energy(beta) / beta for angle in DEGREES])
        for beta in betas
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


class Pruning(NamedTuple):
    """Over-complete factor analysis at a beta: the best weight of the redundant component, and what it costs.

    Example:
        >>> Pruning(alpha=0.0, swing=2.0).alpha
        0.0
    """

    alpha: float
    swing: float


def prunings() -> dict[float, Pruning]:
    """Beta -> the weight of the redundant component that the free energy prefers, and its swing over the weights (B.4).

    Example:
        >>> {beta: each.alpha for beta, each in prunings().items()}
        {1.0: 0.0, 2.0: 0.0, 5.0: 0.0, 10.0: 0.0}
    """
    alphas = np.linspace(0, 0.5, 51)
    curves = {beta: np.array([over_complete(a).free_energy(beta) / beta for a in alphas]) for beta in BETAS}
    return {beta: Pruning(float(alphas[v.argmax()]), float(np.ptp(v))) for beta, v in curves.items()}


def uncertainties() -> dict[float, float]:
    """Beta -> the mean variance of a latent under the mean-field posterior, at the preferred rotation.

    Example:
        >>> [round(value, 3) for value in uncertainties().values()]
        [0.058, 0.106, 0.214, 0.33]
    """
    model = example()
    return {beta: float(np.diag(model.mean_field_covariance(beta)).mean()) for beta in BETAS}


def picture(curves: Mapping[float, Array]) -> "Figure":
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
    claim="Beta shrinks the swing of the free energy under rotation and does not change its preferred directions; "
    "pruning likewise; and the posterior becomes less certain.",
    published="curves only (B.5)",
)
def appendix_b5(job: Job) -> Conclusion:
    """The free energy in the paper's units (over beta) at every angle, for several betas."""
    curves = energies()
    found = biases(curves)
    pruned, variances = prunings(), uncertainties()
    head = ["beta", "swing of the free energy (nats)", "highest at (degrees, modulo 90)"]
    rows = [[*head, "best weight of a redundant component", "its swing (nats)", "mean posterior variance"]]
    for beta, bias in found.items():
        own = pruned[beta]
        cells = (f"{bias.swing:.2f}", f"{bias.angle:g}", f"{own.alpha:g}", f"{own.swing:.2f}")
        rows.append([f"{beta:g}", *cells, f"{variances[beta]:.3f}"])
    job.note("The models are those of B.3 and B.4, whose weights and data are ours.")
    moved = float(np.ptp([bias.angle for bias in found.values()]))
    shrunk = float(np.sum(np.diff([bias.swing for bias in found.values()]) < 0))
    return Conclusion(
        rows=rows,
        pictures={"beta": picture(curves)},
        findings=[
            equal("largest change of the preferred angle over beta (degrees)", moved, 0.0),
            equal("steps up in beta that shrink the swing, of 3", shrunk, 3.0),
            equal(
                "betas at which the redundant component of B.4 is pruned, of 4",
                float(sum(each.alpha == 0 for each in pruned.values())),
                4.0,
            ),
            equal(
                "steps up in beta that shrink its swing, of 3",
                float(np.sum(np.diff([each.swing for each in pruned.values()]) < 0)),
                3.0,
            ),
            equal(
                "steps up in beta that widen the posterior, of 3",
                float(np.sum(np.diff(list(variances.values())) > 0)),
                3.0,
            ),
        ],
    )
