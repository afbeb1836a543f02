"""Images in rows: in an array, in memory or mapped from a file, or made by row number."""

import hashlib
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from unweave.data.dataset import Batch, Dataset, channels_last
from unweave.data.factor_index import FactorIndex
from unweave.data.space import Array, FactorSpace, check_count, check_index
from unweave.errors import UnweaveError

_SHOWN = 512
"""Rows of a large set that enter its fingerprint."""


class IndexedDataset(Dataset):
    """Images in rows, with or without known factors; a batch is one gather.

    A subclass calls :meth:`_store` once; or it calls :meth:`_grid` and makes the images of rows itself in ``_take``.
    Combinations of factors may be absent (then they count as held out) or have several rows (then batches and pairs
    draw one of them).

    Example:
        >>> class Two(IndexedDataset):
        ...     description = "two grey images"
        ...     def __init__(self):
        ...         self._store(np.array([0, 255], np.uint8).reshape(2, 1, 1, 1), FactorSpace(("light",), (2,)))
        >>> Two().images([[1], [0]]).ravel().tolist()
        [255, 0]
    """

    count: int
    rows: FactorIndex | None
    factors_identify: bool = True
    """Whether other factors of the same images make other data, for a run that goes on."""

    def _store(
        self,
        pixels: NDArray[Any],
        space: FactorSpace | None = None,
        classes: NDArray[np.int64] | None = None,
        *,
        binary: bool = False,
    ) -> None:
        """Take `pixels` (n, H, W, C), uint8 0..255 or float32 0..1, and the factors of its rows.

        Args:
            pixels: in memory or mapped.
            space: the factors, if any are known.
            classes: (n, K) of each row; None: the rows are the whole grid of `space` in its order.
            binary: `pixels` are uint8 0 and 1, and are handed out as 0 and 255.
        """
        n, height, width, channels = pixels.shape
        if space is not None and n != (space.count if classes is None else len(classes)):
            raise UnweaveError(f"{self.name}: {n} images do not fit {space.count} combinations of factors")
        self._pixels, self._binary = pixels, binary
        self.image_shape = (channels, height, width)
        self.space = space
        self.count = n
        self.rows = None if space is None else FactorIndex(space, classes)

    def _grid(self, space: FactorSpace, image_shape: tuple[int, int, int]) -> None:
        """Take one row for each combination of discrete factors; the subclass makes them in ``_take``."""
        assert space.count is not None
        self.image_shape = image_shape
        self.space = space
        self.count = space.count
        self.rows = FactorIndex(space, None)

    def images(self, factors: ArrayLike) -> NDArray[Any]:
        """Images (n, C, H, W) of `factors` (n, K) (the first row that has them); an error if there is none."""
        if self.rows is None:
            return super().images(factors)
        return self._found(self.rows.first(factors), factors)

    def at(self, index: ArrayLike) -> NDArray[Any]:
        """Images (n, C, H, W) of row numbers (n,)."""
        return self._take(check_index(index, self.count))

    def factors_at(self, index: ArrayLike) -> Array:
        """Factors (n, K), as classes, of row numbers (n,)."""
        self.factor_space()
        assert self.rows is not None
        return self.rows.factors(check_index(index, self.count))

    def sample(self, n: int, rng: Generator) -> Batch:
        """`n` rows, drawn uniformly with replacement."""
        index = rng.integers(self.count, size=check_count(n))
        return Batch(self._take(index), None if self.rows is None else self.rows.factors(index))

    def held_out(self, factors: ArrayLike) -> NDArray[np.bool_]:
        """True (n,) for the `factors` (n, K) of which there is no image."""
        self.factor_space()
        assert self.rows is not None
        return np.asarray(self.rows.first(factors) < 0)

    def evaluation(self, n: int, rng: Generator, levels: int = 32) -> Array:
        """Factors (n, K) of `n` rows, drawn uniformly; `levels` has no effect."""
        self.factor_space()
        return self.factors_at(rng.integers(self.count, size=n))

    def fingerprint(self) -> str:
        """A hash of the images (of 512 rows spread over the set, if there are more) and their factors."""
        chosen = np.unique(np.linspace(0, self.count - 1, min(self.count, _SHOWN)).astype(np.int64))
        digest = hashlib.sha256(repr((self.count, self.image_shape)).encode())
        digest.update(np.ascontiguousarray(self._take(chosen)).data)
        if self.factors_identify and self.rows is not None and self.rows.classes is not None:
            digest.update(np.ascontiguousarray(self.rows.classes).data)
        return digest.hexdigest()[:16]

    def _images_of(self, factors: Array, rng: Generator) -> NDArray[Any]:
        assert self.rows is not None
        return self._found(self.rows.any(factors, rng), factors)

    def _propose_pairs(self, n: int, rng: Generator, k: int | None) -> tuple[Array, Array]:
        assert self.rows is not None
        if self.rows.density > 1e-3:
            return super()._propose_pairs(n, rng, k)
        # Hardly any combination exists: compare rows instead of guessing combinations.
        first, second = (self.rows.factors(rng.integers(self.count, size=n)) for _ in range(2))
        apart = (first != second).sum(axis=1)
        right = apart > 0 if k is None else apart == k
        return first[right], second[right]

    def _take(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        pixels = self._pixels.take(rows, axis=0)
        if self._binary:
            np.negative(pixels, out=pixels)  # 1 -> 255 in uint8
        return channels_last(pixels)

    def _found(self, rows: NDArray[np.int64], factors: ArrayLike) -> NDArray[Any]:
        if (rows < 0).any():
            point = np.asarray(factors)[np.flatnonzero(rows < 0)[0]]
            raise UnweaveError(
                f"no image has {self._described(point)}: ask for combinations that are in the data (sample, evaluation)"
            )
        return self._take(rows)

    def _described(self, point: NDArray[Any]) -> str:
        names = self.factor_space().names
        return ", ".join(f"{name} = {int(value)}" for name, value in zip(names, point, strict=True))
