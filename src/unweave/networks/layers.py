"""The layers that the image networks share: "same" convolutions, up-convolutions, weights, coordinates.

Each layer computes what the corresponding layer of :mod:`torch.nn` computes and has the same parameters, so weights can
be exchanged with a plain network; only the order of the arithmetic differs, for speed.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unweave.errors import UnweaveError
from unweave.networks import fast
from unweave.networks.shapes import MapShape, require_image_shape, require_positive

Initialisation = Literal["default", "truncated_normal"]


class ImageEncoder(nn.Module):
    """A network (n, C, H, W) -> (n, features).

    Args:
        image_shape: (channels, height, width) of the images.
        features: size of the output.
        sizes: further whole numbers, or lists of them, which must be at least 1.

    Example:
        >>> ImageEncoder((1, 64, 64), 20, hidden=(256,)).features
        20
    """

    def __init__(self, image_shape: MapShape, features: int, **sizes: int | Sequence[int]) -> None:
        super().__init__()
        self.image_shape = require_image_shape("image_shape", image_shape)
        require_positive(features=features, **sizes)
        self.features = features


class ImageDecoder(nn.Module):
    """A network (n, latents) -> (n, C, H, W).

    Args:
        latents: size of the code.
        output_shape: (channels, height, width) of the output.
        sizes: further whole numbers, or lists of them, which must be at least 1.

    Example:
        >>> ImageDecoder(10, (1, 64, 64), hidden=(256,)).latents
        10
    """

    def __init__(self, latents: int, output_shape: MapShape, **sizes: int | Sequence[int]) -> None:
        super().__init__()
        self.output_shape = require_image_shape("output_shape", output_shape)
        require_positive(latents=latents, **sizes)
        self.latents = latents


def coordinates(height: int, width: int) -> Tensor:
    """The coordinate channels x and y in [-1, 1], (2, height, width) (SBD algorithm 1, lines 2-4).

    x runs along the columns and comes first: ``coordinates(h, w)[0, i, j] = -1 + 2 j / (w - 1)``.

    Example:
        >>> coordinates(2, 3)[0].tolist()
        [[-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]]
        >>> coordinates(2, 3)[1].tolist()
        [[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]]
    """
    x, y = torch.linspace(-1, 1, width), torch.linspace(-1, 1, height)
    return torch.stack([x.expand(height, width), y[:, None].expand(height, width)])


def channels_last(images: Tensor) -> Tensor:
    """The same (n, C, H, W) values with the channels innermost in memory; free when they already are.

    A one-channel image is channels-last and contiguous at once; libraries distinguish the two by the stride of the
    channel axis alone, and convolutions are faster if it is that of channels-last. So that stride is set. ONNX knows no
    strides: in its graph this would be a gather of every pixel, a fifth of the encoder's time, and is left out.

    Example:
        >>> channels_last(torch.zeros(2, 1, 4, 4)).stride()
        (16, 1, 4, 1)
    """
    if torch.onnx.is_in_onnx_export():
        return images
    if images.shape[1] != 1:
        return images.contiguous(memory_format=torch.channels_last)
    n, _, height, width = images.shape
    return images.contiguous().as_strided((n, 1, height, width), (height * width, 1, width, 1))


def initialise(network: nn.Module, how: Initialisation) -> None:
    """Set the initial weights of a network: PyTorch's own, or truncated normals with zero biases.

    "truncated_normal" (SBD appendix A): w ~ N(0, 1 / fan_in) cut at two standard deviations, b = 0, where
    fan_in is the number of inputs of a linear layer, and inputs x kernel area of a convolution or
    up-convolution. Also puts the weights of the convolutions in channels-last memory.

    Example:
        >>> layer = nn.Linear(4, 1000)
        >>> initialise(layer, "truncated_normal")
        >>> bool(layer.weight.abs().max() <= 1.0), layer.bias.abs().max().item()
        (True, 0.0)
    """
    if how not in ("default", "truncated_normal"):
        raise UnweaveError(f"initialisation must be default or truncated_normal, got {how!r}")
    if how == "truncated_normal":
        for layer in network.modules():
            if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
                inputs = layer.in_features if isinstance(layer, nn.Linear) else layer.in_channels
                area = 1 if isinstance(layer, nn.Linear) else math.prod(layer.kernel_size)
                deviation = 1 / math.sqrt(inputs * area)
                nn.init.trunc_normal_(layer.weight, 0.0, deviation, -2 * deviation, 2 * deviation)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def linear_stack(widths: Sequence[int]) -> list[nn.Module]:
    """Linear layers of the given widths, a ReLU after each.

    Example:
        >>> linear_stack([10, 256])
        [Linear(in_features=10, out_features=256, bias=True), ReLU(inplace=True)]
    """
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
    return layers


def upconv_or_same(inputs: int, outputs: int, stride: int, kernel: int = 4) -> "Upconv2d | SameConv2d":
    """The layer of a decoder: an up-convolution for stride 2, a "same" convolution for stride 1.

    Example:
        >>> upconv_or_same(64, 32, 2)(torch.zeros(1, 64, 4, 4)).shape
        torch.Size([1, 32, 8, 8])
    """
    return (Upconv2d if stride == 2 else SameConv2d)(inputs, outputs, kernel)


@final
class ChainReLU(nn.Module):
    """ReLU between two layers of a chain: in place in both directions, see :func:`unweave.networks.fast.relu`.

    Example:
        >>> ChainReLU()(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def forward(self, maps: Tensor) -> Tensor:
        """``max(0, maps)``, any shape."""
        return fast.relu(maps) if fast.supports(maps) else maps.relu_()


@final
class Chain(nn.Sequential):
    """Layers in sequence; a ReLU behind an up- or down-convolution is computed together with it.

    Example:
        >>> Chain(Downconv2d(3, 8), ChainReLU())(torch.zeros(2, 3, 8, 8)).shape
        torch.Size([2, 8, 4, 4])
    """

    def forward(self, maps: Tensor) -> Tensor:
        """The output of the last layer."""
        layers = list(self)
        done = False  # whether this layer is a ReLU that the layer before has already computed
        for layer, after in zip(layers, [*layers[1:], None], strict=True):
            if done:
                done = False
            elif isinstance(layer, Downconv2d | Upconv2d):
                done = isinstance(after, ChainReLU)
                maps = layer(maps, relu=done)
            else:
                maps = layer(maps)
        return maps


@final
class SameConv2d(nn.Conv2d):
    """Convolution with stride 1 whose output has the size of its input: TensorFlow's "same" padding.

    An even kernel needs one more zero after than before: k = 4 pads 1 before and 2 after. Only that one extra row and
    column (``extra``) are appended to the input, the convolution pads the rest. Parameters as :class:`torch.nn.Conv2d`.

    Example:
        >>> SameConv2d(3, 8, 4)(torch.zeros(1, 3, 5, 7)).shape
        torch.Size([1, 8, 5, 7])
    """

    bias: Tensor
    padding: tuple[int, ...]

    def __init__(self, inputs: int, outputs: int, kernel: int = 4) -> None:
        super().__init__(inputs, outputs, kernel, padding=(kernel - 1) // 2)
        self.extra = 1 - kernel % 2

    def forward(self, maps: Tensor, appended: bool = False) -> Tensor:
        """(n, inputs, H, W) -> (n, outputs, H, W); ``appended``: the extra zeros are already in the maps."""
        if not appended and fast.thin(maps, self.out_channels):
            return fast.same_conv2d(maps, self.weight, self.bias)
        if self.extra and not appended:
            maps = F.pad(maps, (0, 1, 0, 1))
        return super().forward(maps)


@final
class Downconv2d(nn.Conv2d):
    """Convolution with kernel 4, stride 2 and padding 1: halves even heights and widths.

    Parameters as :class:`torch.nn.Conv2d`; computed by :mod:`unweave.networks.fast` on CPUs.

    Example:
        >>> Downconv2d(3, 32)(torch.zeros(1, 3, 8, 8)).shape
        torch.Size([1, 32, 4, 4])
    """

    bias: Tensor

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, 4, stride=2, padding=1)

    def forward(self, maps: Tensor, relu: bool = False) -> Tensor:
        """(n, inputs, H, W) -> (n, outputs, H / 2, W / 2); ``relu``: followed by a ReLU."""
        if fast.supports(maps):
            return fast.downconv2d(maps, self.weight, self.bias, relu)
        out = super().forward(maps)
        return out.relu_() if relu else out


@final
class Upconv2d(nn.ConvTranspose2d):
    """Transposed convolution with stride 2 and "same" padding: doubles height and width.

    Parameters as :class:`torch.nn.ConvTranspose2d`; computed by :mod:`unweave.networks.fast` on CPUs.

    Example:
        >>> Upconv2d(64, 32)(torch.zeros(1, 64, 4, 4)).shape
        torch.Size([1, 32, 8, 8])
    """

    bias: Tensor
    padding: tuple[int, ...]

    def __init__(self, inputs: int, outputs: int, kernel: int = 4) -> None:
        before = (kernel - 1) // 2
        super().__init__(
            inputs, outputs, kernel, stride=2, padding=before, output_padding=2 - kernel + 2 * before
        )

    def forward(self, maps: Tensor, output_size: list[int] | None = None, relu: bool = False) -> Tensor:
        """(n, inputs, H, W) -> (n, outputs, 2 H, 2 W); ``relu``: followed by a ReLU."""
        if output_size is None and fast.supports(maps):
            return fast.upconv2d(maps, self.weight, self.bias, relu)
        out = super().forward(maps, output_size)
        return out.relu_() if relu else out
