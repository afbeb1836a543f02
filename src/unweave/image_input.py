"""Images from anybody's hands as the tensor that a model takes."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from unweave.errors import UnweaveError

SLACK = 0.01
"""How far float images may lie outside [0, 1]: filters of resized images overshoot."""


def image_input(images: Any, image_shape: tuple[int, int, int], device: torch.device | str = "cpu") -> Tensor:
    """Images as float32 in [0, 1], ``(n, *image_shape)``, on a device; or one sentence about what is wrong with them.

    Args:
        images: an array, a tensor on any device, or what numpy makes an array of; one image or several, channels first
            or last, without the axis of channels if there is one channel; uint8 0 to 255, bool, or float 0 to 1.
        image_shape: (channels, height, width) of the model.
        device: of the result.

    Example:
        >>> image_input(np.full((2, 8, 8, 3), 255, np.uint8), (3, 8, 8)).shape
        torch.Size([2, 3, 8, 8])
        >>> image_input(torch.zeros(8, 8), (1, 8, 8)).shape
        torch.Size([1, 1, 8, 8])
        >>> image_input(np.zeros((2, 9, 9)), (1, 8, 8))
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: images must be (n, 1, 8, 8), (n, 8, 8, 1) or (n, 8, 8), got (2, 9, 9)
    """
    tensor = _tensor(images)
    laid = _channels_first(tensor, image_shape).to(device)
    if laid.dtype == torch.uint8:
        return laid.float().div_(255)
    laid = laid.float()
    low, high = (float(laid.min()), float(laid.max())) if laid.numel() else (0.0, 0.0)
    if not (low >= -SLACK and high <= 1 + SLACK):
        raise UnweaveError(
            f"float images must lie between 0 and 1, got values from {low:g} to {high:g}: rescale them, or give uint8"
        )
    return laid


def _tensor(images: Any) -> Tensor:
    if isinstance(images, Tensor):
        tensor = images.detach()
    else:
        try:
            array = np.asarray(images)
            tensor = torch.from_numpy(array if array.flags.writeable else array.copy())
        except (TypeError, ValueError) as error:
            raise UnweaveError(
                f"images must be an array of numbers, got {type(images).__name__} ({error})"
            ) from None
    if tensor.dtype != torch.uint8 and not tensor.is_floating_point() and tensor.dtype != torch.bool:
        raise UnweaveError(f"images must be uint8 (0 to 255), bool or float (0 to 1), got {tensor.dtype}")
    return tensor


def _channels_first(tensor: Tensor, image_shape: tuple[int, int, int]) -> Tensor:
    channels, height, width = image_shape
    shape = tuple(tensor.shape)
    if shape[-3:] == image_shape and len(shape) in (3, 4):
        return tensor.reshape(-1, *image_shape) if len(shape) == 3 else tensor
    if shape[-3:] == (height, width, channels) and len(shape) in (3, 4):
        return (tensor[None] if len(shape) == 3 else tensor).permute(0, 3, 1, 2)
    if channels == 1 and shape[-2:] == (height, width) and len(shape) in (2, 3):
        return tensor.reshape(-1, *image_shape)
    flat = f" or (n, {height}, {width})" if channels == 1 else ""
    forms = (
        f"(n, {channels}, {height}, {width}){',' if flat else ' or'} (n, {height}, {width}, {channels}){flat}"
    )
    raise UnweaveError(f"images must be {forms}, got {shape}")
