"""Images for a model from anywhere, block by block: folders, files, npz, data sets, arrays; each row keeps its name."""

import functools
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from unweave import data
from unweave.data import Dataset
from unweave.data.array_files import Npz
from unweave.data.arrays import HDF5, Arrays
from unweave.data.dataset import user_path
from unweave.data.image_files import (
    UnreadableImageError,
    UnreadableImagesError,
    find_files,
    read_picture,
    tell_others,
)
from unweave.errors import UnweaveError
from unweave.models.preparation import Preparation
from unweave.references import is_reference

logger = logging.getLogger("unweave")

BLOCK = 256
"""Images that are read, encoded and written at a time."""


class ImageBlock(NamedTuple):
    """Some images ``(n, *image_shape)`` of a source, what each is called, and their factors if these are known.

    Example:
        >>> ImageBlock(["a.png"], np.zeros((1, 1, 8, 8), np.uint8), None).names
        ['a.png']
    """

    names: Sequence[str] | NDArray[np.int64]
    images: NDArray[Any]
    factors: NDArray[Any] | None


class ImageSource(ABC):
    """Images in the shape that a model takes, in blocks; no more than one block is in memory.

    Attributes:
        count: number of images.
        by_file: whether images are called by the name of their file, or else by their number.
        factor_names: of the factors, if they are known.
    """

    count: int
    by_file: bool = False
    factor_names: tuple[str, ...] = ()

    @abstractmethod
    def blocks(self, size: int = BLOCK) -> Iterator[ImageBlock]:
        """All images in order, ``size`` at a time."""

    def all(self) -> ImageBlock:
        """All images at once."""
        found = list(self.blocks())
        names: list[str] = [str(name) for block in found for name in block.names]
        images = np.concatenate([block.images for block in found])
        return ImageBlock(names, images, None)


def open_images(
    source: Any,
    preparation: Preparation,
    *,
    count: int | None = None,
    seed: int = 0,
    skip_bad: bool = False,
) -> ImageSource:
    """Images for a model.

    Args:
        source: a folder with pictures (and its subfolders), a picture, an npz or HDF5 file with ``images``, the name of
            a data set, a :class:`unweave.data.Dataset`, a Pillow picture, a list of files or pictures, or an array or
            tensor in any usual layout.
        preparation: of the model.
        count: how many of a data set's; needed where there is no last one.
        seed: of the draw from a data set without end.
        skip_bad: leave out files that cannot be read, with a warning; otherwise they are an error, all at once.

    Example:
        >>> source = open_images(np.zeros((5, 20, 30, 3), np.uint8), Preparation((1, 8, 8)))
        >>> source.count, next(source.blocks()).images.shape
        (5, (5, 1, 8, 8))
    """
    if isinstance(source, str | os.PathLike):
        return _of_path(source, preparation, count, seed, skip_bad)
    if isinstance(source, Dataset):
        return DatasetImages(source, preparation, count, seed)
    if hasattr(source, "convert") and hasattr(source, "size"):
        return PictureImages([("picture", source)], preparation)
    if isinstance(source, list | tuple) and source and _all_pictures(source):
        return PictureImages(
            [
                (Path(each).name, Path(each)) if isinstance(each, str | os.PathLike) else (f"{i}", each)
                for i, each in enumerate(source)
            ],
            preparation,
            skip_bad=skip_bad,
        )
    return ArrayImages(preparation.array(source))


def _all_pictures(source: Sequence[Any]) -> bool:
    return all(isinstance(each, str | os.PathLike) or hasattr(each, "convert") for each in source)


def _of_path(
    source: str | os.PathLike[str],
    preparation: Preparation,
    count: int | None,
    seed: int,
    skip_bad: bool,
) -> ImageSource:
    text, path = os.fspath(source), user_path(source)
    if path.is_dir():
        return PictureImages(_pictures_in(path), preparation, skip_bad=skip_bad)
    if path.is_file():
        if path.suffix.lower() == ".npz":
            return NpzImages(path, preparation)
        if path.suffix.lower() in HDF5:
            return DatasetImages(Arrays(path), preparation, count, seed)
        if not is_reference(text):
            return PictureImages([(path.name, path)], preparation)
    if not is_reference(text) and (os.sep in text or isinstance(source, os.PathLike)):
        raise UnweaveError(
            f"{path} does not exist: give a folder, a picture, an npz file or the name of a data set"
        )
    return DatasetImages(data.load(text), preparation, count, seed)


def _pictures_in(root: Path) -> list[tuple[str, Path]]:
    """The picture files of a folder and its subfolders, in order, by their path inside it; a line counts the others."""
    found = find_files(root)
    tell_others(root, found)
    return [(path.relative_to(root).as_posix(), path) for path in found.images]


