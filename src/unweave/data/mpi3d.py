"""MPI3D, read from its original files."""

import math
from typing import Literal, final

from unweave.data.array_files import Npz
from unweave.data.dataset import Channels
from unweave.data.files import OriginalFile
from unweave.data.indexed import IndexedDataset
from unweave.data.space import FactorSpace
from unweave.errors import UnweaveError, unknown

_FILES = {
    "toy": ("mpi3d_toy.npz", "55889cb7c7dfc655d6e0277beee88868"),
    "realistic": ("mpi3d_realistic.npz", "59a6225b88b635365f70c91b3e52f70f"),
    "real": ("mpi3d_real.npz", "0f33f609918fb5c97996692f91129802"),
    "complex": ("real3d_complicated_shapes_ordered.npz", None),
}
_SIZES = {"toy": (6, 6, 2, 3, 3, 40, 40), "complex": (4, 4, 2, 3, 3, 40, 40)}
_CHANNELS = {
    "toy": ((0.2243732557, 0.2214187735, 0.2262545785), (0.0690013612, 0.0634338707, 0.0760751976)),
    "realistic": ((0.1798694580, 0.2047467861, 0.1814815424), (0.0874647649, 0.0933099533, 0.0924223280)),
    "real": ((0.1284857706, 0.1648033279, 0.1397158306), (0.0932921057, 0.0920340152, 0.1032298373)),
}


@final
class MPI3D(IndexedDataset):
    """MPI3D: an object on a robot arm, 1,036,800 images 64 x 64 x 3 (460,800 for ``complex``).

    Factors, last fastest: object_color, object_shape, object_size, camera_height, background_color, horizontal_axis,
    vertical_axis; sizes 6, 6, 2, 3, 3, 40, 40 (``complex``: 4, 4, 2, 3, 3, 40, 40). The npz (12 GB unpacked) is mapped,
    or, if it is compressed, converted once.

    Reference: Gondal et al. 2019, On the transfer of inductive bias.

    Args:
        variant: which of the sets.

    Example:
        >>> [file.name for file in MPI3D.originals][:2]
        ['mpi3d_toy.npz', 'mpi3d_realistic.npz']
    """

    description = "object on a robot arm, 7 factors: variant toy, realistic, real, complex (file)"
    originals = tuple(
        OriginalFile(name, folder, "Gondal et al., MPI3D", md5=md5, also=(f"mpi3d/{name}",))
        for (name, md5), folder in zip(
            _FILES.values(), ("mpi3d_toy", "mpi3d_realistic", "mpi3d_real", "mpi3d_complex"), strict=True
        )
    )
    stand_in = "data=Shapes3D or data=Objects3D"

    def __init__(self, *, variant: Literal["toy", "realistic", "real", "complex"] = "toy") -> None:
        if variant not in _FILES:
            raise unknown("variant of MPI3D", str(variant), _FILES)
        self.variant = variant
        path = self.originals[list(_FILES).index(variant)].require(self.name, self.stand_in)
        file = Npz(path)
        if "images" not in file.keys:
            raise UnweaveError(
                f"{path} is not MPI3D: it has no array 'images' (it has: {', '.join(file.keys)})"
            )
        names = (
            "object_color",
            "object_shape",
            "object_size",
            "camera_height",
            "background_color",
            "horizontal_axis",
        )
        space = FactorSpace((*names, "vertical_axis"), _SIZES["complex" if variant == "complex" else "toy"])
        shape = file.shape("images")
        if shape[-3:] != (64, 64, 3) or math.prod(shape[:-3]) != space.count:
            raise UnweaveError(
                f"{path} is not MPI3D: images must have shape ({space.count}, 64, 64, 3), got {shape}"
            )
        self._store(file.array("images", self.name).reshape(-1, 64, 64, 3), space)

    def channels(self) -> Channels:
        """The published constants, if there are any; else measured."""
        if self.variant not in _CHANNELS:
            return super().channels()
        return Channels(*_CHANNELS[self.variant], "the normalisation constants of REC's code")
