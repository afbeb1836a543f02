"""Which rows of stored images have which factors."""

import math
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from unweave.data.space import FactorSpace

Index = NDArray[np.int64]


class FactorIndex:
    """Finds the rows of stored images by their factors; combinations may be absent or have several rows.

    Args:
        space: the factors, all discrete.
        classes: (n, K) the factors of each row; None if the rows are the whole grid in the order of the space.

    Example:
        >>> rows = FactorIndex(FactorSpace(("letter",), (3,)), np.array([[2], [0], [2]]))
        >>> rows.first([[2], [1], [0]]).tolist()
        [0, -1, 1]
        >>> sorted(set(rows.any([[2]] * 50, np.random.default_rng(0)).tolist()))
        [0, 2]
    """

    def __init__(self, space: FactorSpace, classes: Index | None) -> None:
        self.space = space
        self.classes = classes

    def factors(self, rows: Index) -> Index:
        """Factors (n, K) of rows (n,)."""
        return self.space.unravelled(rows) if self.classes is None else self.classes[rows]

    def first(self, factors: ArrayLike) -> Index:
        """The first row (n,) with each of the `factors` (n, K), -1 where there is none."""
        points = self.space.check(factors)
        if self.classes is None:
            return self.space.index(points)
        place, found = self._place(points)
        return np.where(found, self._order[self._starts[place]], -1)

    def any(self, factors: ArrayLike, rng: Generator) -> Index:
        """A row (n,) with each of the `factors`, uniform among those that have them, -1 where there is none."""
        points = self.space.check(factors)
        if self.classes is None:
            return self.space.index(points)
        place, found = self._place(points)
        many = np.diff(self._starts, append=len(self._order))[place]
        return np.where(found, self._order[self._starts[place] + rng.integers(many)], -1)

    @property
    def density(self) -> float:
        """The share of all combinations of factors that have a row."""
        return 1.0 if self.classes is None else len(self._starts) / self._combinations

    def _place(self, points: Index) -> tuple[Index, NDArray[np.bool_]]:
        keys = self._keys(points)
        place = np.minimum(np.searchsorted(self._distinct, keys), len(self._distinct) - 1)
        return place, self._distinct[place] == keys

    def _keys(self, points: Index) -> NDArray[np.generic]:
        if self._combinations <= np.iinfo(np.int64).max:
            return self.space.index(points)
        # Too many combinations for an int64: compare the bytes of the rows.
        wide = np.ascontiguousarray(points)
        return wide.view(f"S{wide.shape[1] * wide.itemsize}").ravel() if wide.size else np.empty(0, "S1")

    @cached_property
    def _combinations(self) -> int:
        return math.prod(size for size in self.space.sizes if isinstance(size, int))

    @cached_property
    def _order(self) -> Index:
        assert self.classes is not None
        return np.argsort(self._keys(self.classes), kind="stable")

    @cached_property
    def _sorted(self) -> NDArray[np.generic]:
        assert self.classes is not None
        return self._keys(self.classes)[self._order]

    @cached_property
    def _starts(self) -> Index:
        fresh = np.ones(len(self._sorted), np.bool_)
        fresh[1:] = self._sorted[1:] != self._sorted[:-1]
        return np.flatnonzero(fresh)

    @cached_property
    def _distinct(self) -> NDArray[np.generic]:
        return self._sorted[self._starts]
