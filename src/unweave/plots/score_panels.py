"""A score of many runs in one small panel: against a number that was varied, or group by group."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.errors import UnweaveError
from unweave.metrics.statistics import Interval, mean_interval
from unweave.plots.style import FAINT, INK, PALETTE, RULE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEWEST_SEEDS = 3
"""Runs from which an interval of their mean is drawn: Student's interval of two is twelve times as wide as they are."""

LEAST_SPAN = 0.1
"""Of the axis of a score between 0 and 1: smaller differences are not to fill a panel."""

Limits = tuple[float | None, float | None]


def possible(values: Sequence[float], limits: Limits) -> list[float]:
    """The values that a score can have: finite, and between its limits.

    Example:
        >>> possible([-0.1, 0.0, 2.0, float("nan")], (0.0, None))
        [0.0, 2.0]
    """
    low, high = limits
    return [
        value
        for value in values
        if math.isfinite(value) and (low is None or value >= low) and (high is None or value <= high)
    ]


def seed_interval(values: Sequence[float], limits: Limits = (None, None)) -> Interval:
    """The mean over seeds with its 95 % interval, cut to what the score can be; none below three seeds.

    Example:
        >>> print(seed_interval([0.1, 0.2]))
        0.150
        >>> print(seed_interval([0.0, 0.1, 0.2], (0.0, 1.0)))
        0.100 [0.000, 0.348]
    """
    found = mean_interval(values)
    if found.low is None or found.high is None or found.count < FEWEST_SEEDS:
        return Interval(found.mean, None, None, found.count)
    low, high = limits
    return Interval(
        found.mean,
        found.low if low is None else max(found.low, low),
        found.high if high is None else min(found.high, high),
        found.count,
    )


def score_against(
    series: Mapping[str, Sequence[tuple[float, Sequence[float]]]],
    *,
    x: str,
    title: str,
    limits: Limits = (None, None),
    joined: bool = True,
) -> "Figure":
    """A score against a number: every run is a dot, lines join means, bars are 95 % intervals from three seeds on.

    Args:
        series: name of a line -> (number, score of each seed) in order.
        x: what the number is.
        title: what the score is.
        limits: of the score; values beyond them are not drawn.
        joined: whether lines join the means.

    Example:
        >>> score_against({"A": [(1.0, [0.1, 0.2]), (4.0, [0.4])]}, x="beta", title="MIG").axes[0].get_xscale()
        'linear'

    """
    places = [place for line in series.values() for place, _ in line]
    if not places:
        raise UnweaveError("a score against a number needs at least one point")
    with new_figure(2.9, 2.2) as figure:
        axes = figure.subplots()
        for number, (name, line) in enumerate(series.items()):
            color = PALETTE[number % len(PALETTE)]
            kept = [(place, found) for place, values in line if (found := possible(values, limits))]
            for place, values in kept:
                axes.plot([place] * len(values), values, "o", markersize=3.8, color=color, alpha=0.7, mew=0)
            means = [(place, seed_interval(values, limits)) for place, values in kept]
            if joined:
                axes.plot([p for p, _ in means], [m.mean for _, m in means], "-", color=color, label=name)
            for place, mean in means:
                if mean.low is not None and mean.high is not None:
                    axes.plot([place, place], [mean.low, mean.high], color=color, linewidth=1.1)
        spread_axis(axes, places)
        axes.set(xlabel=x, title=title)
        _stay_within(axes, limits)
    return figure


def spread_axis(axes: "Axes", places: Sequence[float]) -> None:
    """A logarithmic x axis if positive numbers differ twentyfold, with ticks at the numbers themselves if they fit.

    Example:
        >>> from matplotlib.figure import Figure
        >>> axes = Figure().add_subplot()
        >>> spread_axis(axes, [1.0, 10.0, 100.0])
        >>> axes.get_xscale()
        'log'

    """
    distinct = sorted(set(places))
    if distinct[0] > 0 and distinct[-1] / distinct[0] >= 20:
        from matplotlib.ticker import LogLocator, NullLocator

        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:g}")
    labels = [f"{place:g}" for place in distinct]
    on_axis = [math.log(place) for place in distinct] if axes.get_xscale() == "log" else distinct
    if len(distinct) <= 6 and _fit(labels, on_axis):
        axes.set_xticks(distinct, labels)


