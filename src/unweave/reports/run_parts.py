"""What a page shows of runs: sheets of images, live figures of latent geometry, training curves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from unweave import plots
from unweave.metrics import GridEmbedding
from unweave.reports.charts import LivePoint, chart
from unweave.reports.run_summary import RunSummary
from unweave.reports.sprites import Strip, reduced, sprite_sheet, strips, subgrid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNIT = 2.0
"""Length of the axes at least where a model has not learned: two standard deviations of the prior."""

MOST_TOLD = 60
"""Points of a training curve that a pointer can ask for their numbers."""


@dataclass(frozen=True)
class Sheet:
    """Rows of images with a name and a note beside each, and a text below each column.

    Example:
        >>> Sheet([], [], [], ["-2", "2"]).ticks
        ['-2', '2']
    """

    strips: list[Strip]
    names: list[str]
    notes: list[str]
    ticks: list[str]


@dataclass(frozen=True)
class LinkedPanels:
    """Figures whose points belong together, and the images behind the points.

    Example:
        >>> LinkedPanels([], []).sheets
        []
    """

    panels: list[Markup]
    sheets: list[Markup]


def reconstruction_sheet(summary: RunSummary) -> Sheet:
    """Images of the data above their reconstructions.

    Example:
        >>> reconstruction_sheet.__annotations__["return"] is Sheet
        True
    """
    rows = [summary.originals, summary.reconstructed]
    return Sheet(
        strips(rows, ["images of the data", "their reconstructions"]), ["data", "model"], ["", ""], []
    )


def traversal_sheet(summary: RunSummary, most: int | None = None) -> Sheet:
    """One row for each latent that is shown, or for the first ``most`` of them.

    Example:
        >>> traversal_sheet.__annotations__["return"] is Sheet
        True
    """
    order = summary.order[:most]
    low, high = summary.span
    names = [summary.names[j] for j in order]
    alts = [f"latent {name} varied from {low:g} to {high:g}" for name in names]
    values = np.linspace(low, high, summary.traversals.shape[1])
    ticks = [f"{value:+.1f}".replace("+0.0", "0").replace("-", "−") for value in values]
    notes = [f"KL {summary.kl[j]:.2f}" for j in order]
    return Sheet(strips(list(summary.traversals[: len(order)]), alts), names, notes, ticks)


def geometry_groups(summaries: Sequence[RunSummary]) -> list[LinkedPanels]:
    """The factor grid and its codes in every model: one group if all have the same grid, else one for each.

    Example:
        >>> geometry_groups([])
        []
    """
    with_grid = [(each, each.grid) for each in summaries if each.grid is not None]
    if not with_grid:
        return []
    first = with_grid[0][1]
    if not all(_same(grid, first) for _, grid in with_grid):
        return [group for each, _ in with_grid for group in geometry_groups([each])]
    chosen = subgrid(first.factors)
    panels = [_factor_panel(first, chosen)]
    panels += [_code_panel(each, grid, chosen) for each, grid in with_grid]
    return [LinkedPanels(panels, _images_behind(with_grid, chosen))]


def curve_charts(histories: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Markup]:
    """Training curves, one chart a term; the numbers of a curve can be asked for.

    Example:
        >>> history = [{"step": i, "total": 100 / i} for i in range(1, 50)]
        >>> [markup.count('role="img"') for markup in curve_charts({"": history})]
        [1]
    """
    made = []
    for title, figure in plots.curve_panels(histories).items():
        made.append(chart(figure, f"training curve: {title}", points=_told(figure), widest=1.4))
    return made


def kl_chart(summary: RunSummary) -> Markup:
    """The KL of each latent.

    Example:
        >>> kl_chart.__annotations__["return"] is Markup
        True
    """
    figure = plots.kl_bars(summary.kl, scales=summary.scales, names=summary.names)
    return chart(figure, f"KL of each latent of {summary.label}")


def _told(figure: "Figure") -> list[LivePoint]:
    """Points of the curves of a panel; none if there is a curve for each latent, where they would be in a tangle."""
    [axes] = figure.axes
    lines = axes.lines
    if len(lines) > 4:
        return []
    points = []
    for line in lines:
        x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
        name = str(line.get_label())
        before = "" if name.startswith("_") else f"{name}, "
        for k in range(0, len(x), -(-len(x) // MOST_TOLD)):
            low, high = sorted(axes.get_ylim())
            if np.isfinite(y[k]) and low <= y[k] <= high:
                points.append(
                    LivePoint(x[k], y[k], f"{before}step {x[k]:,.0f}: {y[k]:.4g}".replace("-", "−"))
                )
    return points


def _same(one: GridEmbedding, two: GridEmbedding) -> bool:
    return one.names == two.names and np.array_equal(one.factors, two.factors)


def _place(grid: GridEmbedding, point: int) -> str:
    (x, y), (first, second) = grid.factors[point], grid.names
    return f"{first} {x:.3g}, {second} {y:.3g}"


def _factor_panel(grid: GridEmbedding, chosen: NDArray[np.int64]) -> Markup:
    figure = plots.grid_panel(
        grid.factors, grid.factors, title="factors", labels=grid.names, held_out=grid.held_out
    )
    points = [
        LivePoint(float(grid.factors[i, 0]), float(grid.factors[i, 1]), _place(grid, i), k)
        for k, i in enumerate(chosen.tolist())
    ]
    return chart(figure, f"a grid over {grid.names[0]} and {grid.names[1]}", points=points)


def _code_panel(summary: RunSummary, grid: GridEmbedding, chosen: NDArray[np.int64]) -> Markup:
    a, b = (summary.names[j] for j in grid.latents)
    score = summary.scores["geometry"].value
    learned = summary.health.has_learned
    figure = plots.grid_panel(
        grid.codes,
        grid.factors,
        title=f"{summary.label}: geometry {score:.2f}" if learned else f"{summary.label}: has not learned",
        labels=(a, b),
        held_out=grid.held_out,
        least_span=0.0 if learned else UNIT,
    )
    points = [
        LivePoint(u, v, f"{_place(grid, i)}: {a} {u:.2f}, {b} {v:.2f}".replace("-", "−"), k)
        for k, i in enumerate(chosen.tolist())
        for u, v in [grid.codes[i].tolist()]
        if np.isfinite(u) and np.isfinite(v)
    ]
    return chart(figure, f"codes of the grid in {summary.label}", points=points)


def _images_behind(
    with_grid: Sequence[tuple[RunSummary, GridEmbedding]], chosen: NDArray[np.int64]
) -> list[Markup]:
    """The images at the chosen points, and what each model decodes from their codes."""
    summary, grid = with_grid[0]
    made = []
    if grid.points is not None:
        made.append(sprite_sheet(reduced(summary.run.dataset().images(grid.points[chosen])), "data"))
    for each, own in with_grid:
        codes = own.means[chosen].astype(np.float32)
        label = "decoded" if len(with_grid) == 1 else each.label
        made.append(sprite_sheet(reduced(np.asarray(each.run.model().decode_mean(codes))), label))
    return made
