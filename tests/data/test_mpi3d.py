"""MPI3D: npz files as they are published, of smaller sets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unweave.data import MPI3D
from unweave.errors import UnweaveError

RNG = np.random.default_rng(0)


def test_mpi3d_is_mapped_or_converted(
    place: Path, monkeypatch: pytest.MonkeyPatch, is_mapped: Callable[[Any], bool]
) -> None:
    monkeypatch.setattr(
        "unweave.data.mpi3d._SIZES",
        {"toy": (2, 2, 2, 3, 3, 2, 2), "complex": (1, 1, 2, 3, 3, 2, 2)},
    )
    monkeypatch.setattr("unweave.data.array_files.IN_MEMORY", 1000)
    images = RNG.integers(256, size=(288, 64, 64, 3), dtype=np.uint8)
    (place / "mpi3d_toy").mkdir()
    (place / "mpi3d").mkdir()
    np.savez(place / "mpi3d_toy" / "mpi3d_toy.npz", images=images)
    np.savez_compressed(
        place / "mpi3d" / "real3d_complicated_shapes_ordered.npz",
        images=images[:72].reshape(1, 1, 2, 3, 3, 2, 2, 64, 64, 3),
    )
    toy = MPI3D()
    assert is_mapped(toy._pixels)
    np.testing.assert_array_equal(toy.at(np.arange(288)).transpose(0, 2, 3, 1), images)
    np.testing.assert_array_equal(toy.images([[1, 1, 1, 2, 2, 1, 1]])[0].transpose(1, 2, 0), images[-1])
    cache = place.parent / "cache"
    assert not cache.exists()  # nothing was copied
    other = MPI3D(variant="complex")
    np.testing.assert_array_equal(other.at(np.arange(72)).transpose(0, 2, 3, 1), images[:72])
    assert len(list(cache.glob("mpi3d-*.npy"))) == 1
    np.savez(place / "mpi3d_toy" / "mpi3d_toy.npz", images=images[:5])
    with pytest.raises(
        UnweaveError, match=r"is not MPI3D: images must have shape \(288, 64, 64, 3\), got \(5, 64"
    ):
        MPI3D()
