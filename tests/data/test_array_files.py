"""Files that are read, mapped or converted; own data from HDF5, sequences and tables; fingerprints; constants."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from unweave.data import Arrays, Circles, DSprites, Folder, XYSquares
from unweave.data.array_files import Hdf5, Npz
from unweave.data.cache import converted
from unweave.errors import UnweaveError

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(256, size=(40, 12, 10, 3), dtype=np.uint8)
FACTORS = RNG.integers(4, size=(40, 2))


@pytest.fixture(autouse=True)
def small_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every array is larger than what is read into memory."""
    monkeypatch.setenv("UNWEAVE_CACHE", str(tmp_path / "cache"))
    for module in ("array_files", "arrays", "image_files"):
        monkeypatch.setattr(f"unweave.data.{module}.IN_MEMORY", 1000)
    monkeypatch.setattr("unweave.data.array_files._BLOCK", 3000)
    return tmp_path / "cache"


def write_h5(path: Path, **arrays: Any) -> Path:
    import h5py

    with h5py.File(path, "w") as file:
        for key, (value, options) in arrays.items():
            file.create_dataset(key, data=value, **options)
    return path


FORMS = ["npz", "compressed npz", "h5", "chunked h5"]


@pytest.fixture(params=FORMS)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    form = request.param
    if form.endswith("npz"):
        path = tmp_path / "own.npz"
        (np.savez if form == "npz" else np.savez_compressed)(
            path, images=IMAGES, factors=FACTORS, factor_names=["a", "b"]
        )
        return form, path
    options = {"chunks": (7, 5, 5, 3), "compression": "gzip"} if form == "chunked h5" else {}
    path = write_h5(
        tmp_path / "own.h5", images=(IMAGES, options), factors=(FACTORS, {}), factor_names=(["a", "b"], {})
    )
    return form, path


def test_large_files_are_mapped_where_they_lie_or_converted_once(
    file: tuple[str, Path],
    small_memory: Path,
    caplog: pytest.LogCaptureFixture,
    is_mapped: Callable[[Any], bool],
) -> None:
    form, path = file
    with caplog.at_level(logging.INFO, "unweave"):
        own = Arrays(path)
        again = Arrays(path)
    as_it_is = form in ("npz", "h5")
    assert is_mapped(own._pixels)
    assert len(list(small_memory.glob("*.npy"))) == (0 if as_it_is else 1)
    assert ("converting once" in caplog.text) != as_it_is
    assert caplog.text.count("converting once") <= 1
    assert ("100 %" in caplog.text) != as_it_is
    for data in (own, again):
        np.testing.assert_array_equal(data.at(np.arange(40)).transpose(0, 2, 3, 1), IMAGES)
        assert data.factor_space().names == ("a", "b")
        np.testing.assert_array_equal(data.factors_at(np.arange(40)), FACTORS)
    np.testing.assert_array_equal(
        own.sample(9, np.random.default_rng(3)).images, again.sample(9, np.random.default_rng(3)).images
    )


@pytest.mark.parametrize("kind", ["channels first", "float64", "bool", "ones", "resized"])
def test_other_layouts_are_converted(tmp_path: Path, kind: str, is_mapped: Callable[[Any], bool]) -> None:
    dark = IMAGES[..., :1] > 100
    images, expected = {
        "channels first": (IMAGES.transpose(0, 3, 1, 2), IMAGES),
        "float64": (IMAGES / 255, (IMAGES / 255).astype(np.float32)),
        "bool": (dark, dark * np.uint8(255)),
        "ones": (dark.astype(np.uint8), dark * np.uint8(255)),
        "resized": (IMAGES, None),
    }[kind]
    np.savez(tmp_path / "a.npz", images=images)
    own = Arrays(tmp_path / "a.npz", size=8 if kind == "resized" else None)
    assert is_mapped(own._pixels)
    if kind == "resized":
        expected = [
            np.asarray(PIL.Image.fromarray(image).resize((8, 8), PIL.Image.Resampling.BILINEAR))
            for image in IMAGES
        ]
    got = own.at(np.arange(40))
    np.testing.assert_array_equal(got.transpose(0, 2, 3, 1), expected)
    assert got.transpose(0, 2, 3, 1).flags.c_contiguous


