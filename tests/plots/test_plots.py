import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from PIL import Image

from unweave import plots
from unweave.errors import UnweaveError
from unweave.plots.curves import curve_panels
from unweave.plots.geometry import grid_edges
from unweave.plots.images import as_rgb


def pixels(figure: Figure, scale: int = 1) -> np.ndarray:
    figure.set_dpi(100 * scale)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def contains(picture: np.ndarray, part: np.ndarray) -> bool:
    """Whether ``part`` occurs in ``picture`` pixel for pixel."""
    height, width = part.shape[:2]
    windows = np.lib.stride_tricks.sliding_window_view(picture, part.shape)[:, :, 0]
    first = (windows[:, :, 0, 0] == part[0, 0]).all(-1) & (windows[:, :, -1, -1] == part[-1, -1]).all(-1)
    return any((picture[y : y + height, x : x + width] == part).all() for y, x in np.argwhere(first))


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 28, 20), (3, 64, 64)])
def test_sheets_are_pixel_exact(shape: tuple[int, int, int], labels: bool) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (2, 3, *shape), dtype=np.uint8)
    names = (
        {"row_labels": ["a", "long label"], "column_labels": list("xyz"), "column_title": "t"}
        if labels
        else {}
    )
    figure = plots.image_grid(images, title="title" if labels else None, **names)  # type: ignore[arg-type]
    scale = max(1, round(72 / max(shape[1:])))
    sheet = plots.contact_sheet(images, scale=scale)
    assert contains(pixels(figure), sheet)
    assert contains(pixels(figure, 2), sheet.repeat(2, 0).repeat(2, 1))


def test_contact_sheet_places_rows_and_columns() -> None:
    images = np.zeros((2, 3, 1, 4, 5), np.uint8)
    images[1, 2] = 200
    sheet = plots.contact_sheet(images, gap=1, scale=2)
    assert sheet.shape == (17, 32, 3)
    assert (sheet[9:, 22:] == 200).all()
    assert (sheet[8] == 255).all()
    assert (sheet[:8, :10] == 0).all()


def test_floats_are_rounded_and_clipped() -> None:
    assert (
        as_rgb(np.array([-1, 0.5, 2, np.nan]).reshape(4, 1, 1, 1)).ravel().tolist()
        == [0] * 3 + [128] * 3 + [255] * 3 + [0] * 3
    )


def test_flat_images_are_broken_into_rows_and_padded_with_white() -> None:
    images = np.zeros((5, 1, 64, 64), np.uint8)
    figure = plots.image_grid(images, columns=3)
    padded = np.concatenate([images, np.full((1, 1, 64, 64), 255, np.uint8)]).reshape(2, 3, 1, 64, 64)
    assert contains(pixels(figure), plots.contact_sheet(padded))


def test_reconstructions_stand_under_their_originals() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (4, 3, 64, 64), dtype=np.uint8), rng.random((4, 3, 64, 64))
    sheet = plots.contact_sheet(np.stack([x, np.rint(y * 255).astype(np.uint8)]))
    assert contains(pixels(plots.reconstructions(x, y)), sheet)
    with pytest.raises(UnweaveError, match="the same shape"):
        plots.reconstructions(x, y[:3])


@pytest.mark.parametrize("bad", [np.zeros((2, 2)), np.zeros((1, 2, 8, 8)), np.zeros((0, 1, 8, 8))])
def test_bad_images(bad: np.ndarray) -> None:
    with pytest.raises(UnweaveError):
        plots.image_grid(bad)


def test_wrong_number_of_labels() -> None:
    with pytest.raises(UnweaveError, match="row_labels must have 2"):
        plots.image_grid(np.zeros((2, 2, 1, 8, 8)), row_labels=["a"])


def test_traversal_codes_change_one_latent_each() -> None:
    center = np.array([0.3, -0.7, 0.1])
    codes = plots.traversal_codes(center, [2, 0], low=-1, high=3, steps=5)
    assert codes.shape == (2, 5, 3)
    np.testing.assert_array_equal(codes[0, :, 2], [-1, 0, 1, 2, 3])
    np.testing.assert_array_equal(codes[0, :, :2], np.tile(center[:2], (5, 1)))
    np.testing.assert_array_equal(codes[1, :, 0], [-1, 0, 1, 2, 3])
    assert plots.traversal_codes(center).shape == (3, 9, 3)
    with pytest.raises(UnweaveError):
        plots.traversal_codes(center, steps=1)


