"""Back-to-back densities and score lines: what is drawn are the numbers given."""

import numpy as np
import pytest
from scipy.stats import gaussian_kde

from unweave.errors import UnweaveError
from unweave.plots.distances import matrix_panels
from unweave.plots.half_violins import density, half_violins, score_lines


def test_density_is_scipys_with_silvermans_width() -> None:
    values = np.random.default_rng(0).normal(2.0, 0.5, 40)
    at = np.linspace(0, 4, 50)
    theirs = gaussian_kde(values, bw_method=1.06 * len(values) ** -0.2)(at)
    np.testing.assert_allclose(density(values, at), theirs, rtol=1e-10)


def test_first_method_left_second_right_every_value_a_dot() -> None:
    groups = {"MSE": {"A": [0.1, 0.2, 0.3], "B": [0.4, 0.5]}, "blur": {"A": [0.6, 0.7, 0.8], "B": [0.9, 1.0]}}
    axes = half_violins({"MIG": groups}).axes[0]
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    where = [(np.sign(line.get_xdata()[0] - place), sorted(line.get_ydata())) for line, place in
             zip(dots, (0, 0, 1, 1), strict=True)]  # fmt: skip
    assert where == [(-1, [0.1, 0.2, 0.3]), (1, [0.4, 0.5]), (-1, [0.6, 0.7, 0.8]), (1, [0.9, 1.0])]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["MSE", "blur"]


def test_quartiles_are_marked() -> None:
    axes = half_violins({"MIG": {"all": {"A": [0.0, 1.0, 2.0, 3.0, 4.0]}}}).axes[0]
    levels = [line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "-" and len(line.get_xdata()) == 2
              and line.get_ydata()[0] == line.get_ydata()[1]]  # fmt: skip
    assert levels == [1.0, 2.0, 3.0]


def test_three_methods_have_no_two_sides() -> None:
    with pytest.raises(UnweaveError, match="one or two methods"):
        half_violins({"MIG": {"all": {"A": [1], "B": [1], "C": [1]}}})


def test_lines_go_through_means_in_the_order_of_the_numbers() -> None:
    axes = score_lines({"MIG": {"A": {8: [0.0, 0.2], 2: [0.5, 0.7]}}}, x="spacing").axes[0]
    line = next(line for line in axes.lines if line.get_label() == "A")
    np.testing.assert_allclose(line.get_ydata(), [0.6, 0.1])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "8"]


def test_panels_share_a_scale_only_if_asked() -> None:
    rows = [[("a", np.eye(2)), ("b", 3 * np.eye(2))]]
    tops = [
        [axes.images[0].get_clim()[1] for axes in matrix_panels(rows, shared=s).axes] for s in (False, True)
    ]
    assert tops == [[1.0, 3.0], [3.0, 3.0]]
    with pytest.raises(UnweaveError, match="each row"):
        matrix_panels([[]])
