"""Half violins: for each group, the density of one method on each side of a line."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.plots.style import FAINT, INK, PALETTE, RULE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HALF_WIDTH = 0.4
"""Width of the widest density, in units of the distance between groups."""


def half_violins(
    panels: Mapping[str, Mapping[str, Mapping[str, ArrayLike]]], *, unit_interval: bool = True
) -> "Figure":
    """Densities of the values of two methods, left and right of each group's line; every value is a dot.

    Short lines mark the quartiles, the longer one the median.

    Args:
        panels: name of a score -> group -> method -> values. One or two methods, the same in all groups.
        unit_interval: the values lie in 0 to 1.

    References:
        Michlo et al. 2023 (REC), figures 6 and 11.

    Example:
        >>> one = {"squares": {"A": [0.1, 0.2, 0.3], "B": [0.2, 0.4, 0.5]}}
        >>> [axes.get_title("left") for axes in half_violins({"MIG": one, "DCI": one}).axes]
        ['MIG', 'DCI']

    """
    methods = list(dict.fromkeys(m for groups in panels.values() for each in groups.values() for m in each))
    if not methods or len(methods) > 2:
        raise UnweaveError(f"half violins show one or two methods, got {len(methods)}")
    most_groups = max(len(groups) for groups in panels.values())
    with new_figure(0.7 + len(panels) * (0.5 + 0.85 * most_groups), 3.0) as figure:
        for axes, (name, groups) in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
        ):
            for place, values_of in enumerate(groups.values()):
                axes.axvline(place, color=RULE, linewidth=0.6, zorder=0)
                for k, method in enumerate(methods):
                    if method in values_of:
                        values = np.sort(np.asarray(values_of[method], np.float64).ravel())
                        _draw_half(axes, values, place, -1 if k == 0 else 1, PALETTE[k])
            axes.set_xticks(range(len(groups)), list(groups))
            axes.tick_params(axis="x", length=0)
            axes.set_xlim(-0.6, len(groups) - 0.4)
            axes.set_title(name)
            if unit_interval:
                axes.set_ylim(bottom=0.0)
        for k, method in enumerate(methods):
            figure.axes[0].plot([], [], "s", color=PALETTE[k], label=method, alpha=0.6)
        figure.legend(loc="outside upper right", ncols=2)
    return figure


def density(values: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gaussian kernel density of ``values`` at the points ``at``; the bandwidth is 1.06 sd n^(-1/5), Silverman's rule.

    Example:
        >>> at = np.linspace(-8, 8, 1601)
        >>> round(float(density(np.array([-1.0, 0.0, 1.0]), at).sum() * 0.01), 6)
        1.0

    """
    width = 1.06 * float(np.std(values, ddof=1)) * len(values) ** -0.2
    kernels = np.exp(-0.5 * ((at[:, None] - values) / width) ** 2)
    result: NDArray[np.float64] = kernels.mean(axis=1) / (width * np.sqrt(2 * np.pi))
    return result


def _draw_half(axes: "Axes", values: NDArray[np.float64], place: int, side: int, color: str) -> None:
    if len(values) > 2 and np.ptp(values) > 0:
        reach = 0.5 * float(np.std(values))
        at = np.linspace(values[0] - reach, values[-1] + reach, 120)
        height = density(values, at)
        axes.fill_betweenx(
            at,
            place,
            place + side * _HALF_WIDTH * height / height.max(),
            facecolor=color,
            alpha=0.25,
            linewidth=0,
        )
        for share, length in ((0.25, 0.16), (0.5, 0.3), (0.75, 0.16)):
            level = float(np.quantile(values, share))
            axes.plot([place, place + side * length], [level, level], color=INK, linewidth=0.9)
    steps = np.resize([0.05, 0.11, 0.17], len(values))
    axes.plot(place + side * steps, values, "o", markersize=3, color=color, markeredgewidth=0, alpha=0.85)


def score_lines(
    panels: Mapping[str, Mapping[str, Mapping[float, ArrayLike]]],
    *,
    x: str,
) -> "Figure":
    """Scores against a number: the mean of each method as a line, a band of one standard deviation, dots for runs.

    Args:
        panels: name of a score -> method -> number -> values over seeds.
        x: label of the number.

    References:
        Michlo et al. 2023 (REC), figure 9.

    Example:
        >>> lines = {"MIG": {"A": {1: [0.5, 0.6], 8: [0.0, 0.1]}}}
        >>> score_lines(lines, x="spacing").axes[0].get_xlabel()
        'spacing'

    """
    if not panels or not all(panels.values()):
        raise UnweaveError("score lines need at least one score of one method")
    with new_figure(0.6 + 3.3 * len(panels), 2.9) as figure:
        for axes, (name, methods) in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
        ):
            numbers = sorted({number for found in methods.values() for number in found})
            for color, (method, found) in zip(PALETTE, methods.items(), strict=False):
                places = [i for i, number in enumerate(numbers) if number in found]
                samples = [np.asarray(found[numbers[i]], np.float64).ravel() for i in places]
                middle = np.array([sample.mean() for sample in samples])
                spread = np.array([sample.std(ddof=1) if len(sample) > 1 else 0.0 for sample in samples])
                axes.fill_between(
                    places, middle - spread, middle + spread, color=color, alpha=0.14, linewidth=0
                )
                axes.plot(places, middle, "o-", color=color, markersize=4.5, label=method)
                for place, sample in zip(places, samples, strict=True):
                    axes.plot(
                        np.full(len(sample), place),
                        sample,
                        "o",
                        color=color,
                        markersize=2.6,
                        alpha=0.4,
                        markeredgewidth=0,
                    )
            axes.set_xticks(range(len(numbers)), [f"{number:g}" for number in numbers])
            axes.set(xlabel=x, title=name)
            axes.set_ylim(bottom=0.0)
            axes.grid(axis="y", color=RULE, linewidth=0.6)
            axes.set_axisbelow(True)
            axes.tick_params(colors=FAINT, labelcolor=INK)
        figure.axes[0].legend()
    return figure
