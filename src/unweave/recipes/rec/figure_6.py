"""REC figure 6: scores over hyper-parameters, XYSquares against existing data sets."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from unweave.plots.half_violins import half_violins
from unweave.recipes.claims import Finding, above, higher
from unweave.recipes.rec.models import (
    FRAMEWORKS,
    SMOKE,
    SQUARES,
    Cell,
    networks,
    note_protocol,
    of_group,
    protocol,
    score_panels,
    variants,
)
from unweave.recipes.recipe import Conclusion, Job, Scale, data_or_stand_in, label_of_data, recipe


def cells(scale: Scale) -> list[Cell]:
    """The grid of the figure (table A4): data sets x frameworks x beta x latents.

    Example:
        >>> len(cells("paper"))
        160
    """
    betas = {
        "smoke": (0.001,),
        "small": (0.000316, 0.001, 0.00316, 0.01),
        "paper": (0.000316, 0.001, 0.00316, 0.01, 0.0316, 0.1, 0.316, 1.0),
    }[scale]
    data = data_of(scale)
    latents = (9, 25) if scale == "paper" else (None,)

    def settings(name: str) -> dict[str, Any]:
        size = data[name].get("size", 64)
        return {"data": data[name], **networks(scale, size, 2 if size == 64 else 1)}

    return [
        Cell(framework, name, beta, settings(name), count)
        for name in data
        for framework in FRAMEWORKS
        for beta in betas
        for count in latents
    ]


def data_of(scale: Scale) -> dict[str, dict[str, Any]]:
    """The data sets of a scale by the name that rows and pictures show: of a stand-in, what stands for what.

    Example:
        >>> list(data_of("small"))
        ['dSprites', 'XYSquares']
    """
    squares = {"name": "XYSquares", "size": SQUARES[scale]}
    if scale == "smoke":
        return {"XYSquares for Cars3D": SMOKE, "XYSquares": squares}
    sprites = {"dSprites": {"name": "DSprites"}}
    if scale == "small":
        return {**sprites, "XYSquares": squares}
    shapes, cars, norb = (
        data_or_stand_in(name, toys, **options)[0]
        for name, toys, options in (
            ("Shapes3D", "", {}),
            ("Cars3D", "Objects3D", {}),
            ("SmallNORB", "Objects3D", {"channels": 1}),
        )
    )
    others = {
        label_of_data(data, label): data
        for label, data in (("3D Shapes", shapes), ("Cars3D", cars), ("Small NORB", norb))
    }
    return {**sprites, **others, "XYSquares": squares}


def plan(scale: Scale) -> dict[str, Any]:
    """All data sets, both frameworks, over beta and latents (table A4).

    Example:
        >>> plan("paper")["base"]["steps"]
        115200
    """
    return {
        "base": protocol(scale, steps=115_200, small=1_000, latents=9),
        "variants": variants(cells(scale)),
        "seeds": 2 if scale == "smoke" else 1,
        "metrics": ["elbo", "mig", "dci"],
    }


def best_beta(job: Job, grid: Sequence[Cell], framework: str) -> Finding:
    """The claim that XYSquares need much smaller beta: decades between the best beta of other data and its own."""

    def best(group: str) -> float:
        return max(
            of_group(grid, framework, group), key=lambda cell: float(job.scores(cell.label, "mig").max())
        ).beta

    others = [best(group) for group in dict.fromkeys(cell.group for cell in grid) if group != "XYSquares"]
    decades = float(np.mean(np.log10(others)) - np.log10(best("XYSquares")))
    return above(f"{framework}: best beta in decades, other data minus XYSquares", decades)


@recipe(
    "rec-fig6",
    title="Scores over hyper-parameters: XYSquares against existing data sets",
    claim="Disentanglement on XYSquares is far below that on existing data sets, whatever beta and framework.",
    published="pictures only (figure 6)",
    runs=plan,
)
def figure_6(job: Job) -> Conclusion:
    """Densities of MIG and DCI over beta and latents, Ada-GVAE to the left and beta-VAE to the right of each set."""
    grid = cells(job.scale)
    note_protocol(job, job.runs(grid[0].label), 115_200)
    job.note(
        job.pick(smoke="XYSquares in the place of Cars3D.", small="Two of the five data sets.", paper="")
    )
    panels = score_panels(
        grid, lambda cells, score: np.concatenate([job.scores(cell.label, score) for cell in cells])
    )
    names = list(panels["MIG"])
    rows = [["data set", "framework", "MIG: mean", "highest", "DCI: mean", "highest"]]
    for name in names:
        for f in FRAMEWORKS:
            values = [panels[title][name][f] for title in panels]
            rows.append([name, f, *(text for v in values for text in (f"{v.mean():.3f}", f"{v.max():.3f}"))])
    findings: list[Finding] = []
    for f, (title, panel) in itertools.product(FRAMEWORKS, panels.items()):
        others = [panel[name][f] for name in names if name != "XYSquares"]
        squares = panel["XYSquares"][f]
        # The paper: "we are concerned only with the maximum score obtained".
        least = min(float(values.max()) for values in others)
        what = f"{f}: highest {title}, the lowest of other data minus XYSquares"
        findings.append(above(what, least - float(squares.max())))
        findings.append(higher(f"{f}: {title}, other data minus XYSquares", np.concatenate(others), squares))
    findings += [best_beta(job, grid, f) for f in FRAMEWORKS]
    return Conclusion(rows, findings, {"scores": half_violins(panels)})