def test_a_changed_file_is_converted_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, images=IMAGES)
    first = Arrays(path)
    np.savez_compressed(path, images=255 - IMAGES)
    second = Arrays(path)
    np.testing.assert_array_equal(second.at([3]), 255 - first.at([3]))
    assert first.fingerprint() != second.fingerprint()


def test_large_folders_are_converted_once(
    tmp_path: Path, small_memory: Path, is_mapped: Callable[[Any], bool]
) -> None:
    (tmp_path / "images").mkdir()
    for i, image in enumerate(IMAGES[:8]):
        PIL.Image.fromarray(image).save(tmp_path / "images" / f"{i}.png")
    first = Folder(tmp_path / "images", size=10)
    assert is_mapped(first._pixels)
    np.testing.assert_array_equal(first.at(np.arange(8)).transpose(0, 2, 3, 1), IMAGES[:8, 1:11])
    kept = next(small_memory.glob("folder-*.npy"))
    stamp = kept.stat().st_mtime_ns
    assert Folder(tmp_path / "images", size=10).fingerprint() == first.fingerprint()
    assert kept.stat().st_mtime_ns == stamp
    squeezed = Folder(tmp_path / "images", size=10, crop=None)
    expected = np.asarray(PIL.Image.fromarray(IMAGES[0]).resize((10, 10), PIL.Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(squeezed.at([0])[0].transpose(1, 2, 0), expected)
    PIL.Image.fromarray(IMAGES[9]).save(tmp_path / "images" / "0.png")
    assert Folder(tmp_path / "images", size=10).fingerprint() != first.fingerprint()


def test_an_interrupted_conversion_leaves_nothing(small_memory: Path) -> None:
    def fail(out: np.ndarray, tell: object) -> None:
        out[0] = 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        converted("X", "k", (4, 4), fail)
    assert list(small_memory.iterdir()) == []


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        UnweaveError,
        match=r"cannot write 1,000,000,000,000 MB of X to .* \(not enough room\): set UNWEAVE_CACHE",
    ):
        converted("X", "k", (10**9, 10**9), lambda out, tell: None)


def test_a_damaged_cache_file_is_made_anew(small_memory: Path) -> None:
    small_memory.mkdir()
    (small_memory / "x-k.npy").write_bytes(b"garbage")
    assert converted("X", "k", (2, 2), lambda out, tell: out.fill(3)).tolist() == [[3, 3], [3, 3]]


def test_pickles_in_archives_are_left_alone(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=IMAGES, other=np.array([print], dtype=object))
    assert Arrays(tmp_path / "a.npz").count == 40
    with pytest.raises(UnweaveError, match=r"other in .* it holds Python objects"):
        Npz(tmp_path / "a.npz").read("other")


def test_cut_archives_are_named(tmp_path: Path) -> None:
    import zipfile

    np.savez(tmp_path / "a.npz", images=IMAGES)
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        content = archive.read("images.npy")
    with zipfile.ZipFile(tmp_path / "cut.npz", "w") as archive:
        archive.writestr("images.npy", content[:-5000])
    with pytest.raises(UnweaveError, match=r"cannot read .*cut.npz as an npz file \(images is truncated\)"):
        Arrays(tmp_path / "cut.npz")
    path = write_h5(tmp_path / "a.h5", images=(IMAGES, {}))
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(UnweaveError, match=r"cannot read .*a.h5 as an HDF5 file"):
        Arrays(path)


def test_wrong_hdf5_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_h5(tmp_path / "a.h5", pictures=(IMAGES, {}))
    with pytest.raises(UnweaveError, match=r"has no array called 'images' \(it has: pictures\)"):
        Arrays(path)
    path = write_h5(tmp_path / "b.h5", images=(["a", "b"], {}))
    with pytest.raises(UnweaveError, match="not plain numbers"):
        Arrays(path)
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(UnweaveError, match=r"needs h5py: install unweave\[files\]"):
        Hdf5(path)


class Table:
    """Quacks like a Hugging Face table: rows are mappings, images are Pillow pictures."""

    column_names = ("image", "label", "tag")

    def __len__(self) -> int:
        return 6

    def __getitem__(self, i: int) -> dict[str, Any]:
        return {"image": PIL.Image.fromarray(IMAGES[i]), "label": i % 3, "tag": ["even", "odd"][i % 2]}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(len(self)))