def test_traversals_are_labelled() -> None:
    figure = plots.traversals(np.zeros((2, 5, 1, 16, 16)), plots.traversal_labels([3, 1], [0, 0.5, 0, 2.414]))
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts[:2] == ["z3  KL 2.41", "z1  KL 0.50"]
    assert texts[2:7] == ["−2.0", "−1.0", "0", "+1.0", "+2.0"]


def test_gif_loops_back_and_forth(tmp_path: Path) -> None:
    images = np.zeros((7, 4, 1, 64, 64), np.uint8)
    images[:, :] = np.arange(4, dtype=np.uint8).reshape(1, 4, 1, 1, 1) * 60
    path = plots.traversal_gif(images, tmp_path / "deep" / "z.gif")
    with Image.open(path) as gif:
        assert gif.info["loop"] == 0
        assert gif.size == (5 * 68 - 4, 2 * 68 - 4)
        shades = []
        for frame in range(gif.n_frames):
            gif.seek(frame)
            shades.append(np.asarray(gif.convert("RGB"))[10, 10, 0])
    assert shades == [0, 60, 120, 180, 120, 60]
    assert path.read_bytes() == plots.traversal_gif_bytes(images)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files_are_the_same_byte_for_byte(tmp_path: Path, kind: str) -> None:
    def figure() -> Figure:
        f = np.stack(np.meshgrid(range(3), range(3), indexing="ij"), -1)
        return plots.geometry(f * 1.0, f)

    one, two = (plots.save(figure(), tmp_path / f"{name}.{kind}").read_bytes() for name in "ab")
    assert one == two
    assert b"Date" not in one.replace(b"dc:Date", b"Date") or kind == "pdf"
    if kind == "pdf":
        assert b"CreationDate" not in one


def test_unknown_ending_and_unwritable_path(tmp_path: Path) -> None:
    with pytest.raises(UnweaveError, match="png, svg, pdf"):
        plots.save(Figure(), tmp_path / "a.bmp")
    with pytest.raises(UnweaveError, match="ending"):
        plots.save(Figure(), tmp_path / "a")
    (tmp_path / "file").write_text("")
    with pytest.raises(UnweaveError, match="cannot write"):
        plots.save(Figure(), tmp_path / "file" / "a.png")


def test_grid_edges_join_neighbours_in_any_order() -> None:
    f = np.stack(np.meshgrid(np.linspace(0, 1, 4), np.linspace(5, 6, 3), indexing="ij"), -1).reshape(-1, 2)
    mixed = np.random.default_rng(0).permutation(12)
    edges = grid_edges(f[mixed])
    assert len(edges) == 3 * 3 + 4 * 2
    steps = np.sort(np.abs(np.diff(f[mixed][edges], axis=1)[:, 0]) / [1 / 3, 0.5], axis=1)
    np.testing.assert_allclose(steps, np.tile([0, 1], (17, 1)), atol=1e-12)


def test_geometry_draws_the_codes_with_held_out_points_in_black() -> None:
    f = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0), indexing="ij"), -1)
    hole = np.zeros((4, 4), bool)
    hole[1, 1] = True
    figure = plots.geometry(2 * f, f, held_out=hole, score=0.876, title="model", latents=(3, 7))
    left, right = figure.axes
    for axes, factor in ((left, 1), (right, 2)):
        lines, seen, unseen = axes.collections
        assert isinstance(lines, LineCollection)
        assert len(lines.get_segments()) == 24
        np.testing.assert_array_equal(unseen.get_offsets(), [[factor, factor]])
        np.testing.assert_allclose(unseen.get_facecolors()[0][:3], np.array([0x1F, 0x29, 0x33]) / 255)
        np.testing.assert_array_equal(seen.get_offsets(), factor * f[~hole])
        assert axes.get_aspect() == 1
    assert right.get_title(loc="left") == "model"
    assert right.get_title(loc="right") == "geometry 0.88"
    assert (right.get_xlabel(), right.get_ylabel()) == ("z3", "z7")


def test_geometry_accepts_nan_codes_and_refuses_another_grid() -> None:
    f = np.stack(np.meshgrid(np.arange(3.0), np.arange(3.0), indexing="ij"), -1).reshape(-1, 2)
    codes = f.copy()
    codes[4] = np.nan
    plots.to_bytes(plots.geometry(codes, f))
    with pytest.raises(UnweaveError, match="9 grid points, got 4"):
        plots.comparison({"a": f, "b": f[:4]}, f)


