"""Images to codes, block by block."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from unweave.models.code_files import CodeBlock, Columns, code_writer
from unweave.models.images import ImageSource
from unweave.vae import as_tensor

if TYPE_CHECKING:
    from unweave.models.trained import TrainedModel

Tell = Callable[[int, int], None]
"""Called with how many are done, and of how many."""


def silent(done: int, total: int) -> None:
    """Tells nobody.

    Example:
        >>> silent(1, 2)
    """


@dataclass(frozen=True)
class Encoding:
    """The codes of images: ``means``, ``scales`` (deviations) and ``kl`` in nats, ``(n, latents)`` each.

    ``names`` says which image each row is: the name of its file, or its number. ``kl`` is ``(n, 1)``, the whole KL, if
    the model's prior does not factorise over latents. ``factors`` are those of a data set that knows them.

    Example:
        >>> zeros = np.zeros((2, 3), np.float32)
        >>> len(Encoding(np.arange(2), zeros, zeros + 1, zeros, None, Columns(("z0", "z1", "z2"), by_file=False)))
        2
    """

    names: NDArray[np.generic]
    means: NDArray[np.float32]
    scales: NDArray[np.float32]
    kl: NDArray[np.float32]
    factors: NDArray[np.generic] | None
    columns: Columns

    def __len__(self) -> int:
        return len(self.means)

    def save(self, path: str | Path) -> Path:
        """Write the codes as .npz, .csv or .parquet."""
        with code_writer(Path(path), self.columns) as writer:
            names = (
                [str(name) for name in self.names] if self.columns.by_file else self.names.astype(np.int64)
            )
            writer.append(CodeBlock(names, self.means, self.scales, self.kl, self.factors))
        return Path(path)


def code_blocks(model: "TrainedModel", images: ImageSource, tell: Tell = silent) -> Iterator[CodeBlock]:
    """The codes of images, a block at a time.

    Where the KL has no closed form it is estimated from one sample of the posterior, by random numbers of its own that
    are the same each time.

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.models.images import open_images
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> images = open_images(np.zeros((300, 32, 32, 3), np.uint8), model.preparation)
        >>> [len(block.means) for block in code_blocks(model, images)]
        [256, 44]
    """
    done = 0
    for number, block in enumerate(images.blocks()):
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(number)
            found = model.model.measure(as_tensor(block.images, model.model.device), likelihood=False)
        means, scales, kl = (part.cpu().numpy() for part in (found.means, found.scales, found.kl))
        yield CodeBlock(block.names, means, scales, kl, block.factors)
        done += len(means)
        tell(done, images.count)


def encode(model: "TrainedModel", images: ImageSource, tell: Tell = silent) -> Encoding:
    """The codes of all images, in memory.

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.models.images import open_images
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> images = open_images(np.zeros((300, 32, 32, 3), np.uint8), model.preparation)
        >>> encode(model, images).means.shape
        (300, 2)
    """
    blocks = list(code_blocks(model, images, tell))
    means, scales, kl = (np.concatenate([block[k] for block in blocks]) for k in (1, 2, 3))
    names = np.concatenate([np.asarray(block.names) for block in blocks])
    known = [block.factors for block in blocks if block.factors is not None]
    return Encoding(
        names, means, scales, kl, np.concatenate(known) if known else None, _columns(model, images, kl)
    )


def encode_to(model: "TrainedModel", images: ImageSource, path: Path, tell: Tell = silent) -> int:
    """Write the codes of all images to a file, without ever holding more than a block; returns how many there are.

    Example:
        >>> import tempfile
        >>> from unweave.models import TrainedModel
        >>> from unweave.models.images import open_images
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> images = open_images(np.zeros((300, 32, 32, 3), np.uint8), model.preparation)
        >>> encode_to(model, images, Path(tempfile.mkdtemp()) / "codes.csv")
        300
    """
    blocks = code_blocks(model, images, tell)
    first = next(blocks)
    count = 0
    with code_writer(path, _columns(model, images, first.kl)) as writer:
        for block in itertools.chain([first], blocks):
            writer.append(block)
            count += len(block.means)
    return count


def _columns(model: "TrainedModel", images: ImageSource, kl: NDArray[np.float32]) -> Columns:
    whole = kl.shape[1] != model.latents
    return Columns(model.latent_names, images.by_file, images.factor_names, whole)
