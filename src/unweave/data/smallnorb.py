"""SmallNORB, read from its original files, and the NORB file format."""

import gzip
import math
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal, final, get_args

import numpy as np
from numpy.typing import NDArray

from unweave.data.cache import Progress, converted, source_key
from unweave.data.dataset import Channels
from unweave.data.files import OriginalFile
from unweave.data.indexed import IndexedDataset
from unweave.data.pictures import check_size, resized
from unweave.data.space import FactorSpace
from unweave.errors import UnweaveError, check_choice

_FILES = {
    "train": ("5x46789x9x18x6x2x96x96-training", (131_896_188, 348, 71_052)),
    "test": ("5x01235x9x18x6x2x96x96-testing", (130_799_817, 347, 10_428)),
}
_MD5 = {
    "train": (
        "66054832f9accfe74a0f4c36a75bc0a2",
        "23c8b86101fbf0904a000b43d3ed2fd9",
        "51dee1210a742582ff607dfd94e332e3",
    ),
    "test": (
        "e4ad715691ed5a3a5f138751a4ceb071",
        "5aa791cd7e6016cf957ce9bdb93b8603",
        "a9454f3864d7fd4bb3ea7fc3eb84924e",
    ),
}
_TYPES: dict[int, np.dtype[Any]] = {
    0x1E3D4C55: np.dtype("u1"),
    0x1E3D4C54: np.dtype("<i4"),
    0x1E3D4C56: np.dtype("<i2"),
    0x1E3D4C51: np.dtype("<f4"),
    0x1E3D4C53: np.dtype("<f8"),
}

Split = Literal["train", "test", "all"]


def _file(split: str, part: int) -> OriginalFile:
    stem, sizes = _FILES[split]
    name = f"smallnorb-{stem}-{('dat', 'cat', 'info')[part]}.mat"
    return OriginalFile(
        f"{name}.gz",
        "small_norb",
        "LeCun et al., small NORB",
        sizes[part],
        md5=_MD5[split][part],
        also=(f"small_norb/{name}", name, f"smallnorb/{name}.gz", f"smallnorb/{name}"),
        needed=split == "train",  # the default, and REC's
    )


@final
class SmallNORB(IndexedDataset):
    """SmallNORB: toys of 5 categories, 10 instances each, in grey, 64 x 64 (left camera).

    Factors: category (animal, human, plane, truck, car), instance, elevation (30 .. 70 degrees), azimuth (0 .. 340
    degrees), lighting. The training files have 5 instances a category (24,300 images, the set of REC), both together 10
    (48,600). Files are read gzipped or not, sorted into the grid of factors, resized from 96 x 96 with an antialiasing
    bilinear filter, converted once.

    Reference: LeCun et al. 2004, Learning methods for generic object recognition; used in REC tables A1 and A2.

    Args:
        split: which files.
        size: height and width in pixels.

    Example:
        >>> len(SmallNORB.originals)
        6
    """

    description = "toys in grey: category 5, instance 5 or 10, elevation 9, azimuth 18, lighting 6 (files)"
    originals = tuple(_file(split, part) for split in _FILES for part in range(3))
    stand_in = "data=Objects3D data.channels=1"

    def __init__(self, *, split: Split = "train", size: int = 64) -> None:
        check_choice("split of SmallNORB", split, get_args(Split))
        check_size(size, self.name)
        parts = ("train", "test") if split == "all" else (split,)
        files = [[_file(p, i).require(self.name, self.stand_in) for i in range(3)] for p in parts]
        labels = []
        for _, cat, info in files:
            category = read_norb(cat)
            labels.append(np.column_stack([category, read_norb(info)]).astype(np.int64))
            if labels[-1].shape[1] != 5:
                raise UnweaveError(f"{info} must hold (n, 4) numbers, got {labels[-1].shape[1] - 1} columns")
        found = np.concatenate(labels)
        found[:, 3] //= 2
        instances, found[:, 1] = np.unique(found[:, 1], return_inverse=True)
        space = FactorSpace(
            ("category", "instance", "elevation", "azimuth", "lighting"), (5, len(instances), 9, 18, 6)
        )
        order = np.argsort(space.index(found), kind="stable")
        classes = found[order]
        shape = (len(found), size, size, 1)

        def fill(out: NDArray[Any], tell: Progress) -> None:
            place = np.argsort(order)
            done = 0
            for (dat, _, _), many in zip(files, map(len, labels), strict=True):
                for pair in read_norb_rows(dat, many):
                    out[place[done : done + len(pair)]] = resized(
                        np.ascontiguousarray(pair[:, 0, ..., None]), size
                    )
                    done += len(pair)
                    tell(done)

        key = source_key(files[0][0], split, size)
        whole = space.count == len(found) and bool((space.index(classes) == np.arange(len(found))).all())
        self._store(converted(self.name, key, shape, fill), space, None if whole else classes)

    def channels(self) -> Channels:
        """The constants of REC table A2."""
        return Channels((0.752091840108860,), (0.095638790168273,), "REC table A2")


