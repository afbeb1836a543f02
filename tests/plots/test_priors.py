"""Pictures of priors and theory: what is drawn is what was given."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from mpl_toolkits.mplot3d import Axes3D

from unweave.plots import priors as pictures
from unweave.plots import theory
from unweave.plots.saving import to_bytes


def gaussian(z: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * (z**2).sum(1)) / (2 * np.pi)


def test_contours_hold_the_share_they_say() -> None:
    """A round Gaussian: 50 % lie within radius sqrt(2 log 2), 90 % within sqrt(2 log 10)."""
    figure = pictures.densities({"round": gaussian}, low=-5, high=5, n=401)
    radii = sorted(
        float(np.linalg.norm(path.vertices, axis=1).mean())
        for lines in figure.axes[0].collections
        for path in lines.get_paths()
        if len(path.vertices)
    )
    expected = [np.sqrt(-2 * np.log(1 - share)) for share in (0.1, 0.5, 0.9)]
    np.testing.assert_allclose(radii, expected, rtol=0.02)


def test_the_tree_has_a_box_for_each_norm_and_a_line_for_each_child() -> None:
    children = [[("leaf", 0), ("node", 1)], [("leaf", 1), ("leaf", 2)]]
    axes = pictures.norm_tree(children, [2.1, 0.7]).axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["$z_{1}$", "$z_{2}$", "$z_{3}$", "$p_{0}=2.1$", "$p_{1}=0.7$"]
    assert len(axes.lines) == 4
    places = {text.get_text(): text.get_position() for text in axes.texts}
    assert places["$p_{1}=0.7$"][0] == pytest.approx(1.5)
    assert places["$p_{0}=2.1$"][1] > places["$p_{1}=0.7$"][1] > places["$z_{2}$"][1]


def test_surfaces_have_norm_one(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    monkeypatch.setattr(Axes3D, "plot_surface", lambda self, *xyz, **_: drawn.append(np.stack(xyz)))
    pictures.iso_surfaces(
        [[("cross", lambda z: np.abs(z).sum(1)), ("ball", lambda z: np.linalg.norm(z, axis=1))]]
    )
    np.testing.assert_allclose(np.abs(drawn[0]).sum(0), 1)
    np.testing.assert_allclose(np.square(drawn[1]).sum(0), 1)


def test_the_square_lies_as_it_is_told() -> None:
    figure = pictures.preferred_orientation([("p", gaussian, np.pi / 4)], [0, 1], [[-1.0, -2.0]])
    dots = next(c for c in figure.axes[0].collections if isinstance(c, PathCollection))
    far = np.abs(dots.get_offsets()).max()
    assert far == pytest.approx(np.sqrt(6))  # a corner points along the axis
    np.testing.assert_allclose(figure.axes[1].lines[0].get_ydata(), [0, -1])


def test_components_are_arrows_and_pruned_ones_dots() -> None:
    found = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    axes = theory.components(np.zeros((4, 2)), np.eye(2, 3), {"truth": None, "found": found}).axes[1]
    ends = [a.xy for a in axes.texts]
    assert (4.0, 0.0) in ends and (0.0, 4.0) in ends
    assert len(axes.lines) == 2  # one dot for the true zero column, one for the pruned component


def test_rotations_are_drawn_at_their_size() -> None:
    axes = theory.rotations({"A": [1e-20, -0.5], "B": [3.0]}).axes[0]
    first, second = (np.sort(np.asarray(c.get_offsets())[:, 0]) for c in axes.collections)
    np.testing.assert_allclose(first, [3.0])
    np.testing.assert_allclose(second, [1e-16, 0.5])


def test_the_plane_of_alpha_and_beta_is_labelled() -> None:
    figure = theory.alpha_beta(
        [0.0, 5.0], [0.1, 1.0], lambda i, j, z: gaussian(z), [[1, 2], [3, 4]], [[500.0, 0.1], [0.2, 0.3]], n=9
    )
    assert [axes.get_title() for axes in figure.axes[:2]] == ["β = 0.1", "β = 1"]
    assert figure.axes[2].get_ylabel() == "α = 5"
    assert figure.axes[0].get_xlabel() == "overlap 1   KL 500"


@pytest.mark.parametrize(
    "figure",
    [
        lambda: pictures.densities({"a": gaussian}, n=21, title="A"),
        lambda: theory.entropy_bias([2, 10], [3.0, 1.0], [0.1, 0.1], 1.0, 3.2, 10),
        lambda: theory.lines([0, 1], {"a": [0, 1]}, xlabel="x", ylabel="y", title="t", level=("l", [0, 0])),
        lambda: theory.factor_analysis(
            [("a", np.eye(2), np.eye(2), np.eye(2))], [0, 7], [0, 0], {"f": [0, -1]}
        ),
    ],
)
def test_the_same_figure_gives_the_same_bytes(figure: object) -> None:
    assert to_bytes(figure()) == to_bytes(figure())
