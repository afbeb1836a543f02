"""The images whose codes are nearest to that of a given one."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unweave import plots
from unweave.errors import UnweaveError
from unweave.models.encode import Tell, code_blocks, silent
from unweave.models.images import ImageBlock, ImageSource
from unweave.plots.images import as_rgb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unweave.models.trained import TrainedModel


@dataclass(frozen=True)
class Neighbours:
    """The nearest images, nearest first: what they are called, how far their codes are, and the images themselves.

    Example:
        >>> image = np.zeros((1, 8, 8), np.uint8)
        >>> Neighbours(image, ("a.png",), np.array([0.5]), image[None]).rows()
        [['image', 'distance'], ['a.png', '0.500']]
    """

    image: NDArray[Any]
    names: tuple[str, ...]
    distances: NDArray[np.float64]
    images: NDArray[Any]

    def rows(self) -> list[list[str]]:
        """A table with a line for each."""
        found = zip(self.names, self.distances, strict=True)
        return [["image", "distance"], *([name, f"{distance:.3f}"] for name, distance in found)]

    def save(self, path: Path) -> Path:
        """The image and its neighbours with their distances as png, svg or pdf."""
        both = np.moveaxis(np.concatenate([as_rgb(self.image)[None], as_rgb(self.images)]), -1, -3)
        labels = ["the image", *(f"{distance:.2f}" for distance in self.distances)]
        return plots.save(
            plots.image_grid(both[None], column_labels=labels, column_title="distance of the codes"), path
        )


class _Watched(ImageSource):
    """A source that keeps the block which is being encoded: the images of those found need not be read twice."""

    def __init__(self, inner: ImageSource) -> None:
        self.inner, self.count, self.by_file = inner, inner.count, inner.by_file
        self.present: ImageBlock | None = None

    def blocks(self, size: int = 256) -> "Iterator[ImageBlock]":
        for block in self.inner.blocks(size):
            self.present = block
            yield block


def neighbours(
    model: "TrainedModel", image: Any, among: ImageSource, *, k: int = 12, tell: Tell = silent
) -> Neighbours:
    """The ``k`` images among others for which ``||z - z'||``, the distance of the mean codes, is smallest.

    The others are read once, block by block; no more than a block and the ``k`` nearest so far are in memory.

    Args:
        model: of which.
        image: one, as :meth:`TrainedModel.encode` takes it.
        among: the others, from :meth:`TrainedModel.images`.
        k: how many.
        tell: called with how many are done, and of how many.

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> others = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3)).astype(np.uint8)
        >>> found = neighbours(model, others[7], model.images(others), k=3)
        >>> found.names[0], found.distances[0] < 1e-6
        ('7', np.True_)
    """
    if k < 1:
        raise UnweaveError(f"the number of neighbours must be at least 1, got {k}")
    [given] = model.images(image).all().images[:1]
    code = model.code(given[None]).astype(np.float64)
    watched = _Watched(among)
    names: list[str] = []
    distances, images = np.zeros(0), np.zeros((0, *model.image_shape), np.float32)
    for block in code_blocks(model, watched, tell):
        assert watched.present is not None
        here = np.sqrt(np.square(block.means.astype(np.float64) - code).sum(1))
        near = np.argsort(here, kind="stable")[:k]
        pixels = watched.present.images[near]
        pixels = pixels.astype(np.float32) / 255 if pixels.dtype == np.uint8 else pixels
        distances, images = np.concatenate([distances, here[near]]), np.concatenate([images, pixels])
        names += [str(block.names[j]) for j in near]
        best = np.argsort(distances, kind="stable")[:k]
        names, distances, images = [names[j] for j in best], distances[best], images[best]
    return Neighbours(given, tuple(names), distances, images)