def test_plane_colours_are_distinct_and_rise_in_lightness() -> None:
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 9), indexing="ij"), -1).reshape(-1, 2)
    colors = plots.plane_colors(grid)
    assert colors.min() >= 0
    assert colors.max() <= 1
    assert len(np.unique(colors.round(4), axis=0)) == 81
    light = (colors @ [0.2126, 0.7152, 0.0722]).reshape(9, 9)
    assert (np.diff(light, axis=1) > 0).all()


def history(steps: int, start: float = 1000.0) -> list[dict[str, object]]:
    return [
        {
            "step": i,
            "total": 50 + start / i**2,
            "kl": -1.0 + start / i**3,
            "kl_per_latent": [0.0, 2.0, i / steps],
        }
        for i in range(1, steps + 1)
    ]


def test_curves_panels_and_axes() -> None:
    figure = plots.curves(history(300))
    total, kl, each = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "loss",
        "KL to the prior",
        "KL of each latent",
    ]
    assert total.get_yscale() == "log"
    assert kl.get_yscale() == "linear"  # some values are negative: the first ones leave the view instead
    assert kl.get_ylim()[1] < 10
    assert len(each.lines) == 3
    assert plots.curves(history(300, start=0.0)).axes[0].get_yscale() == "linear"


def test_long_histories_are_averaged() -> None:
    line = plots.curves(history(4001), ["total"]).axes[0].lines[0]
    assert len(line.get_xdata()) <= 200
    assert line.get_xdata()[0] == 11.0  # mean of the steps 1 .. 21
    assert line.get_ydata()[0] == pytest.approx(np.mean([50 + 1000 / i**2 for i in range(1, 22)]))


def test_curves_of_several_runs_share_panels() -> None:
    figure = plots.curves({"a": history(20), "b": history(30)})
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]
    assert titles == ["loss", "KL to the prior", "KL of each latent: a", "KL of each latent: b"]
    assert [line.get_label() for line in figure.axes[0].lines] == ["a", "b"]
    assert len(figure.legends) == 1


def test_titles_of_panels_end_within_them() -> None:
    lines = [{"step": step, "kl_per_latent": [1.0, 2.0]} for step in range(1, 40)]
    panels = curve_panels({"Spatial Broadcast VAE": lines, "b": lines})
    assert list(panels) == ["KL of each latent: Spatial Broadcast VAE", "KL of each latent: b"]
    for figure in panels.values():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        [axes] = figure.axes
        right = max(text.get_window_extent().x1 for text in [*axes.texts, axes._left_title, axes.title])  # type: ignore[attr-defined]
        assert right <= figure.bbox.x1


def test_curves_of_nothing_and_of_nan() -> None:
    assert plots.to_bytes(plots.curves([])).startswith(b"\x89PNG")
    figure = plots.curves([{"step": 1, "total": float("nan")}, {"step": 2, "total": None}])
    assert plots.to_bytes(figure).startswith(b"\x89PNG")
    assert not any(np.isfinite(line.get_ydata()).any() for axes in figure.axes for line in axes.lines)


def test_kl_bars_are_sorted_and_unused_latents_grey() -> None:
    axes = plots.kl_bars([0.1, 3.0, 2.0], scales=[0.9, 0.1, 0.2]).axes[0]
    assert [bar.get_height() for bar in axes.patches] == [3.0, 2.0, 0.1]
    assert (
        axes.patches[2].get_facecolor() != axes.patches[0].get_facecolor() == axes.patches[1].get_facecolor()
    )


def test_no_global_state_and_no_pyplot() -> None:
    code = (
        "import sys, matplotlib as m; before = m.rcParams.copy()\n"
        "import numpy as np; from unweave import plots\n"
        "plots.to_bytes(plots.curves([{'step': 1, 'total': 1.0}]), 'svg')\n"
        "print('matplotlib.pyplot' in sys.modules, 'torch' in sys.modules, m.rcParams.copy() == before)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False", "True"]


def test_png_opens() -> None:
    with Image.open(io.BytesIO(plots.to_bytes(plots.kl_bars([1.0, 2.0])))) as image:
        assert image.format == "PNG"
