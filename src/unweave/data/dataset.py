"""What every dataset offers: images from factors, from row numbers, and whole batches of training data."""

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from unweave.data.space import Array, FactorSpace
from unweave.errors import UnweaveError


@dataclass(frozen=True)
class Batch:
    """Images (n, channels, height, width) and the factors (n, K) they were made from, if known.

    Example:
        >>> Batch(np.zeros((2, 1, 8, 8), np.uint8), None).images.shape
        (2, 1, 8, 8)
    """

    images: NDArray[Any]
    factors: Array | None


class Dataset(ABC):
    """Images with or without known factors; hands out whole batches, never single items.

    Images have shape (n, channels, height, width), uint8 0..255 or float32 0..1, and lie in memory
    channels-last, so that torch takes them as ``channels_last`` without a copy.

    Attributes:
        description: one line for listings.
        image_shape: (channels, height, width).
        space: the factors, or None if none are known.
        count: number of images, or None if the factors are continuous.

    Example:
        >>> from unweave.data import XYSquares
        >>> batch = XYSquares().sample(5, np.random.default_rng(0))
        >>> batch.images.shape, batch.factors.shape
        ((5, 3, 64, 64), (5, 6))
    """

    description: ClassVar[str]
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
        points = self._draw_levels(space, n, rng, levels)
        while (redo := self.held_out(points)).any():
            points[redo] = self._draw_levels(space, int(redo.sum()), rng, levels)
        return points

    def factor_space(self) -> FactorSpace:
        """The factor space, or an error if this dataset has no known factors."""
        if self.space is None:
            raise UnweaveError(
                f"{self.name} has no known factors: use a dataset with factors, or an npz that has them"
            )
        return self.space

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
