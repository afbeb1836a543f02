"""The factor space: names, sizes or ranges, and every way to walk through it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, check_choice

Array = NDArray[Any]
Size = int | tuple[float, float]


def check_count(n: int) -> int:
    """`n` if it is a number of images that can be drawn, else an error.

    Example:
        >>> check_count(-1)
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: the number of images to draw must be a whole number from 0 up, got -1
    """
    if not isinstance(n, int | np.integer) or n < 0:
        raise UnweaveError(f"the number of images to draw must be a whole number from 0 up, got {n!r}")
    return int(n)


@dataclass(frozen=True)
class FactorSpace:
    """The product of K factors, each discrete (classes 0 .. size-1) or continuous (an interval [low, high]).

    A point is a row of K numbers. Rows are int64 if every factor is discrete, else float64 (classes as whole
    numbers). Discrete spaces are counted row-major, the last factor fastest:
    ``index = sum_k factor_k * prod_{j>k} size_j``, the order of the original dSprites file.

    Args:
        names: one name per factor.
        sizes: for each factor the number of classes, or ``(low, high)`` for a continuous one.

    Example:
        >>> space = FactorSpace(("shape", "scale"), (3, 6))
        >>> space.count, len(space)
        (18, 2)
        >>> space.factors([7])
        array([[1, 1]])
        >>> space.index([[1, 1]])
        array([7])
    """

    names: tuple[str, ...]
    sizes: tuple[Size, ...]
    continuous: tuple[bool, ...] = field(init=False, repr=False, compare=False)
    count: int | None = field(init=False, repr=False, compare=False)

    def __init__(self, names: Sequence[str], sizes: Sequence[int | tuple[float, float]]) -> None:
        if not names or len(names) != len(sizes):
            raise UnweaveError(
                f"a factor space needs at least one factor and one size per name, "
                f"got {len(names)} names and {len(sizes)} sizes"
            )
        names = tuple(str(name) for name in names)
        sizes = tuple(_size(name, size) for name, size in zip(names, sizes, strict=True))
        if len(set(names)) != len(names):
            raise UnweaveError(f"factor names must differ from each other, got {', '.join(names)}")
        continuous = tuple(isinstance(size, tuple) for size in sizes)
        count = None if any(continuous) else math.prod(s for s in sizes if isinstance(s, int))
        for key, value in {"names": names, "sizes": sizes, "continuous": continuous, "count": count}.items():
            object.__setattr__(self, key, value)

    def __len__(self) -> int:
        return len(self.names)

    def column(self, name: str) -> int:
        """Position of the factor called `name`.

        Example:
            >>> FactorSpace(("x", "y"), (4, 4)).column("y")
            1
        """
        check_choice("factor", name, self.names)
        return self.names.index(name)

    def check(self, factors: ArrayLike) -> Array:
        """`factors` as an (n, K) array of this space's dtype, or an error that names the wrong factor.

        Example:
            >>> FactorSpace(("x", "y"), (4, 4)).check([[0, 4]])
            Traceback (most recent call last):
            ...
            unweave.errors.UnweaveError: factor 'y' must be a whole number from 0 to 3, got 4
        """
        try:
            given = np.asarray(factors)
            points = given.astype(np.float64)
        except (TypeError, ValueError):
            raise UnweaveError("factors must be an array of numbers") from None
        if points.ndim != 2 or points.shape[1] != len(self):
            raise UnweaveError(
                f"factors must have shape (n, {len(self)}) for {', '.join(self.names)}, got {given.shape}"
            )
        for k, (name, size) in enumerate(zip(self.names, self.sizes, strict=True)):
            values = points[:, k]
            if isinstance(size, tuple):
                slack = 1e-9 * (size[1] - size[0])
                wrong = ~((values >= size[0] - slack) & (values <= size[1] + slack))
                expected = f"between {size[0]:g} and {size[1]:g}"
            else:
                wrong = ~((values >= 0) & (values < size) & (values == np.floor(values)))
                expected = f"a whole number from 0 to {size - 1}"
            if wrong.any():
                raise UnweaveError(f"factor {name!r} must be {expected}, got {values[wrong][0]:g}")
        return points.astype(self._dtype)

    def index(self, factors: ArrayLike) -> NDArray[np.int64]:
        """Row numbers (n,) of discrete `factors` (n, K): ``sum_k factor_k * prod_{j>k} size_j``.

        Example:
            >>> FactorSpace(("a", "b"), (2, 5)).index([[1, 3]])
            array([8])
        """
        sizes = self._discrete_sizes("index of factors")
        return np.asarray(self.check(factors) @ _strides(sizes), np.int64)

    def factors(self, index: ArrayLike) -> NDArray[np.int64]:
        """Discrete factors (n, K) of row numbers (n,); the inverse of :meth:`index`.

        Example:
            >>> FactorSpace(("a", "b"), (2, 5)).factors([8])
            array([[1, 3]])
        """
        return self.unravelled(check_index(index, math.prod(self._discrete_sizes("factors of an index"))))

    def unravelled(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same as :meth:`factors`, for row numbers (n,) that are known to be right.

        Example:
            >>> FactorSpace(("a", "b"), (2, 5)).unravelled(np.array([8]))
            array([[1, 3]])
        """
        points = np.empty((len(rows), len(self)), np.int64)
        points.T[:] = np.unravel_index(rows, tuple(size for size in self.sizes if isinstance(size, int)))
        return points

    def sample(self, n: int, rng: Generator, fixed: Mapping[str, ArrayLike] | None = None) -> Array:
        """`n` independent uniform points (n, K); factors in `fixed` keep the value, or (n,) values, given.

        Example:
            >>> space = FactorSpace(("x", "hue"), (8, (0.0, 1.0)))
            >>> space.sample(5, np.random.default_rng(0), fixed={"x": 3})[:, 0]
            array([3., 3., 3., 3., 3.])
        """
        points = np.empty((check_count(n), len(self)), self._dtype)
        for k, size in enumerate(self.sizes):
            points[:, k] = _draw(size, n, rng)
        if not fixed:
            return points
        given = points.astype(np.float64)
        for name, value in fixed.items():
            values = np.asarray(value)
            if values.shape not in ((), (n,)):
                raise UnweaveError(
                    f"fixed factor {name!r} must be one value or {n} values, got shape {values.shape}"
                )
            given[:, self.column(name)] = values
        return self.check(given)

    def pairs(self, n: int, rng: Generator, k: int | None = None) -> tuple[Array, Array]:
        """`n` pairs of points that differ in exactly `k` factors; which ones is uniform.

        With ``k=None`` each pair draws its own k uniformly from 1 .. K (the pairing of Ada-GVAE, REC 5.2).
        Factors with a single class never differ and do not count towards K.

        Returns:
            two (n, K) arrays.

        Example:
            >>> a, b = FactorSpace(("x", "y", "z"), (4, 4, 4)).pairs(100, np.random.default_rng(0), k=2)
            >>> set((a != b).sum(1).tolist())
            {2}
        """
        able = self.check_changes(k)
        wanted = rng.integers(1, able + 1, n) if k is None else np.full(n, k)
        first = self.sample(n, rng)
        return first, self._changed(first, wanted, rng)

    def triplets(
        self, n: int, rng: Generator, k: tuple[int, int] | None = None
    ) -> tuple[Array, Array, Array]:
        """`n` anchors, positives and negatives that differ from the anchor in k[0] < k[1] factors.

        With ``k=None`` each triplet draws its two numbers uniformly among all 1 <= k[0] < k[1] <= K.

        Returns:
            three (n, K) arrays.

        Example:
            >>> space = FactorSpace(("x", "y", "z"), (4, 4, 4))
            >>> a, p, n = space.triplets(100, np.random.default_rng(0), k=(1, 3))
            >>> set((a != p).sum(1).tolist()), set((a != n).sum(1).tolist())
            ({1}, {3})
        """
        able = self.check_changes(None)
        if k is None:
            if able < 2:
                raise UnweaveError("triplets need two factors that vary, got one")
            low, high = np.triu_indices(able, 1)
            drawn = rng.integers(len(low), size=n)
            near, far = low[drawn] + 1, high[drawn] + 1
        else:
            if not 1 <= k[0] < k[1] <= able:
                raise UnweaveError(
                    f"k of triplets must be two numbers with 1 <= k[0] < k[1] <= {able}, got {k}"
                )
            near, far = np.full(n, k[0]), np.full(n, k[1])
        anchor = self.sample(n, rng)
        return anchor, self._changed(anchor, near, rng), self._changed(anchor, far, rng)

    def check_changes(self, k: int | None) -> int:
        """The number of factors that vary, of which pairs may differ in `k`; an error if they cannot.

        Example:
            >>> FactorSpace(("color", "x"), (1, 4)).check_changes(None)
            1
        """
        able = sum(size != 1 for size in self.sizes)
        if not able or (k is not None and not 1 <= k <= able):
            raise UnweaveError(f"k must be from 1 to {able}, the number of factors that vary, got {k}")
        return able

    def _changed(self, first: Array, wanted: NDArray[np.int64], rng: Generator) -> Array:
        """Points that differ from `first` (n, K) in `wanted` (n,) factors, chosen uniformly."""
        able = [j for j, size in enumerate(self.sizes) if size != 1]
        n, second = len(first), first.copy()
        rank = rng.random((n, len(able))).argsort(axis=1).argsort(axis=1)
        for place, j in enumerate(able):
            size = self.sizes[j]
            if isinstance(size, tuple):
                other = _draw(size, n, rng)
            else:
                other = (first[:, j] + rng.integers(1, size, n)) % size
            chosen = rank[:, place] < wanted
            second[chosen, j] = other[chosen]
        return second

    def traversal(self, name: str, at: ArrayLike, n: int | None = None) -> Array:
        """The points (m, K) that vary one factor from `at`, a point (K,).

        All classes of a discrete factor; `n` (default 11) evenly spaced values, ends included, of a
        continuous one.

        Example:
            >>> FactorSpace(("x", "y"), (2, 3)).traversal("y", at=[1, 0])
            array([[1, 0],
                   [1, 1],
                   [1, 2]])
        """
        k = self.column(name)
        return self._walk([(k, self._values(k, n if self.continuous[k] else None))], at)

    def grid(self, names: Sequence[str], n: int | None, at: ArrayLike) -> Array:
        """The cartesian grid over the named factors, last one fastest; other factors as in the point `at`.

        `n` evenly spaced values of each named factor, ends included (a discrete factor with at most `n`
        classes gives all of them); ``None`` means all classes, or 11 values of a continuous factor.

        Example:
            >>> FactorSpace(("x", "y"), (2, (0.0, 1.0))).grid(["x", "y"], 2, at=[0, 0])
            array([[0., 0.],
                   [0., 1.],
                   [1., 0.],
                   [1., 1.]])
        """
        columns = [self.column(name) for name in ([names] if isinstance(names, str) else names)]
        return self._walk([(k, self._values(k, n)) for k in columns], at)

    def levels(self, factors: ArrayLike, n: int = 32) -> Array:
        """`factors` with each continuous column moved to the nearest of `n` even steps from low to high.

        Example:
            >>> FactorSpace(("x",), ((0.0, 1.0),)).levels([[0.2], [0.6]], n=3).tolist()
            [[0.0], [0.5]]
        """
        points = self.check(factors)
        for k, size in enumerate(self.sizes):
            if isinstance(size, tuple):
                values = _evenly(size, n)
                place = np.rint((points[:, k] - size[0]) / (size[1] - size[0]) * (n - 1)).astype(np.int64)
                points[:, k] = values[np.clip(place, 0, n - 1)]
        return points

    @property
    def _dtype(self) -> type[np.float64] | type[np.int64]:
        return np.float64 if any(self.continuous) else np.int64

    def _discrete_sizes(self, what: str) -> tuple[int, ...]:
        sizes = tuple(size for size in self.sizes if isinstance(size, int))
        if len(sizes) != len(self):
            names = [name for name, c in zip(self.names, self.continuous, strict=True) if c]
            raise UnweaveError(f"{what}: only for discrete factors, but {', '.join(names)} is continuous")
        if math.prod(sizes) > np.iinfo(np.int64).max:
            raise UnweaveError(f"{what}: {math.prod(sizes):.3g} combinations of factors cannot be counted")
        return sizes

    def _values(self, k: int, n: int | None) -> Array:
        size = self.sizes[k]
        if isinstance(size, tuple):
            return _evenly(size, 11 if n is None else n)
        if n is None or n >= size:
            return np.arange(size)
        return np.rint(_evenly((0, size - 1), n)).astype(np.int64)

    def _walk(self, axes: list[tuple[int, Array]], at: ArrayLike) -> Array:
        start = np.asarray(at)
        if start.shape != (len(self),):
            raise UnweaveError(f"at must be one point of {len(self)} factors, got shape {start.shape}")
        mesh = np.meshgrid(*(values for _, values in axes), indexing="ij")
        points = np.tile(self.check(start[None]), (mesh[0].size, 1))
        for (k, _), values in zip(axes, mesh, strict=True):
            points[:, k] = values.ravel()
        return points


