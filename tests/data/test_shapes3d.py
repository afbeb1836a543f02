"""The room against the original images (if they are here), against REC's tables, and against its own geometry."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from unweave.data import Shapes3D
from unweave.data.shapes3d_renderer import view

GOLDEN = Path(__file__).parents[3] / "shared" / "data" / "3dshapes_samples.npz"
# Factors of the 50 golden images, which have no labels: those that fit best.
FITTED = Path(__file__).parent / "shapes3d_golden.csv"
NAMES = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")

# REC table A1
DISTANCES = {
    "random": 0.2432,
    "wall_hue": 0.1122,
    "floor_hue": 0.1086,
    "object_hue": 0.0416,
    "shape": 0.0207,
    "scale": 0.0182,
    "orientation": 0.0116,
}


@pytest.fixture(scope="module")
def shapes() -> Iterator[Shapes3D]:
    """A set whose pictures are made in a cache folder of their own."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNWEAVE_CACHE", folder)
        made = Shapes3D()
        made.at([0])
        yield made


def test_counts_and_order(shapes: Shapes3D) -> None:
    space = shapes.factor_space()
    assert (space.names, space.sizes, shapes.count) == (NAMES, (10, 10, 10, 8, 4, 15), 480_000)
    factors = space.sample(20, np.random.default_rng(0))
    index = np.ravel_multi_index(tuple(factors.T), (10, 10, 10, 8, 4, 15))
    np.testing.assert_array_equal(shapes.at(index), shapes.images(factors))
    np.testing.assert_array_equal(shapes.factors_at(index), factors)
    batch = shapes.sample(300, np.random.default_rng(1))
    np.testing.assert_array_equal(batch.images, shapes.images(batch.factors))
    assert batch.images.transpose(0, 2, 3, 1).flags.c_contiguous


def test_an_image_is_the_sum_of_what_its_rays_see(shapes: Shapes3D) -> None:
    """A literal composition: colour each ray, average over each pixel."""
    rng = np.random.default_rng(2)
    for floor, wall, thing, scale, shape, orientation in shapes.factor_space().sample(6, rng):
        seen = view(int(shape), 0.75 + 0.5 * scale / 7, -30 + 60 * orientation / 14, 3)
        rays = np.empty((len(seen.surface), 3))
        for i, (surface, shade, gloss) in enumerate(zip(seen.surface, seen.shade, seen.gloss, strict=True)):
            if surface < 0:
                rays[i] = np.array([153, 226, 249]) / 255
                continue
            hue = (floor, wall, thing)[surface] / 10
            colour = np.clip(np.abs((6 * hue + np.array([0, 4, 2])) % 6 - 3) - 1, 0, 1)
            rays[i] = np.minimum(shade * colour + gloss * (1 - colour), 1)
        expected = 255 * rays.reshape(64, 3, 64, 3, 3).mean(axis=(1, 3))
        got = shapes.images([[floor, wall, thing, scale, shape, orientation]])[0].transpose(1, 2, 0)
        assert np.abs(got - expected).max() < 3.01  # up to three parts, each rounded down
        assert np.abs(got - expected).mean() < 0.4


def test_parts_of_a_pixel_are_rounded_down_and_added(shapes: Shapes3D) -> None:
    """Exactly, and for objects of every shape and size: where surfaces share a pixel, each one's light is cut."""
    rng = np.random.default_rng(4)
    sky = np.array([153, 226, 249]) / 255
    for scale, shape in np.ndindex(8, 4):
        hues, orientation = rng.integers(10, size=3), int(rng.integers(15))
        seen = view(shape, 0.75 + 0.5 * scale / 7, -30 + 60 * orientation / 14, 3)
        colours = np.clip(np.abs((0.6 * hues[:, None] + np.array([0, 4, 2])) % 6 - 3) - 1, 0, 1).round(6)
        expected = np.zeros((64, 64, 3), np.int64)
        for surface in (-1, 0, 1, 2):
            met = seen.surface == surface
            light = np.minimum(
                np.outer(seen.shade, colours[surface]) + np.outer(seen.gloss, 1 - colours[surface]), 1
            )
            light = met[:, None] * (sky if surface < 0 else light)
            part = 255 * light.reshape(64, 3, 64, 3, 3).sum(axis=(1, 3)) / 9
            alone = met.reshape(64, 3, 64, 3).all(axis=(1, 3))[..., None]
            expected += np.where(alone, np.rint(part), np.floor(part + 1e-6)).astype(np.int64)
        got = shapes.images([[*hues, scale, shape, orientation]])[0].transpose(1, 2, 0)
        wrong = np.abs(got - expected)
        assert wrong.max() <= 1
        assert np.count_nonzero(wrong) <= 2  # the order of a sum may decide where it is rounded to


