from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from unweave.data import Arrays
from unweave.errors import UnweaveError

RNG = np.random.default_rng(0)
GREY = RNG.integers(256, size=(7, 10, 12), dtype=np.uint8)
COLOUR = RNG.integers(256, size=(7, 10, 12, 3), dtype=np.uint8)
FACTORS = np.array([[0.5, 3], [0.1, 3], [0.5, 9], [2.0, 7], [0.1, 7], [0.5, 7], [0.5, 9]])
CLASSES = np.array([[1, 0], [0, 0], [1, 2], [2, 1], [0, 1], [1, 1], [1, 2]])


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        (GREY, GREY[:, None]),
        (GREY[..., None], GREY[:, None]),
        (GREY[:, None], GREY[:, None]),
        (COLOUR, COLOUR.transpose(0, 3, 1, 2)),
        (COLOUR.transpose(0, 3, 1, 2), COLOUR.transpose(0, 3, 1, 2)),
    ],
)
@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64])
def test_round_trip_is_exact(tmp_path: Path, images: np.ndarray, expected: np.ndarray, kind: type) -> None:
    if kind is not np.uint8:
        images, expected = (images / 255).astype(kind), (expected / 255).astype(np.float32)
    np.savez_compressed(tmp_path / "a.npz", images=images)
    own = Arrays(tmp_path / "a.npz")
    assert own.image_shape == expected.shape[1:]
    assert (own.count, own.space) == (7, None)
    got = own.at(np.arange(7))
    assert got.dtype == expected.dtype
    assert got.transpose(0, 2, 3, 1).flags.c_contiguous
    np.testing.assert_array_equal(got, expected)
    batch = own.sample(40, np.random.default_rng(0))
    assert batch.factors is None
    assert {i.tobytes() for i in batch.images} <= {i.tobytes() for i in expected}


def test_binary_images_become_black_and_white() -> None:
    binary = GREY > 100
    for images in (binary, binary.astype(np.uint8), binary.astype(np.uint8) * np.uint8(255)):
        np.testing.assert_array_equal(Arrays.from_arrays(images).at([3])[0, 0], binary[3] * 255)


def test_factors_become_classes(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=GREY, factors=FACTORS, factor_names=["dose", "age"])
    own = Arrays(str(tmp_path / "a.npz"))
    assert own.space is not None
    assert own.space.names == ("dose", "age")
    assert own.space.sizes == (3, 3)
    assert own.count == 7
    np.testing.assert_array_equal(own.classes, CLASSES)
    assert [v.tolist() for v in own.values] == [[0.1, 0.5, 2.0], [3.0, 7.0, 9.0]]
    # rows 2 and 6 have the same factors: the first one counts
    np.testing.assert_array_equal(own.images(CLASSES)[:, 0], GREY[[0, 1, 2, 3, 4, 5, 2]])
    assert not own.held_out(CLASSES).any()


def test_batches_and_evaluation_draw_rows() -> None:
    own = Arrays.from_arrays(GREY, FACTORS)
    assert own.space is not None
    assert own.space.names == ("factor_0", "factor_1")
    batch = own.sample(7000, np.random.default_rng(0))
    row = {image.tobytes(): i for i, image in enumerate(GREY)}
    rows = np.array([row[image.tobytes()] for image in batch.images])
    np.testing.assert_array_equal(batch.factors, CLASSES[rows])
    np.testing.assert_allclose(np.bincount(rows), 1000, atol=5 * np.sqrt(1000))
    drawn = own.space.index(own.evaluation(7000, np.random.default_rng(1)))
    expected = 1000 * np.bincount(own.space.index(CLASSES), minlength=9)
    np.testing.assert_allclose(np.bincount(drawn, minlength=9), expected, atol=5 * np.sqrt(2000))


def test_factors_may_be_strings_or_one_column() -> None:
    own = Arrays.from_arrays(GREY, np.array(list("abacbab")), ["letter"])
    assert own.space is not None
    assert own.space.sizes == (3,)
    assert own.values[0].tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(own.images([[2]])[0, 0], GREY[3])


def test_absent_combinations_are_named() -> None:
    own = Arrays.from_arrays(GREY, FACTORS, ["dose", "age"])
    with pytest.raises(UnweaveError, match=r"no image has dose = 2.0, age = 3.0: ask for combinations"):
        own.images([[0, 0], [2, 0]])


