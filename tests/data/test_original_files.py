"""Original files that are missing, truncated or wrong, and the catalogue of them."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unweave.data import (
    MNIST,
    MPI3D,
    Cars3D,
    CelebA,
    Chairs3D,
    DSprites,
    Faces3D,
    Shapes3D,
    SmallNORB,
)
from unweave.data.catalogue import catalogue, check, where_to_get
from unweave.errors import UnweaveError

Link = Callable[..., None]
DSPRITES = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64"
CELEBA = ("img_align_celeba.zip", "list_attr_celeba.txt", "list_eval_partition.txt")


def test_truncated_files_are_named(place: Path, formats: Path) -> None:
    (place / "dsprites").mkdir()
    file = place / "dsprites" / f"{DSPRITES}.npz"
    np.savez(file, imgs=np.zeros((2, 64, 64), np.uint8), latents_classes=np.zeros((2, 6), np.int64))
    file.write_bytes(file.read_bytes()[:3000])
    with pytest.raises(UnweaveError, match=r"cannot read .*npz as an npz file"):
        DSprites(source="file")
    (place / "3dshapes").mkdir()
    (place / "3dshapes" / "3dshapes.h5").write_bytes((formats / "3dshapes.h5").read_bytes()[:5000])
    with pytest.raises(UnweaveError, match=r"cannot read .*3dshapes.h5 as an HDF5 file"):
        Shapes3D(source="file")


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: DSprites(source="file"), (f"{DSPRITES}.npz", "dsprites", "data.source=rendered")),
        (
            lambda: Shapes3D(source="file"),
            ("3dshapes.h5", "267,573,662 bytes", "sha256 0a0f6ed9", "data.source=rendered"),
        ),
        (Cars3D, ("nips2015-analogy-data.tar.gz", "md5 4e866a79", "cars", "data=Objects3D")),
        (SmallNORB, ("131,896,188 bytes", "md5 66054832", "small_norb", "data=Objects3D data.channels=1")),
        (MPI3D, ("mpi3d_toy.npz", "md5 55889cb7", "mpi3d_toy", "data=Shapes3D")),
        (Chairs3D, ("rendered_chairs.tar", "chairs", "data=Objects3D")),
        (Faces3D, ("basel_face_renders.pth", "data=Objects3D")),
        (CelebA, ("img_align_celeba.zip", "1,443,490,838 bytes", "sha256 46fb8944", "data=Objects3D")),
        (MNIST, ("train-images-idx3-ubyte", "md5 6bbc9ace", "MNIST/raw", "data=Glyphs")),
    ],
)
def test_a_missing_file_is_told_with_all_that_is_known(place: Path, make, parts) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnweaveError) as caught:
        make()
    for part in (*parts, str(place), "UNWEAVE_DATA", "can stand in"):
        assert part in str(caught.value)


def test_hashes_are_compared(place: Path, formats: Path, link: Link) -> None:
    assert {v.result for v in check()} == {"missing"}
    link("3dshapes", "3dshapes.h5")
    (verdict,) = check(["shapes3d"])
    assert verdict.result == "wrong"
    assert "63,824 bytes instead of 267,573,662" in verdict.detail
    folder = place / "MNIST" / "raw"
    folder.mkdir(parents=True)
    (folder / "train-labels-idx1-ubyte").write_bytes(b"other")
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(b"other"))
    found = {v.file: v for v in check(["MNIST"])}
    for name in ("train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte"):
        assert found[name].result == "wrong"
        assert "its md5 is 795f3202b17cb6bc3d4b771d8c6c9eaf instead of" in found[name].detail
    assert found["train-images-idx3-ubyte"].result == "missing"
    link("small_norb", "smallnorb-5x46789x9x18x6x2x96x96-training-cat.mat")
    assert {v.result for v in check(["SmallNORB"])} == {"missing", "not verified"}


def test_the_catalogue_knows_what_is_here(place: Path, formats: Path, link: Link) -> None:
    states = {entry.name: entry.state for entry in catalogue()}
    assert states["CelebA"] == states["MNIST"] == "missing"
    assert states["Shapes3D"] == states["Objects3D"] == "made here"
    link("celeba", *CELEBA[1:])
    entry = next(entry for entry in catalogue() if entry.name == "CelebA")
    assert entry.state == "partly here"  # tables without the pictures that they describe
    assert "img_align_celeba.zip (1,443,490,838 bytes" in where_to_get([entry])[0]
    link("celeba", CELEBA[0])
    assert next(entry for entry in catalogue() if entry.name == "CelebA").state == "here"


def test_files_that_are_never_opened_are_not_asked_for(place: Path, formats: Path, link: Link) -> None:
    link("celeba", CELEBA[0])
    entry = next(entry for entry in catalogue() if entry.name == "CelebA")
    assert entry.state == "here"
    assert {file.name for file in entry.missing} == {"list_attr_celeba.txt", "list_eval_partition.txt"}
