"""Cars3D: its files written here as they are published."""

import tarfile
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from scipy.io import savemat

from unweave.data import Cars3D
from unweave.errors import UnweaveError

RNG = np.random.default_rng(0)


def car_files(folder: Path, names: list[str]) -> dict[str, np.ndarray]:
    folder.mkdir(parents=True)
    views = {name: RNG.integers(256, size=(8, 8, 3, 24, 4), dtype=np.uint8) for name in names}
    for name, im in views.items():
        savemat(folder / f"{name}.mat", {"im": im, "mask": np.zeros((8, 8, 24, 4), np.uint8)})
    (folder / "list.txt").write_text("\n".join(names) + "\n")
    return views


@pytest.mark.parametrize("packed", [False, True])
def test_cars3d_round_trip(place: Path, tmp_path: Path, packed: bool) -> None:
    names = ["car_007_mesh", "car_001_mesh", "car_003_mesh"]
    views = car_files(tmp_path / "data" / "cars" if not packed else tmp_path / "raw" / "data" / "cars", names)
    if packed:
        (place / "cars").mkdir()
        with tarfile.open(place / "cars" / "nips2015-analogy-data.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / "raw" / "data", "data")
    dataset = Cars3D(size=8)
    assert dataset.factor_space().names == ("elevation", "azimuth", "object_type")
    assert dataset.factor_space().sizes == (4, 24, 3)
    for kind, name in enumerate(names):  # the order of list.txt, not of the alphabet
        for elevation, azimuth in ((0, 0), (1, 5), (3, 23)):
            got = dataset.images([[elevation, azimuth, kind]])[0].transpose(1, 2, 0)
            np.testing.assert_array_equal(got, views[name][:, :, :, azimuth, elevation])


def test_cars_of_an_archive_without_a_list_are_in_the_order_of_the_alphabet(
    place: Path, tmp_path: Path
) -> None:
    views = car_files(tmp_path / "raw", ["car_007_mesh", "car_001_mesh"])
    (place / "cars").mkdir()
    with tarfile.open(place / "cars" / "nips2015-analogy-data.tar.gz", "w:gz") as archive:
        for name in views:  # the second car first
            archive.add(tmp_path / "raw" / f"{name}.mat", f"data/cars/{name}.mat")
    got = Cars3D(size=8).images([[0, 0, 0], [0, 0, 1]]).transpose(0, 2, 3, 1)
    expected = [views[name][:, :, :, 0, 0] for name in sorted(views)]
    np.testing.assert_array_equal(got, expected)


def test_cars3d_are_resized_bilinearly(place: Path, tmp_path: Path) -> None:
    views = car_files(tmp_path / "data" / "cars", ["car_001_mesh"])["car_001_mesh"]
    got = Cars3D(size=4).images([[2, 3, 0]])[0].transpose(1, 2, 0)
    picture = PIL.Image.fromarray(np.ascontiguousarray(views[:, :, :, 3, 2]))
    np.testing.assert_array_equal(got, np.asarray(picture.resize((4, 4), PIL.Image.Resampling.BILINEAR)))


def test_wrong_cars_are_named(place: Path, tmp_path: Path) -> None:
    (place / "cars").mkdir()
    with pytest.raises(UnweaveError, match=r"holds no car_XXX_mesh.mat"):
        Cars3D()
    savemat(place / "cars" / "car_001_mesh.mat", {"im": np.zeros((8, 8, 3, 5, 4), np.uint8)})
    with pytest.raises(
        UnweaveError, match=r"car_001_mesh.mat must hold im, uint8 of shape .* got uint8 \(8, 8, 3, 5, 4\)"
    ):
        Cars3D()
    (place / "cars" / "car_001_mesh.mat").write_bytes(b"nothing")
    with pytest.raises(UnweaveError, match=r"car_001_mesh.mat cannot be read"):
        Cars3D()
    (place / "cars" / "nips2015-analogy-data.tar.gz").write_bytes(b"nothing")
    with pytest.raises(UnweaveError, match="cannot be read as a tar archive"):
        Cars3D()
