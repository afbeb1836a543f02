"""DEC figure 6: density of the mixture prior of Eq. 9."""

import numpy as np

from unweave.plots import priors as prior_plots
from unweave.priors import GaussianMixture
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.theory.prior_pictures import density, density_of


@recipe(
    "dec-fig6",
    title="Density of the mixture prior of Eq. 9",
    claim="Four equal modes at {0, 1}² with variance 0.03 each.",
    published="density (figure 6), C = 4, D = 2, Σ = 0.03 I, weights 1/4 (Eq. 9)",
)
def figure_6(job: Job) -> Conclusion:
    """The density, checked against the formula at its modes and for its mass."""
    corners = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)])
    squares = ((corners[:, None] - corners) ** 2).sum(-1)
    formula = (0.25 * np.exp(-0.5 * squares / 0.03) / (2 * np.pi * 0.03)).sum(1)
    prior = GaussianMixture(2)
    ours = density(prior, corners)
    axis = np.linspace(-2, 3, 501)
    points = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    mass = float(density(prior, points).sum() * (axis[1] - axis[0]) ** 2)
    rows = [["mode", "density", "Eq. 9"]]
    for (a, b), here, there in zip(corners, ours, formula, strict=True):
        rows.append([f"({a:g}, {b:g})", f"{here:.6f}", f"{there:.6f}"])
    rows.append(["mass on [-2, 3]²", f"{mass:.6f}", "1"])
    panels = {"mixture of four Gaussians": density_of(prior)}
    difference = float(np.abs(ours - formula).max())
    return Conclusion(
        rows=rows,
        pictures={"density": prior_plots.densities(panels, low=-0.75, high=1.75)},
        findings=[
            equal(
                "largest difference from Eq. 9 at the modes", difference, 0.0, within=1e-5, constructed=True
            ),
            equal("mass", mass, 1.0, within=1e-4, constructed=True),
        ],
    )
