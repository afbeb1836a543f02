"""Shapes of networks: which layers halve or double the image, and checks of the sizes that a user gives."""

from collections.abc import Sequence
from numbers import Integral
from typing import NamedTuple

from unweave.errors import UnweaveError

MapShape = tuple[int, int, int]
"""(channels, height, width)."""


class ConvShape(NamedTuple):
    """One convolution of a network: the channels that enter and leave it, and its stride (of an up-convolution: 2).

    Example:
        >>> ConvShape(3, 32, 2).outputs
        32
    """

    inputs: int
    outputs: int
    stride: int


class ImageSizeError(UnweaveError):
    """Images of a size that a network does not take; ``side`` is one, for square images, that it takes.

    Example:
        >>> ImageSizeError("30 x 30 does not fit", 32).side
        32
    """

    def __init__(self, sentence: str, side: int) -> None:
        super().__init__(sentence)
        self.side = side


def require_positive(**sizes: int | Sequence[int]) -> None:
    """Raise an :class:`UnweaveError` for the first argument that is not a positive whole number (or several).

    Example:
        >>> require_positive(latents=0)
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: latents must be a whole number of at least 1, got 0
    """
    for name, given in sizes.items():
        many = isinstance(given, Sequence)
        numbers: Sequence[object] = given if isinstance(given, Sequence) else [given]
        for size in numbers:
            if isinstance(size, bool) or not isinstance(size, Integral) or int(size) < 1:
                expected = "whole numbers" if many else "a whole number"
                raise UnweaveError(f"{name} must be {expected} of at least 1, got {given}")


def require_image_shape(name: str, shape: Sequence[int]) -> MapShape:
    """The shape as (channels, height, width), or an :class:`UnweaveError` that names the expected form.

    Example:
        >>> require_image_shape("image_shape", [1, 64, 64])
        (1, 64, 64)
    """
    if len(shape) != 3:
        raise UnweaveError(f"{name} must be (channels, height, width), got {tuple(shape)}")
    require_positive(**{name: tuple(shape)})
    channels, height, width = shape
    return channels, height, width


def strides(height: int, width: int, layers: int) -> list[int]:
    """The stride of each of an encoder's layers: 2 while height and width are even, then 1.

    At least two layers (or all, if there are fewer) must be able to halve the image, otherwise the linear layer behind
    them becomes huge and the receptive field tiny: that is an error.

    Example:
        >>> strides(64, 64, 4), strides(28, 28, 4)
        ([2, 2, 2, 2], [2, 2, 1, 1])
        >>> strides(30, 30, 4)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.networks.shapes.ImageSizeError: image size 30 x 30 does not fit a convolutional network: ...
    """
    need = 2 ** min(2, layers)
    if height % need or width % need:
        down = [max(need, side // need * need) for side in (height, width)]
        up = [-(-side // need) * need for side in (height, width)]
        examples = " or ".join(dict.fromkeys(f"{h} x {w}" for h, w in (down, up)))
        raise ImageSizeError(
            f"image size {height} x {width} does not fit a convolutional network: "
            f"height and width must be multiples of {need}, for example {examples}",
            max(up),
        )
    chosen = []
    for _ in range(layers):
        stride = 2 if height % 2 == 0 and width % 2 == 0 else 1
        height, width = height // stride, width // stride
        chosen.append(stride)
    return chosen


def encoder_layers(
    image_shape: MapShape, channels: Sequence[int], halvings: Sequence[int] | None = None
) -> tuple[list[ConvShape], MapShape]:
    """The convolutions of an encoder, and the shape of the maps behind the last of them.

    Args:
        image_shape: (channels, height, width) of the images.
        channels: output channels of each convolution, from the image on.
        halvings: stride of each convolution; none: :func:`strides`.

    Example:
        >>> encoder_layers((1, 28, 28), (32, 64, 64))[0]
        [ConvShape(inputs=1, outputs=32, stride=2), ConvShape(inputs=32, outputs=64, stride=2), \
ConvShape(inputs=64, outputs=64, stride=1)]
        >>> encoder_layers((1, 28, 28), (32, 64, 64))[1]
        (64, 7, 7)
    """
    inputs, height, width = image_shape
    steps = _checked_strides(height, width, channels, halvings)
    layers = [ConvShape(*each) for each in zip((inputs, *channels[:-1]), channels, steps, strict=True)]
    shrink = 2 ** steps.count(2)
    return layers, (channels[-1], height // shrink, width // shrink)


def decoder_layers(
    output_shape: MapShape, channels: Sequence[int], halvings: Sequence[int] | None = None
) -> tuple[MapShape, list[ConvShape]]:
    """The shape of the maps before the first up-convolution of a decoder, and its up-convolutions.

    The strides are those of the encoder of such images, in reverse.

    Args:
        output_shape: (channels, height, width) of the images.
        channels: channels that enter each up-convolution.
        halvings: strides of the encoder, from the image on; none: :func:`strides`.

    Example:
        >>> decoder_layers((1, 28, 28), (64, 64, 32))[0]
        (64, 7, 7)
    """
    outputs, height, width = output_shape
    steps = _checked_strides(height, width, channels, halvings)[::-1]
    shrink = 2 ** steps.count(2)
    layers = [ConvShape(*each) for each in zip(channels, (*channels[1:], outputs), steps, strict=True)]
    return (channels[0], height // shrink, width // shrink), layers


def _checked_strides(
    height: int, width: int, channels: Sequence[int], halvings: Sequence[int] | None
) -> list[int]:
    if not channels:
        raise UnweaveError("channels must name at least one convolution, got none")
    if halvings is None:
        return strides(height, width, len(channels))
    if len(halvings) != len(channels) or any(step not in (1, 2) for step in halvings):
        raise UnweaveError(
            f"halvings must be {len(channels)} numbers, 1 or 2, one for each of channels, got {list(halvings)}"
        )
    shrink = 2 ** list(halvings).count(2)
    if height % shrink or width % shrink:
        raise ImageSizeError(
            f"an image of {height} x {width} cannot be halved {list(halvings).count(2)} times",
            -(-max(height, width) // shrink) * shrink,
        )
    return list(halvings)
