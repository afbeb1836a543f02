"""REC figure 6: scores over hyper-parameters, XYSquares against existing data sets."""

from typing import Any

import numpy as np

from unweave.plots.half_violins import half_violins
from unweave.recipes.claims import higher
from unweave.recipes.rec.models import (
    FRAMEWORKS,
    SCORES,
    SMOKE,
    SQUARES,
    Cell,
    Floats,
    networks,
    note_protocol,
    of_group,
    protocol,
    variants,
)
from unweave.recipes.recipe import Conclusion, Job, Scale, data_or_stand_in, recipe


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
    cars, _ = data_or_stand_in("Cars3D", "Objects3D")
    norb, _ = data_or_stand_in("SmallNORB", "Objects3D", channels=1)
    data: dict[str, dict[str, Any]] = {
        "dSprites": {"name": "DSprites"},
        "3D Shapes": {"name": "Shapes3D"},
        "Cars3D": SMOKE if scale == "smoke" else cars,
        "Small NORB": norb,
        "XYSquares": {"name": "XYSquares", "size": SQUARES[scale]},
    }
    shown = {"smoke": ("Cars3D", "XYSquares"), "small": ("dSprites", "XYSquares"), "paper": tuple(data)}
    latents = (9, 25) if scale == "paper" else (None,)

    def settings(name: str) -> dict[str, Any]:
        size = data[name].get("size", 64)
        return {"data": data[name], **networks(scale, size, 2 if size == 64 else 1)}

    return [
        Cell(framework, name, beta, settings(name), count)
        for name in shown[scale]
        for framework in FRAMEWORKS
        for beta in betas
        for count in latents
    ]


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
    if job.scale == "paper":
        for name in ("Cars3D", "SmallNORB"):
            job.note(data_or_stand_in(name, "Objects3D")[1])
    else:
        job.note(
            job.pick(smoke="XYSquares in the place of Cars3D.", small="Two of the five data sets.", paper="")
        )
    names = list(dict.fromkeys(cell.group for cell in grid))
    panels: dict[str, dict[str, dict[str, Floats]]] = {title: {} for title in SCORES}
    for title, score in SCORES.items():
        for name in names:
            panels[title][name] = {
                f: np.concatenate([job.scores(c.label, score) for c in of_group(grid, f, name)])
                for f in FRAMEWORKS
            }
    rows = [["data set", "framework", "MIG: mean", "highest", "DCI: mean", "highest"]]
    for name in names:
        for f in FRAMEWORKS:
            values = [panels[title][name][f] for title in panels]
            rows.append([name, f, *(text for v in values for text in (f"{v.mean():.3f}", f"{v.max():.3f}"))])
    findings = []
    for f in FRAMEWORKS:
        others = np.concatenate([panels["MIG"][name][f] for name in names if name != "XYSquares"])
        squares = panels["MIG"]["XYSquares"][f]
        findings.append(higher(f"{f}: MIG, other data minus XYSquares", others, squares))
    return Conclusion(rows, findings, {"scores": half_violins(panels)})
