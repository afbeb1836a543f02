import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from unweave.data import DSprites
from unweave.errors import UnweaveError

GOLDEN = Path(__file__).parents[3] / "shared" / "data" / "dsprites_samples.npz"
CHECKSUMS = Path(__file__).parent / "dsprites_golden.csv"
SIZES = (3, 6, 40, 32, 32)


@pytest.fixture(scope="module")
def whole() -> Iterator[DSprites]:
    """A dataset whose packed set is built in a cache folder of its own."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNWEAVE_CACHE", folder)
        dsprites = DSprites()
        dsprites.packed()
        yield dsprites


@pytest.fixture
def no_building(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the whole set was built")

    monkeypatch.setattr("unweave.data.dsprites._packed_set", refuse)


def test_golden_images_have_no_wrong_pixel(no_building: None) -> None:
    """The checksums are those of 258 original images; the images themselves are not ours to ship."""
    golden = np.loadtxt(CHECKSUMS, delimiter=",", skiprows=1, dtype=np.int64)
    images = DSprites().images(golden[:, :5])
    assert images.shape == (258, 1, 64, 64)
    assert images.dtype == np.uint8
    assert set(np.unique(images)) == {0, 255}
    drawn = [zlib.crc32(np.packbits(image > 0).tobytes()) for image in images]
    assert drawn == golden[:, 5].tolist()


@pytest.mark.skipif(not GOLDEN.exists(), reason="the original images are not part of the repository")
def test_the_checksums_are_those_of_the_original_images() -> None:
    golden = np.load(GOLDEN)
    known = np.loadtxt(CHECKSUMS, delimiter=",", skiprows=1, dtype=np.int64)
    np.testing.assert_array_equal(golden["latents_classes"][:, 1:], known[:, :5])
    assert [zlib.crc32(np.packbits(image).tobytes()) for image in golden["imgs"]] == known[:, 5].tolist()


def test_at_counts_like_the_original_file(no_building: None) -> None:
    dsprites = DSprites()
    factors = np.array([[2, 5, 39, 31, 31], [0, 0, 0, 0, 1], [0, 0, 0, 1, 0], [1, 0, 0, 0, 0]])
    index = np.array([737_279, 1, 32, 245_760])
    np.testing.assert_array_equal(np.ravel_multi_index(tuple(factors.T), SIZES), index)
    np.testing.assert_array_equal(dsprites.at(index), dsprites.images(factors))


def literal_image(shape: int, scale: int, orientation: int, x: int, y: int) -> np.ndarray:
    """The generator of DATA.md, pixel by pixel: even-odd rule in whole numbers."""
    h = 9.6 * (0.5 + 0.1 * scale)
    if shape == 0:
        points = [(h, h), (-h, h), (-h, -h), (h, -h)]
    elif shape == 1:
        t = [2 * np.pi * i / 100 for i in range(100)]
        points = [(1.33 * np.cos(a) * h, np.sin(a) / 1.33 * h) for a in t]
    else:
        t = [2 * np.pi * i / 150 for i in range(150)]
        up = [
            (13 * np.cos(a) - 5 * np.cos(2 * a) - 2 * np.cos(3 * a) - np.cos(4 * a)) / 14.5 + 0.15 for a in t
        ]
        points = [(np.sin(a) ** 3 * h, -u * h) for a, u in zip(t, up, strict=True)]
    c, s = np.cos(2 * np.pi * orientation / 39), np.sin(2 * np.pi * orientation / 39)
    cx, cy = 16 + 32 * x / 31, 16 + 32 * y / 31
    corners = [(round(256 * (cx + a * c + b * s)), round(256 * (cy - a * s + b * c))) for a, b in points]
    image = np.zeros((64, 64), bool)
    px = 256 * np.arange(64) + 128
    for j in range(64):
        py = 256 * j + 128
        for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
            if (y0 < py) != (y1 < py):
                # pixel centre at or right of the crossing, multiplied out by y1 - y0
                side = (px - x0) * (y1 - y0) - (py - y0) * (x1 - x0)
                image[j] ^= side * np.sign(y1 - y0) >= 0
    return image


def test_renderer_equals_the_literal_definition(no_building: None) -> None:
    dsprites = DSprites()
    factors = dsprites.space.sample(60, np.random.default_rng(0))
    expected = np.stack([literal_image(*row) for row in factors.tolist()])
    np.testing.assert_array_equal(dsprites.images(factors)[:, 0] == 255, expected)


def test_whole_set_has_the_published_counts(whole: DSprites) -> None:
    packed = whole.packed()
    assert packed.shape == (737_280, 512)
    assert packed.nbytes <= 400e6
    area = np.bitwise_count(packed.view(np.uint64)).sum(axis=1, dtype=np.int64)
    assert abs(int(area.sum()) - 128_328_862) <= 8
    assert area.reshape(3, -1).mean(axis=1).round(2).tolist() == [218.15, 171.19, 132.83]
    share = area / 4096
    assert abs(np.sqrt(share * (1 - share) * 4096 / 4095).mean() - 0.1951664545) < 1e-9


def test_whole_set_has_the_known_duplicates(whole: DSprites) -> None:
    weights = np.random.default_rng(0).integers(2**64, size=64, dtype=np.uint64) | np.uint64(1)
    marks = []
    for rows in np.split(whole.packed().view(np.uint64), 18):
        mixed = rows * weights
        mixed ^= mixed >> np.uint64(
            32
        )  # the low bits of a product do not depend on the high bits of its factors
        marks.append((mixed * weights[::-1]).sum(axis=1))
    by_pose = np.stack(marks).reshape(18, 40, 1024)
    assert len(np.unique(by_pose)) == 715_706
    np.testing.assert_array_equal(by_pose[:, 0], by_pose[:, 39])


def test_packed_set_equals_the_renderer(whole: DSprites, no_building: None) -> None:
    index = np.random.default_rng(1).integers(737_280, size=3000)
    direct = DSprites()
    np.testing.assert_array_equal(whole.at(index), direct.at(index))
    assert direct._packed is None


def test_sample_draws_images_with_their_factors(whole: DSprites) -> None:
    batch = whole.sample(500, np.random.default_rng(2))
    assert batch.factors is not None
    np.testing.assert_array_equal(batch.images, DSprites().images(batch.factors))
    again = whole.sample(500, np.random.default_rng(2))
    np.testing.assert_array_equal(batch.images, again.images)
    many = whole.sample(20_000, np.random.default_rng(3)).factors
    assert many is not None
    for k, size in enumerate(SIZES):
        counts = np.bincount(many[:, k], minlength=size)
        assert ((counts - 20_000 / size) ** 2).sum() * size / 20_000 < size + 5 * np.sqrt(2 * size)


@pytest.mark.parametrize(
    ("factor", "published"),
    [("y", 0.0574), ("x", 0.0572), ("scale", 0.0251), ("shape", 0.0215), ("orientation", 0.0165)],
)
def test_distance_along_a_factor_is_the_measured_one(whole: DSprites, factor: str, published: float) -> None:
    rng = np.random.default_rng(4)
    a = whole.space.sample(30_000, rng)
    k = whole.space.column(factor)
    b = a.copy()
    b[:, k] = (a[:, k] + rng.integers(1, SIZES[k], len(a))) % SIZES[k]
    packed = whole.packed().view(np.uint64)
    distance = (
        np.bitwise_count(packed[whole.space.index(a)] ^ packed[whole.space.index(b)]).sum(axis=1) / 4096
    )
    # 4 standard errors, and half a unit of the published digit
    assert abs(distance.mean() - published) < 4 * distance.std() / np.sqrt(30_000) + 0.00005


def test_set_is_found_again_on_disk(whole: DSprites, monkeypatch: pytest.MonkeyPatch) -> None:
    from unweave.data import dsprites

    def refuse() -> None:
        raise AssertionError("the whole set was built again")

    monkeypatch.setattr(dsprites, "_build", refuse)
    dsprites._packed_set.cache_clear()
    found = DSprites().packed()
    assert isinstance(found.base, np.memmap)
    np.testing.assert_array_equal(found[::997], whole.packed()[::997])


def test_wrong_factors_are_named() -> None:
    with pytest.raises(
        UnweaveError, match="factor 'orientation' must be a whole number from 0 to 39, got 40"
    ):
        DSprites().images([[0, 0, 40, 0, 0]])
    with pytest.raises(UnweaveError, match="index must be from 0 to 737279, got 737280"):
        DSprites().at([737_280])


def test_the_whole_set_has_the_constants_of_table_a2(whole: DSprites) -> None:
    """REC table A2: 0.042494423521890 and the mean over images of each one's own deviation, 0.195166458806261."""
    on = np.bitwise_count(whole.packed().view(np.uint64)).sum(axis=1, dtype=np.int64)
    share = on / 4096
    assert share.mean() == pytest.approx(0.042494423521890, abs=1e-8)
    assert np.sqrt(share * (1 - share) * 4096 / 4095).mean() == pytest.approx(0.195166458806261, abs=1e-8)
    assert whole.channels().mean == (0.042494423521890,)
