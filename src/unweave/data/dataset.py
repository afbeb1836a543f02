"""What every dataset offers: images from factors, from row numbers, and whole batches of training data."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from unweave.data.space import Array, FactorSpace
from unweave.errors import UnweaveError

if TYPE_CHECKING:
    from unweave.data.files import RealFile

_TRIES, _PROPOSALS = 40, 100_000
"""Rounds of proposals before a search for pairs gives up, and proposals in a round at most."""

_MEASURED = 20_000
"""Images from which channel constants are computed where they are not published."""


@dataclass(frozen=True)
class Batch:
    """Images (n, channels, height, width) and the factors (n, K) they were made from, if known.

    Example:
        >>> Batch(np.zeros((2, 1, 8, 8), np.uint8), None).images.shape
        (2, 1, 8, 8)
    """

    images: NDArray[Any]
    factors: Array | None


@dataclass(frozen=True)
class Channels:
    """Mean and deviation of each channel, on the scale [0, 1], to standardise images by (SPEC DAT-11).

    ``std`` is the mean over images of each image's own deviation (ddof = 1), as in REC table A2.

    Example:
        >>> Channels((0.5,), (0.25,), "of all images").mean
        (0.5,)
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    source: str


class Dataset(ABC):
    """Images with or without known factors; hands out whole batches, never single items.

    Images have shape (n, channels, height, width), uint8 0..255 or float32 0..1, and lie in memory
    channels-last, so that torch takes them as ``channels_last`` without a copy.

    Attributes:
        description: one line for listings.
        image_shape: (channels, height, width).
        space: the factors, or None if none are known.
        count: number of images, or None if the factors are continuous.
        originals: the original files from which the data can be read.
        stand_in: what to use while they are missing.

    Example:
        >>> from unweave.data import XYSquares
        >>> batch = XYSquares().sample(5, np.random.default_rng(0))
        >>> batch.images.shape, batch.factors.shape
        ((5, 3, 64, 64), (5, 6))
    """

    description: ClassVar[str]
    originals: ClassVar[tuple["RealFile", ...]] = ()
    stand_in: ClassVar[str] = ""
    image_shape: tuple[int, int, int]
    space: FactorSpace | None
    count: int | None

    @property
    def name(self) -> str:
        """Name of the dataset, that of its class."""
        return type(self).__name__

    def images(self, factors: ArrayLike) -> NDArray[Any]:
        """Images (n, C, H, W) of `factors` (n, K), held-out ones too."""
        raise UnweaveError(
            f"{self.name} has no known factors: images can be asked for by index only, with at()"
        )

    @abstractmethod
    def at(self, index: ArrayLike) -> NDArray[Any]:
        """Images (n, C, H, W) of row numbers `index` (n,), for datasets with a `count`."""

    def factors_at(self, index: ArrayLike) -> Array:
        """Factors (n, K) of row numbers `index` (n,), for datasets with a `count` and a `space`."""
        return self.factor_space().factors(index)

    @abstractmethod
    def sample(self, n: int, rng: Generator) -> Batch:
        """`n` independent draws from the training distribution."""

    def held_out(self, factors: ArrayLike) -> NDArray[np.bool_]:
        """True (n,) for the `factors` (n, K) that training never sees."""
        return np.zeros(len(self.factor_space().check(factors)), np.bool_)

    def evaluation(self, n: int, rng: Generator, levels: int = 32) -> Array:
        """Factors (n, K) drawn from the training distribution, for metrics that count classes.

        Continuous factors take `levels` evenly spaced values from low to high; held-out ones are left out.
        """
        space = self.factor_space()
        if levels < 2:
            raise UnweaveError(f"levels must be at least 2 values of a continuous factor, got {levels}")
        return self._accepted(n, rng, lambda m: (self._draw_levels(space, m, rng, levels),))[0]

    def evaluation_rows(self, n: int, rng: Generator) -> NDArray[np.int64]:
        """Row numbers of at most `n` different images of the training distribution, for sets with a `count`.

        All of them, in order, if there are no more than `n`.
        """
        count = self._counted()
        return np.arange(count) if count <= n else rng.choice(count, n, replace=False)

    def acceptance(self, factors: ArrayLike) -> NDArray[np.float64]:
        """Probability (n,), up to a constant, with which training takes `factors` (n, K): 0 where held out."""
        return 1.0 - self.held_out(factors).astype(np.float64)

    def pairs(self, n: int, rng: Generator, k: int | None = None) -> tuple[Batch, Batch]:
        """`n` pairs of images that differ in exactly `k` factors (weak supervision; REC B.3).

        Proposed as by :meth:`FactorSpace.pairs`: which factors differ is uniform, and so are their values. A proposal
        is taken with the :meth:`acceptance` of both ends, so that none is held out. With ``k=None`` each proposal draws
        its own k uniformly from 1 .. K.

        Example:
            >>> from unweave.data import XYSquares
            >>> a, b = XYSquares().pairs(8, np.random.default_rng(0), k=1)
            >>> set((a.factors != b.factors).sum(axis=1).tolist())
            {1}
        """
        self.factor_space().check_changes(k)
        found = self._accepted(n, rng, lambda m: self._propose_pairs(m, rng, k))
        first, second = (Batch(self._images_of(factors, rng), factors) for factors in found)
        return first, second

    def triplets(
        self, n: int, rng: Generator, k: tuple[int, int] | None = None
    ) -> tuple[Batch, Batch, Batch]:
        """`n` anchors, positives and negatives: the positive differs from the anchor in fewer factors.

        Args:
            n: number of triplets.
            rng: source of randomness.
            k: in how many factors positive and negative differ from the anchor; None: drawn uniformly.

        Example:
            >>> from unweave.data import XYSquares
            >>> a, p, n = XYSquares().triplets(8, np.random.default_rng(0))
            >>> bool(((a.factors != p.factors).sum(1) < (a.factors != n.factors).sum(1)).all())
            True
        """
        space = self.factor_space()
        found = self._accepted(n, rng, lambda m: space.triplets(m, rng, k))
        anchor, positive, negative = (Batch(self._images_of(factors, rng), factors) for factors in found)
        return anchor, positive, negative

    def fingerprint(self) -> str:
        """A hash of some of the images, by which a run notices that its data have changed."""
        if self.count is None:
            images = self.sample(32, np.random.default_rng(0)).images
        else:
            images = self.at(np.linspace(0, self.count - 1, 32).astype(np.int64))
        told = hashlib.sha256(repr((self.count, self.image_shape)).encode())
        told.update(np.ascontiguousarray(images).data)
        return told.hexdigest()[:16]

    def channels(self) -> Channels:
        """Constants to standardise the images by: the published ones where there are some, else measured.

        Measured ones are over all images, or over 20,000 drawn ones if there are more.

        Example:
            >>> from unweave.data import XYSquares
            >>> XYSquares().channels().mean
            (0.015625, 0.015625, 0.015625)
        """
        return self.measured_channels()

    def measured_channels(self, limit: int | None = _MEASURED) -> Channels:
        """Constants measured on the images: on all of them, or on `limit` drawn ones if there are more."""
        rng = np.random.default_rng(0)
        total = limit if self.count is None else min(self.count, limit or self.count)
        if total is None:
            raise UnweaveError(f"{self.name} has no last image: measure its channels on a limited number")
        whole = total == self.count
        mean, std = np.zeros(self.image_shape[0]), np.zeros(self.image_shape[0])
        for start in range(0, total, 500):
            n = min(500, total - start)
            images = self.at(np.arange(start, start + n)) if whole else self.sample(n, rng).images
            for c in range(len(mean)):
                flat = images[:, c].reshape(n, -1).astype(np.float32)
                middle = flat.mean(axis=1, keepdims=True)
                flat -= middle
                mean[c] += middle.sum(dtype=np.float64)
                std[c] += np.sqrt(np.einsum("np,np->n", flat, flat) / (flat.shape[1] - 1)).sum(
                    dtype=np.float64
                )
            scale = 255.0 if images.dtype == np.uint8 else 1.0
        source = "of all images" if whole else f"of {total:,} images"
        return Channels(tuple((mean / total / scale).tolist()), tuple((std / total / scale).tolist()), source)

    def factor_space(self) -> FactorSpace:
        """The factor space, or an error if this dataset has no known factors."""
        if self.space is None:
            raise UnweaveError(
                f"{self.name} has no known factors: use a dataset with factors, or an npz that has them"
            )
        return self.space

    def _counted(self) -> int:
        if self.count is None:
            raise UnweaveError(f"{self.name} has continuous factors and no rows: ask for evaluation(n, rng)")
        return self.count

    def _images_of(self, factors: Array, rng: Generator) -> NDArray[Any]:
        """Images of `factors` as training sees them; `rng` decides what factors do not."""
        return self.images(factors)

    def _images_of_rows(self, rows: NDArray[np.int64], rng: Generator) -> NDArray[Any]:
        """Images of rows as training sees them; `rng` decides what rows do not."""
        return self.at(rows)

    def _propose_pairs(self, n: int, rng: Generator, k: int | None) -> tuple[Array, Array]:
        return self.factor_space().pairs(n, rng, k)

    def _accepted(
        self, n: int, rng: Generator, propose: Callable[[int], tuple[Array, ...]]
    ) -> tuple[Array, ...]:
        """`n` of the proposed tuples of points, each taken with the product of its points' acceptances."""
        kept: list[tuple[Array, ...]] = []
        have = tried = 0
        for _ in range(_TRIES):
            likely = max(have, 0.5) / max(tried, 1)
            wanted = n if not tried else int(min(1.2 * (n - have) / likely + 16, _PROPOSALS))
            proposed = propose(wanted)
            tried += wanted
            taken = np.ones(len(proposed[0]), np.bool_)
            for points in proposed:
                chance = self.acceptance(points)
                taken &= (chance >= 1) | (rng.random(len(chance)) < chance)
            kept.append(tuple(points[taken] for points in proposed))
            have += int(taken.sum())
            if have >= n:
                return tuple(np.concatenate(points)[:n] for points in zip(*kept, strict=True))
        raise UnweaveError(
            f"{self.name} has too few images that differ as asked ({have} found of {n}): ask for another k"
        )

    @staticmethod
    def _draw_levels(space: FactorSpace, n: int, rng: Generator, levels: int) -> Array:
        # Quantising uniform draws would give the two end values half the weight of the others.
        points = space.sample(n, rng)
        for k, size in enumerate(space.sizes):
            if isinstance(size, tuple):
                points[:, k] = np.linspace(size[0], size[1], levels)[rng.integers(levels, size=n)]
        return points


def user_path(path: str | os.PathLike[str]) -> Path:
    """`path` with a leading ~ replaced by the home folder, if there is one.

    Example:
        >>> user_path("images").name
        'images'
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:  # no such user
        return Path(path)


def channels_last(pixels: NDArray[Any]) -> NDArray[Any]:
    """An (n, height, width, channels) array seen as (n, channels, height, width), without a copy.

    Example:
        >>> channels_last(np.zeros((5, 8, 9, 3))).shape
        (5, 3, 8, 9)
    """
    return pixels.transpose(0, 3, 1, 2)
