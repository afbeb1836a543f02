"""DEC figure 5: densities of factored Student-t priors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.plots import priors as prior_plots
from unweave.priors import StandardNormal, StudentT
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.theory.prior_pictures import density, density_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUS = (3.0, 5.0, 100.0)
"""Degrees of freedom of the figure."""


def picture(nus: Sequence[float] = NUS) -> "Figure":
    """The three densities.

    Example:
        >>> len(picture().axes)
        3
    """
    return prior_plots.densities({f"ν = {nu:g}": density_of(StudentT(2, nu=nu)) for nu in nus})


@recipe(
    "dec-fig5",
    title="Densities of factored Student-t priors, ν = 3, 5, 100",
    claim="The product of Student-t tends to the isotropic Gaussian as ν grows.",
    published="densities (figure 5); the limit is exact",
)
def figure_5(job: Job) -> Conclusion:
    """The three densities, and how far each is from the Gaussian."""
    axis = np.linspace(-4, 4, 81)
    points = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    gaussian = density(StandardNormal(2), points)
    difference = {
        nu: float(np.abs(density(StudentT(2, nu=nu), points) - gaussian).max()) for nu in (*NUS, 1e6)
    }
    rows = [["ν", "largest difference from the Gaussian density"]]
    rows += [[f"{nu:g}", f"{value:.2e}"] for nu, value in difference.items()]
    shrinks = float(np.all(np.diff(list(difference.values())) < 0))
    return Conclusion(
        rows=rows,
        pictures={"densities": picture()},
        findings=[
            equal(
                "largest difference from the Gaussian density at ν = 10⁶",
                difference[1e6],
                0.0,
                within=1e-6,
                constructed=True,
            ),
            equal("the difference shrinks at every step up in ν (1: yes)", shrinks, 1.0),
        ],
    )