def check_index(index: ArrayLike, count: int) -> NDArray[np.int64]:
    """`index` as an (n,) int64 array of row numbers below `count`, or an error.

    Example:
        >>> check_index([0, 2], 3)
        array([0, 2])
    """
    rows = np.asarray(index)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise UnweaveError(
            f"index must be whole numbers of shape (n,), got {rows.dtype} of shape {rows.shape}"
        )
    wrong = (rows < 0) | (rows >= count)
    if wrong.any():
        raise UnweaveError(f"index must be from 0 to {count - 1}, got {rows[wrong][0]}")
    return rows.astype(np.int64)


def _size(name: str, size: int | tuple[float, float]) -> Size:
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool) and size >= 1:
        return int(size)
    if isinstance(size, (tuple, list)) and len(size) == 2:
        low, high = float(size[0]), float(size[1])
        if math.isfinite(low) and math.isfinite(high) and low < high:
            return (low, high)
    raise UnweaveError(
        f"size of factor {name!r} must be a whole number from 1 up or (low, high), got {size!r}"
    )


def _strides(sizes: tuple[int, ...]) -> NDArray[np.int64]:
    return np.array([math.prod(sizes[k + 1 :]) for k in range(len(sizes))], np.int64)


def _draw(size: Size, n: int, rng: Generator) -> Array:
    if isinstance(size, tuple):
        return rng.uniform(size[0], size[1], n)
    return rng.integers(size, size=n)


def _evenly(interval: tuple[float, float], n: int) -> Array:
    if n < 2:
        raise UnweaveError(f"n must be at least 2 values of a factor, got {n}")
    return np.linspace(interval[0], interval[1], n)