def test_many_distinct_values_need_no_index() -> None:
    factors = RNG.random((7, 40))
    own = Arrays.from_arrays(GREY, np.tile(factors, (1, 2)))
    assert own.classes is not None
    np.testing.assert_array_equal(own.images(own.classes)[:, 0], GREY)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"imgs": GREY, "labels": FACTORS},
            r"has no array called 'images' \(it has: imgs, labels\): save it with",
        ),
        ({}, r"has no array called 'images' \(it has: nothing\)"),
        ({"images": GREY, "factors": FACTORS[:5]}, "one row per image: 7 images but 5 rows of factors"),
        (
            {"images": GREY, "factors": FACTORS[None]},
            r"factors in .* must have shape \(n, K\), got \(1, 7, 2\)",
        ),
        (
            {"images": GREY, "factors": FACTORS[:, :0]},
            r"factors in .* must have shape \(n, K\), got \(7, 0\)",
        ),
        ({"images": GREY, "factors": FACTORS * np.nan}, "factors in .* contain NaN or infinity"),
        (
            {"images": GREY, "factors": FACTORS * 1j},
            "factors in .* must be numbers or strings, got complex128",
        ),
        ({"images": GREY, "factors": FACTORS, "factor_names": ["a"]}, "must be 2, one per factor, got 1: a"),
        ({"images": GREY, "factors": FACTORS, "factor_names": ["a", "a"]}, "factor names must differ"),
        ({"images": GREY, "factor_names": ["a"]}, "factor names in .* need factors"),
        ({"images": GREY.astype(object)}, "holds Python objects: save plain arrays"),
        ({"images": GREY, "factors": np.array([{}] * 7)}, "holds Python objects: save plain arrays"),
        (
            {"images": GREY.astype(np.float32)},
            "float images in .* must lie between 0 and 1, got values from 0 to 25",
        ),
        ({"images": GREY / 255 - 0.5}, "must lie between 0 and 1, got values from -0.5 to 0.5"),
        ({"images": np.full((2, 8, 8), np.nan)}, "images in .* contain NaN"),
        ({"images": GREY.astype(np.int64)}, "must be uint8 .* or float .*, got int64: use astype"),
        ({"images": GREY[0]}, r"images in .* must have shape .* got \(10, 12\)"),
        ({"images": np.zeros((2, 8, 8, 4))}, r"with 1 or 3 channels .* got \(2, 8, 8, 4\)"),
        ({"images": GREY[:0]}, r"at least one image, got \(0, 10, 12, 1\)"),
    ],
)
def test_wrong_content_is_named(tmp_path, content, message) -> None:  # type: ignore[no-untyped-def]
    np.savez(tmp_path / "a.npz", **content)
    with pytest.raises(UnweaveError, match=message):
        Arrays(tmp_path / "a.npz")


def test_wrong_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnweaveError, match=r"none.npz does not exist: give the path of an npz file"):
        Arrays(tmp_path / "none.npz")
    with pytest.raises(UnweaveError, match="is a folder, not an npz file: use Folder"):
        Arrays(tmp_path)
    text = tmp_path / "text.npz"
    text.write_text("not an archive at all")
    with pytest.raises(UnweaveError, match=r"cannot read .*text.npz as an npz file \(not an npz file\)"):
        Arrays(text)
    text.write_bytes(b"")
    with pytest.raises(UnweaveError, match=r"cannot read .*text.npz as an npz file"):
        Arrays(text)
    with (tmp_path / "single.npz").open("wb") as file:
        np.save(file, GREY)
    with pytest.raises(UnweaveError, match=r"single.npz is a single npy array: save it"):
        Arrays(tmp_path / "single.npz")
    np.savez(tmp_path / "cut.npz", images=GREY)
    whole = (tmp_path / "cut.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnweaveError, match=r"cannot read .*cut.npz as an npz file"):
        Arrays(tmp_path / "cut.npz")
    damaged = bytearray(whole)
    damaged[500] ^= 255
    (tmp_path / "cut.npz").write_bytes(damaged)
    with pytest.raises(UnweaveError, match=r"cannot read .*cut.npz as an npz file"):
        Arrays(tmp_path / "cut.npz")


def test_no_factors_no_images_by_factors() -> None:
    own = Arrays.from_arrays(GREY)
    for call in (lambda: own.images([[0]]), lambda: own.evaluation(3, RNG), lambda: own.held_out([[0]])):
        with pytest.raises(UnweaveError, match="Arrays has no known factors"):
            call()
    with pytest.raises(UnweaveError, match="index must be from 0 to 6, got 7"):
        own.at([7])


def test_rows_with_equal_factors_keep_their_own_images() -> None:
    own = Arrays.from_arrays(np.arange(3, dtype=np.uint8).reshape(3, 1, 1) * 9, factors=[[5], [5], [7]])
    np.testing.assert_array_equal(own.factors_at([0, 1, 2]), [[0], [0], [1]])
    np.testing.assert_array_equal(own.at([0, 1, 2])[:, 0, 0, 0], [0, 9, 18])


@pytest.mark.parametrize("size", [None, 8])
@pytest.mark.parametrize("mode", ["1", "L", "LA", "La", "I;16", "I;16L", "I;16B", "I;16N"])
def test_grey_pictures_of_every_kind_have_one_channel(mode: str, size: int | None) -> None:
    """A bright picture: 16 bits are scaled, not clipped, and what is opaque stays as it is."""
    light = {"1": 1, "LA": (156, 255), "La": (156, 255)}.get(mode, 40_000 if mode.startswith("I") else 156)
    item = PIL.Image.new(mode, (8, 8), light)
    images = Arrays.from_items([item, item], size=size).at([0, 1])
    assert images.shape == (2, 1, 8, 8)
    assert np.unique(images).tolist() == [255 if mode == "1" else 156]
