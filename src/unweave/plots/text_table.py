"""A table of text as a picture."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from unweave.plots.style import FAINT, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDEST = 46
"""Characters in a line of a cell; longer cells are wrapped."""

_LETTER, _LINE = 0.061, 0.155
"""Inches: the mean width of a character and the height of a line, at the size of 7.5 points."""


def text_table(rows: Sequence[Sequence[str]]) -> "Figure":
    """Rows of a table, the header in bold above a rule; a thin rule where the first column changes after repeating.

    Columns are as wide as their text, long cells are wrapped, columns without any text are left out.

    Args:
        rows: of equal length, the header first.

    Example:
        >>> figure = text_table([["parameter", "published", ""], ["Epochs", "20", ""]])
        >>> [text.get_text() for text in figure.axes[0].texts]
        ['parameter', 'published', 'Epochs', '20']
    """
    kept = [column for column in zip(*rows, strict=True) if any(column)]
    wrapped = [[textwrap.fill(cell, _WIDEST) for cell in row] for row in zip(*kept, strict=True)]
    lines = [max(cell.count("\n") + 1 for cell in row) for row in wrapped]
    columns = ["\n".join(column).split("\n") for column in zip(*wrapped, strict=True)]
    widths = [3 + max(map(len, column)) for column in columns]
    begins = [sum(widths[:place]) for place in range(len(widths))]
    with new_figure(0.2 + _LETTER * sum(widths), 0.2 + _LINE * (sum(lines) + 1)) as figure:
        axes = figure.subplots()
        axes.axis("off")
        axes.set(xlim=(-1, sum(widths)), ylim=(sum(lines) + 1, -0.2))
        repeats = len({row[0] for row in wrapped[1:]}) < len(wrapped) - 1
        for number, row in enumerate(wrapped):
            top = sum(lines[:number]) + (number > 0) * 0.5
            for place, cell in zip(begins, row, strict=True):
                if cell:
                    weight = "bold" if number == 0 else "normal"
                    axes.text(place, top, cell, fontsize=7.5, va="top", fontweight=weight)
            if number == 1 or (repeats and number > 1 and row[0] != wrapped[number - 1][0]):
                axes.axhline(top - 0.22, color=FAINT, linewidth=1.0 if number == 1 else 0.4)
    return figure
