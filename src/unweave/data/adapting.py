"""A data set from whatever a Python user has: arrays, tensors, torch data sets and loaders, tables, iterables."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from unweave import memory
from unweave.data.arrays import Arrays
from unweave.data.dataset import Dataset
from unweave.data.pictures import pixels_of
from unweave.data.registry import DATASETS, load
from unweave.errors import UnweaveError
from unweave.slots import PartLike

IMAGE_KEYS = ("image", "img", "images", "pixel_values", "x")
"""Keys under which tables hold the image, tried in this order."""


def as_dataset(source: Dataset | PartLike | Any) -> Dataset:
    """A data set from anything that holds images.

    * a :class:`Dataset`, a class, a name, a path or a reference: as in a config;
    * an array or tensor of images, ``(n, H, W)``, ``(n, H, W, C)`` or ``(n, C, H, W)``; or ``(images, factors)``;
    * a torch ``Dataset`` or ``DataLoader``, a Hugging Face table, or any other iterable of images, of pairs
      ``(image, label)`` or of mappings. It is read once, to its end, into memory; random changes of the images are
      those of that reading. Labels that are numbers become the factor ``label``.

    Example:
        >>> as_dataset(np.zeros((5, 8, 8), np.uint8)).count
        5
        >>> as_dataset([(np.zeros((8, 8)), k % 2) for k in range(6)]).space.names
        ('label',)
        >>> as_dataset("circles").name
        'Circles'
    """
    if isinstance(source, str | os.PathLike):
        return load(source)
    if isinstance(source, Dataset | type) or _is_part(source):
        return DATASETS.make(source)
    if _is_array(source):
        return Arrays.from_arrays(_array(source))
    if isinstance(source, tuple) and len(source) == 2 and all(_is_array(part) for part in source):
        return Arrays.from_arrays(_array(source[0]), factors=_array(source[1]))
    if not isinstance(source, Iterable) and not hasattr(source, "__getitem__"):
        raise UnweaveError(
            f"data must be a data set, its name, images or an iterable of images, got {type(source).__name__}"
        )
    return _of_items(_items(source), type(source).__name__)


def _is_part(source: Any) -> bool:
    return (isinstance(source, Mapping) and "name" in source) or type(source).__name__ == "Choice"


def _is_array(source: Any) -> bool:
    return isinstance(source, np.ndarray) or hasattr(source, "detach")


def _array(source: Any) -> Any:
    """A numpy array; a tensor is taken from its device and its graph."""
    return source.detach().cpu().numpy() if hasattr(source, "detach") else np.asarray(source)


def _items(source: Any) -> Iterator[Any]:
    """The items of a source, those of the batches if it is a loader."""
    if hasattr(source, "batch_size") and hasattr(source, "dataset"):  # torch.utils.data.DataLoader
        for batch in source:
            yield from _rows(batch) if source.batch_size is not None else (batch,)
    elif hasattr(source, "__len__") and hasattr(source, "__getitem__"):
        # Not iter(): a torch Dataset need not raise IndexError at its end.
        yield from (source[i] for i in range(len(source)))
    else:
        yield from source


def _rows(batch: Any) -> Iterator[Any]:
    """The items of a batch of images, of (images, labels), or of a mapping of such."""
    if isinstance(batch, Mapping):
        keys = list(batch)
        yield from (dict(zip(keys, row, strict=True)) for row in zip(*batch.values(), strict=True))
    elif isinstance(batch, tuple | list):
        yield from zip(*batch, strict=True)
    else:
        yield from batch


def _of_items(items: Iterator[Any], kind: str) -> Arrays:
    images: list[Any] = []
    labels: list[Any] = []
    taken = 0
    for i, item in enumerate(items):
        image, label = _image_and_label(item, i)
        pixels = np.asarray(pixels_of(_array(image) if _is_array(image) else image))
        if images and pixels.shape != images[0].shape:
            raise UnweaveError(
                f"images must have one shape, got {images[0].shape} and, as item {i} of {kind}, {pixels.shape}: "
                f"resize them, or use Arrays.from_items(..., size=64)"
            )
        taken += pixels.nbytes
        if i % 1000 == 0:
            memory.check(
                2.0 * taken, f"{i:,} images of {kind}", "give fewer images, or a file (unweave.data.Arrays)"
            )
        images.append(pixels)
        labels.append(label)
    if not images:
        raise UnweaveError(f"{kind} holds no images: give at least one")
    known = all(isinstance(label, int | float | np.number | str) for label in labels)
    factors = np.array(labels)[:, None] if known else None
    return Arrays.from_arrays(np.stack(images), factors, ["label"] if known else None)


def _image_and_label(item: Any, i: int) -> tuple[Any, Any]:
    if isinstance(item, Mapping):
        key = next((key for key in IMAGE_KEYS if key in item), None)
        if key is None:
            raise UnweaveError(
                f"item {i} has no image under {', '.join(IMAGE_KEYS[:-1])} or {IMAGE_KEYS[-1]}, it has "
                f"{', '.join(map(str, item))}: use Arrays.from_items(..., image=KEY)"
            )
        return item[key], _number(item.get("label"))
    if isinstance(item, tuple | list) and len(item) == 2 and np.ndim(_plain(item[1])) == 0:
        return item[0], _number(item[1])
    if isinstance(item, tuple) and item:
        return item[0], None
    return item, None


def _plain(value: Any) -> Any:
    return _array(value) if _is_array(value) else value


def _number(value: Any) -> Any:
    """A label as a plain number or word; a tensor or array with one element gives that."""
    value = _plain(value)
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
