"""What each latent encodes: a map over positions, curves over other factors, and its traversal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.plots.images import as_rgb
from unweave.plots.style import FAINT, INK, PALETTE, bare, new_figure

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
    strips = _strips(sheet)
    shape = (strips.shape[2] + 2) / strips.shape[1]
    # One scale for all rows, so that an unused latent looks unused.
    limit = max(float(np.abs(field).max()), *(float(np.abs(v).max()) for v in lines.values()), 1e-9)
    side, top = 0.72, 0.34 + (0.26 if title else 0.0) + (0.2 if classes else 0.0)
    across = side * (1.25 * (1 + len(lines)) + shape)
    with new_figure(across + 1.0, rows * side * 1.12 + top + 0.1) as figure:
        grid = figure.add_gridspec(rows, 2 + len(lines), width_ratios=[1.0, *[1.25] * len(lines), shape])
        for i, label in enumerate(labels):
            plane, *curved, strip = (figure.add_subplot(grid[i, j]) for j in range(2 + len(lines)))
            plane.imshow(field[i], cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
            bare(plane)
            plane.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=8)
            for j, (axes, values) in enumerate(zip(curved, lines.values(), strict=True)):
                _draw_lines(axes, values[i], limit, classes if i == 0 and j == 0 else ())
            strip.imshow(strips[i], interpolation="nearest")
            bare(strip)
        columns = ("x, y", *lines, "traversal of the latent")
        for axes, name in zip(figure.axes, columns, strict=False):
            axes.set_title(name, fontsize=8, fontweight="normal", loc="center")
        if classes:
            figure.legend(loc="outside lower left", ncols=len(classes), fontsize=7)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    return figure


def _strips(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Images (rows, steps, H, W, 3) of each row side by side, (rows, H, width, 3)."""
    rows, steps, height, width, _ = images.shape
    strips = np.full((rows, height, steps * (width + 2) - 2, 3), 255, np.uint8)
    for step in range(steps):
        strips[:, :, step * (width + 2) : step * (width + 2) + width] = images[:, step]
    return strips


def factor_map(
    values: ArrayLike, factors: Sequence[str], latents: Sequence[str], title: str | None = None
) -> "Figure":
    """A number for each factor (row) and latent (column) as a tinted table; below 0 the tint is orange.

    Args:
        values: (factors, latents) in -1 to 1.
        factors: names of the rows.
        latents: names of the columns.
        title: of the figure.

    Example:
        >>> figure = factor_map([[0.9, 0.0]], ["x"], ["z0", "z1"])
        >>> [text.get_text() for text in figure.axes[0].texts]
        ['0.90', '0.00']

    """
    from matplotlib.colors import LinearSegmentedColormap

    table = np.asarray(values, dtype=np.float64)
    if table.shape != (len(factors), len(latents)):
        raise UnweaveError(
            f"a map of {len(factors)} factors and {len(latents)} latents needs as many values, got {table.shape}"
        )
    tints = LinearSegmentedColormap.from_list("map", [PALETTE[1], "#ffffff", PALETTE[0]])
    with new_figure(0.5 * len(latents) + 1.2, 0.32 * len(factors) + 0.75) as figure:
        axes = figure.subplots()
        axes.imshow(table, cmap=tints, vmin=-1, vmax=1, aspect="auto")
        for i, j in np.ndindex(*table.shape):
            text = f"{table[i, j]:.2f}".replace("-", "−")
            dark = abs(table[i, j]) > 0.6
            axes.text(j, i, text, ha="center", va="center", fontsize=7.5, color="white" if dark else INK)
        axes.set_xticks(range(len(latents)), latents)
        axes.set_yticks(range(len(factors)), factors)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        if title:
            axes.set_title(title)
    return figure


def response_curves(
    responses: Sequence[tuple[str, str, ArrayLike, ArrayLike, ArrayLike, ArrayLike]],
) -> "Figure":
    """How a latent follows a factor, one panel each: a line between the ends of a band.

    Args:
        responses: factor, latent, values of the factor, and the lower end, the middle and the upper end at each value.

    Example:
        >>> figure = response_curves([("x", "z0", [0, 1], [-1, 0], [0, 1], [1, 2])])
        >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
        ('x', 'z0')

    """
    columns = min(len(responses), 4) or 1
    rows = -(-len(responses) // columns) or 1
    with new_figure(2.2 * columns, 1.8 * rows) as figure:
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, (factor, latent, values, low, middle, high) in zip(grid, responses, strict=False):
            x, lower, line, upper = (np.asarray(each, np.float64) for each in (values, low, middle, high))
            axes.fill_between(x, lower, upper, color=PALETTE[0], alpha=0.22, linewidth=0)
            axes.plot(x, line, color=PALETTE[0], marker="o" if len(x) == 1 else None)
            axes.set(xlabel=factor, ylabel=latent)
        for axes in grid[len(responses) :]:
            axes.set_axis_off()
    return figure


def _draw_lines(axes: "Axes", lines: NDArray[np.float64], limit: float, labels: Sequence[str]) -> None:
    """One line (values,) for each class, labelled as far as there are labels."""
    for k, line in enumerate(lines):
        label = labels[k] if k < len(labels) else None
        axes.plot(line, color=SHAPES[k % len(SHAPES)], linewidth=1.0, label=label)
    axes.set_ylim(-1.05 * limit, 1.05 * limit)
    axes.axhline(0, color=FAINT, linewidth=0.4)
    bare(axes, frame="#d5dbe0")
