import itertools

import numpy as np
import pytest
from scipy import stats

from unweave.errors import UnweaveError
from unweave.plots.score_panels import score_against
from unweave.plots.style import PALETTE
from unweave.plots.sweeps import Point, agreement_map, trade_off, violins

CURVE = [
    Point("1", [1.0, 2.0, 3.0], [0.1, 0.3, 0.2]),
    Point("4", [5.0, 7.0, 6.0], [0.5, 0.4, 0.9]),
    Point("16", [4.0, 4.0, 4.0], [0.6, 0.7, 0.8]),
]


def interval(values: list[float]) -> tuple[float, float]:
    return stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))


def test_a_curve_goes_through_the_means_inside_a_band_of_intervals() -> None:
    axes = trade_off({"A": CURVE}, x="NLL", y="MIG", swept="beta").axes[0]
    line = axes.lines[-1]
    np.testing.assert_allclose(line.get_xdata(), [2.0, 6.0, 4.0])
    np.testing.assert_allclose(line.get_ydata(), [0.2, 0.6, 0.7])
    assert [text.get_text() for text in axes.texts] == ["1", "4", "16"]
    assert "beta" in axes.get_title(loc="right")
    assert len(axes.patches) == 2, "one piece of the band between every two points"
    low, high = interval([0.1, 0.3, 0.2])
    next_low, next_high = interval([0.5, 0.4, 0.9])
    corners = axes.patches[0].get_xy()[:4]
    np.testing.assert_allclose(corners, [[2, low], [6, next_low], [6, next_high], [2, high]])
    dots = [line for line in axes.lines if line.get_linestyle() == "None"]
    assert sorted(y for line in dots for y in line.get_ydata()) == sorted(y for p in CURVE for y in p.y)


def test_a_single_point_has_both_intervals() -> None:
    axes = trade_off({"A": CURVE[:1], "B": CURVE[1:2]}, x="a", y="b").axes[0]
    assert not axes.patches
    crosses = [line for line in axes.lines if len(line.get_xdata()) == 2]
    np.testing.assert_allclose(crosses[0].get_xdata(), interval([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(crosses[1].get_ydata(), interval([0.1, 0.3, 0.2]))
    names = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert names == ["A", "B"]


def test_bars_of_one_standard_error_in_both_directions() -> None:
    """By hand: the deviations of three values 0.1 apart are 0.1, and their mean's error is 0.1 / sqrt(3)."""
    points = [Point("1", [1.0, 2.0, 3.0], [0.1, 0.3, 0.2]), Point("4", [5.0], [0.4])]
    axes = trade_off({"A": points}, x="a", y="b", swept="beta", spread="standard error").axes[0]
    assert not axes.patches
    assert axes.get_title(loc="right") == "labels are values of beta; bars are standard errors"
    across, up = (bars.get_segments() for bars in axes.collections)
    np.testing.assert_allclose(across[0], [[2 - 3**-0.5, 0.2], [2 + 3**-0.5, 0.2]])
    np.testing.assert_allclose(up[0], [[2, 0.2 - 0.1 * 3**-0.5], [2, 0.2 + 0.1 * 3**-0.5]])
    np.testing.assert_allclose(up[1], [[5, 0.4], [5, 0.4]])  # of one run nothing is known


def test_more_series_than_colours_have_no_legend() -> None:
    series = {str(i): [Point("", [float(i)], [0.5])] for i in range(len(PALETTE) + 1)}
    figure = trade_off(series, x="a", y="b")
    assert not figure.legends
    assert {line.get_color() for line in figure.axes[0].lines} == {PALETTE[0]}


def test_violins_show_every_run_the_mean_and_its_interval() -> None:
    groups = {"A": [0.1, 0.2, 0.4, 0.3, 0.9], "B": [0.5, 0.5, 0.5], "C": [0.7]}
    axes = violins(groups, y="MIG", unit_interval=True).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["A", "B", "C"]
    assert len(axes.collections) == 1, "no shape where all values are one"
    dots = [line.get_xdata() for line in axes.lines if line.get_marker() == "o"]
    assert [sorted(x) for x in dots] == [sorted(values) for values in groups.values()]
    means = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "D"]
    np.testing.assert_allclose(means, [np.mean(values) for values in groups.values()])
    bars = [line.get_xdata() for line in axes.lines if line.get_marker() == "None"]
    np.testing.assert_allclose(bars[0], interval(groups["A"]))
    assert len(bars) == 2, "one value has no interval"
    low, high = axes.get_xlim()
    assert low >= -0.03
    assert high <= 1.03


def test_agreement_is_written_and_coloured() -> None:
    axes = agreement_map(["a", "b"], [[1.0, -0.5], [-0.5, np.nan]]).axes[0]
    assert [text.get_text() for text in axes.texts] == ["1.00", "−0.50", "−0.50"]
    image = axes.images[0]
    red, blue = image.cmap(image.norm(-0.8)), image.cmap(image.norm(0.8))
    assert red[0] > red[2]
    assert blue[2] > blue[0]


def test_mistakes_are_told() -> None:
    with pytest.raises(UnweaveError, match="at least one point"):
        trade_off({"A": []}, x="a", y="b")
    with pytest.raises(UnweaveError, match="at least one group"):
        violins({}, y="a")
    with pytest.raises(UnweaveError, match="square table"):
        agreement_map(["a"], [[1.0, 2.0]])


def overlapping(places: list[float]) -> tuple[list[str], int]:
    """The ticks of a panel over these numbers, and how many of them overlap as they are drawn."""
    line = [(place, [0.1, 0.2]) for place in places]
    figure = score_against({"": line}, x="beta", title="MIG")
    figure.canvas.draw()
    low, high = figure.axes[0].get_xlim()
    labels = [t for t in figure.axes[0].get_xticklabels() if low <= t.get_position()[0] <= high]
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    overlaps = sum(one.x1 > two.x0 for one, two in itertools.pairwise(boxes))
    return [label.get_text() for label in labels], overlaps


def test_ticks_are_at_the_numbers_where_they_fit_and_never_overlap() -> None:
    assert overlapping([1.0, 4.0, 16.0]) == (["1", "4", "16"], 0)
    assert overlapping([1.0, 10.0, 100.0]) == (["1", "10", "100"], 0)
    for places in (
        [2.83161, 3.0705517, 4.901, 4.94045, 27.9],
        [2.83161, 3.0705517, 4.901, 4.94045],
        [0.5, 0.51],
    ):
        _, count = overlapping(places)
        assert count == 0, places