def test_tables_and_sequences_become_datasets() -> None:
    own = Arrays.from_items(Table(), factors=["label"])
    np.testing.assert_array_equal(own.at(np.arange(6)).transpose(0, 2, 3, 1), IMAGES[:6])
    np.testing.assert_array_equal(own.factors_at(np.arange(6)), [[0], [1], [2], [0], [1], [2]])
    both = Arrays.from_items(Table(), factors=["label", "tag"], size=10, channels=1)
    assert both.image_shape == (1, 10, 10)
    assert [v.tolist() for v in both.values][1] == ["even", "odd"]
    grey = np.asarray(PIL.Image.fromarray(IMAGES[0]).convert("L"))[1:11]
    np.testing.assert_array_equal(both.at([0])[0, 0], grey)
    plain = Arrays.from_items([image[..., 0] for image in IMAGES])
    np.testing.assert_array_equal(plain.at(np.arange(40))[:, 0], IMAGES[..., 0])
    assert Arrays.from_items(image for image in IMAGES[:3]).count == 3


@pytest.mark.parametrize(
    ("items", "options", "message"),
    [
        ([], {}, "items are empty"),
        ([IMAGES[0], IMAGES[0][:5]], {}, r"images must have one shape, got .*: set size=64"),
        ([{"img": IMAGES[0]}], {}, "unknown key of item 0 'image'"),
        ([{"image": IMAGES[0]}], {"factors": ["label"]}, "unknown key of item 0 'label'"),
        ([IMAGES[0]], {"factors": ["label"]}, "item 0 is not a mapping, so it has no factors label"),
    ],
)
def test_wrong_items_are_named(items: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UnweaveError, match=message):
        Arrays.from_items(items, **options)


def test_measured_constants_are_literally_those_of_table_a2() -> None:
    images = RNG.integers(256, size=(30, 9, 7, 3), dtype=np.uint8)
    own = Arrays.from_arrays(images)
    scaled = images / 255
    measured = own.channels()
    np.testing.assert_allclose(measured.mean, scaled.mean(axis=(0, 1, 2)), rtol=1e-6)
    own_std = scaled.reshape(30, -1, 3).std(axis=1, ddof=1).mean(axis=0)
    np.testing.assert_allclose(measured.std, own_std, rtol=1e-5)
    assert measured.source == "of all images"
    assert Circles(size=16).measured_channels(limit=600).source == "of 600 images"
    with pytest.raises(UnweaveError, match="Circles has no last image"):
        Circles(size=16).measured_channels(limit=None)


def test_xysquares_constants_are_those_of_the_paper() -> None:
    for constants in (XYSquares().channels(), XYSquares().measured_channels(limit=500)):
        np.testing.assert_allclose(constants.mean, 0.015625, rtol=1e-6)
        np.testing.assert_allclose(constants.std, 0.124034734589209, rtol=1e-6)


def test_dsprites_constants_are_near_those_of_the_paper() -> None:
    """The whole set is measured in tests/data/test_dsprites.py; here 3,000 images, five standard errors."""
    dsprites = DSprites()
    images = dsprites.at(np.random.default_rng(0).integers(dsprites.count, size=3000)).reshape(3000, -1) / 255
    share = images.mean(axis=1)
    assert share.mean() == pytest.approx(0.042494423521890, abs=5 * share.std() / np.sqrt(3000))
    own = images.std(axis=1, ddof=1)
    assert own.mean() == pytest.approx(0.195166458806261, abs=5 * own.std() / np.sqrt(3000))
