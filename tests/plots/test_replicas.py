import numpy as np
import pytest

from unweave.errors import UnweaveError
from unweave.plots.replicas import Embedded, Replicas, Swept, geometry_sheet, median_replica, traversal_sheet

GRID = np.stack(np.meshgrid([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], indexing="ij"), -1).reshape(-1, 2)
PICTURES = np.random.default_rng(0).random((9, 3, 8, 8))


def sheet(models: dict[str, Replicas], **options: object) -> list:
    return geometry_sheet(models, GRID, drawn=GRID, images=np.zeros((16, 3, 8, 8)), **options).axes  # type: ignore[arg-type]


def test_each_model_has_a_row_with_its_histogram_and_two_grids() -> None:
    hole = np.zeros(9, bool)
    hole[4] = True
    flat, turned = Embedded(3 * GRID, (2, 5), "geometry 1.00"), Embedded(GRID[:, ::-1], (0, 1))
    rows = {
        "A": Replicas([0.4, 0.1, 0.2], worst=turned, best=flat),
        "B": Replicas([0.3, 0.3], worst=flat, best=flat),
    }
    axes = sheet(rows, held_out=hole, names=("x", "hue"))
    assert len(axes) == 9
    assert [axes[i].get_title() or axes[i].get_title(loc="left") for i in (3, 6)] == ["A", "B"]
    stars = [float(line.get_xdata()[0]) for line in axes[3].lines]
    assert stars == [0.1, 0.4], "the stars mark the worst and the best"
    assert sum(bar.get_height() for bar in axes[3].patches) == 3
    worst, best = axes[4], axes[5]
    assert (worst.get_xlabel(), best.get_xlabel(), best.get_ylabel()) == ("z0", "z2", "z5")
    _, seen, unseen = best.collections
    np.testing.assert_allclose(unseen.get_offsets(), [[3.0, 3.0]])
    assert len(seen.get_offsets()) == 8
    assert best.get_title(loc="right") == "geometry 1.00"
    assert (axes[0].get_xlabel(), axes[0].get_ylabel()) == ("x", "hue")


def test_a_marked_point_is_a_star() -> None:
    marked = Embedded(GRID, (0, 1), mark=(0.5, -1.0))
    axes = sheet({"A": Replicas([0.1], marked, Embedded(GRID, (0, 1)))})
    assert [line.get_xydata().tolist() for line in axes[4].lines] == [[[0.5, -1.0]]]
    assert not axes[5].lines


def test_wrong_lengths_are_refused() -> None:
    one = Embedded(GRID, (0, 1))
    with pytest.raises(UnweaveError, match="at least one model"):
        sheet({})
    with pytest.raises(UnweaveError, match="9 grid points, got 4"):
        sheet({"A": Replicas([0.1], Embedded(GRID[:4], (0, 1)), one)})
    with pytest.raises(UnweaveError, match="16 images, got 3"):
        geometry_sheet({"A": Replicas([0.1], one, one)}, GRID, drawn=GRID, images=np.zeros((3, 3, 8, 8)))
    with pytest.raises(UnweaveError, match="at least one replica"):
        traversal_sheet({})


def test_median_of_an_even_number_is_the_lower_one() -> None:
    assert [median_replica(scores) for scores in ([3.0], [1, 2], [5, 1, 4, 2], [0.3, 0.1, 0.2])] == [
        0,
        0,
        3,
        2,
    ]


def test_pictures_stand_side_by_side_and_medians_are_starred() -> None:
    swept = Swept((255 * PICTURES).astype(np.uint8), PICTURES, np.stack([PICTURES] * 3), ["z4", "z0", "z1"])
    figure = traversal_sheet({"A": swept, "B": swept}, {"A": [0.1, 0.5, 0.2], "B": [0.6, 0.7], "C": [0.9]})
    strip, *panels = figure.axes
    stars = [line.get_ydata()[0] for line in strip.lines if line.get_marker() == "*"]
    assert stars == [0.2, 0.6, 0.9]
    assert len(panels) == 2
    for axes in panels:
        labels = [text.get_text() for text in axes.get_yticklabels()]
        assert labels == ["data", "model", "z4", "z0", "z1"]
        # 8 pixels are enlarged to 64, with gaps of 2; 12 pixels separate data and model from the traversals.
        assert axes.get_yticks().tolist() == [32, 98, 130 + 12 + 32, 142 + 66 + 32, 142 + 132 + 32]
        pixels = np.asarray(axes.images[0].get_array())
        for top, wanted in ((0, (255 * PICTURES).astype(np.uint8)), (142, np.rint(255 * PICTURES))):
            shown = pixels[top : top + 64 : 8, 66 : 66 + 64 : 8]
            np.testing.assert_array_equal(shown, np.moveaxis(wanted[1], 0, -1))
    assert len(traversal_sheet({"A": swept}).axes) == 1, "no scores, no strip"
