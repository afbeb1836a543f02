"""Tables of text as pictures: what is in them, where it stands, and what is left out."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from unweave.plots.text_table import text_table

ROWS = [
    ["network", "layer", "built", "", "why"],
    ["encoder", "1", "linear 1200", "", ""],
    [
        "encoder",
        "2",
        "relu",
        "",
        "a reason so long that it has to be wrapped to more than one line of the cell",
    ],
    ["decoder", "1", "linear 4096", "", ""],
]


def test_every_cell_is_there_and_columns_begin_at_one_place() -> None:
    (axes,) = text_table(ROWS).axes
    shown = [text.get_text().replace("\n", " ") for text in axes.texts]
    assert shown == [cell for row in ROWS for cell in row if cell]
    where = {cell: text.get_position() for cell, text in zip(shown, axes.texts, strict=True)}
    assert where["layer"][0] == where["2"][0] and where["built"][0] == where["relu"][0]
    heights = [where[cell][1] for cell in ("network", "linear 1200", "relu", "linear 4096")]
    assert heights == sorted(heights) and len(set(heights)) == 4
    assert where["linear 4096"][1] - where["relu"][1] >= 2  # below all lines of the wrapped cell


def test_the_header_is_bold_and_rules_part_the_networks() -> None:
    (axes,) = text_table(ROWS).axes
    bold = [text.get_text() for text in axes.texts if text.get_fontweight() == "bold"]
    assert bold == ["network", "layer", "built", "why"]
    assert len(axes.lines) == 2  # below the header, and between encoder and decoder
    assert len(text_table([["a", "b"], ["1", "2"], ["3", "4"]]).axes[0].lines) == 1


def test_no_cell_reaches_into_the_next() -> None:
    figure = text_table(ROWS)
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    for one in range(len(boxes)):
        for other in range(one):
            assert not boxes[one].overlaps(boxes[other])
    width = figure.get_size_inches()[0] * figure.dpi
    assert np.max([box.x1 for box in boxes]) <= width
