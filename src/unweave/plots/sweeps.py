"""Many runs in one picture: trade-offs with confidence bands, violins over seeds, agreement of scores."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.metrics.statistics import Interval
from unweave.plots.score_panels import Limits, possible, seed_interval
from unweave.plots.style import FAINT, INK, PALETTE, RULE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Spread = Literal["interval", "hull", "standard error"]
"""What a trade-off draws around its means."""

_BARS = "bars are standard errors"

_DIVERGING = ("#b2182b", "#f4a582", "#f7f7f7", "#92c5de", "#2166ac")


@dataclass(frozen=True)
class Point:
    """A variant on a trade-off curve: its label and two values for each of its seeds.

    Example:
        >>> Point("4", [1.0, 2.0], [0.3, 0.4]).label
        '4'
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]


def trade_off(
    series: Mapping[str, Sequence[Point]],
    *,
    x: str,
    y: str,
    swept: str = "",
    unit_interval: bool = False,
    spread: Spread = "interval",
    marked: str = "",
    limits: tuple[Limits, Limits] = ((None, None), (None, None)),
) -> "Figure":
    """One score against another: a curve through the means of each series, with a band for the mean of y.

    Small dots are single runs. The band is the 95 % interval of the mean of y at each point, connected along the
    curve; a series of one point is drawn as a cross of its two intervals. If there are more series than colours, all
    have the same colour.

    Args:
        series: name -> points in the order of the curve; a single series has no legend.
        x: label of the horizontal axis.
        y: label of the vertical axis.
        swept: the setting whose values are the labels of the points.
        unit_interval: whether y lies in 0 to 1, to which the axis is limited.
        spread: what is drawn around the means: the interval of the mean of y, the hull of one standard deviation of x
            and y (SBD figure 3), or bars of one standard error of both means (ISA figure 5b).
        marked: label of the points that are drawn white (beta = 1 in SBD figure 3).
        limits: of x and y: what lies beyond them is impossible and not drawn.

    References:
        FAC figure 5, SBD figure 3, ISA figure 5.

    Example:
        >>> points = [Point("1", [1.0, 1.2], [0.1, 0.2]), Point("4", [2.0, 2.2], [0.4, 0.5])]
        >>> trade_off({"BetaVAE": points}, x="NLL", y="MIG", swept="beta").axes[0].get_ylabel()
        'MIG'

    """
    series = {name: _possible_points(points, *limits) for name, points in series.items()}
    if not any(series.values()):
        raise UnweaveError("a trade-off needs at least one point")
    with new_figure(4.4, 3.2) as figure:
        axes = figure.subplots()
        many = len(series) > len(PALETTE)
        for i, (name, points) in enumerate(series.items()):
            _draw_series(axes, name, points, PALETTE[0 if many else i], spread, limits)
            for point in (each for each in points if marked and each.label == marked):
                middle = float(np.mean(point.x)), float(np.mean(point.y))
                axes.plot(*middle, "o", markersize=5, color="white", markeredgecolor=INK, zorder=5)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.margins(0.08)
        if unit_interval:
            low, high = axes.get_ylim()
            axes.set_ylim(max(low, -0.02), min(high, 1.02))
        if len(series) > 1 and not many:
            figure.legend(loc="outside upper left", ncols=3)
        notes = [f"labels are values of {swept}"] * bool(swept) + [_BARS] * (spread == "standard error")
        if notes:
            axes.set_title("; ".join(notes), fontsize=8, fontweight="normal", color=FAINT, loc="right")
    return figure


