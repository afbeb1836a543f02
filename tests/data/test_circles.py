import colorsys

import numpy as np
import pytest

from unweave.data import Circles
from unweave.data.circles import disc_coverage, sampled_coverage
from unweave.errors import UnweaveError

DIAMETERS = {"xy": 0.2, "xh": 0.3, "rg": 0.5, "xyh_small": 0.1, "xyh_tiny": 0.075}


def test_coverage_equals_fine_supersampling() -> None:
    rng = np.random.default_rng(0)
    for radius in (0.3, 1.0, 2.4, 6.4):
        cx, cy = rng.uniform(7, 9, 2)
        cells = disc_coverage(np.arange(17)[None] - cx, np.arange(17)[None] - cy, radius)[0]
        fine = (np.arange(16 * 200) + 0.5) / 200
        inside = (fine[None] - cx) ** 2 + (fine[:, None] - cy) ** 2 < radius**2
        expected = inside.reshape(16, 200, 16, 200).mean(axis=(1, 3))
        np.testing.assert_allclose(cells, expected, atol=2e-3)
        assert abs(cells.sum() - np.pi * radius**2) < 1e-11
        assert cells.min() > -1e-12
        assert cells.max() < 1 + 1e-12


@pytest.mark.parametrize("variant", list(DIAMETERS))
@pytest.mark.parametrize("size", [64, 37, 16])
def test_area_and_centre_are_those_of_the_factors(variant: str, size: int) -> None:
    circles = Circles(variant=variant, size=size)  # type: ignore[arg-type]
    factors = circles.space.sample(200, np.random.default_rng(0))
    # the corners of the space too: there the circle is nearest to the frame
    ends = circles.space.grid(circles.space.names, 2, factors[0])
    factors = np.concatenate([factors, ends])
    images = circles.images(factors)
    assert images.shape == (len(factors), 3, size, size)
    assert images.dtype == np.uint8
    assert images.transpose(0, 2, 3, 1).flags.c_contiguous
    light = images.max(axis=1) / 255  # every colour of table 3 has a channel at its full value
    radius = DIAMETERS[variant] * size / 2
    area = light.sum(axis=(1, 2))
    # each pixel on the rim is rounded to 1/255
    rim = 4 * (2 * radius + 1)
    np.testing.assert_allclose(area, np.pi * radius**2, atol=5 * np.sqrt(rim / 12) / 255 + 1e-3)
    middle = np.arange(size) + 0.5
    values = dict(zip(circles.space.names, factors.T, strict=True))
    x = (light.sum(axis=1) * middle).sum(axis=1) / area
    y = (light.sum(axis=2) * middle).sum(axis=1) / area
    np.testing.assert_allclose(x, values.get("x", 0.5) * size, atol=0.06 if radius < 2 else 0.02)
    np.testing.assert_allclose(y, values.get("y", 0.5) * size, atol=0.06 if radius < 2 else 0.02)


@pytest.mark.parametrize("variant", ["xy", "xys"])
def test_supersampling_draws_five_times_as_large_and_averages(variant: str) -> None:
    """SBD appendix A.3, literally: an image of 5 x 64 pixels that are inside or outside, then means of 5 x 5."""
    exact = Circles(variant=variant)  # type: ignore[arg-type]
    sampled = Circles(variant=variant, supersampling=5)  # type: ignore[arg-type]
    factors = exact.space.sample(20, np.random.default_rng(0))
    middle = (np.arange(5 * 64) + 0.5) / (5 * 64)
    drawn = sampled.images(factors)
    for row, image in zip(factors, drawn, strict=True):
        diameter = row[2] if variant == "xys" else 0.2
        inside = (middle - row[0]) ** 2 + (middle[:, None] - row[1]) ** 2 < diameter**2 / 4
        share = inside.reshape(64, 5, 64, 5).mean(axis=(1, 3))
        np.testing.assert_array_equal(image, np.broadcast_to(np.floor(255 * share + 0.5), (3, 64, 64)))
    differ = np.abs(drawn.astype(float) - exact.images(factors)).max()
    assert 1 < differ < 0.2 * 255


def test_the_exact_area_is_the_limit_of_supersampling() -> None:
    x, y = np.arange(9)[None] - 4.3, np.arange(9)[None] - 3.8
    errors = [np.abs(sampled_coverage(x, y, 2.7, k) - disc_coverage(x, y, 2.7)).max() for k in (5, 25, 125)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 2e-3


def test_colours_are_those_of_table_3() -> None:
    assert (Circles().images([[0.3, 0.4]])[0].max(axis=(1, 2)) == 255).all()
    red_green = Circles(variant="rg").images([[0.4, 0.8], [0.8, 0.6]])
    np.testing.assert_array_equal(red_green[:, :, 32, 32], [[102, 204, 255], [204, 153, 255]])
    hues = np.linspace(0.2, 0.8, 50)
    images = Circles(variant="xh").images(np.stack([np.full(50, 0.5), hues], axis=1))
    expected = [[255 * c for c in colorsys.hsv_to_rgb(h, 1, 1)] for h in hues]
    np.testing.assert_allclose(images[:, :, 32, 32], expected, atol=0.5001)


def test_x_goes_right_and_y_goes_down() -> None:
    image = Circles().images([[0.8, 0.2]])[0, 0]
    assert image[12, 51] == 255
    assert image[51, 12] == 0


@pytest.mark.parametrize("variant", list(DIAMETERS))
@pytest.mark.parametrize(("hole", "low", "high"), [("center", 0.25, 0.75), ("corner", 0.0, 0.5)])
def test_hole_is_a_quarter_and_never_sampled(variant, hole, low, high) -> None:  # type: ignore[no-untyped-def]
    circles = Circles(variant=variant, hole=hole, size=16)
    bounds = np.array(circles.space.sizes)
    full = circles.space.sample(40_000, np.random.default_rng(0))
    place = (full - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])
    inside = ((place[:, :2] > low) & (place[:, :2] < high)).all(axis=1)
    np.testing.assert_array_equal(circles.held_out(full), inside)
    assert abs(inside.mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 40_000)

    seen = circles.sample(40_000, np.random.default_rng(1)).factors
    assert seen is not None
    assert not circles.held_out(seen).any()
    circles.space.check(seen)
    # uniform outside the hole: 12 of the 16 cells of a 4 x 4 grid have equal shares, the others nothing
    place = (seen - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])
    cell = np.minimum((4 * place[:, :2]).astype(int), 3)
    share = np.bincount(cell[:, 0] * 4 + cell[:, 1], minlength=16).reshape(4, 4) / len(seen)
    start = int(4 * low)
    expected = np.full((4, 4), 1 / 12)
    expected[start : start + 2, start : start + 2] = 0
    np.testing.assert_allclose(share, expected, atol=4 * np.sqrt(1 / 12 / 40_000))


