"""3D Faces (Basel), read from the original file."""

import re
import zipfile
from pathlib import Path
from typing import final

import numpy as np

from unweave.data.archives import start_of_stored
from unweave.data.files import OriginalFile
from unweave.data.indexed import IndexedDataset
from unweave.data.space import FactorSpace
from unweave.errors import UnweaveError


@final
class Faces3D(IndexedDataset):
    """3D Faces (Basel): renders of 50 faces in grey, 127,050 images 64 x 64.

    Factors: identity 50, azimuth 21, elevation 11, lighting 11, last fastest. Read from basel_face_renders.pth, a torch
    file with one uint8 tensor: its bytes are mapped where they lie, without unpickling anything.

    Reference: Paysan et al. 2009, A 3D face model; used in FAC section 6 (in another rendering) and ISA.

    Example:
        >>> Faces3D.originals[0].name
        'basel_face_renders.pth'
    """

    description = (
        "faces in grey: identity 50, azimuth 21, elevation 11, lighting 11 (file, not distributable)"
    )
    originals = (
        OriginalFile(
            "basel_face_renders.pth",
            "basel_faces",
            "Paysan et al., Basel face model",
            also=("faces/basel_face_renders.pth",),
        ),
    )
    stand_in = "data=Objects3D data.channels=1"

    def __init__(self) -> None:
        path = self.originals[0].require(self.name, self.stand_in)
        start, size = _tensor_place(path)
        one = 21 * 11 * 11 * 64 * 64
        if size == 0 or size % one:
            raise UnweaveError(
                f"{path} is not 3D Faces: it holds {size:,} bytes of images, not a multiple of {one:,}"
            )
        pixels = np.memmap(path, np.uint8, mode="r", offset=start, shape=(size // 4096, 64, 64, 1)).view(
            np.ndarray
        )
        space = FactorSpace(("identity", "azimuth", "elevation", "lighting"), (size // one, 21, 11, 11))
        self._store(pixels, space)


def _tensor_place(path: Path) -> tuple[int, int]:
    """Where the bytes of the only tensor of a torch file begin, and how many there are."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            inside = [i for i in archive.infolist() if re.search(r"(^|/)data/\d+$", i.filename)]
        start = start_of_stored(path, inside[0]) if len(inside) == 1 else None
        if start is None:
            raise UnweaveError(f"{path} must hold one tensor that is not compressed, got {len(inside)}")
        return start, inside[0].file_size
    # The older format ends with the number of values (int64) and the values.
    whole, one = path.stat().st_size, 21 * 11 * 11 * 64 * 64
    with path.open("rb") as file:
        for identities in range(whole // one, 0, -1):
            file.seek(whole - identities * one - 8)
            if int.from_bytes(file.read(8), "little") == identities * one:
                return whole - identities * one, identities * one
    raise UnweaveError(
        f"{path} is not 3D Faces: expected a torch file with one uint8 tensor (n, 21, 11, 11, 64, 64)"
    )
