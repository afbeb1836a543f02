import numpy as np

from unweave.metrics import Distances, Matrices, agreement
from unweave.plots.distances import cumulative_distances, matrices
from unweave.plots.metrics import bars, responses
from unweave.plots.sweeps import agreement_map


def ladder(n: int) -> np.ndarray:
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n))) * 1.0


def test_matrices_hold_the_distances_and_their_correlation() -> None:
    flat = 1 - np.eye(5)
    levels = {"factors": ladder(5), "observations": flat, "means": 2 * ladder(5)}
    figure = matrices([Matrices("x", levels), Matrices("y", levels)], title="toy")
    assert len(figure.axes) == 6
    assert np.array_equal(figure.axes[1].images[0].get_array(), flat)
    assert [axes.get_xlabel() for axes in figure.axes[:3]] == ["", "r = 0.00", "r = 1.00"]
    assert [axes.get_title(loc="left") for axes in figure.axes[:3]] == ["factors", "images", "latent means"]
    below = matrices([Matrices(name, {"factors": ladder(5), "observations": flat}) for name in "abc"])
    assert [axes.get_title(loc="left") for axes in below.axes[:3]] == ["a", "b", "c"]


def test_cumulative_curves_are_quantiles_largest_mean_first() -> None:
    values = {"x": np.array([1.0, 2.0, 3.0]), "random": np.array([4.0, 5.0, 6.0])}
    axes = cumulative_distances(Distances("toy", "mse", values, values)).axes[0]
    first, second = axes.lines
    assert first.get_label() == "random (5.0000)"
    assert (second.get_xdata()[0], second.get_xdata()[250], second.get_xdata()[-1]) == (1.0, 2.0, 3.0)
    assert second.get_ydata()[250] == 0.5


def test_agreement_shows_its_numbers() -> None:
    found = agreement({"a": [1, 2, 3, 4], "b": [4, 3, 2, 1]}, resamples=10)
    texts = [text.get_text() for text in agreement_map(found.names, found.values).axes[0].texts]
    assert texts == ["1.00", "−1.00", "−1.00", "1.00"]


def test_bars_and_responses_show_their_values() -> None:
    heights = [
        patch.get_height()
        for patch in bars({"one": {"A": 0.2, "B": 0.7}, "two": {"A": 0.4, "B": 0.1}}).axes[0].patches
    ]
    assert heights == [0.2, 0.4, 0.7, 0.1]
    line = responses({"turned": ([0, 45], {"MIG": [1.0, 0.0]})}).axes[0].lines[0]
    assert line.get_ydata().tolist() == [1.0, 0.0]