def test_the_hues_of_a_surface_change_that_surface_only(shapes: Shapes3D) -> None:
    base = [2, 5, 8, 4, 1, 7]
    surface = view(1, 0.75 + 0.5 * 4 / 7, 0.0, 3).surface.reshape(64, 3, 64, 3)
    for column in range(3):
        other = list(base)
        other[column] = (other[column] + 3) % 10
        first, second = shapes.images([base, other])
        changed = (first != second).any(axis=0)
        touched = (surface == column).any(axis=(1, 3))
        assert not (changed & ~touched).any()
        inside = (surface == column).all(axis=(1, 3))
        assert (changed[inside]).mean() > 0.95


@pytest.mark.parametrize(
    ("shape", "radius", "height"), [(1, 0.3545, 0.7275), (2, 0.425, 0.85), (3, 0.321, 1.32)]
)
def test_objects_have_the_size_that_perspective_gives_them(shape: int, radius: float, height: float) -> None:
    """Round objects of scale 1, seen along the axis: half width f r / sqrt(d^2 - r^2)."""
    seen = view(shape, 1.0, 0.0, 9).surface.reshape(64 * 9, 64 * 9) == 2
    columns = np.flatnonzero(seen.any(axis=0))
    width = (columns[-1] - columns[0] + 1) / 9
    assert width == pytest.approx(2 * 69.7 * radius / np.sqrt(2.52**2 - radius**2), abs=0.3)
    rows = np.flatnonzero(seen[:, 64 * 9 // 2])
    top = 32 - rows[0] / 9
    ideal = 69.7 * (height - 0.75) / 2.52
    assert top == pytest.approx(ideal, abs=69.7 * abs(height - 0.75) / 2.52 * 0.25 + 0.7)


def test_orientation_turns_the_camera() -> None:
    """At -30 degrees the corner of the room is at the right, at +30 at the left (DATA.md: columns 44 and 19)."""
    for azimuth, column in ((-30.0, 44), (30.0, 19)):
        seen = view(0, 0.75, azimuth, 1)
        top = [np.flatnonzero(column_ == 1)[0] for column_ in seen.surface.reshape(64, 64).T]
        assert abs(int(np.argmax(top)) - column) <= 1


@pytest.mark.skipif(not GOLDEN.exists(), reason="the original images are not part of the repository")
def test_original_images_are_met(shapes: Shapes3D) -> None:
    golden = np.load(GOLDEN)["images"].astype(np.float64) / 255
    factors = np.loadtxt(FITTED, delimiter=",", skiprows=1, dtype=np.int64)
    made = shapes.images(factors).transpose(0, 2, 3, 1) / 255
    error = np.abs(made - golden).mean(axis=(1, 2, 3))
    assert np.median(error) <= 0.016  # the issue asks for 0.05
    assert error.max() <= 0.025  # and for 0.08


@pytest.mark.parametrize("name", DISTANCES)
def test_distances_are_those_of_the_paper(shapes: Shapes3D, name: str) -> None:
    rng, space = np.random.default_rng(3), shapes.factor_space()
    first = space.sample(6000, rng)
    if name == "random":
        second = space.sample(6000, rng)
    else:
        second, column = first.copy(), space.column(name)
        size = space.sizes[column]
        assert isinstance(size, int)
        second[:, column] = (first[:, column] + rng.integers(1, size, len(first))) % size
    distance = np.concatenate(
        [
            ((shapes.images(a).astype(np.float32) - shapes.images(b)) ** 2).mean(axis=(1, 2, 3)) / 255**2
            for a, b in zip(np.split(first, 12), np.split(second, 12), strict=True)
        ]
    )
    assert distance.mean() == pytest.approx(DISTANCES[name], rel=0.08)


def test_channel_means_are_those_of_the_paper(shapes: Shapes3D) -> None:
    measured = shapes.measured_channels(limit=8000)
    published = shapes.channels()
    np.testing.assert_allclose(measured.mean, published.mean, atol=0.02)
    np.testing.assert_allclose(measured.std, published.std, atol=0.02)