_LETTER = 0.035
"""Share of the width of a small panel that a letter of a tick takes."""


def _fit(labels: Sequence[str], places: Sequence[float]) -> bool:
    """Whether labels at these places stand beside one another, a letter apart."""
    whole = (places[-1] - places[0]) or 1.0
    return all(
        (right - left) / whole >= _LETTER * (1 + (len(one) + len(two)) / 2)
        for left, right, one, two in zip(places, places[1:], labels, labels[1:], strict=False)
    )


def score_by_group(
    groups: Mapping[str, Sequence[float]], *, title: str, limits: Limits = (None, None), means: bool = True
) -> "Figure":
    """A score group by group: every run is a dot, the diamond is the mean, with its interval from three seeds on.

    Args:
        groups: name -> score of each seed.
        title: what the score is.
        limits: of the score; values beyond them are not drawn.
        means: whether to draw means; without them the dots of a group need not be alike.

    Example:
        >>> [text.get_text() for text in score_by_group({"A": [0.1], "B": [0.3]}, title="MIG").axes[0].get_yticklabels()]
        ['A', 'B']

    """  # noqa: E501
    if not groups:
        raise UnweaveError("a score by group needs at least one group")
    with new_figure(2.9, max(2.2, 0.75 + 0.3 * len(groups))) as figure:
        axes = figure.subplots()
        for row, values in enumerate(groups.values()):
            color = PALETTE[row % len(PALETTE)]
            kept = possible(values, limits)
            axes.plot(kept, [row] * len(kept), "o", markersize=3.6, color=color, alpha=0.6, mew=0)
            if kept and means:
                found = seed_interval(kept, limits)
                if found.low is not None and found.high is not None:
                    axes.plot([found.low, found.high], [row, row], color=INK, linewidth=1.1)
                axes.plot(found.mean, row, "D", markersize=4, color=INK, markeredgecolor="white")
        axes.set_yticks(range(len(groups)), list(groups))
        axes.set_ylim(len(groups) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color=RULE, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_title(title)
        low, high = limits
        left, right = axes.get_xlim()
        axes.set_xlim(_inside(left, low, right - left, 1), _inside(right, high, right - left, -1))
    return figure


def search_history(values: Sequence[float | None], *, target: str, higher: bool = True) -> "Figure":
    """The value of every trial of a search in order, and the best so far as a line of steps.

    Args:
        values: of the trials; none: the trial has no value, which a cross at the bottom shows.
        target: what was searched for.
        higher: whether higher is better.

    Example:
        >>> search_history([0.1, None, 0.3], target="UDR").axes[0].get_xlabel()
        'trial'

    """
    numbers = [(trial, value) for trial, value in enumerate(values) if value is not None]
    with new_figure(2.9, 2.2) as figure:
        axes = figure.subplots()
        if numbers:
            best = np.maximum.accumulate if higher else np.minimum.accumulate
            trials, found = [n for n, _ in numbers], [v for _, v in numbers]
            axes.step(trials, best(found), where="post", color=PALETTE[0], label="best so far")
            axes.plot(trials, found, "o", markersize=4, color=PALETTE[1], mew=0)
        lost = [trial for trial, value in enumerate(values) if value is None]
        if lost:
            bottom = axes.get_ylim()[0]
            axes.plot(lost, [bottom] * len(lost), "x", color=FAINT, clip_on=False)
        axes.set(xlabel="trial")
        axes.locator_params(axis="x", integer=True)
        axes.set_title(f"{target} of each trial")
    return figure


def _stay_within(axes: "Axes", limits: Limits) -> None:
    """Limits of the y axis that reach no further beyond those of the score than a dot needs."""
    low, high = axes.get_ylim()
    if limits == (0.0, 1.0) and high - low < LEAST_SPAN:
        middle = (low + high) / 2
        low, high = middle - LEAST_SPAN / 2, middle + LEAST_SPAN / 2
    span = high - low
    axes.set_ylim(_inside(low, limits[0], span, 1), _inside(high, limits[1], span, -1))


def _inside(end: float, limit: float | None, span: float, side: int) -> float:
    if limit is None:
        return end
    edge = limit - side * 0.03 * span
    return max(end, edge) if side > 0 else min(end, edge)
