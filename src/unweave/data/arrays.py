"""The user's own arrays: images, and factors if there are any, from Python or from an npz file."""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from unweave.data.dataset import Batch, Dataset, channels_last, user_path
from unweave.data.space import Array, FactorSpace, check_index
from unweave.errors import UnweaveError


class Arrays(Dataset):
    """Images, with or without factors, from an npz file or from Python arrays (SPEC DAT-10).

    The file holds ``images``: (n, H, W), (n, H, W, C) or (n, C, H, W) with C = 1 or 3 (if both ends could be
    the channels, the last axis is); uint8 0..255, bool, or float 0..1. Bool images, and uint8 images that
    contain nothing but 0 and 1, are binary and become 0 and 255. It may hold ``factors``: (n, K), numbers or
    strings, or (n,) for one factor; and ``factor_names``: K strings (default factor_0, factor_1 ...). Nothing
    pickled is ever read.

    The distinct values of each factor, sorted, become its classes 0, 1 ...; ``values[k]`` keeps the
    originals. The combinations need not form a full grid: :meth:`images` looks a combination up (the first
    row, if several have it) and says so if it is absent; :meth:`sample` and :meth:`evaluation` draw rows.

    Args:
        path: an npz file.

    Example:
        >>> pixels = np.arange(2 * 8 * 8, dtype=np.uint8).reshape(2, 8, 8)
        >>> own = Arrays.from_arrays(pixels, factors=[[10, 0.5], [20, 0.5]], names=["age", "dose"])
        >>> own.image_shape, own.space.sizes, own.values[0].tolist()
        ((1, 8, 8), (2, 1), [10.0, 20.0])
        >>> bool((own.images([[1, 0]])[0, 0] == pixels[1]).all())
        True
    """

    description = "your own npz with images and, if known, factors: path"

    def __init__(self, path: str | Path) -> None:
        source = user_path(path)
        content = _read(source)
        if "images" not in content:
            raise UnweaveError(
                f"{source} has no array called 'images' (it has: {', '.join(content) or 'nothing'}): "
                f"save it with numpy.savez(path, images=..., factors=...)"
            )
        names = content.get("factor_names")
        self._set(content["images"], content.get("factors"), names, f" in {source}")

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
        self._set(np.asarray(images), factors, names, "")
        return self

    def _set(self, images: Array, factors: ArrayLike | None, names: ArrayLike | None, where: str) -> None:
        self._pixels = _pixels(images, where)
        n, height, width, channels = self._pixels.shape
        self.image_shape = (channels, height, width)
        self.count: int = n
        self.space = None
        self.values: tuple[Array, ...] = ()
        self.classes: NDArray[np.int64] | None = None
        self._rows: dict[bytes, int] | None = None
        if factors is None:
            if names is not None:
                raise UnweaveError(f"factor names{where} need factors: give both, or none")
            return
        columns = _columns(np.asarray(factors), n, where)
        labels = (
            [f"factor_{k}" for k in range(len(columns))]
            if names is None
            else _names(names, len(columns), where)
        )
        found = [np.unique(column, return_inverse=True) for column in columns]
        self.values = tuple(values for values, _ in found)
        self.classes = np.stack([classes.reshape(-1) for _, classes in found], axis=1).astype(np.int64)
        self.space = FactorSpace(labels, [len(values) for values in self.values])

    def images(self, factors: ArrayLike) -> NDArray[Any]:
        """Images (n, C, H, W) of `factors` (n, K) in classes; an error if no row has that combination."""
        space = self.factor_space()
        points = space.check(factors)
        if self._rows is None:
            classes = () if self.classes is None else self.classes
            self._rows = {row.tobytes(): i for i, row in reversed(list(enumerate(classes)))}
        rows = [self._rows.get(point.tobytes(), -1) for point in points]
        if -1 in rows:
            missing = zip(space.names, points[rows.index(-1)], self.values, strict=True)
            text = ", ".join(f"{name} = {values[k]}" for name, k, values in missing)
            raise UnweaveError(
                f"no image has {text}: ask for combinations that are in the data (sample, evaluation)"
            )
        return self.at(np.array(rows, np.int64))

    def at(self, index: ArrayLike) -> NDArray[Any]:
        """Images (n, C, H, W) of row numbers (n,)."""
        return channels_last(self._pixels[check_index(index, self.count)])

    def factors_at(self, index: ArrayLike) -> Array:
        """Factors (n, K), as classes, of row numbers (n,)."""
        rows = check_index(index, self.count)
        return self.factor_space().factors(rows) if self.classes is None else self.classes[rows]

    def sample(self, n: int, rng: Generator) -> Batch:
        """`n` rows, drawn uniformly with replacement."""
        index = rng.integers(self.count, size=n)
        return Batch(
            channels_last(self._pixels[index]), None if self.classes is None else self.classes[index]
        )

    def evaluation(self, n: int, rng: Generator, levels: int = 32) -> Array:
        """Factors (n, K) (as classes) of `n` rows, drawn uniformly; `levels` has no effect."""
        if self.classes is None:
            return self.factor_space().sample(n, rng)
        return self.classes[rng.integers(self.count, size=n)]


def _read(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise UnweaveError(f"{path} does not exist: give the path of an npz file")
    if path.is_dir():
        raise UnweaveError(f"{path} is a folder, not an npz file: use Folder for a folder of images")
    try:
        file = np.load(path, allow_pickle=False)
        if isinstance(file, np.ndarray):
            raise UnweaveError(f"{path} is a single npy array: save it with numpy.savez(path, images=...)")
        with file:
            wanted = {"images", "factors", "factor_names"} & set(file.files)
            return {key: file[key] if key in wanted else None for key in file.files}
    except UnweaveError:
        raise
    except ValueError as error:
        problem = (
            "it holds Python objects: save plain arrays"
            if "Object arrays" in str(error)
            else "not an npz file"
        )
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, KeyError) as error:
        problem = f"{error}"
    raise UnweaveError(f"cannot read {path} as an npz file ({problem})")


def _pixels(images: Array, where: str) -> Array:
    """`images` as (n, H, W, C), uint8 or float32."""
    if images.ndim == 3:
        images = images[..., None]
    elif images.ndim == 4 and images.shape[3] not in (1, 3) and images.shape[1] in (1, 3):
        images = images.transpose(0, 2, 3, 1)
    if images.ndim != 4 or images.shape[3] not in (1, 3) or 0 in images.shape:
        raise UnweaveError(
            f"images{where} must have shape (n, H, W), (n, H, W, C) or (n, C, H, W) with 1 or 3 channels "
            f"and at least one image, got {images.shape}"
        )
    if images.dtype == np.bool_ or (images.dtype == np.uint8 and images.max() <= 1):
        return np.ascontiguousarray(images).astype(np.uint8) * np.uint8(255)
    if images.dtype == np.uint8:
        return np.ascontiguousarray(images)
    if images.dtype.kind != "f":
        raise UnweaveError(
            f"images{where} must be uint8 (0 to 255) or float (0 to 1), got {images.dtype}: use astype"
        )
    low, high = float(images.min()), float(images.max())
    if np.isnan(low):
        raise UnweaveError(f"images{where} contain NaN: float images must lie between 0 and 1")
    if low < 0 or high > 1:
        raise UnweaveError(
            f"float images{where} must lie between 0 and 1, got values from {low:g} to {high:g}"
        )
    return np.ascontiguousarray(images, np.float32)


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
