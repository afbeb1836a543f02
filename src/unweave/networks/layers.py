"""The layers that the image networks share: "same" convolutions, thin up-convolutions, weights, coordinates.

Everything here computes what the layer of the same name in :mod:`torch.nn` computes and has the same parameters,
so weights can be exchanged with a plain network; only the order of the arithmetic is chosen for speed.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from unweave.errors import UnweaveError

Initialisation = Literal["default", "truncated_normal"]

#: Up-convolutions with at most this many output channels go through :class:`ThinConvTranspose2d`'s own product.
THIN = 4


def coordinates(height: int, width: int) -> Tensor:
    """The two coordinate channels x and y in [-1, 1] of Spatial Broadcast (SBD algorithm 1, lines 2-4), (2, height, width).

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

    A one-channel image is channels-last and contiguous at once; libraries tell the two apart by the stride of the
    channel axis alone, and the convolutions are ten times faster if it says channels-last. So that stride is set.

    Example:
        >>> channels_last(torch.zeros(2, 1, 4, 4)).stride()
        (16, 1, 4, 1)
    """
    if images.shape[1] != 1:
        return images.contiguous(memory_format=torch.channels_last)
    n, _, height, width = images.shape
    return images.contiguous().as_strided((n, 1, height, width), (height * width, 1, width, 1))


def initialise(network: nn.Module, how: Initialisation) -> None:
    """Set the weights of a network: leave PyTorch's own, or draw truncated normals with zero biases.

    "truncated_normal" (SBD appendix A): w ~ N(0, 1 / fan_in) cut at two standard deviations, b = 0, where fan_in is
    the number of inputs of a linear layer, and inputs x kernel area of a convolution or up-convolution.
    Also puts the weights of the convolutions in channels-last memory.

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
    network.to(memory_format=torch.channels_last)


