"""What is done to a picture before a model sees it: turned upright, cropped, resized, made grey or colour."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unweave.data.pictures import fit, opaque
from unweave.errors import UnweaveError
from unweave.runs.weights import DataFacts
from unweave.standardise import Standardised
from unweave.vae import Model

if TYPE_CHECKING:
    from PIL.Image import Image

_DEEP = (np.uint16, np.int32, np.int64)
"""Whole numbers that are taken for 8 bits, if they fit."""


@dataclass(frozen=True)
class Preparation:
    """How any picture becomes an image of the shape that a model takes; the same as its training data were made by.

    Args:
        image_shape: (channels, height, width) of the model's images.
        crop: side of the central square that is cut out first; 0: as large as fits; none: nothing is cut off, a picture
            of another form is squeezed.
        mean: of each channel, which the model itself subtracts; empty: none.
        std: of each channel, by which the model itself divides then; empty: none.
        background: the colour behind transparent parts.

    Example:
        >>> import PIL.Image
        >>> Preparation((1, 8, 8)).picture(PIL.Image.new("RGB", (30, 20), "white")).shape
        (1, 8, 8)
    """

    image_shape: tuple[int, int, int]
    crop: int | None = 0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    background: str = "black"

    @classmethod
    def of(cls, data: DataFacts, model: Model) -> "Preparation":
        """That of a model, which may standardise, and the data that it was trained on."""
        for part in model.modules():
            if isinstance(part, Standardised):
                mean, std = (tuple(values.flatten().tolist()) for values in (part.mean, part.std))
                return cls(data.image_shape, data.crop, mean, std, data.background)
        return cls(data.image_shape, data.crop, background=data.background)

    def __str__(self) -> str:
        channels, height, width = self.image_shape
        crop = {0: "central square", None: "squeezed"}.get(self.crop, f"central {self.crop} pixels")
        kind = {1: "grey", 3: "RGB"}.get(channels, f"{channels} channels")
        scale = f", standardised by {_listed(self.mean)} and {_listed(self.std)}" if self.mean else ""
        return f"{width} x {height} {kind}, {crop}{scale}"

    def picture(self, picture: "Image") -> NDArray[np.uint8]:
        """Pixels (channels, height, width) of a picture of any size and kind."""
        channels, height, width = self.image_shape
        if channels not in (1, 3):
            raise UnweaveError(f"this model takes images of {channels} channels, which pictures do not have")
        if height == width:
            pixels = fit(picture, height, channels, crop=self.crop, background=self.background)
        else:
            pixels = _fit_oblong(
                opaque(picture, channels, self.background), (width, height), channels, self.crop
            )
        return pixels.transpose(2, 0, 1)

    def array(self, images: Any, name: str = "images") -> NDArray[Any]:
        """Images (n, channels, height, width), uint8 or float32 in [0, 1], of arrays or tensors in any usual layout.

        Args:
            images: one image or several: (H, W), (H, W, C), (C, H, W), (n, H, W), (n, H, W, C) or (n, C, H, W); uint8 0
                to 255, bool, or float 0 to 1. Of another size or another number of channels, they must be uint8.
            name: of the argument, for errors.

        Example:
            >>> Preparation((1, 8, 8)).array(np.zeros((5, 8, 8))).shape
            (5, 1, 8, 8)
            >>> Preparation((1, 8, 8)).array(np.zeros((20, 30, 3), np.uint8)).shape
            (1, 1, 8, 8)
        """
        pixels = self._laid_out(_values(images, name), name)
        if pixels.shape[1:] == self.image_shape:
            return pixels
        if pixels.dtype != np.uint8:
            raise UnweaveError(
                f"{name} must be uint8 to be resized, got {pixels.dtype} of shape {pixels.shape} for a model of images "
                f"{self.image_shape}: give them as uint8, or in the model's shape"
            )
        import PIL.Image

        squeezed = pixels.transpose(0, 2, 3, 1)
        flat = squeezed[..., 0] if squeezed.shape[3] == 1 else squeezed
        return np.stack([self.picture(PIL.Image.fromarray(np.ascontiguousarray(each))) for each in flat])

    def _laid_out(self, array: NDArray[Any], name: str) -> NDArray[Any]:
        """(n, C, H, W) of one image or several; where a shape may mean two things, the model's own shape decides."""
        shape, channels = array.shape, self.image_shape[0]
        if array.ndim == 4 and (shape[1:] == self.image_shape or shape[3] not in (1, 3)):
            found = array
        elif array.ndim == 4:
            found = array.transpose(0, 3, 1, 2)
        elif array.ndim == 3 and shape == self.image_shape:
            found = array[None]
        elif array.ndim == 3 and shape[2] in (1, 3) and shape[0] not in (1, 3):
            found = array.transpose(2, 0, 1)[None]
        elif array.ndim == 3 and shape[0] in (1, 3) and shape[1:] == self.image_shape[1:] and channels != 1:
            found = array[None]
        elif array.ndim == 3:
            found = array[:, None]
        else:
            found = array[None, None] if array.ndim == 2 else array
        if found.ndim != 4 or found.shape[1] not in {1, 3, channels} or 0 in found.shape:
            raise UnweaveError(
                f"{name} must be one image or several, (H, W), (H, W, C), (n, H, W), (n, H, W, C) or (n, C, H, W) with "
                f"1 or 3 channels, got shape {shape}"
            )
        return found


def _values(images: Any, name: str) -> NDArray[Any]:
    """An array of uint8 or float32 of anything that is an array; a tensor comes from its device."""
    if hasattr(images, "detach"):
        images = images.detach().cpu().numpy()
    try:
        array = np.asarray(images)
    except ValueError:
        raise UnweaveError(f"{name} must have one shape: resize them, or give a folder of files") from None
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * np.uint8(255)
    if array.dtype in _DEEP and array.size and array.min() >= 0 and array.max() <= 255:
        return array.astype(np.uint8)
    if array.dtype.kind == "f":
        low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
        if not (low >= 0 and high <= 1):
            raise UnweaveError(
                f"float {name} must lie between 0 and 1, got values from {low:g} to {high:g}: divide them by 255, or "
                f"give them as uint8"
            )
        return array.astype(np.float32)
    if array.dtype != np.uint8:
        raise UnweaveError(
            f"{name} must be uint8 (0 to 255), bool or float (0 to 1), got {array.dtype}: use astype"
        )
    return array


def _fit_oblong(
    picture: "Image", size: tuple[int, int], channels: int, crop: int | None
) -> NDArray[np.uint8]:
    """Pixels (height, width, channels) of a picture for a model whose images are not square."""
    import PIL.Image

    if crop is not None:
        scale = min(picture.width / size[0], picture.height / size[1])
        wide, high = max(1, round(size[0] * scale)), max(1, round(size[1] * scale))
        left, top = (picture.width - wide) // 2, (picture.height - high) // 2
        picture = picture.crop((left, top, left + wide, top + high))
    if picture.size != size:
        picture = picture.resize(size, PIL.Image.Resampling.BILINEAR)
    return np.asarray(picture, np.uint8).reshape(size[1], size[0], channels)


def _listed(values: tuple[float, ...]) -> str:
    return "(" + ", ".join(f"{value:.3g}" for value in values) + ")"
