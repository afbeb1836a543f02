"""What each latent encodes: a map over positions, curves over other factors, and its traversal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.plots.images import as_rgb
from unweave.plots.style import FAINT, bare, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHAPES = ("#4daf4a", "#e41a1c", "#377eb8")
"""Colours of square, ellipse and heart, as in ISA figures 8 to 16."""


def latent_rows(
    maps: ArrayLike,
    curves: Mapping[str, ArrayLike],
    images: ArrayLike,
    labels: Sequence[str],
    *,
    classes: Sequence[str] = (),
    title: str | None = None,
) -> "Figure":
    """A row for each latent: its value over a plane of positions in red and blue, its value over other factors as
    curves with one colour per class, and the images of its traversal.

    Args:
        maps: (latents, height, width) value of each latent at every position; red is high, blue is low.
        curves: name of a factor -> (latents, classes, values) mean value of each latent.
        images: (latents, steps, C, H, W), the traversals.
        labels: one for each row.
        classes: names of the classes, one for each colour of the curves.
        title: of the figure.

    References:
        ISA figures 8 to 16; Chen et al. 2018, figure 5.

    Example:
        >>> figure = latent_rows(np.zeros((2, 4, 4)), {"scale": np.zeros((2, 3, 6))}, np.zeros((2, 5, 1, 8, 8)), ["a", "b"])
        >>> len(figure.axes)
        6

    """  # noqa: E501
    field, sheet = np.asarray(maps, dtype=np.float64), as_rgb(images)
    lines = {name: np.asarray(values, dtype=np.float64) for name, values in curves.items()}
    rows = len(labels)
    if {len(field), len(sheet), *map(len, lines.values())} != {rows}:
        raise UnweaveError(f"every latent needs a map, curves, images and a label: there are {rows} labels")
    steps, height, width = sheet.shape[1:4]
    strip = np.full((rows, height, steps * (width + 2) - 2, 3), 255, np.uint8)
    for step in range(steps):
        strip[:, :, step * (width + 2) : step * (width + 2) + width] = sheet[:, step]
    # One scale for all rows, so that an unused latent looks unused.
    limit = max(float(np.abs(field).max()), *(float(np.abs(v).max()) for v in lines.values()), 1e-9)
    side, top = 0.72, 0.34 + (0.26 if title else 0.0) + (0.2 if classes else 0.0)
    across = side * (1.25 * (1 + len(lines)) + steps * (width + 2) / height)
    with new_figure(across + 1.0, rows * side * 1.12 + top + 0.1) as figure:
        grid = figure.add_gridspec(
            rows, 2 + len(lines), width_ratios=[1.0, *[1.25] * len(lines), steps * (width + 2) / height]
        )
        for i, label in enumerate(labels):
            axes = figure.add_subplot(grid[i, 0])
            axes.imshow(field[i], cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
            bare(axes)
            axes.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=8)
            if i == 0:
                axes.set_title("x, y", fontsize=8, fontweight="normal", loc="center")
            for j, (name, values) in enumerate(lines.items()):
                axes = figure.add_subplot(grid[i, 1 + j])
                _draw_lines(axes, values[i], limit, classes if i == 0 and j == 0 else ())
                if i == 0:
                    axes.set_title(name, fontsize=8, fontweight="normal", loc="center")
            axes = figure.add_subplot(grid[i, 1 + len(lines)])
            axes.imshow(strip[i], interpolation="nearest")
            bare(axes)
            if i == 0:
                axes.set_title("traversal of the latent", fontsize=8, fontweight="normal", loc="center")
        if classes:
            figure.legend(loc="outside lower left", ncols=len(classes), fontsize=7)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    return figure


def _draw_lines(axes: "Axes", lines: NDArray[np.float64], limit: float, labels: Sequence[str]) -> None:
    """One line (values,) for each class, labelled as far as there are labels."""
    for k, line in enumerate(lines):
        label = labels[k] if k < len(labels) else None
        axes.plot(line, color=SHAPES[k % len(SHAPES)], linewidth=1.0, label=label)
    axes.set_ylim(-1.05 * limit, 1.05 * limit)
    axes.axhline(0, color=FAINT, linewidth=0.4)
    bare(axes, frame="#d5dbe0")