def test_held_out_images_are_still_drawn() -> None:
    factors = np.array([[0.5, 0.5], [0.45, 0.6]])
    assert Circles(hole="center").held_out(factors).all()
    assert not Circles().held_out(factors).any()
    np.testing.assert_array_equal(Circles(hole="center").images(factors), Circles().images(factors))


def test_sampled_images_belong_to_their_factors() -> None:
    for circles in (Circles(), Circles(variant="xyh_small", hole="corner", blank=0.5), Circles(variant="rg")):
        batch = circles.sample(300, np.random.default_rng(0))
        assert batch.factors is not None
        np.testing.assert_array_equal(batch.images, circles.images(batch.factors))


def test_blank_images_are_black_and_have_no_factors() -> None:
    circles = Circles(blank=0.3)
    batch = circles.sample(5000, np.random.default_rng(0))
    assert batch.factors is not None
    black = (batch.images == 0).all(axis=(1, 2, 3))
    np.testing.assert_array_equal(black, np.isnan(batch.factors).all(axis=1))
    np.testing.assert_array_equal(black, np.isnan(batch.factors).any(axis=1))
    assert abs(black.mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 5000)


@pytest.mark.parametrize("hole", ["none", "center", "corner"])
def test_evaluation_is_on_the_grid_and_outside_the_hole(hole) -> None:  # type: ignore[no-untyped-def]
    circles = Circles(variant="xyh_tiny", hole=hole, blank=0.5)
    factors = circles.evaluation(20_000, np.random.default_rng(0), levels=5)
    np.testing.assert_allclose(circles.space.levels(factors, 5), factors)
    assert not circles.held_out(factors).any()
    assert not np.isnan(factors).any()
    expected = {"none": 25, "center": 24, "corner": 21}[hole]
    points, counts = np.unique(factors[:, :2].round(6), axis=0, return_counts=True)
    assert len(points) == expected
    np.testing.assert_allclose(counts / 20_000, 1 / expected, atol=5 * np.sqrt(1 / expected / 20_000))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Circles(variant="xyh"), "unknown variant of Circles 'xyh': did you mean"),  # type: ignore[arg-type]
        (lambda: Circles(hole="centre"), "unknown hole of Circles 'centre': did you mean center"),  # type: ignore[arg-type]
        (lambda: Circles(blank=1.0), "blank of Circles must be a fraction from 0 to below 1, got 1.0"),
        (lambda: Circles(blank=-0.1), "blank of Circles"),
        (lambda: Circles(size=4), "size of Circles must be a whole number of pixels from 8 up, got 4"),
        (lambda: Circles(size=64.0), "size of Circles"),  # type: ignore[arg-type]
        (lambda: Circles().at([0]), "continuous factors and no row numbers"),
        (lambda: Circles().images([[0.5, 0.9]]), "factor 'y' must be between 0.2 and 0.8, got 0.9"),
        (lambda: Circles().images([[1, 1]]), "factor 'x' must be between"),
        (lambda: Circles().images([0.5, 0.5]), r"factors must have shape \(n, 2\)"),
        (lambda: Circles().images(0.5), r"factors must have shape \(n, 2\)"),
        (lambda: Circles().images([[0.5, 0.5, 0.5]]), r"factors must have shape \(n, 2\)"),
        (lambda: Circles().evaluation(3, np.random.default_rng(0), levels=1), "levels must be at least 2"),
    ],
)
def test_mistakes_are_named(call, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnweaveError, match=message):
        call()


def test_a_finite_set_has_as_many_different_images_and_always_the_same() -> None:
    """SBD appendix A.3: 500,000 images, drawn once."""
    one, two = (Circles(size=16, finite=50, hole="center", blank=0.3) for _ in range(2))
    drawn = one.sample(2000, np.random.default_rng(3)).factors
    assert drawn is not None
    assert len(np.unique(np.nan_to_num(drawn), axis=0)) <= 50
    assert not one.held_out(drawn[~np.isnan(drawn).any(axis=1)]).any()
    again = two.sample(2000, np.random.default_rng(3)).factors
    np.testing.assert_array_equal(drawn, again)


def test_the_size_of_a_circle_may_be_a_factor() -> None:
    circles = Circles(variant="xys", size=64)
    assert circles.space.names == ("x", "y", "size")
    for diameter in (0.1, 0.2, 0.3):
        area = circles.images([[0.4, 0.55, diameter]])[0, 0].sum() / 255
        assert area == pytest.approx(np.pi * (32 * diameter) ** 2, rel=2e-3)
    same = circles.images([[0.4, 0.55, 0.2]])
    np.testing.assert_array_equal(same, Circles(variant="xy", size=64).images([[0.4, 0.55]]))
