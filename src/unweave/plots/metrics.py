"""Pictures about metrics: sensitivity to their parameters, response to changes of codes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from unweave.errors import UnweaveError
from unweave.metrics import Sensitivity
from unweave.plots.style import FAINT, INK, PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sensitivity_curves(sensitivities: Sequence[Sensitivity]) -> "Figure":
    """Mean and standard deviation of metrics against one of their parameters, one line for each value of the other.

    Args:
        sensitivities: one panel each; each with one or two parameters.

    References:
        Kim & Mnih 2018 (FAC), figures 16 and 17.

    Example:
        >>> s = Sensitivity("m", {"L": [1, 2], "votes": [5, 9]}, 3, np.full((2, 2), 0.5), np.full((2, 2), 0.1))
        >>> len(sensitivity_curves([s]).axes[0].lines) >= 2
        True

    """
    if not sensitivities or any(len(one.grid) not in (1, 2) for one in sensitivities):
        raise UnweaveError("sensitivity curves need metrics with one or two parameters varied")
    with new_figure(3.9 * len(sensitivities), 3.2) as figure:
        panels = figure.subplots(1, len(sensitivities), squeeze=False, sharey=True)[0]
        for axes, one in zip(panels, sensitivities, strict=True):
            (first, xs), *rest = one.grid.items()
            means, deviations = (a.reshape(len(xs), -1) for a in (one.means, one.deviations))
            for i in range(means.shape[1]):
                label = f"{rest[0][0].replace('_', ' ')} {rest[0][1][i]}" if rest else None
                places = np.arange(len(xs)) + 0.05 * (i - (means.shape[1] - 1) / 2)
                axes.errorbar(
                    places, means[:, i], deviations[:, i], capsize=2, marker="o", markersize=3, label=label
                )
            axes.set_xticks(range(len(xs)), [str(x) for x in xs])
            axes.set(xlabel=first.replace("_", " "), title=one.name.replace("_", " "))
            if rest:
                axes.legend()
        panels[0].set_ylabel(f"mean and standard deviation of {sensitivities[0].seeds} seeds")
    return figure


def responses(
    panels: Mapping[str, tuple[ArrayLike, Mapping[str, ArrayLike]]],
    *,
    xlabel: Mapping[str, str] | None = None,
) -> "Figure":
    """Scores against the strength of a change of the codes, one panel for each kind of change.

    Args:
        panels: title -> (x (n,), {score: values (n,)}).
        xlabel: title -> label of its x axis.

    Example:
        >>> len(responses({"rotation": ([0, 45], {"MIG": [1.0, 0.0]})}).axes)
        1

    """
    names = list(dict.fromkeys(name for _, lines in panels.values() for name in lines))
    colours = {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(names)}
    with new_figure(3.6 * len(panels) + 1.4, 3.2) as figure:
        row = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for axes, (title, (x, lines)) in zip(row, panels.items(), strict=True):
            for name, values in lines.items():
                axes.plot(
                    np.asarray(x),
                    np.asarray(values),
                    marker="o",
                    markersize=3,
                    color=colours[name],
                    label=name,
                )
            axes.set(title=title, xlabel=(xlabel or {}).get(title, ""), ylim=(-0.03, 1.05))
            axes.axhline(0, color=FAINT, linewidth=0.5)
        handles = {
            line.get_label(): line for axes in row for line in axes.lines if line.get_label() in colours
        }
        figure.legend(handles.values(), handles.keys(), loc="outside right upper")
    return figure


def bars(values: Mapping[str, Mapping[str, float]], *, chance: float | None = None) -> "Figure":
    """Scores of several representations as groups of bars.

    Args:
        values: representation -> {score: value}, the same scores for each.
        chance: the score of random guessing, drawn as a line.

    Example:
        >>> len(bars({"identity": {"MIG": 1.0}}).axes)
        1

    """
    scores = list(dict.fromkeys(name for each in values.values() for name in each))
    with new_figure(2.0 + 1.1 * len(values), 3.0) as figure:
        axes = figure.subplots()
        width = 0.8 / len(scores)
        for i, name in enumerate(scores):
            places = np.arange(len(values)) + (i - (len(scores) - 1) / 2) * width
            heights = [each.get(name, 0.0) for each in values.values()]
            axes.bar(places, heights, width * 0.92, color=PALETTE[i % len(PALETTE)], label=name)
        if chance is not None:
            axes.axhline(chance, color=INK, linewidth=0.8, linestyle="--", label="chance")
        axes.set_xticks(range(len(values)), list(values))
        axes.set_ylim(0, 1.08)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
    return figure