def violins(groups: Mapping[str, ArrayLike], *, y: str, unit_interval: bool = False) -> "Figure":
    """The distribution over seeds of each group: a density, every run, the mean and its 95 % interval.

    Args:
        groups: name -> values, one per seed.
        y: label of the values.
        unit_interval: whether the values lie in 0 to 1.

    References:
        REC figure 6.

    Example:
        >>> violins({"A": [0.1, 0.2, 0.4], "B": [0.5]}, y="MIG").axes[0].get_xlabel()
        'MIG'

    """
    if not groups:
        raise UnweaveError("violins need at least one group")
    names = list(groups)
    values = [np.asarray(list(np.atleast_1d(np.asarray(groups[name], dtype=np.float64)))) for name in names]
    with new_figure(4.4, max(1.5, 0.5 + 0.46 * len(names))) as figure:
        axes = figure.subplots()
        for row, sample in enumerate(values):
            color = PALETTE[row % len(PALETTE)]
            if len(sample) > 2 and np.ptp(sample) > 0:
                body = axes.violinplot(
                    [sample], [row], orientation="horizontal", widths=0.8, showextrema=False
                )
                shapes: Any = body["bodies"]
                for part in shapes:
                    part.set(facecolor=color, edgecolor="none", alpha=0.22)
            axes.plot(
                sample,
                row + _dot_offsets(sample),
                "o",
                markersize=3.2,
                color=color,
                alpha=0.75,
                markeredgewidth=0,
            )
            if len(sample):
                interval = seed_interval(sample.tolist())
                if interval.low is not None and interval.high is not None:
                    axes.plot([interval.low, interval.high], [row, row], color=INK, linewidth=1.1)
                axes.plot(interval.mean, row, "D", markersize=4.2, color=INK, markeredgecolor="white")
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(y)
        axes.grid(axis="x", color=RULE, linewidth=0.6)
        axes.set_axisbelow(True)
        if unit_interval:
            low, high = axes.get_xlim()
            axes.set_xlim(max(low, -0.03), min(high, 1.03))
    return figure


def agreement_map(names: Sequence[str], values: ArrayLike) -> "Figure":
    """Correlations between scores as a coloured table: blue for agreement, red for contradiction.

    Args:
        names: of the scores.
        values: (scores, scores) in -1 to 1; NaN is shown as white.

    References:
        Locatello et al. 2019, figure 2.

    Example:
        >>> [text.get_text() for text in agreement_map(["a", "b"], [[1, 0.5], [0.5, 1]]).axes[0].texts]
        ['1.00', '0.50', '0.50', '1.00']

    """
    from matplotlib.colors import LinearSegmentedColormap

    table: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if table.shape != (len(names), len(names)):
        raise UnweaveError(f"agreement of {len(names)} scores needs a square table, got {table.shape}")
    side = 0.56 * len(names)
    with new_figure(side + 1.6, side + 1.0) as figure:
        axes = figure.subplots()
        shown = np.ma.masked_invalid(table)
        axes.imshow(shown, cmap=LinearSegmentedColormap.from_list("agreement", _DIVERGING), vmin=-1, vmax=1)
        for i, j in np.ndindex(*table.shape):
            if np.isfinite(table[i, j]):
                text = f"{table[i, j]:.2f}".replace("-", "−")
                light = abs(table[i, j]) < 0.7
                axes.text(j, i, text, ha="center", va="center", fontsize=8, color=INK if light else "white")
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(names)), names)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
    return figure


def deviation_hulls(points: Sequence[Point]) -> list[NDArray[np.float64]]:
    """The hull of one standard deviation of x and y: between every two points the convex hull of their rectangles.

    Example:
        >>> points = [Point("a", [0.0, 2.0], [0.0, 2.0]), Point("b", [4.0, 4.0], [1.0, 1.0])]
        >>> float(deviation_hulls(points)[0].max())
        4.0
    """
    from scipy.spatial import ConvexHull, QhullError

    rectangles = []
    for point in points:
        middle = np.array([np.mean(point.x), np.mean(point.y)])
        spread = np.array([np.std(v, ddof=1) if len(v) > 1 else 0.0 for v in (point.x, point.y)])
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        rectangles.append(middle + corners * spread)
    hulls = []
    for one, two in itertools.pairwise(rectangles):
        both = np.concatenate([one, two])
        try:
            outline = both[ConvexHull(both).vertices]
        except QhullError:  # all on one line: there is nothing to shade
            outline = both
        hulls.append(outline)
    return hulls


