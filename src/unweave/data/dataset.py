"""What every data set offers: images from factors, from row numbers, and whole batches of training data."""

import hashlib
import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from unweave.data.space import Array, FactorSpace
from unweave.errors import UnweaveError

if TYPE_CHECKING:
    from torch import Tensor

    from unweave.data.files import OriginalFile

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
    """Mean and deviation of each channel, on the scale [0, 1], to standardise images by.

    ``std`` is the mean over images of each image's own deviation (ddof = 1), as in REC table A2.

    Example:
        >>> Channels((0.5,), (0.25,), "of all images").mean
        (0.5,)
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    source: str


class Dataset(ABC):
    """Images with or without known factors, in whole batches. Three things must be provided, the rest has defaults.

    * ``image_shape``, ``space`` and ``count``, set by the constructor or the class;
    * :meth:`images` of factors or :meth:`at` row numbers (each follows from the other where every combination of
      discrete factors has one image, in the order of the space);
    * :meth:`sample`, the training distribution.

    Images have shape (n, channels, height, width), uint8 0..255 or float32 0..1. Laid out channels-last in memory (see
    :func:`channels_last`) they reach torch as ``channels_last`` without a copy.

    Attributes:
        image_shape: (channels, height, width).
        space: the factors, or None if none are known.
        count: number of images, or None if factors are continuous.
        description: one line for listings.
        originals: the original files from which the data can be read.
        stand_in: what to use while they are missing.

    Example:
        >>> class Bars(Dataset):
        ...     image_shape, space, count = (1, 8, 8), FactorSpace(("column",), (8,)), 8
        ...     def images(self, factors):
        ...         lit = np.arange(8) == self.space.check(factors)
        ...         return np.repeat(lit[:, None, None].astype(np.uint8) * 255, 8, axis=2)
        ...     def sample(self, n, rng):
        ...         factors = self.space.sample(n, rng)
        ...         return Batch(self.images(factors), factors)
        >>> Bars().at([3])[0, 0, 5].tolist()
        [0, 0, 0, 255, 0, 0, 0, 0]
        >>> first, second = Bars().pairs(5, np.random.default_rng(0))
        >>> first.images.shape, bool((first.factors != second.factors).all())
        ((5, 1, 8, 8), True)
    """

    description: ClassVar[str] = ""
    originals: ClassVar[tuple["OriginalFile", ...]] = ()
    stand_in: ClassVar[str] = ""
    image_shape: tuple[int, int, int]
    space: FactorSpace | None
    count: int | None

    @property
    def name(self) -> str:
        """Name of the data set, that of its class."""
        return type(self).__name__

    def images(self, factors: ArrayLike) -> NDArray[Any]:
        """Images (n, C, H, W) of `factors` (n, K), held-out ones too."""
        if self.space is None:
            raise UnweaveError(f"{self.name} has no known factors: ask for images by row number, with at()")
        self._check_defined(self.at, Dataset.at)
        return self.at(self.space.index(factors))

    def at(self, index: ArrayLike) -> NDArray[Any]:
        """Images (n, C, H, W) of row numbers `index` (n,), for data sets with a `count`."""
        self._counted()
        self._check_defined(self.images, Dataset.images)
        return self.images(self.factors_at(index))

    def factors_at(self, index: ArrayLike) -> Array:
        """Factors (n, K) of row numbers `index` (n,), for data sets with a `count` and a `space`."""
        return self.factor_space().factors(index)

    def __len__(self) -> int:
        """Number of images; an error if there is no last one."""
        if self.count is None:
            raise UnweaveError(
                f"{self.name} has continuous factors and no length, so a DataLoader cannot go through it: "
                f"draw batches with sample(n, rng)"
            )
        return self.count

    def __bool__(self) -> bool:
        return True  # also without a length

    def __getitem__(self, row: int) -> "Tensor":
        """The image of a row as networks take it: a float32 tensor (C, H, W) in [0, 1].

        So a torch ``DataLoader`` over a data set with a ``count`` gives batches (n, C, H, W), shuffled and by several
        workers if it is told to. The factors of the same row are ``factors_at([row])``.

        Example:
            >>> from torch.utils.data import DataLoader
            >>> from unweave.data import XYSquares
            >>> batch = next(iter(DataLoader(XYSquares(), batch_size=16, shuffle=True)))
            >>> batch.shape, batch.dtype, float(batch.max())
            (torch.Size([16, 3, 64, 64]), torch.float32, 1.0)
        """
        return self.__getitems__([row])[0]

    def __getitems__(self, rows: Sequence[int]) -> "list[Tensor]":
        """The images of several rows; with this a loader gets each batch by one call of :meth:`at`."""
        import torch

        count = len(self)
        wrong = [row for row in rows if not -count <= operator.index(row) < count]
        if wrong:
            raise IndexError(f"{self.name} has rows 0 to {count - 1}, got {wrong[0]}")
        images = self.at(np.array([operator.index(row) % count for row in rows], np.int64))
        tensors = torch.from_numpy(np.ascontiguousarray(images))
        return list(tensors.float().div_(255) if tensors.dtype == torch.uint8 else tensors.float())

    @abstractmethod
    def sample(self, n: int, rng: Generator) -> Batch:
        """`n` independent draws from the training distribution."""

    def held_out(self, factors: ArrayLike) -> NDArray[np.bool_]:
        """True (n,) for the `factors` (n, K) that training never sees."""
        return np.zeros(len(self.factor_space().check(factors)), np.bool_)

    def evaluation(self, n: int, rng: Generator, levels: int = 32) -> Array:
        """Factors (n, K) drawn from the training distribution, for metrics that count classes.

        Continuous factors take `levels` evenly spaced values from low to high; held-out ones are excluded.
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

    def unseen(self, n: int, rng: Generator, levels: int = 32) -> Array:
        """At most `n` factors (m, K) of combinations that training never sees, drawn evenly; none if none is held out.

        Continuous factors take `levels` values, as in :meth:`evaluation`.
        """
        space, found = self.factor_space(), []
        for _ in range(_TRIES):
            points = self._draw_levels(space, max(n, 1_000), rng, levels)
            found.append(points[self.held_out(points)])
            have = sum(map(len, found))
            if have >= n or have == 0:
                break
        return np.concatenate(found)[:n]

    def unseen_rows(self, n: int, rng: Generator) -> NDArray[np.int64]:
        """Row numbers of at most `n` different images that training never sees, for sets with a `count`."""
        order, found = rng.permutation(self._counted()), [np.zeros(0, np.int64)]
        for start in range(0, len(order), 4 * n):
            rows = order[start : start + 4 * n]
            found.append(rows[self.held_out(self.factors_at(rows))])
            if sum(map(len, found)) >= n:
                break
        return np.concatenate(found)[:n]

    def acceptance(self, factors: ArrayLike) -> NDArray[np.float64]:
        """Probability (n,), up to a constant, with which training takes `factors` (n, K): 0 where held out."""
        return 1.0 - self.held_out(factors).astype(np.float64)

    def pairs(self, n: int, rng: Generator, k: int | None = None) -> tuple[Batch, Batch]:
        """`n` pairs of images that differ in exactly `k` factors (weak supervision; REC appendix B.3).

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
        digest = hashlib.sha256(repr((self.count, self.image_shape)).encode())
        digest.update(np.ascontiguousarray(images).data)
        return digest.hexdigest()[:16]

    def channels(self) -> Channels:
        """Constants to standardise the images by: the published ones if there are any, else measured.

        They are measured over all images, or over 20,000 random ones if there are more.

        Example:
            >>> from unweave.data import XYSquares
            >>> XYSquares().channels().mean
            (0.015625, 0.015625, 0.015625)
        """
        return self.measured_channels()

    def measured_channels(self, limit: int | None = _MEASURED) -> Channels:
        """Constants measured on the images: on all of them, or on `limit` random ones if there are more."""
        rng = np.random.default_rng(0)
        total = limit if self.count is None else min(self.count, limit or self.count)
        if total is None:
            raise UnweaveError(f"{self.name} has no last image: set a limit on the images to measure")
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
        """The factor space, or an error if this data set has no known factors."""
        if self.space is None:
            raise UnweaveError(
                f"{self.name} has no known factors: use a data set with factors, or an npz file that has them"
            )
        return self.space

    def _counted(self) -> int:
        if self.count is None:
            raise UnweaveError(
                f"{self.name} has continuous factors and no row numbers: "
                f"ask for images(factors), sample(n, rng) or evaluation(n, rng)"
            )
        return self.count

    def _check_defined(self, method: Callable[..., object], default: Callable[..., object]) -> None:
        """An error if the one of images() and at() from which the other follows is not defined either."""
        if getattr(method, "__func__", None) is default:
            raise UnweaveError(f"{self.name} must define images(factors) or at(index)")

    def _images_of(self, factors: Array, rng: Generator) -> NDArray[Any]:
        """Images of `factors` as training sees them; `rng` draws whatever is not a factor."""
        return self.images(factors)

    def _images_of_rows(self, rows: NDArray[np.int64], rng: Generator) -> NDArray[Any]:
        """Images of rows as training sees them; `rng` draws whatever is not a factor."""
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
            f"{self.name} has too few images that differ in that many factors ({have} of {n} found): choose another k"
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


def check_declared(dataset: Dataset) -> None:
    """Refuse a data set from outside with a sentence that names what it does not declare or what does not fit.

    Example:
        >>> class Empty(Dataset):
        ...     def sample(self, n, rng): ...
        >>> check_declared(Empty())
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: Empty must set image_shape, space, count
    """
    missing = [name for name in ("image_shape", "space", "count") if not hasattr(dataset, name)]
    if missing:
        raise UnweaveError(f"{dataset.name} must set {', '.join(missing)}")
    batch = dataset.sample(2, np.random.default_rng(0))
    if not isinstance(batch, Batch):
        raise UnweaveError(f"sample of {dataset.name} must give a Batch, got {type(batch).__name__}")
    expected = (2, *dataset.image_shape)
    if batch.images.shape != expected or batch.images.dtype not in (np.uint8, np.float32):
        raise UnweaveError(
            f"images of {dataset.name} must be uint8 or float32 of shape (n, {', '.join(map(str, expected[1:]))}), "
            f"got {batch.images.dtype} of shape {batch.images.shape} for n = 2"
        )
    if dataset.space is not None and (
        batch.factors is None or batch.factors.shape != (2, len(dataset.space))
    ):
        raise UnweaveError(f"batches of {dataset.name} must have factors (n, {len(dataset.space)})")
