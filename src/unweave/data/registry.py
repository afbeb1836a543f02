"""Datasets by name or path."""

import inspect
import os
from typing import Any

from unweave.data.arrays import HDF5, Arrays
from unweave.data.circles import Circles
from unweave.data.dataset import Dataset, user_path
from unweave.data.dsprites import DSprites
from unweave.data.folder import Folder
from unweave.data.glyphs import Glyphs
from unweave.data.mnist import MNIST, FashionMNIST
from unweave.data.objects3d import Objects3D
from unweave.data.originals import MPI3D, Cars3D, CelebA, Chairs3D, Faces3D, SmallNORB
from unweave.data.pinwheel import Pinwheel
from unweave.data.shapes3d import Shapes3D
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
DATASETS: Slot[Dataset] = Slot("data", "unweave.data", Dataset, _DATASETS)


def load(name_or_path: str | os.PathLike[str], **options: Any) -> Dataset:
    """The dataset with this name, or the user's own data under this path.

    Names are those in ``DATASETS``; case, hyphens and underscores do not count. A name goes before a path:
    write ``./circles`` for a folder called circles. A folder gives :class:`Folder`, an npz or HDF5 file
    :class:`Arrays`.

    Args:
        name_or_path: a name, a folder of images or an npz file.
        options: options of the dataset's class, such as ``variant`` of Circles.

    Example:
        >>> load("xy-squares", spacing=4).spacing
        4
        >>> load("dsprite")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: unknown dataset 'dsprite': did you mean DSprites or ColoredSprites? (there are: ...
    """
    text = os.fspath(name_or_path)
    by_plain = {plain(name): cls for name, cls in DATASETS.items()}
    if plain(text) in by_plain:
        return _make(by_plain[plain(text)], options)
    path = user_path(text)
    if path.is_dir():
        return _make(Folder, {"path": path, **options})
    if path.is_file():
        if path.suffix.lower() not in (".npz", *HDF5):
            raise UnweaveError(f"{text} is neither a folder of images nor an npz file nor an HDF5 file")
        return _make(Arrays, {"path": path, **options})
    looks_like_path = isinstance(name_or_path, os.PathLike) or any(c in text for c in ("/", os.sep, "."))
    if looks_like_path or text.startswith("~"):
        raise UnweaveError(f"{text} does not exist: give a folder of images, an npz file or a dataset's name")
    raise unknown("dataset", text, DATASETS)


def _make(cls: type[Dataset], options: dict[str, Any]) -> Dataset:
    parameters = inspect.signature(cls).parameters
    for option in options:
        if option not in parameters:
            raise unknown(f"option of {cls.__name__}", option, parameters)
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in options:
            raise UnweaveError(f"{cls.__name__} needs a {name}: give it as {name}=...")
    return cls(**options)
