"""3D Faces: torch files of both formats, read without torch."""

from pathlib import Path

import numpy as np
import pytest
import torch

from unweave.data import Faces3D
from unweave.errors import UnweaveError


@pytest.mark.parametrize("legacy", [False, True])
def test_faces_are_mapped_without_unpickling(place: Path, legacy: bool) -> None:
    faces = torch.randint(
        256, (1, 21, 11, 11, 64, 64), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    (place / "basel_faces").mkdir()
    torch.save(
        faces, place / "basel_faces" / "basel_face_renders.pth", _use_new_zipfile_serialization=not legacy
    )
    dataset = Faces3D()
    assert dataset.factor_space().sizes == (1, 21, 11, 11)
    got = dataset.images([[0, 20, 3, 7], [0, 0, 10, 0]])[:, 0]
    np.testing.assert_array_equal(got, faces[0, [20, 0], [3, 10], [7, 0]].numpy())


def test_wrong_faces_are_named(place: Path) -> None:
    (place / "basel_faces").mkdir()
    torch.save(torch.zeros(5, dtype=torch.uint8), place / "basel_faces" / "basel_face_renders.pth")
    with pytest.raises(UnweaveError, match=r"it holds 5 bytes of images, not a multiple of"):
        Faces3D()
    (place / "basel_faces" / "basel_face_renders.pth").write_bytes(b"x" * 5000)
    with pytest.raises(UnweaveError, match="is not 3D Faces: expected a torch file"):
        Faces3D()


@pytest.mark.parametrize("saved", [{"a": torch.zeros(3), "b": torch.zeros(4)}, {}])
def test_a_file_of_several_tensors_or_none_is_refused(place: Path, saved: dict[str, torch.Tensor]) -> None:
    (place / "basel_faces").mkdir()
    torch.save(saved, place / "basel_faces" / "basel_face_renders.pth")
    with pytest.raises(UnweaveError, match=rf"must hold one tensor that is not compressed, got {len(saved)}"):
        Faces3D()
