"""ISA figure 2: surfaces of equal norm of an Lp-nested function."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from unweave.plots import priors as prior_plots
from unweave.priors import LpNestedSymmetric, Tree
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

EXPONENTS = (1.0, 2.0, 9.0)
"""The values of both exponents in the figure."""


def nested_norm(p: tuple[float, float], points: Array) -> Array:
    """The Lp-nested function of Eq. 6, ``[z1, [z2, z3]]`` with exponents ``p = (p0, p1)``, at points ``(m, 3)``.

    Example:
        >>> nested_norm((2.0, 2.0), np.array([[2.0, 1.0, 2.0]])).round(6).tolist()
        [3.0]
    """
    law = LpNestedSymmetric(Tree.parse([1, [1, 1]]), torch.tensor(p, dtype=torch.float64), torch.ones(()))
    values: Array = law.log_function(torch.from_numpy(points)).exp().numpy()
    return values


def picture(exponents: Sequence[float] = EXPONENTS) -> "Figure":
    """The nine surfaces, a row for each ``p0``.

    Example:
        >>> len(picture().axes)
        9
    """

    def norm(p: tuple[float, float]) -> Callable[[Array], Array]:
        return lambda points: nested_norm(p, points)

    return prior_plots.iso_surfaces(
        [[(f"$p_0 = {p0:g}$, $p_1 = {p1:g}$", norm((p0, p1))) for p1 in exponents] for p0 in exponents]
    )


@recipe(
    "isa-fig2",
    title="Surfaces of equal norm of an Lp-nested function",
    claim="Eq. 6 spans shapes from the octahedron over the sphere to the cube as p₀, p₁ go through 1, 2, 9.",
    published="surfaces (figure 2), p₀, p₁ in {1, 2, 9}; the function is Eq. 6",
)
def figure_2(job: Job) -> Conclusion:
    """Nine surfaces; the function is compared with Eq. 6 written out."""
    points = np.random.default_rng(0).standard_normal((1000, 3))
    a, b, c = np.abs(points).T
    rows = [["p₀", "p₁", "largest relative difference from Eq. 6"]]
    differences = []
    for p0 in EXPONENTS:
        for p1 in EXPONENTS:
            formula = (a**p0 + (b**p1 + c**p1) ** (p0 / p1)) ** (1 / p0)
            differences.append(float(np.abs(nested_norm((p0, p1), points) / formula - 1).max()))
            rows.append([f"{p0:g}", f"{p1:g}", f"{differences[-1]:.1e}"])
    claim = "largest relative difference from Eq. 6 over nine surfaces"
    return Conclusion(
        rows=rows,
        pictures={"surfaces": picture()},
        findings=[equal(claim, max(differences), 0.0, within=1e-9, constructed=True)],
    )
