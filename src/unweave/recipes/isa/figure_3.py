"""ISA figure 3: the orientation of a square of positions that two priors prefer."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from unweave.plots.style import FAINT, PALETTE, bare, new_figure
from unweave.priors import GeneralizedNormal
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.theory.rotation import preferred_angles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Array = NDArray[np.float64]

EXPONENTS = (1.0, 2.4)
"""The two exponents of the figure."""


@recipe(
    "isa-fig3",
    title="Which way up two priors like a square of positions",
    claim="A leptokurtic prior (p = 1) likes the square of (x, y) positions on its corner, a platykurtic one (p = 2.4) "
    "lying flat.",
    published="contours and maps (figure 3): diagonal at p = 1.0, axis-aligned at p = 2.4",
)
def figure_3(job: Job) -> Conclusion:
    """The angle of highest mean log-density, to half a degree."""
    degrees = np.linspace(-45, 45, job.pick(smoke=19, small=181, paper=181))
    densities = {p: preferred_angles(p, np.radians(degrees)) for p in EXPONENTS}
    best = {p: float(abs(degrees[values.argmax()])) for p, values in densities.items()}
    rows = [["exponent", "best angle of the square (degrees)", "gain over the worst angle (nats)"]]
    rows += [[f"p = {p:g}", f"{best[p]:g}", f"{np.ptp(densities[p]):.4f}"] for p in EXPONENTS]
    job.note(
        "The angle is that of the best of all rotations of a square of positions under the prior; nothing is trained."
    )
    claim = "angle between the axes and the square's sides, p = {:.1f} (degrees)"
    return Conclusion(
        rows=rows,
        pictures={"orientation": _orientation(best)},
        findings=[
            equal(claim.format(1.0), best[1.0], 45.0, within=0.5),
            equal(claim.format(2.4), best[2.4], 0.0, within=0.5),
        ],
    )


def _orientation(best: Mapping[float, float]) -> "Figure":
    """For each exponent the contours with the square in its best position, and both latents as maps over (x, y)."""
    with new_figure(3.0 * len(best), 3.9) as figure:
        parts: Sequence[SubFigure] = figure.subfigures(1, len(best), squeeze=False)[0]
        for part, (p, degrees) in zip(parts, best.items(), strict=True):
            _draw_exponent(part, p, math.radians(degrees))
    return figure


def _draw_exponent(part: "SubFigure", p: float, angle: float) -> None:
    side = np.linspace(-math.sqrt(3), math.sqrt(3), 32)
    x, y = np.meshgrid(side, side)
    z1, z2 = x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)
    grid = part.add_gridspec(2, 2, height_ratios=[2.2, 1.0])
    axes = part.add_subplot(grid[0, :])
    _draw_contours(axes, p)
    dots = np.linspace(0, 31, 9).round().astype(int)
    shown = np.ix_(dots, dots)
    axes.plot(z1[shown].ravel(), z2[shown].ravel(), "o", color=PALETTE[0], markersize=2.4)
    axes.set(aspect="equal", xlim=(-3.2, 3.2), ylim=(-3.2, 3.2), xlabel="$z_1$", ylabel="$z_2$")
    axes.set_title(f"p = {p:g}")
    for k, z in enumerate((z1, z2)):
        axes = part.add_subplot(grid[1, k])
        axes.imshow(z, cmap="RdBu_r", vmin=-2.5, vmax=2.5, origin="lower")
        bare(axes)
        axes.set_xlabel(f"$z_{k + 1}$ at (x, y)")


def _draw_contours(axes: "Axes", p: float) -> None:
    axis = np.linspace(-4, 4, 161)
    points = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    with torch.no_grad():
        logs = GeneralizedNormal(2, p=p)().log_prob(torch.from_numpy(points).float()).double().numpy()
    levels = np.quantile(logs, [0.45, 0.6, 0.75, 0.87, 0.96])
    logs = logs.reshape(161, 161)
    axes.contour(axis, axis, logs, levels=levels, colors=FAINT, linewidths=0.9, linestyles="solid")
