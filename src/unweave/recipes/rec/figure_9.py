"""REC figure 9: disentanglement of XYSquares against spacing."""

import itertools
from typing import Any

import numpy as np

from unweave.plots.half_violins import score_lines
from unweave.recipes.claims import correlated
from unweave.recipes.rec.models import (
    FRAMEWORKS,
    SCORES,
    Cell,
    Floats,
    networks,
    note_protocol,
    of_group,
    protocol,
    scores_of_best_beta,
    variants,
)
from unweave.recipes.recipe import Conclusion, Job, Scale, recipe
from unweave.recipes.table_cells import mean_and_deviation

SIZES: dict[Scale, int] = {"smoke": 16, "small": 32, "paper": 64}
"""Image size: at 32 x 32 four of the eight spacings are whole pixels."""


def cells(scale: Scale) -> list[Cell]:
    """The grid of the figure (table A4): frameworks x spacings x beta.

    Example:
        >>> len(cells("paper"))
        32
    """
    spacings = {"smoke": (8, 4), "small": (8, 6, 4, 2), "paper": range(8, 0, -1)}[scale]
    betas = (0.001, 0.00316) if scale == "paper" else (0.001,)
    frameworks = ("β-VAE",) if scale == "smoke" else tuple(FRAMEWORKS)

    def settings(spacing: int) -> dict[str, Any]:
        return {"data": {"name": "XYSquares", "size": SIZES[scale], "spacing": spacing}}

    return [
        Cell(framework, f"spacing {spacing}", beta, settings(spacing))
        for framework in frameworks
        for spacing in spacings
        for beta in betas
    ]


def plan(scale: Scale) -> dict[str, Any]:
    """XYSquares with more and more overlap (table A4).

    Example:
        >>> plan("paper")["base"]["steps"]
        57600
    """
    return {
        "base": {**protocol(scale, steps=57_600, small=1_000, latents=9), **networks(scale, SIZES[scale])},
        "variants": variants(cells(scale)),
        "seeds": {"smoke": 2, "small": 3, "paper": 5}[scale],
        "metrics": ["elbo", "mig", "dci"],
    }


@recipe(
    "rec-fig9",
    title="XYSquares: disentanglement against spacing",
    claim="The more the squares of neighbouring grid points overlap, the better a VAE disentangles them.",
    published="pictures only (figure 9): MIG and DCI fall as spacing grows from 1 to 8 pixels",
    runs=plan,
)
def figure_9(job: Job) -> Conclusion:
    """MIG and DCI against spacing, a line for each framework."""
    grid = cells(job.scale)
    note_protocol(job, job.runs(grid[0].label), 57_600, 5)
    job.admit("Four seeds were planned, and cut for time when the first of Ada-GVAE had been seen.")
    panels: dict[str, dict[str, dict[float, Floats]]] = {title: {} for title in SCORES}
    for title, score in SCORES.items():
        for cell in grid:
            same = of_group(grid, cell.framework, cell.group)
            spacing = float(cell.settings["data"]["spacing"])
            panels[title].setdefault(cell.framework, {})[spacing] = scores_of_best_beta(job, same, score)
    frameworks = list(panels["MIG"])
    rows = [["spacing", *(f"{f}: {score}" for f in frameworks for score in ("MIG", "DCI"))]]
    for spacing in sorted(panels["MIG"][frameworks[0]]):
        shown = [mean_and_deviation(panels[title][f][spacing]) for f in frameworks for title in panels]
        rows.append([f"{spacing:g} px", *shown])
    findings = []
    for title, framework in itertools.product(panels, frameworks):
        lines = panels[title][framework]
        x = np.concatenate([np.full(len(values), spacing) for spacing, values in lines.items()])
        y = np.concatenate(list(lines.values()))
        findings.append(correlated(f"{framework}: rank correlation of {title} with spacing", x, y, sign=-1))
    picture = score_lines(panels, x="spacing of grid points in pixels of 64")
    return Conclusion(rows, findings, {"scores": picture})
