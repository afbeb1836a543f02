"""From one image to another along a straight line between their codes."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unweave import plots
from unweave.errors import UnweaveError
from unweave.plots.images import as_rgb

if TYPE_CHECKING:
    from unweave.models.encode import Tell
    from unweave.models.trained import TrainedModel


@dataclass(frozen=True)
class Interpolation:
    """Codes ``(steps, latents)`` on the line and their images; ``ends`` are the two images that were given.

    Example:
        >>> ends, images = np.zeros((2, 1, 8, 8), np.uint8), np.zeros((5, 1, 8, 8), np.float32)
        >>> Interpolation(ends, np.zeros((5, 2), np.float32), images).figure().axes[0].texts[1].get_text()
        '0'
    """

    ends: NDArray[Any]
    codes: NDArray[np.float32]
    images: NDArray[np.float32]

    def figure(self) -> Any:
        """The two images at the ends, what the model makes of the way between them in the middle."""
        rgb = np.moveaxis(
            np.concatenate([as_rgb(self.ends[:1]), as_rgb(self.images), as_rgb(self.ends[1:])]), -1, -3
        )
        shares = [f"{share:.2g}" for share in np.linspace(0, 1, len(self.images))]
        return plots.image_grid(
            rgb[None], column_labels=["A", *shares, "B"], column_title="share of B in the code"
        )

    def save(self, path: Path) -> Path:
        """The row of images as png, svg or pdf."""
        return plots.save(self.figure(), path)


def interpolate(
    model: "TrainedModel", one: Any, other: Any, *, steps: int = 9, tell: "Tell | None" = None
) -> Interpolation:
    """``E[x | (1 - t) z_A + t z_B]`` for ``t`` from 0 to 1, with the mean codes ``z_A`` and ``z_B`` of two images.

    Args:
        model: of which.
        one: image A, as :meth:`TrainedModel.encode` takes it.
        other: image B.
        steps: number of images, both ends included.
        tell: called with how many are done, and of how many.

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> black, white = np.zeros((32, 32, 3), np.uint8), np.full((32, 32, 3), 255, np.uint8)
        >>> interpolate(model, black, white, steps=5).images.shape
        (5, 3, 32, 32)
    """
    if steps < 2:
        raise UnweaveError(f"an interpolation needs at least 2 steps, got {steps}")
    ends = np.concatenate([model.images(image).all().images for image in (one, other)])
    if len(ends) != 2:
        raise UnweaveError(f"an interpolation needs two images, got {len(ends)}")
    first, last = model.encode(ends).means
    share = np.linspace(0, 1, steps, dtype=np.float32)[:, None]
    codes = (1 - share) * first + share * last
    return Interpolation(ends, codes, model.decode(codes, tell=tell))
