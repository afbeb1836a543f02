"""What a model makes of images, beside them."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from unweave.models.encode import Tell
    from unweave.models.images import ImageSource
    from unweave.models.trained import TrainedModel

Floats = NDArray[np.float32]


def sheet(
    model: "TrainedModel", images: "ImageSource", most: int, tell: "Tell | None" = None
) -> tuple[Floats, Floats]:
    """The first images of a source and what a model makes of them, both in [0, 1].

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> originals, made = sheet(model, model.images(np.zeros((3, 32, 32, 3), np.uint8)), 2)
        >>> originals.shape == made.shape == (2, 3, 32, 32)
        True
    """
    originals = next(images.blocks(most)).images
    shown = originals.astype(np.float32) / 255 if originals.dtype == np.uint8 else originals
    return np.asarray(shown, np.float32), model.reconstruct(originals, tell=tell)
