"""What a prior may take from the data before the first step: a sample of images, or all of them."""

from collections.abc import Callable, Iterator
from typing import final

import numpy as np
import torch
from torch import Tensor

from unweave.data import Dataset
from unweave.training.randomness import generator
from unweave.vae import as_tensor

_BLOCK = 1024


@final
class Draws:
    """``draw(n)`` gives ``n`` random images as the networks see them; ``blocks()`` yields every image once.

    ``blocks`` is none where the data have no fixed number of images.

    Args:
        dataset: of the images.
        seed: of the run.
        device: where the images go.
        as_seen: from images in [0, 1] to what networks and loss see.

    Example:
        >>> from unweave.data import Circles, Pinwheel
        >>> draw = Draws(Pinwheel(), seed=0, device=torch.device("cpu"))
        >>> draw(3).shape, sum(len(block) for block in draw.blocks()), Draws(Circles(), 0, draw.device).blocks
        (torch.Size([3, 1, 1, 2]), 400, None)
    """

    def __init__(
        self,
        dataset: Dataset,
        seed: int,
        device: torch.device,
        as_seen: Callable[[Tensor], Tensor] = lambda images: images,
    ) -> None:
        self.dataset, self.seed, self.device, self.as_seen = dataset, seed, device, as_seen
        self.blocks: Callable[[], Iterator[Tensor]] | None = None if dataset.count is None else self._blocks

    def __call__(self, n: int) -> Tensor:
        """``n`` images ``(n, ...)``, the same at every call."""
        images = self.dataset.sample(n, generator(self.seed, "prior")).images
        return self.as_seen(as_tensor(images, self.device))

    def _blocks(self) -> Iterator[Tensor]:
        count = self.dataset.count
        assert count is not None
        for start in range(0, count, _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, count))
            yield self.as_seen(as_tensor(self.dataset.at(rows), self.device))
