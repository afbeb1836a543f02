"""Curves with confidence bands over seeds, one colour for each setting, and histograms of latents."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from unweave.errors import UnweaveError
from unweave.metrics.statistics import mean_interval
from unweave.plots.curves import block_means
from unweave.plots.style import FAINT, PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Band = tuple[ArrayLike, ArrayLike]
"""Positions (n,) on the horizontal axis, and the values of each seed there (seeds, n)."""

_MOST_POINTS = 60
_PRIOR = "#d62728"


def banded_curves(
    panels: Sequence[Sequence[tuple[str, Mapping[str, Band]]]],
    *,
    rows: Sequence[str],
    x: str = "iteration",
    share: bool = True,
    unit_interval: Sequence[int] = (),
) -> "Figure":
    """A table of panels; in each, the mean over seeds of every setting and the 95 % interval of that mean.

    Args:
        panels: rows of (title, setting -> (positions (n,), values (seeds, n))); all rows have the same length.
        rows: label of the vertical axis of each row.
        x: label of the horizontal axis.
        share: whether the panels of a row share one vertical scale.
        unit_interval: rows whose values lie in 0 to 1.

    References:
        FAC figures 4, 7, 8, 12, 37.

    Example:
        >>> band = ([1, 2, 3], [[0.1, 0.2, 0.3], [0.2, 0.3, 0.4]])
        >>> figure = banded_curves([[("beta-VAE", {"4": band}), ("FactorVAE", {"40": band})]], rows=["score"])
        >>> len(figure.axes), figure.axes[0].get_ylabel()
        (2, 'score')

    """
    columns = {len(row) for row in panels}
    if len(columns) != 1 or columns == {0} or len(rows) != len(panels):
        raise UnweaveError(
            "panels must have one label for each row and the same number of panels in every row"
        )
    width = columns.pop()
    with new_figure(3.5 * width + 0.3, 2.2 * len(panels) + 0.3) as figure:
        grid = figure.subplots(
            len(panels), width, squeeze=False, sharex=True, sharey="row" if share else False
        )
        for i, row in enumerate(panels):
            for axes, (title, settings) in zip(grid[i], row, strict=True):
                for k, (label, band) in enumerate(settings.items()):
                    _band(axes, label, band, PALETTE[k % len(PALETTE)])
                axes.set_title(title)
                if i == len(panels) - 1:
                    axes.set_xlabel(x)
                if settings and i == 0:
                    axes.legend(ncols=2, fontsize=7, handlelength=1.2, columnspacing=0.9)
            grid[i, 0].set_ylabel(rows[i])
            if i in unit_interval:
                for axes in grid[i]:
                    axes.set_ylim(0, 1.03)
    return figure


def histograms(
    cells: Sequence[Sequence[ArrayLike]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    reach: float = 3.5,
    title: str | None = None,
) -> "Figure":
    """Histograms of samples of each latent (columns) in each model (rows), with the density of N(0, 1) in red.

    Args:
        cells: rows of samples (n,) of each latent.
        rows: label of each row.
        columns: label of each column.
        reach: the axis goes from -reach to reach.
        title: of the figure.

    References:
        FAC figure 40.

    Example:
        >>> z = np.random.default_rng(0).normal(size=(2, 3, 100))
        >>> len(histograms(z, rows=["1", "4"], columns=["z0", "z1", "z2"]).axes)
        6

    """
    if len(cells) != len(rows) or any(len(row) != len(columns) for row in cells):
        raise UnweaveError("histograms need one label for each row and each column of samples")
    place = np.linspace(-reach, reach, 101)
    density = np.exp(-0.5 * place**2) / np.sqrt(2 * np.pi)
    with new_figure(0.92 * len(columns) + 0.7, 0.8 * len(rows) + 0.5) as figure:
        grid = figure.subplots(len(rows), len(columns), squeeze=False, sharex=True)
        for i, row in enumerate(cells):
            for j, samples in enumerate(row):
                axes = grid[i, j]
                values = np.asarray(samples, np.float64)
                axes.hist(values, bins=40, range=(-reach, reach), density=True, color=PALETTE[0])
                axes.plot(place, density, color=_PRIOR, linewidth=1)
                axes.set(xlim=(-reach, reach), yticks=[], xticks=[-2, 0, 2])
                axes.tick_params(labelsize=6.5, length=2)
                axes.spines["left"].set_visible(False)
                if i == 0:
                    axes.set_title(columns[j], fontsize=7.5, fontweight="normal", color=FAINT, loc="center")
            grid[i, 0].set_ylabel(rows[i], fontsize=8)
        if title:
            figure.suptitle(title, fontsize=10, fontweight="bold", x=0.01, ha="left")
    return figure


def value_histograms(
    cells: Sequence[Sequence[ArrayLike]], *, rows: Sequence[str], titles: Sequence[str]
) -> "Figure":
    """Histograms of several quantities (rows) in several models (columns), each with its own axis.

    Args:
        cells: rows of values (n,).
        rows: label of each row.
        titles: of the columns.

    References:
        FAC figure 18.

    Example:
        >>> z = np.random.default_rng(0).normal(size=(2, 3, 100))
        >>> len(value_histograms(z, rows=["joint", "product"], titles=["1", "5", "9"]).axes)
        6

    """
    if len(cells) != len(rows) or any(len(row) != len(titles) for row in cells):
        raise UnweaveError("histograms need one label for each row and one title for each column of values")
    with new_figure(2.5 * len(titles) + 0.4, 1.7 * len(rows) + 0.4) as figure:
        grid = figure.subplots(len(rows), len(titles), squeeze=False)
        for i, row in enumerate(cells):
            for j, values in enumerate(row):
                axes = grid[i, j]
                axes.hist(np.asarray(values, np.float64), bins=50, color=PALETTE[i % len(PALETTE)])
                axes.set_yticks([])
                axes.spines["left"].set_visible(False)
                axes.locator_params(axis="x", nbins=5)
                if i == 0:
                    axes.set_title(titles[j], fontsize=9)
            grid[i, 0].set_ylabel(rows[i])
    return figure


def _band(axes: "Axes", label: str, band: Band, color: str) -> None:
    where, values = block_means(*band, most=_MOST_POINTS)
    intervals = [mean_interval(column) for column in values.T]
    middle = np.array([each.mean for each in intervals])
    low = np.array([each.mean if each.low is None else each.low for each in intervals])
    high = np.array([each.mean if each.high is None else each.high for each in intervals])
    if len(where) == 1:
        axes.errorbar(where, middle, [middle - low, high - middle], color=color, capsize=3, linewidth=1.3)
    axes.fill_between(where, low, high, color=color, alpha=0.16, linewidth=0)
    few = len(where) < 12
    axes.plot(where, middle, "o-" if few else "-", markersize=3, color=color, label=label, linewidth=1.3)
