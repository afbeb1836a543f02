"""SmallNORB: its files written here byte for byte as they are published, and the tiny original ones."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unweave.data import SmallNORB
from unweave.data.smallnorb import read_norb
from unweave.errors import UnweaveError

Link = Callable[..., None]
RNG = np.random.default_rng(0)
NORB = ("5x46789x9x18x6x2x96x96-training", "5x01235x9x18x6x2x96x96-testing")


def norb_bytes(array: np.ndarray) -> bytes:
    magic = {"uint8": 0x1E3D4C55, "int32": 0x1E3D4C54}[array.dtype.name]
    sizes = [*array.shape, 1, 1][: max(3, array.ndim)]
    return np.array([magic, array.ndim, *sizes], "<i4").tobytes() + array.tobytes()


def literal_norb(path: Path, kind: str) -> np.ndarray:
    content = path.read_bytes()
    ndim = int.from_bytes(content[4:8], "little")
    sizes = [int.from_bytes(content[8 + 4 * i : 12 + 4 * i], "little") for i in range(ndim)]
    return np.frombuffer(content[8 + 4 * max(3, ndim) :], kind).reshape(sizes)


@pytest.mark.parametrize("split", ["train", "test", "all"])
def test_smallnorb_golden_round_trip(place: Path, formats: Path, link: Link, split: str) -> None:
    names = [f"smallnorb-{stem}-{part}.mat" for stem in NORB for part in ("dat", "cat", "info")]
    link("small_norb", *names)
    stems = NORB if split == "all" else (NORB[split == "test"],)
    dataset = SmallNORB(split=split, size=96)
    dat, cat, info = (
        np.concatenate([literal_norb(formats / f"smallnorb-{stem}-{part}.mat", kind) for stem in stems])
        for part, kind in (("dat", "u1"), ("cat", "<i4"), ("info", "<i4"))
    )
    assert dataset.count == len(dat)
    instances = np.unique(info[:, 0])
    for i in range(dataset.count):
        category, instance, elevation, azimuth, lighting = dataset.factors_at([i])[0]
        wanted = [instances[instance], elevation, 2 * azimuth, lighting]
        rows = np.flatnonzero((cat == category) & (info == wanted).all(axis=1))
        assert any((dataset.at([i])[0, 0] == dat[row, 0]).all() for row in rows)
    assert SmallNORB(split=split).image_shape == (1, 64, 64)


def norb_files(place: Path, zipped: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """A complete training set of smaller pictures, in random order; images and the row of each grid point."""
    grid = np.stack(np.meshgrid(*map(np.arange, (5, 5, 9, 18, 6)), indexing="ij"), -1).reshape(-1, 5)
    order = RNG.permutation(len(grid))
    shuffled = grid[order]
    dat = RNG.integers(256, size=(len(grid), 2, 4, 4), dtype=np.uint8)
    info = np.column_stack(
        [np.array([4, 6, 7, 8, 9])[shuffled[:, 1]], shuffled[:, 2], 2 * shuffled[:, 3], shuffled[:, 4]]
    )
    (place / "small_norb").mkdir()
    for part, array in (
        ("dat", dat),
        ("cat", shuffled[:, 0].astype(np.int32)),
        ("info", info.astype(np.int32)),
    ):
        name, content = f"smallnorb-{NORB[0]}-{part}.mat", norb_bytes(array)
        if zipped:
            name, content = f"{name}.gz", gzip.compress(content, 1)
        (place / "small_norb" / name).write_bytes(content)
    return dat, order


def test_smallnorb_is_sorted_into_its_grid(place: Path) -> None:
    dat, order = norb_files(place)
    dataset = SmallNORB(size=4)
    assert (dataset.count, dataset.factor_space().sizes) == (24_300, (5, 5, 9, 18, 6))
    row_of = np.argsort(order)
    np.testing.assert_array_equal(dataset.at(np.arange(24_300))[:, 0], dat[row_of, 0])
    np.testing.assert_array_equal(dataset.images([[4, 4, 8, 17, 5]])[0, 0], dat[row_of[-1], 0])


def test_wrong_norb_files_are_named(place: Path, tmp_path: Path) -> None:
    good = norb_bytes(np.arange(6, dtype=np.int32).reshape(3, 2))
    path = tmp_path / "a.mat"
    path.write_bytes(good)
    np.testing.assert_array_equal(read_norb(path), np.arange(6).reshape(3, 2))
    path.write_bytes(b"\x55\x4c\x3d\x00" + good[4:])
    with pytest.raises(UnweaveError, match="magic number 0x003d4c55, which is not one of the NORB format"):
        read_norb(path)
    path.write_bytes(good[:-5])
    with pytest.raises(UnweaveError, match="is truncated: 2 of 3 rows are there"):
        read_norb(path)
    path.write_bytes(good[:6])
    with pytest.raises(UnweaveError, match="is truncated or damaged"):
        read_norb(path)
    path.write_bytes(gzip.compress(good)[:-12])
    with pytest.raises(UnweaveError, match="is truncated or damaged"):
        read_norb(path)
    norb_files(place)
    cat = place / "small_norb" / f"smallnorb-{NORB[0]}-dat.mat.gz"
    cat.write_bytes(gzip.compress(norb_bytes(np.zeros((7, 2, 4, 4), np.uint8))))
    with pytest.raises(
        UnweaveError, match=r"must hold \(24300, 2, height, width\) images, got \(7, 2, 4, 4\)"
    ):
        SmallNORB(size=4)
