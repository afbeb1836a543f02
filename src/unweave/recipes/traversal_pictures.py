"""Images that the recipes of several papers show: sweeps of single latents, sheets side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.plots.traversals import traversal_codes
from unweave.vae import Model


def decoded_traversals(
    model: Model, center: ArrayLike, latents: Sequence[int], *, columns: int
) -> NDArray[np.float32]:
    """Decoded images (len(latents), columns, C, H, W): one latent swept over the model's span, the others held.

    Args:
        model: that decodes.
        center: (latents,) the code around which is swept.
        latents: which are swept, a row each.
        columns: number of values of a sweep.

    Example:
        >>> from unweave.vae import VAE
        >>> vae = VAE.assemble((1, 16, 16), 3, encoder="MLP", decoder="MLP")
        >>> decoded_traversals(vae, np.zeros(3), [2, 0], columns=5).shape
        (2, 5, 1, 16, 16)
    """
    low, high = model.span
    codes = traversal_codes(center, latents, low=low, high=high, steps=columns)
    images = model.decode_mean(codes.reshape(-1, codes.shape[-1]))
    return images.reshape(*codes.shape[:2], *images.shape[1:])


def in_unit_interval(images: NDArray[Any]) -> NDArray[np.float64]:
    """Images with values from 0 to 1, whether they were bytes or already floats.

    Example:
        >>> in_unit_interval(np.array([0, 255], np.uint8)).tolist(), in_unit_interval(np.array([0.5])).tolist()
        ([0.0, 1.0], [0.5])
    """
    return np.asarray(images, np.float64) / (255 if images.dtype == np.uint8 else 1)


def side_by_side(blocks: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Blocks of images (rows, columns, C, H, W) as one, a white column between each two.

    Example:
        >>> side_by_side([np.zeros((2, 3, 1, 8, 8)), np.zeros((2, 4, 1, 8, 8))]).shape
        (2, 8, 1, 8, 8)
    """
    gap = np.ones((len(blocks[0]), 1, *blocks[0].shape[2:]))
    return np.concatenate([part for block in blocks for part in (gap, block)][1:], axis=1)