def linear_stack(widths: Sequence[int]) -> list[nn.Module]:
    """Linear layers of the given widths, a ReLU after each.

    Example:
        >>> linear_stack([10, 256])
        [Linear(in_features=10, out_features=256, bias=True), ReLU(inplace=True)]
    """
    layers: list[nn.Module] = []
    for inputs, outputs in zip(widths[:-1], widths[1:], strict=True):
        layers += [nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
    return layers


def require_positive(**sizes: int | Sequence[int]) -> None:
    """Raise an :class:`UnweaveError` that names the first argument that is not a positive whole number (or several).

    Example:
        >>> require_positive(latents=0)
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: latents must be a whole number of at least 1, got 0
    """
    for name, given in sizes.items():
        many = isinstance(given, Sequence)
        for size in cast(Sequence[int], given) if many else [given]:
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise UnweaveError(f"{name} must be {'whole numbers' if many else 'a whole number'} of at least 1, got {given}")


def require_image_shape(name: str, shape: Sequence[int]) -> tuple[int, int, int]:
    """The shape as (channels, height, width), or an :class:`UnweaveError` that says what it should be.

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
        >>> strides(30, 30, 4)
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: image size 30 x 30 does not fit a convolutional network: height and width must be multiples of 4, for example 28 x 28 or 32 x 32
    """
    need = 2 ** min(2, layers)
    if height % need or width % need:
        down = [max(need, side // need * need) for side in (height, width)]
        up = [-(-side // need) * need for side in (height, width)]
        examples = " or ".join(dict.fromkeys(f"{h} x {w}" for h, w in (down, up)))
        raise UnweaveError(
            f"image size {height} x {width} does not fit a convolutional network: "
            f"height and width must be multiples of {need}, for example {examples}"
        )
    chosen = []
    for _ in range(layers):
        stride = 2 if height % 2 == 0 and width % 2 == 0 else 1
        height, width = height // stride, width // stride
        chosen.append(stride)
    return chosen


class SameConv2d(nn.Conv2d):
    """Convolution with stride 1 whose output has the size of its input, zeros outside, as TensorFlow's "same".

    An even kernel needs one more zero after than before: k = 4 pads 1 before and 2 after. Only that one extra row and
    column are really appended, the rest is left to the convolution.

    Example:
        >>> SameConv2d(3, 8, 4)(torch.zeros(1, 3, 5, 7)).shape
        torch.Size([1, 8, 5, 7])
    """

    def __init__(self, inputs: int, outputs: int, kernel: int = 4) -> None:
        super().__init__(inputs, outputs, kernel, padding=(kernel - 1) // 2)
        self.extra = 1 - kernel % 2

    def forward(self, maps: Tensor) -> Tensor:
        """(n, inputs, H, W) -> (n, outputs, H, W)."""
        if self.extra:
            maps = F.pad(maps, (0, 1, 0, 1))
        return super().forward(maps)


def upconv(inputs: int, outputs: int, kernel: int = 4) -> nn.ConvTranspose2d:
    """The layer that doubles height and width: transposed convolution with stride 2, "same" padding.

    Example:
        >>> upconv(64, 32)(torch.zeros(1, 64, 4, 4)).shape
        torch.Size([1, 32, 8, 8])
    """
    padding = (kernel - 1) // 2
    return ThinConvTranspose2d(
        inputs, outputs, kernel, stride=2, padding=padding, output_padding=2 - kernel + 2 * padding
    )


class ThinConvTranspose2d(nn.ConvTranspose2d):
    """:class:`torch.nn.ConvTranspose2d`, faster on CPUs where it has few output channels.

    A transposed convolution is one matrix product, ``columns = weight^T x``, (out * k * k) numbers for every input
    pixel, and a fold that adds overlapping patches. With 1 to 4 output channels the library's own forward pass leaves
    most of a vector register empty and takes three times as long as product and fold; its backward pass does not, so
    that stays the library's. Parameters and ``state_dict`` are those of the plain layer; values agree to rounding.

    Example:
        >>> layer = ThinConvTranspose2d(32, 1, 4, stride=2, padding=1)
        >>> layer(torch.zeros(2, 32, 8, 8)).shape
        torch.Size([2, 1, 16, 16])
    """

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """(n, inputs, H, W) -> (n, outputs, stride * H, stride * W)."""
        pays = (
            self.out_channels <= THIN
            and input.device.type == "cpu"
            and input.dtype == self.weight.dtype == torch.float32
            and output_size is None
            and self.groups == 1
            and self.dilation == (1, 1)
            and self.bias is not None
            and not torch.compiler.is_compiling()
        )
        if not pays:
            return super().forward(input, output_size)
        options = (self.stride, self.padding, self.output_padding)
        return cast(Tensor, _ProductAndFold.apply(input, self.weight, self.bias, options))


class _ProductAndFold(torch.autograd.Function):
    """Forward by matrix product and fold, backward by the library's kernel."""

    generate_vmap_rule = True

    @staticmethod
    def forward(maps: Tensor, weight: Tensor, bias: Tensor, options: tuple[Any, Any, Any]) -> Tensor:
        (down, right), (top, left), (bottom, end) = options
        n, inputs, height, width = maps.shape
        _, outputs, *kernel = weight.shape
        size = (
            (height - 1) * down - 2 * top + kernel[0] + bottom,
            (width - 1) * right - 2 * left + kernel[1] + end,
        )
        columns = weight.reshape(inputs, -1).t() @ maps.reshape(n, inputs, height * width)
        images = F.fold(columns, size, kernel, padding=(top, left), stride=(down, right))
        return images.add_(bias[:, None, None])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        maps, weight, _, ctx.options = inputs
        ctx.save_for_backward(maps, weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        maps, weight = ctx.saved_tensors
        stride, padding, output_padding = ctx.options
        wanted = list(ctx.needs_input_grad[:3])
        gradients = torch.ops.aten.convolution_backward(
            gradient, maps, weight, [weight.shape[1]], stride, padding, [1, 1], True, output_padding, 1, wanted
        )
        return (*gradients, None)
