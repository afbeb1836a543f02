"""Curves with bands, and histograms."""

import numpy as np
import pytest

from unweave.errors import UnweaveError
from unweave.metrics.statistics import mean_interval
from unweave.plots.curves import block_means
from unweave.plots.seed_bands import banded_curves, histograms, value_histograms


def test_a_block_mean_is_the_mean_of_its_points() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 12))
    where, means = block_means(np.arange(12), values, most=4)
    np.testing.assert_allclose(where, [1, 4, 7, 10])
    np.testing.assert_allclose(means, values.reshape(3, 4, 3).mean(axis=2))


def test_a_band_is_the_interval_of_the_mean() -> None:
    values = np.array([[1.0, 2.0], [2.0, 4.0], [4.0, 5.0]])
    axes = banded_curves([[("title", {"4": ([10, 20], values)})]], rows=["score"]).axes[0]
    (line,) = axes.lines
    np.testing.assert_allclose(line.get_ydata(), values.mean(axis=0))
    corners = axes.collections[0].get_paths()[0].vertices[:, 1]
    found = [mean_interval(column) for column in values.T]
    assert corners.min() == pytest.approx(min(each.low for each in found if each.low is not None))
    assert corners.max() == pytest.approx(max(each.high for each in found if each.high is not None))


def test_the_panels_of_a_row_share_their_scale() -> None:
    low, high = ([1, 2, 3], [[0.0, 0.1, 0.2]]), ([1, 2, 3], [[5.0, 6.0, 7.0]])
    figure = banded_curves([[("a", {"1": low}), ("b", {"1": high})]], rows=["error"])
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    apart = banded_curves([[("a", {"1": low}), ("b", {"1": high})]], rows=["error"], share=False)
    assert apart.axes[0].get_ylim() != apart.axes[1].get_ylim()


def test_histograms_are_densities_under_that_of_the_prior() -> None:
    z = np.random.default_rng(0).normal(size=20_000)
    axes = histograms([[z]], rows=["1"], columns=["z0"]).axes[0]
    heights = np.array([bar.get_height() for bar in axes.patches])
    width = axes.patches[0].get_width()
    centres = np.array([bar.get_x() for bar in axes.patches]) + width / 2
    np.testing.assert_allclose(heights.sum() * width, 1, atol=1e-9)
    x, y = axes.lines[0].get_data()
    np.testing.assert_allclose(np.interp(centres, x, y), heights, atol=0.03)


def test_values_are_counted() -> None:
    cells = [[np.arange(5.0), np.arange(7.0)], [np.arange(3.0), np.arange(4.0)]]
    figure = value_histograms(cells, rows=["a", "b"], titles=["1", "5"])
    counts = [sum(bar.get_height() for bar in axes.patches) for axes in figure.axes]
    assert counts == [5, 7, 3, 4]


def test_labels_must_fit() -> None:
    band = ([1, 2], [[0.0, 1.0]])
    with pytest.raises(UnweaveError, match="one label for each row"):
        banded_curves([[("a", {"1": band})]], rows=[])
    with pytest.raises(UnweaveError, match="each column"):
        histograms([[np.zeros(3)]], rows=["1"], columns=["z0", "z1"])
    with pytest.raises(UnweaveError, match="each column"):
        value_histograms([[np.zeros(3)]], rows=["1", "2"], titles=["1"])
