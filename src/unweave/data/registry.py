"""Data sets by name, path or reference."""

import os
from typing import Any

from unweave import references
from unweave.data.arrays import HDF5, Arrays
from unweave.data.cars3d import Cars3D
from unweave.data.celeba import CelebA
from unweave.data.chairs3d import Chairs3D
from unweave.data.circles import Circles
from unweave.data.dataset import Dataset, user_path
from unweave.data.dsprites import DSprites
from unweave.data.faces3d import Faces3D
from unweave.data.folder import Folder
from unweave.data.glyphs import Glyphs
from unweave.data.mnist import MNIST, FashionMNIST
from unweave.data.mpi3d import MPI3D
from unweave.data.objects3d import Objects3D
from unweave.data.pinwheel import Pinwheel
from unweave.data.shapes3d import Shapes3D
from unweave.data.smallnorb import SmallNORB
from unweave.data.sprites import BusySprites, ColoredSprites
from unweave.data.xysquares import XYSquares
from unweave.errors import UnweaveError, plain, unknown
from unweave.slots import Slot

_DATASETS: dict[str, type[Dataset]] = {
    cls.__name__: cls
    for cls in (
        DSprites,
        ColoredSprites,
        BusySprites,
        Circles,
        XYSquares,
        Pinwheel,
        Shapes3D,
        Objects3D,
        Glyphs,
        Cars3D,
        SmallNORB,
        MPI3D,
        Chairs3D,
        Faces3D,
        CelebA,
        MNIST,
        FashionMNIST,
        Folder,
        Arrays,
    )
}
DATASETS: Slot[Dataset] = Slot(
    "data", "unweave.data", Dataset, _DATASETS, otherwise="; no folder or file of that name is here"
)
"""Data sets by name."""


def load(name_or_path: str | os.PathLike[str], **options: Any) -> Dataset:
    """The data set with this name, or the user's own data under this path.

    Names are those in ``DATASETS``; case, hyphens and underscores do not count. A name takes precedence over a path:
    write ``./circles`` for a folder called circles. A folder gives :class:`Folder`, an npz or HDF5 file
    :class:`Arrays`; ``package.module:Class`` and ``path/to/file.py:Class`` give a data set from outside.

    Args:
        name_or_path: a name, a folder of images, an npz or HDF5 file, or a reference.
        options: options of the data set's class, such as ``variant`` of Circles.

    Example:
        >>> load("xy-squares", spacing=4).spacing
        4
        >>> load("dsprite")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: unknown dataset 'dsprite': did you mean DSprites or ColoredSprites? (there are: ...
    """
    text = os.fspath(name_or_path)
    chosen = {"name": text, **{key: _without_path_objects(value) for key, value in options.items()}}
    if not references.is_reference(text) and plain(text) not in map(plain, DATASETS):
        chosen |= own_data(text, is_path=isinstance(name_or_path, os.PathLike))
    return DATASETS.make(chosen)


def own_data(text: str, *, is_path: bool = True) -> dict[str, str]:
    """The data set that reads the folder or file at a path, by name, and its path.

    Example:
        >>> own_data("/")
        {'name': 'Folder', 'path': '/'}
    """
    path = user_path(text).resolve()
    if path.is_dir():
        return {"name": "Folder", "path": str(path)}
    if path.is_file():
        if path.suffix.lower() not in (".npz", *HDF5):
            raise UnweaveError(f"{text} is neither a folder of images nor an npz file nor an HDF5 file")
        return {"name": "Arrays", "path": str(path)}
    if is_path or text.startswith("~") or any(c in text for c in ("/", os.sep, ".")):
        raise UnweaveError(
            f"there is no folder or file {text}: give a folder of images, an npz file or the name of a data set"
        )
    raise unknown("dataset", text, DATASETS)


def _without_path_objects(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value
