"""Rows of latents: what is drawn is what was given."""

import numpy as np
import pytest

from unweave.errors import UnweaveError
from unweave.plots.latents import SHAPES, latent_rows
from unweave.plots.saving import to_bytes


def test_a_row_holds_map_curves_and_sweep() -> None:
    rng = np.random.default_rng(0)
    maps, scale = rng.normal(size=(2, 5, 5)), rng.normal(size=(2, 3, 6))
    images = rng.random((2, 4, 1, 8, 8))
    figure = latent_rows(maps, {"scale": scale}, images, ["x-pos", "scale"], classes=["a", "b", "c"])
    first, second = figure.axes[:3], figure.axes[3:]
    np.testing.assert_array_equal(first[0].images[0].get_array(), maps[0])
    for k, line in enumerate(second[1].lines[:3]):
        np.testing.assert_array_equal(line.get_ydata(), scale[1, k])
        assert line.get_color() == SHAPES[k]
    strip = np.asarray(second[2].images[0].get_array())
    np.testing.assert_array_equal(
        strip[:, 10:18, 0], np.rint(images[1, 1, 0] * 255)
    )  # 8 pixels and a gap of 2 on
    assert [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()] == ["x-pos", "scale"]
    # One scale of colours and heights for all latents: what one of them does not do is seen.
    reach = max(np.abs(maps).max(), np.abs(scale).max())
    assert {axes.images[0].get_clim() for axes in (first[0], second[0])} == {(-reach, reach)}
    assert len(to_bytes(figure)) > 1000


def test_latents_without_a_label_are_an_error() -> None:
    with pytest.raises(UnweaveError, match="there are 1 labels"):
        latent_rows(np.zeros((2, 4, 4)), {}, np.zeros((2, 3, 1, 8, 8)), ["x"])
