"""The image of a factor grid in latent space (SBD figure 4)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.plots.style import FAINT, INK, new_figure, plane_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def geometry(
    grid_codes: ArrayLike,
    grid_factors: ArrayLike,
    *,
    held_out: ArrayLike | None = None,
    title: str | None = None,
    score: float | None = None,
    names: Sequence[str] = ("x", "y"),
    latents: Sequence[int] | None = None,
) -> "Figure":
    """The grid of two factors on the left and its codes on the right, in the same colours.

    Neighbours on the grid are joined by lines; a Euclidean image is again a square grid, possibly rotated. Held-out
    points are black.

    Args:
        grid_codes: (m, 2) or (rows, columns, 2) codes in two latents.
        grid_factors: (m, 2) or (rows, columns, 2) factors.
        held_out: (m,) or (rows, columns) True for points held out from training.
        title: of the panel with the codes.
        score: geometry score, written beside the title.
        names: of the two factors.
        latents: numbers of the two latents, for the axes.

    References:
        Watters et al. 2019 (SBD), figure 4.

    Example:
        >>> f = np.stack(np.meshgrid(range(4), range(4), indexing="ij"), -1)
        >>> len(geometry(f * 2.0, f, score=1.0).axes)
        2

    """
    return comparison(
        {title or "in latent space": grid_codes},
        grid_factors,
        held_out=held_out,
        scores=None if score is None else [score],
        names=names,
        latents=None if latents is None else [latents],
    )


def comparison(
    grids: Mapping[str, ArrayLike],
    grid_factors: ArrayLike,
    *,
    held_out: ArrayLike | None = None,
    scores: Sequence[float] | None = None,
    names: Sequence[str] = ("x", "y"),
    latents: Sequence[Sequence[int]] | None = None,
) -> "Figure":
    """The factor grid and its codes in several models side by side; one panel per entry of ``grids``.

    Args:
        grids: title -> codes (m, 2) of the same grid in that model's two latents.
        grid_factors: (m, 2) factors.
        held_out: (m,) True for points held out from training.
        scores: geometry score of each model.
        names: of the two factors.
        latents: numbers of the two latents of each model.

    Example:
        >>> f = np.stack(np.meshgrid(range(4), range(4), indexing="ij"), -1)
        >>> len(comparison({"a": f, "b": f @ [[1, 1], [0, 1]]}, f, scores=[1.0, 0.8]).axes)
        3

    """
    factors = np.asarray(grid_factors, dtype=np.float64).reshape(-1, 2)
    hole = np.zeros(len(factors), bool) if held_out is None else np.asarray(held_out, bool).reshape(-1)
    colors = grid_colors(factors, hole)
    edges = grid_edges(factors)
    with new_figure(2.6 + 3.6 * len(grids), 3.7) as figure:
        # The factor grid is only the key to the colours, so its panel is smaller.
        panels = figure.subplots(1, 1 + len(grids), width_ratios=[0.7] + [1.0] * len(grids), squeeze=False)[0]
        draw_grid(panels[0], factors, edges, colors, hole, "box")
        panels[0].set(title="factors", xlabel=names[0], ylabel=names[1])
        for i, (title, codes) in enumerate(grids.items()):
            points = np.asarray(codes, dtype=np.float64).reshape(-1, 2)
            if len(points) != len(factors):
                raise UnweaveError(
                    f"codes of {title} must have {len(factors)} grid points, got {len(points)}"
                )
            draw_grid(panels[i + 1], points, edges, colors, hole)
            first, second = latents[i] if latents is not None else (0, 1)
            labels = (f"z{first}", f"z{second}") if latents is not None else ("first latent", "second latent")
            panels[i + 1].set(xlabel=labels[0], ylabel=labels[1])
            panels[i + 1].set_title(title)
            if scores is not None:
                note = f"geometry {scores[i]:.2f}"
                panels[i + 1].set_title(note, loc="right", fontweight="normal", fontsize=9)
    return figure


def grid_panel(
    points: ArrayLike,
    grid_factors: ArrayLike,
    *,
    title: str,
    labels: tuple[str, str],
    held_out: ArrayLike | None = None,
    least_span: float = 0.0,
) -> "Figure":
    """One panel of :func:`comparison` as a figure of its own.

    Args:
        points: (m, 2) where the points of the grid are drawn.
        grid_factors: (m, 2) factors, which give the colours and the neighbours.
        title: above the panel.
        labels: of the two axes.
        held_out: (m,) True for points held out from training.
        least_span: length of the axes at least, in data units: codes that are all the same look the same.

    Example:
        >>> f = np.stack(np.meshgrid(range(4), range(4), indexing="ij"), -1)
        >>> panel = grid_panel(0.01 * f, f, title="codes", labels=("z0", "z1"), least_span=4.0)
        >>> float(np.ptp(panel.axes[0].get_xlim())) >= 4
        True

    """
    factors, places = (np.asarray(a, dtype=np.float64).reshape(-1, 2) for a in (grid_factors, points))
    hole = np.zeros(len(factors), bool) if held_out is None else np.asarray(held_out, bool).reshape(-1)
    with new_figure(3.6, 3.6) as figure:
        axes = figure.subplots()
        draw_grid(axes, places, grid_edges(factors), grid_colors(factors, hole), hole)
        if least_span and np.isfinite(places).all() and float(np.ptp(places, axis=0).max()) < least_span:
            x, y = places.mean(axis=0)
            half = least_span / 2
            axes.set_aspect("equal", adjustable="box")
            axes.set(xlim=(x - half, x + half), ylim=(y - half, y + half))
        axes.set(xlabel=labels[0], ylabel=labels[1], title=title)
    return figure


def grid_colors(factors: NDArray[np.float64], held_out: NDArray[np.bool_]) -> NDArray[np.float64]:
    """A colour (m, 3) for each grid point (m, 2) by its position in the grid; black if held out (m,).

    Example:
        >>> grid_colors(np.array([[0.0, 0.0], [4.0, 2.0]]), np.array([False, True])).round(2).tolist()
        [[0.07, 0.24, 0.55], [0.0, 0.0, 0.0]]

    """
    spans = np.ptp(factors, axis=0)
    colors = plane_colors((factors - factors.min(axis=0)) / np.where(spans > 0, spans, 1))
    colors[held_out] = 0.0
    return colors


def grid_edges(factors: NDArray[np.float64]) -> NDArray[np.int64]:
    """Pairs of neighbours on a grid of points (m, 2), (edges, 2); points may come in any order.

    Example:
        >>> grid_edges(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])).tolist()
        [[0, 2], [0, 1]]

    """
    place = np.stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in factors.T], axis=1)
    where = {(int(a), int(b)): i for i, (a, b) in enumerate(place)}
    pairs = [
        (i, where[(a + da, b + db)])
        for (a, b), i in where.items()
        for da, db in ((1, 0), (0, 1))
        if (a + da, b + db) in where
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def draw_grid(
    axes: "Axes",
    points: NDArray[np.float64],
    edges: NDArray[np.int64],
    colors: NDArray[np.float64],
    held_out: NDArray[np.bool_],
    adjustable: Literal["box", "datalim"] = "datalim",
) -> None:
    """Grid points (m, 2) in their colours, neighbours joined by lines; held-out points are black.

    Example:
        >>> from matplotlib.figure import Figure
        >>> axes, points = Figure().add_subplot(), np.array([[0.0, 0.0], [0.0, 1.0]])
        >>> draw_grid(axes, points, grid_edges(points), np.zeros((2, 3)), np.zeros(2, bool))
        >>> len(axes.collections)
        3

    """
    from matplotlib.collections import LineCollection

    finite: NDArray[np.bool_] = np.asarray(np.isfinite(points).all(axis=1))
    edges = edges[finite[edges].all(axis=1)]
    tint = colors[edges].mean(axis=1)
    axes.add_collection(LineCollection(list(points[edges]), colors=list(tint), linewidths=0.9, alpha=0.75))
    size = 9 if len(points) > 200 else 14
    seen = finite & ~held_out
    axes.scatter(points[seen, 0], points[seen, 1], c=colors[seen], s=size, linewidths=0, zorder=3)
    unseen = finite & held_out
    axes.scatter(points[unseen, 0], points[unseen, 1], color=INK, s=size, linewidths=0, zorder=4)
    axes.set_aspect("equal", adjustable=adjustable)
    axes.margins(0.06)
    axes.locator_params(nbins=5)
    axes.spines[["top", "right"]].set_visible(True)
    for spine in axes.spines.values():
        spine.set_color(FAINT)
        spine.set_alpha(0.5)
