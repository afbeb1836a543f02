import numpy as np
import pytest

from unweave.data import XYSquares
from unweave.errors import UnweaveError


def literal_image(factors: list[int], spacing: int) -> np.ndarray:
    image = np.zeros((3, 64, 64), np.uint8)
    start = (64 - 7 * spacing - 8) // 2
    for channel in range(3):
        x = start + spacing * factors[2 * channel]
        y = start + spacing * factors[2 * channel + 1]
        image[channel, y : y + 8, x : x + 8] = 255
    return image


@pytest.mark.parametrize("spacing", range(1, 9))
def test_images_equal_the_literal_definition(spacing: int) -> None:
    squares = XYSquares(spacing=spacing)
    factors = np.concatenate([squares.space.sample(50, np.random.default_rng(0)), [[0] * 6, [7] * 6]])
    images = squares.images(factors)
    assert images.transpose(0, 2, 3, 1).flags.c_contiguous
    np.testing.assert_array_equal(images, [literal_image(row, spacing) for row in factors.tolist()])


def test_all_states_have_the_published_mean() -> None:
    squares = XYSquares()
    assert squares.count == squares.space.count == 262_144
    assert squares.space.names == ("x_r", "y_r", "x_g", "y_g", "x_b", "y_b")
    # Bytes of a row repeat R, G, B, so the 24 bytes of three words hold each channel eight times.
    channel = np.tile(255 * np.eye(3, dtype=np.uint8), 8).view(np.uint64)
    for first in range(0, 262_144, 1024):
        images = squares.at(np.arange(first, first + 1024))
        words = images.transpose(0, 2, 3, 1).reshape(1024, -1, 24).view(np.uint64)
        for mask in channel:
            on = np.bitwise_count(words & mask).reshape(1024, -1).sum(axis=1, dtype=np.int64) / 8
            assert (on / 4096 == 0.015625).all()


def test_every_pair_along_a_factor_has_the_same_distance() -> None:
    squares = XYSquares()
    at = squares.space.sample(1, np.random.default_rng(0))[0]
    for name in squares.space.names:
        images = squares.images(squares.space.traversal(name, at)) / 255
        for metric in (np.abs, np.square):
            distance = metric(images[:, None] - images[None]).mean(axis=(2, 3, 4))
            np.testing.assert_allclose(distance, 2 * 64 / (64 * 64 * 3) * (1 - np.eye(8)), rtol=1e-14)


def test_distance_of_random_pairs_is_that_of_table_a1() -> None:
    squares = XYSquares()
    a, b = (squares.sample(1000, np.random.default_rng(seed)).images == 255 for seed in (0, 1))
    distance = (a ^ b).reshape(1000, -1).mean(axis=1)
    # REC table A1: 0.0308, sd 0.0022; both follow from 3 squares that coincide with probability 1/64
    unit = 128 / (64 * 64 * 3)
    assert abs(distance.mean() - 3 * unit * 63 / 64) < 5 * 0.0022 / np.sqrt(1000)
    assert round(3 * unit * 63 / 64, 4) == 0.0308
    assert abs(distance.std() - 0.0022) < 0.0005


def test_neighbours_overlap_by_the_spacing() -> None:
    for spacing in range(1, 9):
        squares = XYSquares(spacing=spacing)
        a, b = squares.images([[3, 2, 0, 0, 0, 0], [4, 2, 0, 0, 0, 0]])[:, 0] == 255
        assert (a & b).sum() == 8 * (8 - spacing)


def test_smaller_frames_keep_the_geometry() -> None:
    small, large = XYSquares(spacing=4, size=32), XYSquares(spacing=4)
    factors = small.space.sample(20, np.random.default_rng(0))
    np.testing.assert_array_equal(
        small.images(factors).repeat(2, axis=2).repeat(2, axis=3), large.images(factors)
    )


def test_sample_draws_images_with_their_factors() -> None:
    batch = XYSquares().sample(200, np.random.default_rng(0))
    assert batch.factors is not None
    np.testing.assert_array_equal(batch.images, XYSquares().images(batch.factors))
    factors = XYSquares().evaluation(8000, np.random.default_rng(0))
    assert factors.dtype == np.int64
    np.testing.assert_allclose([np.bincount(f, minlength=8) for f in factors.T], 1000, atol=5 * np.sqrt(1000))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"spacing": 0}, "spacing of XYSquares must be a whole number from 1 to 8, got 0"),
        ({"spacing": 9}, "spacing of XYSquares must be a whole number from 1 to 8, got 9"),
        ({"spacing": 2.5}, "spacing of XYSquares"),
        ({"size": 60}, "size of XYSquares must be a multiple of 8 pixels, got 60"),
        ({"size": 32, "spacing": 3}, "spacing 3 of XYSquares is 1.5 pixels at size 32: choose"),
    ],
)
def test_mistakes_are_named(options, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnweaveError, match=message):
        XYSquares(**options)