@final
class PictureImages(ImageSource):
    """Files or Pillow pictures, each opened when its turn comes.

    Example:
        >>> import PIL.Image
        >>> source = PictureImages([("red", PIL.Image.new("RGB", (20, 30), "red"))], Preparation((3, 8, 8)))
        >>> next(source.blocks()).images[0, :, 0, 0].tolist()
        [255, 0, 0]
    """

    by_file = True

    def __init__(
        self, pictures: Sequence[tuple[str, Any]], preparation: Preparation, *, skip_bad: bool = False
    ) -> None:
        self.pictures, self.preparation, self.skip_bad = pictures, preparation, skip_bad
        self.count = len(pictures)

    def blocks(self, size: int = BLOCK) -> Iterator[ImageBlock]:
        """All pictures that can be read; then an error names the others, or with ``skip_bad`` a line counts them."""
        bad: dict[str, str] = {}
        for start in range(0, self.count, size):
            names: list[str] = []
            images = []
            for name, picture in self.pictures[start : start + size]:
                try:
                    images.append(_pixels(picture, self.preparation))
                    names.append(name)
                except UnreadableImageError as error:
                    bad[name] = str(error)
            if images:
                yield ImageBlock(names, np.stack(images), None)
        if bad and (not self.skip_bad or len(bad) == self.count):
            raise UnreadableImagesError(bad, self.count, remedy="--skip-bad")
        if bad:
            logger.info("skipped %d of %d images that cannot be read", len(bad), self.count)


def _pixels(picture: Any, preparation: Preparation) -> NDArray[np.uint8]:
    """A picture, or that of a file, for a model; one phrase if it cannot be read."""
    if not isinstance(picture, Path):
        return preparation.picture(picture)
    return read_picture(picture, preparation.picture)


@final
class ArrayImages(ImageSource):
    """Images that are in memory already.

    Example:
        >>> ArrayImages(np.zeros((5, 1, 8, 8), np.uint8)).count
        5
    """

    def __init__(self, images: NDArray[Any]) -> None:
        self.images, self.count = images, len(images)

    def blocks(self, size: int = BLOCK) -> Iterator[ImageBlock]:
        """Views of the array."""
        for start in range(0, self.count, size):
            images = self.images[start : start + size]
            yield ImageBlock(np.arange(start, start + len(images)), images, None)


@final
class NpzImages(ImageSource):
    """``images`` of an npz file, read from its beginning to its end; whatever its size, one block is in memory.

    As in :class:`unweave.data.Arrays`, uint8 images that hold nothing but 0 and 1 are binary and become 0 and 255.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.npz"
        >>> np.savez_compressed(path, images=np.ones((5, 8, 8), np.uint8))
        >>> int(next(NpzImages(path, Preparation((1, 8, 8))).blocks()).images.max())
        255
    """

    def __init__(self, path: Path, preparation: Preparation) -> None:
        self.preparation = preparation
        self.file = Npz(path)
        if "images" not in self.file.keys:
            raise UnweaveError(
                f"{path} has no array called 'images' (it has: {', '.join(self.file.keys) or 'nothing'})"
            )
        shape = self.file.shape("images")
        if len(shape) not in (3, 4) or 0 in shape:
            raise UnweaveError(
                f"images in {path} must have shape (n, H, W), (n, H, W, C) or (n, C, H, W), got {shape}"
            )
        self.count = shape[0]

    @functools.cached_property
    def _is_binary(self) -> bool:
        blocks = self.file.rows("images", BLOCK)
        return all(block.dtype == np.uint8 and int(block.max()) <= 1 for block in blocks)

    def blocks(self, size: int = BLOCK) -> Iterator[ImageBlock]:
        """The images in the order of the file."""
        start = 0
        for block in self.file.rows("images", size):
            images = block * np.uint8(255) if self._is_binary else block
            ready = self.preparation.array(images[:, None] if images.ndim == 3 else images)
            yield ImageBlock(np.arange(start, start + len(ready)), ready, None)
            start += len(ready)


@final
class DatasetImages(ImageSource):
    """Images of a data set: all of them, or as many as are wanted.

    Example:
        >>> from unweave.data import XYSquares
        >>> source = DatasetImages(XYSquares(), Preparation((3, 64, 64)), 10)
        >>> source.count, source.factor_names[:2], next(source.blocks()).factors.shape
        (10, ('x_r', 'y_r'), (10, 6))
    """

    def __init__(
        self, dataset: Dataset, preparation: Preparation, count: int | None = None, seed: int = 0
    ) -> None:
        self.dataset, self.preparation, self.seed = dataset, preparation, seed
        if count is None and dataset.count is None:
            raise UnweaveError(f"{dataset.name} has no last image: say how many are wanted, with -n 1000")
        if count is not None and count < 1:
            raise UnweaveError(f"the number of images must be at least 1, got {count}")
        most = dataset.count if dataset.count is not None else count
        assert most is not None
        self.count = most if count is None else min(count, most)
        self.factor_names = () if dataset.space is None else dataset.space.names

    def blocks(self, size: int = BLOCK) -> Iterator[ImageBlock]:
        """The first images of the data set in its order, or draws of one without end."""
        draw = self._drawn(np.random.default_rng(self.seed)) if self.dataset.count is None else self._stored
        for start in range(0, self.count, size):
            n = min(size, self.count - start)
            images, factors = draw(start, n)
            yield ImageBlock(np.arange(start, start + n), self.preparation.array(images), factors)

    def _stored(self, start: int, n: int) -> tuple[NDArray[Any], NDArray[Any] | None]:
        rows = np.arange(start, start + n)
        factors = None if self.dataset.space is None else self.dataset.factors_at(rows)
        return self.dataset.at(rows), factors

    def _drawn(
        self, rng: np.random.Generator
    ) -> "Callable[[int, int], tuple[NDArray[Any], NDArray[Any] | None]]":
        def draw(start: int, n: int) -> tuple[NDArray[Any], NDArray[Any] | None]:
            batch = self.dataset.sample(n, rng)
            return batch.images, batch.factors

        return draw
