"""REC figure 2: factor traversals of existing data sets."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unweave.data import Dataset
from unweave.metrics.distances import mse
from unweave.metrics.statistics import rank_correlation
from unweave.plots.images import contact_sheet
from unweave.plots.style import bare, new_figure
from unweave.recipes.claims import equal
from unweave.recipes.rec.datasets import EXISTING, data_sets, read_data, varying_factors
from unweave.recipes.recipe import Conclusion, Job, recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@recipe(
    "rec-fig2",
    title="Factor traversals of existing data sets",
    claim="Images along a factor, such as the scale of 3D Shapes, can be put in order by how much they overlap.",
    published="pictures only (figure 2, section 4)",
    data=lambda: read_data(EXISTING),
)
def figure_2(job: Job) -> Conclusion:
    """Columns of images that differ in one factor, and whether overlap alone gives their order."""
    found = data_sets(EXISTING, job)
    rng, shapes = np.random.default_rng(0), found["Shapes3D"]
    orders = []
    for start in shapes.factor_space().sample(job.pick(smoke=3, small=50, paper=50), rng):
        images = shapes.images(shapes.factor_space().traversal("scale", start)) / np.float32(255)
        from_first = mse(np.repeat(images[:1], len(images) - 1, axis=0), images[1:])
        orders.append(rank_correlation(np.arange(len(from_first)), from_first))
    rows = [["data set", "factors", "images"]]
    for name, dataset in found.items():
        space = dataset.factor_space()
        factors = ", ".join(f"{factor} {size}" for factor, size in zip(space.names, space.sizes, strict=True))
        rows.append([name, factors, f"{dataset.count:,}"])
    claim = "3D Shapes, scale: rank correlation of the distance from the smallest object with size, least of traversals"
    return Conclusion(rows, [equal(claim, min(orders), 1.0)], {"traversals": _sheets(found)})


def _columns(dataset: Dataset) -> NDArray[Any]:
    """Five images along every factor, ``(5, factors, ...)``."""
    space = dataset.factor_space()
    middle = np.array([(size - 1) // 2 if isinstance(size, int) else np.mean(size) for size in space.sizes])
    columns = []
    for factor in varying_factors(dataset):
        points = space.traversal(factor, middle.astype(np.int64), 5)
        columns.append(dataset.images(points[np.linspace(0, len(points) - 1, 5).round().astype(int)]))
    return np.swapaxes(np.stack(columns), 0, 1)


def _sheets(found: Mapping[str, Dataset]) -> "Figure":
    sheets = {name: _columns(dataset) for name, dataset in found.items()}
    counts = [images.shape[1] for images in sheets.values()]
    rows = max(images.shape[0] for images in sheets.values())
    with new_figure(0.72 * sum(counts) + 0.4, 0.68 * rows + 0.85) as figure:
        panels = figure.subplots(1, len(sheets), squeeze=False, width_ratios=counts)[0]
        for axes, (name, images) in zip(panels, sheets.items(), strict=True):
            sheet = contact_sheet(images)
            axes.imshow(sheet, interpolation="none")
            bare(axes)
            axes.set_title(name, loc="center")
            step = (sheet.shape[1] + 2) / images.shape[1]
            for j, factor in enumerate(varying_factors(found[name])):
                label = factor.replace("_", "\n")
                axes.text((j + 0.5) * step - 1, sheet.shape[0] + 4, label, ha="center", va="top", fontsize=7)
    return figure
