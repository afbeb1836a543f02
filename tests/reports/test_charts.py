"""Inline figures: the marks of the file for papers in the colours of the page, with points where they are drawn."""

import html
import json
import re

import numpy as np
import pytest

from unweave import plots
from unweave.plots.style import FAINT, INK, PALETTE
from unweave.reports.charts import LivePoint, chart
from unweave.reports.sprites import Strip, sprite_sheet, subgrid


def test_live_points_lie_on_the_marks_of_the_figure() -> None:
    rng = np.random.default_rng(0)
    factors = np.stack(np.meshgrid(range(5), range(5), indexing="ij"), -1).reshape(-1, 2).astype(float)
    codes = factors @ np.array([[1.0, 0.4], [-0.3, 0.8]]) + 0.1 * rng.normal(size=(25, 2))
    figure = plots.grid_panel(codes, factors, title="codes", labels=("z0", "z1"))
    markup = str(
        chart(figure, "codes", points=[LivePoint(*p, str(k), k) for k, p in enumerate(codes.tolist())])
    )
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', markup).groups())
    places = json.loads(html.unescape(re.search(r'data-points="([^"]*)"', markup)[1]))
    marks = re.findall(r'<use href="#[^"]*C[^"]*" x="([\d.]+)" y="([\d.]+)"', markup)
    assert len(marks) == len(places) == 25
    drawn = np.array(marks, float) / [width, height] * 1000
    np.testing.assert_allclose([[x, y] for x, y, *_ in places], drawn, atol=0.06)


@pytest.mark.parametrize("log", [False, True])
def test_live_points_lie_on_curves_and_logarithmic_axes(log: bool) -> None:
    with plots.style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(3, 2), layout="constrained")
        axes = figure.subplots()
    axes.plot([1.0, 10.0, 100.0], [1.0, 10.0, 1000.0])
    if log:
        axes.set(xscale="log", yscale="log")
    points = [LivePoint(1.0, 1.0, "a"), LivePoint(10.0, 10.0, "b"), LivePoint(100.0, 1000.0, "c")]
    markup = str(chart(figure, "a curve", points=points))
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', markup).groups())
    path = next(d for d in re.findall(r'<path d="([^"]+)"', markup) if d.count("L") == 2 and "z" not in d)
    drawn = np.array(re.findall(r"([\d.]+) ([\d.]+)", path), float) / [width, height] * 1000
    places = json.loads(html.unescape(re.search(r'data-points="([^"]*)"', markup)[1]))
    np.testing.assert_allclose([[x, y] for x, y, *_ in places], drawn, atol=0.06)


def test_colours_of_text_axes_and_lines_are_the_pages() -> None:
    markup = str(chart(plots.kl_bars([2.0, 0.1], scales=[0.1, 0.9]), "KL <of> each"))
    for color in (INK, FAINT, PALETTE[0], "#c3cad1", "#ffffff"):
        assert color not in markup
    assert {"var(--ink)", "var(--faint)", "var(--line-0)", "var(--idle)"} <= set(
        re.findall(r"var\([^)]*\)", markup)
    )
    assert 'aria-label="KL &lt;of&gt; each"' in markup
    assert not re.search(r"<style|<metadata|<\?xml|<!DOCTYPE", markup)


def test_names_of_two_figures_differ_and_every_reference_has_its_name() -> None:
    one, two = (str(chart(plots.kl_bars([value, 1.0]), "KL")) for value in (2.0, 3.0))
    names = [set(re.findall(r' id="([^"]+)"', markup)) for markup in (one, two)]
    assert names[0] and not names[0] & names[1]
    for own, markup in zip(names, (one, two), strict=True):
        assert set(re.findall(r'(?:url\(|href=")#([^")]+)', markup)) == own
    assert one == str(chart(plots.kl_bars([2.0, 1.0]), "KL")), "the same figure is the same text"


def test_strips_and_sprites_hold_their_images() -> None:
    import base64
    import io

    import PIL.Image

    images = np.random.default_rng(0).integers(256, size=(5, 3, 8, 8)).astype(np.uint8)
    strip = np.asarray(PIL.Image.open(io.BytesIO(Strip.of(images, "five").content)))
    assert strip.shape == (8, 5 * 10 - 2, 4)
    np.testing.assert_array_equal(strip[:, 20:28, :3], np.moveaxis(images[2], 0, -1))
    assert strip[:, 8:10, 3].max() == 0, "between images one sees the page"
    content = base64.b64decode(re.search(r"base64,([^\"]+)", sprite_sheet(images, "data"))[1])
    sheet = np.asarray(PIL.Image.open(io.BytesIO(content)))
    np.testing.assert_array_equal(sheet[8:16, 0:8], np.moveaxis(images[3], 0, -1)), "three columns"


def test_a_subgrid_keeps_the_ends() -> None:
    factors = np.stack(np.meshgrid(np.linspace(-1, 1, 32), range(3), indexing="ij"), -1).reshape(-1, 2)
    chosen = factors[subgrid(factors)]
    assert len(np.unique(chosen[:, 0])) == 11 and len(np.unique(chosen[:, 1])) == 3 and len(chosen) == 33
    assert chosen[:, 0].min() == -1 and chosen[:, 0].max() == 1
