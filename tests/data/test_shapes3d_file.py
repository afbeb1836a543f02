"""3D Shapes from its original file."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unweave.data import Shapes3D
from unweave.errors import UnweaveError

Link = Callable[..., None]


def test_shapes3d_round_trip(place: Path, formats: Path, link: Link) -> None:
    import h5py

    link("3dshapes", "3dshapes.h5")
    with h5py.File(formats / "3dshapes.h5") as file:
        images, labels = file["images"][()], file["labels"][()]
    dataset = Shapes3D(source="file")
    assert (dataset.count, dataset.image_shape) == (5, (3, 64, 64))
    np.testing.assert_array_equal(dataset.at(np.arange(5)).transpose(0, 2, 3, 1), images)
    classes = dataset.factors_at(np.arange(5))
    values = [*[np.arange(10) / 10] * 3, np.linspace(0.75, 1.25, 8), np.arange(4), np.linspace(-30, 30, 15)]
    found = np.column_stack([value[column] for value, column in zip(values, classes.T, strict=True)])
    np.testing.assert_allclose(found, labels, atol=1e-6)


def test_wrong_shapes3d_are_named(place: Path) -> None:
    import h5py

    (place / "3dshapes").mkdir()
    path = place / "3dshapes" / "3dshapes.h5"
    with h5py.File(path, "w") as file:
        file["images"], file["labels"] = np.zeros((3, 64, 64, 3), np.uint8), np.full((3, 6), 0.05)
    with pytest.raises(UnweaveError, match=r"has a label 0.05 in column 0: expected one of 0, 0.1, 0.2"):
        Shapes3D(source="file")
    with h5py.File(path, "w") as file:
        file["images"], file["labels"] = np.zeros((3, 32, 32, 3), np.uint8), np.zeros((3, 6))
    with pytest.raises(
        UnweaveError, match=r"is not 3D Shapes: images must have shape .* got \(3, 32, 32, 3\)"
    ):
        Shapes3D(source="file")
    with h5py.File(path, "w") as file:
        file["pictures"] = np.zeros(3)
    with pytest.raises(UnweaveError, match=r"has no array 'images' \(it has: pictures\)"):
        Shapes3D(source="file")
