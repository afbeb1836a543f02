import colorsys
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from unweave.data import BusySprites, ColoredSprites, DSprites
from unweave.data.sprites import mixed, swirls, uniforms
from unweave.errors import UnweaveError

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def whole_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole set, of which only the rows that are asked for are drawn."""

    class Lazy:
        def take(self, rows: np.ndarray, axis: int) -> np.ndarray:
            return np.packbits(DSprites().at(rows).reshape(len(rows), -1) > 0, axis=1)

    monkeypatch.setattr("unweave.data.dsprites._packed_set", lambda _: Lazy())


def test_colours_are_hsv() -> None:
    sprites = ColoredSprites()
    factors = sprites.space.sample(40, RNG)
    images = sprites.images(factors)
    masks = DSprites().images(factors[:, :5].astype(np.int64))[:, 0] > 0
    for image, mask, point in zip(images, masks, factors, strict=True):
        expected = np.rint(255 * np.array(colorsys.hsv_to_rgb(*point[5:])))
        np.testing.assert_array_equal(image[:, mask], np.broadcast_to(expected[:, None], (3, mask.sum())))
        assert not image[:, ~mask].any()


def test_colours_are_drawn_online() -> None:
    sprites = ColoredSprites()
    assert sprites.count is None
    batch = sprites.sample(400, RNG)
    assert batch.factors is not None
    np.testing.assert_array_equal(batch.images, sprites.images(batch.factors))
    for column, (low, high) in zip(batch.factors[:, 5:].T, ((0, 1), (0.3, 0.7), (0.3, 0.7)), strict=True):
        assert low <= column.min() < low + 0.02 * (high - low)
        assert high - 0.02 * (high - low) < column.max() <= high
    with pytest.raises(UnweaveError, match="ColoredSprites has continuous factors and no row numbers"):
        sprites.at([0])


def test_color_is_between_half_and_full() -> None:
    sprites = BusySprites(ground="color")
    batch = sprites.sample(300, RNG)
    masks = DSprites().images(batch.factors)[:, 0] > 0
    colours = np.stack([image[:, mask][:, 0] for image, mask in zip(batch.images, masks, strict=True)])
    for image, mask, colour in zip(batch.images, masks, colours, strict=True):
        assert (image[:, mask] == colour[:, None]).all()
        assert not image[:, ~mask].any()
    assert colours.min() >= 128
    np.testing.assert_allclose(colours.mean(axis=0), 191.5, atol=5 * 37 / np.sqrt(300))


def test_noise_is_uniform_outside_the_sprite_and_white_inside() -> None:
    sprites = BusySprites(ground="noise")
    batch = sprites.sample(50, RNG)
    masks = DSprites().images(batch.factors)[:, 0] > 0
    outside = np.concatenate(
        [image[:, ~mask].ravel() for image, mask in zip(batch.images, masks, strict=True)]
    )
    assert all((image[:, mask] == 255).all() for image, mask in zip(batch.images, masks, strict=True))
    counts = np.bincount(outside, minlength=256)
    expected = len(outside) / 256
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)
    assert (batch.images[0] != batch.images[1]).mean() > 0.9


def test_texture_is_a_patch_averaged_with_a_colour_and_inverted_inside() -> None:
    sprites = BusySprites(ground="texture")
    rows = np.array([3, 70_000, 700_000])
    images = sprites.at(rows).astype(np.int64)
    masks = DSprites().at(rows)[:, 0] > 0
    picture, drawn = swirls().astype(np.int64), uniforms(rows, 5)
    for image, mask, (down, right, *colour) in zip(images, masks, drawn, strict=True):
        top, left = int(down * (274 - 63)), int(right * (350 - 63))
        patch = picture[top : top + 64, left : left + 64].transpose(2, 0, 1)
        mean = (patch + 256 * np.array(colour)[:, None, None]) / 2
        assert np.abs(image - np.where(mask, 255 - mean, mean)).max() <= 1.5  # each half is rounded down


@pytest.mark.parametrize("ground", ["color", "noise", "texture"])
def test_rows_have_nuisance_of_their_own(ground: str) -> None:
    sprites = BusySprites(ground=ground)
    index = np.array([5, 100, 5])
    first = sprites.at(index)
    np.testing.assert_array_equal(first, BusySprites(ground=ground).at(index))
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_array_equal(first, sprites.images(sprites.factors_at(index)))
    one, two = (sprites.sample(4, np.random.default_rng(s)).images for s in (1, 1))
    np.testing.assert_array_equal(one, two)
    a, b = sprites.pairs(6, np.random.default_rng(2), k=1)
    assert (a.images != b.images).any(axis=(1, 2, 3)).all()


def test_the_scream_is_read_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNWEAVE_DATA", str(tmp_path))
    with pytest.raises(UnweaveError, match=r"needs the file scream.jpg .* data.picture=swirls can stand in"):
        BusySprites(ground="texture", picture="scream")
    (tmp_path / "scream").mkdir()
    PIL.Image.new("RGB", (700, 548), (200, 100, 50)).save(tmp_path / "scream" / "scream.jpg", quality=95)
    image = BusySprites(ground="texture", picture="scream").at([0])[0, :, 0, 0].astype(int)
    colour = (uniforms(np.array([0]), 5)[0, 2:] * 256).astype(int)
    assert np.abs(image - (np.array([200, 100, 50]) + colour) // 2).max() <= 3


def test_the_mixer_is_splitmix64() -> None:
    """Against the published definition in whole numbers."""

    def mix(x: int) -> int:
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
        return x ^ (x >> 31)

    golden = 0x9E3779B97F4A7C15
    for seed in (0, 7, 2**62):
        state = mix(seed * golden % 2**64)
        expected = [mix((state + i * golden) % 2**64) for i in range(1, 4)]
        assert mixed(np.array([seed]), 3)[0].tolist() == expected


@pytest.mark.parametrize("options", [{"ground": "marble"}, {"picture": "lena"}])
def test_unknown_variants_are_named(options: dict[str, str]) -> None:
    with pytest.raises(UnweaveError, match="unknown"):
        BusySprites(**options)