def standard_error(values: Sequence[float]) -> float:
    """Of the mean: ``sd / sqrt(n)``; 0 for a single value, of which nothing is known.

    Example:
        >>> standard_error([1.0, 2.0, 3.0, 4.0])
        0.6454972243679028
    """
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _possible_points(points: Sequence[Point], x: Limits, y: Limits) -> list[Point]:
    """The points with those of their runs that lie within the limits; a point without any is left out."""
    kept = []
    for point in points:
        pairs = [
            (a, b) for a, b in zip(point.x, point.y, strict=True) if possible([a], x) and possible([b], y)
        ]
        if pairs:
            kept.append(Point(point.label, [a for a, _ in pairs], [b for _, b in pairs]))
    return kept


def _draw_series(
    axes: "Axes",
    name: str,
    points: Sequence[Point],
    color: str,
    spread: Spread,
    limits: tuple[Limits, Limits],
) -> None:
    middle = [(seed_interval(point.x, limits[0]), seed_interval(point.y, limits[1])) for point in points]
    for point in points:
        axes.plot(point.x, point.y, "o", markersize=2.8, color=color, alpha=0.35, markeredgewidth=0)
    x, y = [a.mean for a, _ in middle], [b.mean for _, b in middle]
    _draw_spread(axes, points, middle, color, spread)
    axes.plot(x, y, "o-", color=color, markersize=5, markeredgecolor="white", label=name or None)
    for point, at_x, at_y in zip(points, x, y, strict=True):
        if point.label:
            axes.annotate(
                point.label,
                (at_x, at_y),
                textcoords="offset points",
                xytext=(5, 5),
                fontsize=7.5,
                color=color,
                fontweight="bold",
            )


def _draw_spread(
    axes: "Axes",
    points: Sequence[Point],
    middle: Sequence[tuple[Interval, Interval]],
    color: str,
    spread: Spread,
) -> None:
    """What surrounds the means ``middle`` of some points: bars, hulls, a band, or the cross of a single point."""
    x, y = [a.mean for a, _ in middle], [b.mean for _, b in middle]
    low = np.array([b.mean if b.low is None else b.low for _, b in middle])
    high = np.array([b.mean if b.high is None else b.high for _, b in middle])
    if spread == "standard error":
        right = [standard_error(point.x) for point in points]
        up = [standard_error(point.y) for point in points]
        axes.errorbar(x, y, xerr=right, yerr=up, fmt="none", ecolor=color, elinewidth=1)
    elif len(points) > 1 and spread == "hull":
        for outline in deviation_hulls(points):
            axes.fill(*outline.T, color=color, alpha=0.14, linewidth=0)
    elif len(points) > 1:
        # x may decrease along the curve, so the band consists of one quadrilateral between every two points.
        for k in range(len(points) - 1):
            axes.fill(
                [x[k], x[k + 1], x[k + 1], x[k]],
                [low[k], low[k + 1], high[k + 1], high[k]],
                color=color,
                alpha=0.14,
                linewidth=0,
            )
    elif middle and middle[0][0].low is not None and middle[0][0].high is not None:
        across = middle[0][0]
        axes.plot([float(across.low or 0), float(across.high or 0)], [y[0], y[0]], color=color, linewidth=1)
        axes.plot([x[0], x[0]], [low[0], high[0]], color=color, linewidth=1)


def _dot_offsets(sample: NDArray[np.float64]) -> NDArray[np.float64]:
    """Small fixed offsets that separate neighbouring dots; the same values have the same offsets."""
    offsets = np.zeros(len(sample))
    offsets[np.argsort(sample, kind="stable")] = np.resize([0.0, 0.12, -0.12, 0.06, -0.06], len(sample))
    return offsets