def _opened(path: Path) -> tuple[gzip.GzipFile | BufferedReader, np.dtype[Any], tuple[int, ...]]:
    """A file of the NORB format, read up to its data; the type and shape of the data."""
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
    file = gzip.open(path) if zipped else path.open("rb")  # noqa: SIM115
    try:
        magic, ndim = np.frombuffer(file.read(8), "<u4")
        if int(magic) not in _TYPES:
            raise UnweaveError(
                f"{path} has the magic number {int(magic):#010x}, which is not one of the NORB format"
            )
        sizes = np.frombuffer(file.read(4 * max(3, int(ndim))), "<i4")
    except (ValueError, OSError, EOFError, zlib.error) as error:
        if isinstance(error, UnweaveError):
            raise
        raise UnweaveError(f"{path} is truncated or damaged ({error})") from None
    return file, _TYPES[int(magic)], tuple(sizes[: int(ndim)].tolist())


def read_norb(path: Path) -> NDArray[Any]:
    """The whole array of a file in the NORB format, gzipped or not.

    Little-endian int32: magic number (the type), number of dimensions, at least three sizes; then the data.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "cat.mat"
        >>> _ = path.write_bytes(np.array([0x1E3D4C54, 1, 2, 1, 1, 3, 4], "<i4").tobytes())
        >>> read_norb(path).tolist()
        [3, 4]
    """
    return np.concatenate(list(read_norb_rows(path)))


def read_norb_rows(path: Path, rows: int | None = None, block: int = 500) -> Iterator[NDArray[Any]]:
    """The rows of a file in the NORB format, in blocks.

    Args:
        path: the file.
        rows: how many there must be; none: as many as the file says.
        block: rows at a time.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "cat.mat"
        >>> _ = path.write_bytes(np.array([0x1E3D4C54, 1, 3, 1, 1, 3, 4, 5], "<i4").tobytes())
        >>> [part.tolist() for part in read_norb_rows(path, block=2)]
        [[3, 4], [5]]
    """
    file, kind, shape = _opened(path)
    with file:
        if rows is not None and (shape[0] != rows or shape[1:2] != (2,) or len(shape) != 4):
            raise UnweaveError(f"{path} must hold ({rows}, 2, height, width) images, got {shape}")
        row = math.prod(shape[1:]) * kind.itemsize
        for start in range(0, shape[0], block):
            n = min(block, shape[0] - start)
            try:
                content = file.read(n * row)
            except (OSError, EOFError, zlib.error) as error:
                raise UnweaveError(f"{path} is truncated or damaged ({error})") from None
            if len(content) < n * row:
                raise UnweaveError(
                    f"{path} is truncated: {start + len(content) // row} of {shape[0]} rows are there"
                )
            yield np.frombuffer(content, kind).reshape(n, *shape[1:])
