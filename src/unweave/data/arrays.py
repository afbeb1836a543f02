"""The user's own arrays: images, and factors if there are any, from Python or from an npz or HDF5 file."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.data.array_files import IN_MEMORY, Hdf5, Npz, blocks
from unweave.data.cache import Progress, converted, source_key
from unweave.data.dataset import user_path
from unweave.data.indexed import IndexedDataset
from unweave.data.pictures import GREY, check_size, fit, opaque, pixels_of, resized
from unweave.data.space import Array, FactorSpace
from unweave.errors import UnweaveError, unknown

HDF5 = (".h5", ".hdf5")
"""Endings of files that are read as HDF5."""


@final
class Arrays(IndexedDataset):
    """Images, with or without factors, from a file or from Python .

    The file is an npz or an HDF5 file (.h5, .hdf5). It holds ``images``: (n, H, W), (n, H, W, C) or (n, C, H, W) with
    C = 1 or 3 (if both ends could be the channels, the last axis is); uint8 0..255, bool, or float 0..1. Bool
    images, and uint8 images that contain nothing but 0 and 1, are binary and become 0 and 255. It may hold
    ``factors``: (n, K), numbers or strings, or (n,) for one factor; and ``factor_names``: K strings (default
    factor_0, factor_1 ...). Nothing pickled is read.

    The distinct values of each factor, sorted, become its classes 0, 1 ...; ``values[k]`` holds the
    originals. The combinations need not form a full grid: :meth:`images` looks a combination up (the first
    row, if several have it) and raises an error if it is absent; :meth:`sample` and :meth:`evaluation` draw rows.

    Images that take more than 128 MB are not read but mapped: straight from the file if they lie there as they are
    (``numpy.savez``, HDF5 without chunks), else from a copy that is made once in the cache folder.

    Args:
        path: an npz or HDF5 file.
        size: height and width in pixels to which images are resized (bilinear, antialiased); none: as they are.

    Example:
        >>> pixels = np.arange(2 * 8 * 8, dtype=np.uint8).reshape(2, 8, 8)
        >>> own = Arrays.from_arrays(pixels, factors=[[10, 0.5], [20, 0.5]], names=["age", "dose"])
        >>> own.image_shape, own.space.sizes, own.values[0].tolist()
        ((1, 8, 8), (2, 1), [10.0, 20.0])
        >>> bool((own.images([[1, 0]])[0, 0] == pixels[1]).all())
        True
    """

    description = "your own npz or HDF5 file with images and, if known, factors: path, size"

    def __init__(self, path: str | Path, *, size: int | None = None) -> None:
        if size is not None:
            check_size(size, "Arrays")
        source = user_path(path)
        file = _open(source)
        if "images" not in file.keys:
            raise UnweaveError(
                f"{source} has no array called 'images' (it has: {', '.join(file.keys) or 'nothing'}): "
                f"save it with numpy.savez(path, images=..., factors=...)"
            )
        factors, names = (file.read(key) if key in file.keys else None for key in ("factors", "factor_names"))
        images = file.array("images", "Arrays")
        self._set(images, factors, names, f" in {source}", source_key(source, "arrays", size), size)

    @classmethod
    def from_arrays(
        cls, images: ArrayLike, factors: ArrayLike | None = None, names: Sequence[str] | None = None
    ) -> Self:
        """The same from Python arrays, in the layouts of the npz file.

        Example:
            >>> Arrays.from_arrays(np.zeros((5, 16, 16, 3))).image_shape
            (3, 16, 16)
        """
        self = cls.__new__(cls)
        self._set(np.asarray(images), factors, names, "", None, None)
        return self

    @classmethod
    def from_items(
        cls,
        items: Iterable[Any],
        *,
        image: str = "image",
        factors: Sequence[str] = (),
        size: int | None = None,
        channels: int | None = None,
    ) -> Self:
        """The same from any Python sequence, or from a Hugging Face ``datasets`` table.

        Each item is an image (an array as in the npz file, without the first axis, or a Pillow picture) or a mapping
        that has one; tables hand out mappings. All images stay in memory.

        Args:
            items: a sequence, table or other iterable; read once.
            image: key of the image, where items are mappings.
            factors: keys of the values that are factors, where items are mappings.
            size: height and width to which every image is cropped and resized; none: they must agree.
            channels: 1 (grey) or 3 (RGB) to convert Pillow pictures; none: as they are.

        Example:
            >>> items = [{"image": np.zeros((8, 8)), "label": i % 2} for i in range(4)]
            >>> own = Arrays.from_items(items, factors=["label"])
            >>> own.space.names, own.classes.ravel().tolist()
            (('label',), [0, 1, 0, 1])
        """
        pixels: list[Array] = []
        values: list[list[Any]] = []
        for i, item in enumerate(items):
            if isinstance(item, Mapping):
                missing = [key for key in (image, *factors) if key not in item]
                if missing:
                    raise unknown(f"key of item {i}", missing[0], map(str, item))
                values.append([item[key] for key in factors])
                item = item[image]
            elif factors:
                raise UnweaveError(f"item {i} is not a mapping, so it has no factors {', '.join(factors)}")
            pixels.append(_item(item, i, size, channels))
        if not pixels:
            raise UnweaveError("items are empty: give at least one image")
        shapes = {array.shape for array in pixels}
        if len(shapes) > 1:
            found = ", ".join(map(str, sorted(shapes)[:3]))
            raise UnweaveError(f"images must have one shape, got {found}: set size=64 to resize all")
        return cls.from_arrays(np.stack(pixels), np.array(values) if factors else None, factors or None)

    def _set(
        self,
        images: Array,
        factors: ArrayLike | None,
        names: ArrayLike | None,
        where: str,
        key: str | None,
        size: int | None,
    ) -> None:
        pixels, binary = _pixels(images, where, key, size)
        self.values: tuple[Array, ...] = ()
        self.classes: NDArray[np.int64] | None = None
        if factors is None:
            if names is not None:
                raise UnweaveError(f"factor names{where} need factors: give both, or none")
            self._store(pixels, binary=binary)
            return
        columns = _columns(np.asarray(factors), len(pixels), where)
        labels = (
            [f"factor_{k}" for k in range(len(columns))]
            if names is None
            else _names(names, len(columns), where)
        )
        found = [np.unique(column, return_inverse=True) for column in columns]
        self.values = tuple(values for values, _ in found)
        self.classes = np.stack([classes.reshape(-1) for _, classes in found], axis=1).astype(np.int64)
        space = FactorSpace(labels, [len(values) for values in self.values])
        self._store(pixels, space, self.classes, binary=binary)

    def _described(self, point: Array) -> str:
        parts = zip(self.factor_space().names, point, self.values, strict=True)
        return ", ".join(f"{name} = {values[int(k)]}" for name, k, values in parts)


def _open(path: Path) -> Npz | Hdf5:
    if not path.exists():
        raise UnweaveError(f"{path} does not exist: give the path of an npz file")
    if path.is_dir():
        raise UnweaveError(f"{path} is a folder, not an npz file: use Folder for a folder of images")
    if path.suffix.lower() in HDF5:
        return Hdf5(path)
    with path.open("rb") as file:
        if file.read(6) == b"\x93NUMPY":
            raise UnweaveError(f"{path} is a single npy array: save it with numpy.savez(path, images=...)")
    return Npz(path)


def _item(item: Any, i: int, size: int | None, channels: int | None) -> Array:
    found = pixels_of(item)
    if isinstance(found, np.ndarray):
        if size is None or found.shape[:2] == (size, size):
            return found
        import PIL.Image

        if found.dtype != np.uint8 or found.ndim not in (2, 3):
            raise UnweaveError(f"item {i} must be a uint8 array (H, W) or (H, W, 3) to be resized")
        found = PIL.Image.fromarray(found[..., 0] if found.ndim == 3 and found.shape[2] == 1 else found)
    wanted = channels or (1 if found.mode in GREY else 3)
    return fit(found, size, wanted) if size else np.asarray(opaque(found, wanted))


def _pixels(images: Array, where: str, key: str | None, size: int | None) -> tuple[Array, bool]:
    """`images` as (n, H, W, C), uint8 or float32, and whether they are 0 and 1 that mean 0 and 255."""
    if images.ndim == 3:
        images = images[..., None]
    elif images.ndim == 4 and images.shape[3] not in (1, 3) and images.shape[1] in (1, 3):
        images = images.transpose(0, 2, 3, 1)
    if images.ndim != 4 or images.shape[3] not in (1, 3) or 0 in images.shape:
        raise UnweaveError(
            f"images{where} must have shape (n, H, W), (n, H, W, C) or (n, C, H, W) with 1 or 3 channels "
            f"and at least one image, got {images.shape}"
        )
    if images.dtype.kind != "f" and images.dtype not in (np.uint8, np.bool_):
        raise UnweaveError(
            f"images{where} must be uint8 (0 to 255) or float (0 to 1), got {images.dtype}: use astype"
        )
    binary = images.dtype == np.bool_ or (images.dtype == np.uint8 and _all_at_most_one(images))
    if images.dtype.kind == "f":
        _check_unit(images, where)
    if size is not None and images.shape[1:3] != (size, size):
        if images.dtype != np.uint8:
            raise UnweaveError(f"images{where} must be uint8 to be resized, got {images.dtype}")
        shape = (len(images), size, size, images.shape[3])
        light = 255 if binary else 1
        return _laid(
            images, shape, key, lambda part: resized(np.ascontiguousarray(part) * np.uint8(light), size)
        ), False
    kind = np.float32 if images.dtype.kind == "f" else np.uint8
    if images.flags.c_contiguous and images.dtype.itemsize == np.dtype(kind).itemsize:
        return images.view(kind), binary
    return _laid(images, images.shape, key, lambda part: part.astype(kind), kind), binary


def _laid(
    images: Array,
    shape: tuple[int, ...],
    key: str | None,
    convert: Callable[[Array], Array],
    kind: type[np.generic] = np.uint8,
) -> Array:
    """The converted images: in memory if they are few or not from a file, else in the cache."""

    def fill(out: Array, tell: Progress) -> None:
        for part in blocks(shape[0], images[0].nbytes):
            out[part] = convert(images[part])
            tell(part.stop)

    if key is None or math.prod(shape) * np.dtype(kind).itemsize <= IN_MEMORY:
        out = np.empty(shape, kind)
        fill(out, lambda _: None)
        return out
    return converted("Arrays", key, shape, fill, kind)


def _all_at_most_one(images: Array) -> bool:
    return all(images[part].max() <= 1 for part in blocks(len(images), images[0].nbytes))


def _check_unit(images: Array, where: str) -> None:
    for part in blocks(len(images), images[0].nbytes):
        low, high = float(images[part].min()), float(images[part].max())
        if np.isnan(low):
            raise UnweaveError(f"images{where} contain NaN: float images must lie between 0 and 1")
        if low < 0 or high > 1:
            raise UnweaveError(
                f"float images{where} must lie between 0 and 1, got values from {low:g} to {high:g}"
            )


def _columns(factors: Array, n: int, where: str) -> list[Array]:
    if factors.ndim == 1:
        factors = factors[:, None]
    if factors.ndim != 2 or factors.shape[1] == 0:
        raise UnweaveError(f"factors{where} must have shape (n, K), got {factors.shape}")
    if len(factors) != n:
        raise UnweaveError(
            f"factors{where} must have one row per image: {n} images but {len(factors)} rows of factors"
        )
    if factors.dtype.kind not in "biufU":
        raise UnweaveError(f"factors{where} must be numbers or strings, got {factors.dtype}")
    if factors.dtype.kind == "f" and not np.isfinite(factors).all():
        raise UnweaveError(f"factors{where} contain NaN or infinity")
    return list(factors.T)


def _names(names: ArrayLike, k: int, where: str) -> list[str]:
    labels = [str(name) for name in np.atleast_1d(np.asarray(names))]
    if len(labels) != k:
        raise UnweaveError(
            f"factor names{where} must be {k}, one per factor, got {len(labels)}: {', '.join(labels)}"
        )
    return labels
