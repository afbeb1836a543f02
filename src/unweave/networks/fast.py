"""The convolutions of image networks: the results of PyTorch, computed faster on CPUs.

*Thin outputs.* The last layer of a decoder turns 32 or 64 feature maps into 1 or 3 colours. PyTorch's convolutions fill
their vector registers with output channels, so such a layer leaves most of each register empty and takes as long as the
wide layers before it. As one matrix product it does not: every input pixel is multiplied by the k x k x colours numbers
of its kernel column, and the products are added to the output pixels they belong to. The sums run along image rows,
which fill registers whatever the number of colours.

*Gradients of up-convolutions.* The gradient of a transposed convolution with respect to its input is a convolution, and
with respect to its weight it is the weight gradient of that convolution with the roles of input and output exchanged.
PyTorch has both but takes twice as long when the gradient of the bias is wanted too.

*ReLU together with the layer before it.* One operation of the graph instead of two: less overhead in both directions,
and the gradient is masked in place.

All values and gradients agree with :func:`torch.nn.functional.conv2d` and ``conv_transpose2d`` to rounding.
"""

from typing import Any, final

import torch
from torch import Tensor
from torch.nn import functional as F

#: With at most this many output channels a layer is thin.
THIN = 4


def thin(maps: Tensor, outputs: int) -> bool:
    """Whether a layer with this input and number of output channels is faster here than in PyTorch.

    Example:
        >>> thin(torch.zeros(1, 64, 8, 8), outputs=3), thin(torch.zeros(1, 64, 8, 8), outputs=64)
        (True, False)
    """
    return outputs <= THIN and supports(maps)


def supports(maps: Tensor) -> bool:
    """Whether the functions of this module can be used for these maps: on a CPU, and not in a graph for export.

    Example:
        >>> supports(torch.zeros(1, 64, 8, 8))
        True
    """
    exporting = torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None
    return maps.device.type == "cpu" and not exporting


def same_conv2d(maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The "same" convolution with stride 1 and kernel k.

    ``out[c, i] = bias[c] + sum_d,r weight[c, d, r] maps[d, i - before + r]`` with before = (k - 1) // 2.

    Shapes: maps (n, D, H, W), weight (C, D, k, k), bias (C,) -> (n, C, H, W). ``i`` and ``r``
    are pairs, for the two axes.

    Example:
        >>> same_conv2d(torch.ones(1, 8, 5, 5), torch.ones(1, 8, 3, 3), torch.zeros(1))[0, 0, :2, :2].tolist()
        [[32.0, 48.0], [48.0, 72.0]]
    """
    return _apply(_SameConv, maps, weight, bias)


def downconv2d(maps: Tensor, weight: Tensor, bias: Tensor, relu: bool = False) -> Tensor:
    """The convolution with stride 2 that halves height and width, both even.

    ``out[c, i] = bias[c] + sum_d,r weight[c, d, r] maps[d, 2 i - before + r]`` with before = (k - 1) // 2.

    Shapes: maps (n, D, H, W), weight (C, D, k, k), bias (C,) -> (n, C, H / 2, W / 2). With ``relu``,
    ``max(0, out)``: then, as in :func:`relu`, nothing else may use the incoming gradient.

    Example:
        >>> downconv2d(torch.ones(1, 8, 4, 4), torch.ones(1, 8, 4, 4), torch.zeros(1))[0, 0].tolist()
        [[72.0, 72.0], [72.0, 72.0]]
    """
    return _apply(_Downconv, maps, weight, bias, relu)


def upconv2d(maps: Tensor, weight: Tensor, bias: Tensor, relu: bool = False) -> Tensor:
    """The transposed convolution with stride 2 that doubles height and width, for kernels of size 2 and more.

    ``out[c, o] = bias[c] + sum_d,i weight[d, c, o + before - 2 i] maps[d, i]`` with before = (k - 1) // 2.

    Shapes: maps (n, D, H, W), weight (D, C, k, k), bias (C,) -> (n, C, 2 H, 2 W). With ``relu``, ``max(0, out)``:
    then, as in :func:`relu`, nothing else may use the incoming gradient.

    Example:
        >>> upconv2d(torch.ones(1, 8, 2, 2), torch.ones(8, 1, 4, 4), torch.zeros(1))[0, 0, 0].tolist()
        [8.0, 16.0, 16.0, 8.0]
    """
    return _apply(_Upconv, maps, weight, bias, relu)


def relu(maps: Tensor) -> Tensor:
    """``max(0, maps)``, written into ``maps``; its gradient is written into the incoming gradient.

    For a layer between two others of a chain, where nothing else uses either: feature maps are larger than the cache,
    so that a new tensor for each costs more than the arithmetic.

    Example:
        >>> weight = torch.tensor([1.0, -1.0], requires_grad=True)
        >>> relu(weight * 2).sum().backward()
        >>> weight.grad
        tensor([2., 0.])
    """
    return _apply(_Relu, maps)


def _apply(function: type[torch.autograd.Function], *inputs: Any) -> Tensor:
    value: Tensor = function.apply(*inputs)
    return value


def _products(maps: Tensor, kernels: Tensor) -> Tensor:
    """(n, D, H, W) maps and (k, k, C, D) kernels -> (k, k, C, n, H, W): the product of each pixel and each tap."""
    n, inputs, height, width = maps.shape
    pixels = maps.permute(0, 2, 3, 1).reshape(-1, inputs)
    return (kernels.reshape(-1, inputs) @ pixels.t()).view(*kernels.shape[:3], n, height, width)


def _add_shifted(total: Tensor, part: Tensor, shift: int, axis: int) -> None:
    """total[i] += part[i + shift] along an axis, zeros outside."""
    length = max(0, total.shape[axis] - abs(shift))
    total.narrow(axis, max(0, -shift), length).add_(part.narrow(axis, max(0, shift), length))


def _masked(gradient: Tensor, output: Tensor) -> Tensor:
    """The gradient of a ReLU with this output; written over the incoming gradient where that is possible."""
    whole = gradient.is_contiguous() or gradient.is_contiguous(memory_format=torch.channels_last)
    if torch.is_grad_enabled() or not whole:  # a second derivative is wanted, or the gradient is expanded
        return gradient * (output > 0)
    masked: Tensor = torch.ops.aten.threshold_backward(gradient, output, 0, grad_input=gradient)
    return masked


@final
class _Relu(torch.autograd.Function):
    @staticmethod
    def forward(maps: Tensor) -> Tensor:
        return maps.relu_()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.mark_dirty(inputs[0])
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        [output] = ctx.saved_tensors
        return _masked(gradient, output)


@final
class _SameConv(torch.autograd.Function):
    @staticmethod
    def forward(maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        kernel = weight.shape[-1]
        before = (kernel - 1) // 2
        sums = _products(maps, weight.permute(2, 3, 0, 1))
        for axis in (-2, -1):
            for tap in range(kernel):
                if tap != before and abs(tap - before) < sums.shape[axis]:
                    _add_shifted(sums[before], sums[tap], tap - before, axis)
            sums = sums[before]
        images = sums.transpose(0, 1).clone(memory_format=torch.channels_last)
        return images.add_(bias[:, None, None])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        maps, weight = ctx.saved_tensors
        outputs, inputs, kernel, _ = weight.shape
        n, _, height, width = maps.shape
        before = (kernel - 1) // 2
        # patches[r, s, c, n, i, j] = gradient[n, c, i + before - r, j + before - s]: what the taps of a
        # pixel receive.
        patches = gradient.transpose(0, 1)
        for axis in (-1, -2):
            shifted = patches.new_zeros(kernel, *patches.shape)
            for tap in range(kernel):
                if abs(before - tap) < patches.shape[axis]:
                    _add_shifted(shifted[tap], patches, before - tap, axis)
            patches = shifted
        patches = patches.reshape(kernel * kernel * outputs, n * height * width)
        kernels = weight.permute(2, 3, 0, 1).reshape(-1, inputs)
        pixels = maps.permute(0, 2, 3, 1).reshape(-1, inputs)
        to_maps = to_weight = to_bias = None
        if ctx.needs_input_grad[0]:
            to_maps = (patches.t() @ kernels).view(n, height, width, inputs).permute(0, 3, 1, 2)
        if ctx.needs_input_grad[1]:
            to_weight = (patches @ pixels).view(kernel, kernel, outputs, inputs).permute(2, 3, 0, 1)
        if ctx.needs_input_grad[2]:
            to_bias = gradient.sum((0, 2, 3))
        return to_maps, to_weight, to_bias


class _WithReLU(torch.autograd.Function):
    """A layer of (maps, weight, bias, relu): what the backward pass needs, and the gradient in front of the ReLU."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.relu = inputs[3]
        ctx.save_for_backward(*inputs[:2], *([output] if ctx.relu else []))

    @staticmethod
    def saved(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        maps, weight, *output = ctx.saved_tensors
        return maps, weight, _masked(gradient, *output) if ctx.relu else gradient


def _strided_gradients(
    gradient: Tensor, maps: Tensor, weight: Tensor, wanted: list[bool]
) -> list[Tensor | None]:
    """The gradients of the convolution with stride 2 with respect to its maps and its weight, those that are wanted."""
    before = (weight.shape[-1] - 1) // 2
    geometry = ([2, 2], [before, before], [1, 1], False, [0, 0], 1)
    found = torch.ops.aten.convolution_backward(gradient, maps, weight, None, *geometry, [*wanted, False])
    return list(found[:2])


@final
class _Downconv(_WithReLU):
    @staticmethod
    def forward(maps: Tensor, weight: Tensor, bias: Tensor, relu: bool) -> Tensor:
        out = F.conv2d(maps, weight, bias, stride=2, padding=(weight.shape[-1] - 1) // 2)
        return out.relu_() if relu else out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        maps, weight, gradient = _WithReLU.saved(ctx, gradient)
        wanted = list(ctx.needs_input_grad[:2])
        to_maps = to_weight = to_bias = None
        if any(wanted):
            to_maps, to_weight = _strided_gradients(gradient, maps, weight, wanted)
        if ctx.needs_input_grad[2]:
            to_bias = gradient.sum((0, 2, 3))
        return to_maps, to_weight, to_bias, None


@final
class _Upconv(_WithReLU):
    @staticmethod
    def forward(maps: Tensor, weight: Tensor, bias: Tensor, relu: bool) -> Tensor:
        if weight.shape[1] <= THIN and weight.shape[-1] == 4:
            out = _thin_upconv(maps, weight, bias)
        else:
            before = (weight.shape[-1] - 1) // 2
            after = 2 - weight.shape[-1] + 2 * before
            out = F.conv_transpose2d(maps, weight, bias, stride=2, padding=before, output_padding=after)
        return out.relu_() if relu else out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        maps, weight, gradient = _WithReLU.saved(ctx, gradient)
        to_maps = to_weight = to_bias = None
        if ctx.needs_input_grad[0]:
            to_maps = F.conv2d(gradient, weight, stride=2, padding=(weight.shape[-1] - 1) // 2)
        if ctx.needs_input_grad[1]:
            _, to_weight = _strided_gradients(maps, gradient, weight, [False, True])
        if ctx.needs_input_grad[2]:
            to_bias = gradient.sum((0, 2, 3))
        return to_maps, to_weight, to_bias, None


def _thin_upconv(maps: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    outputs = weight.shape[1]
    n, _, height, width = maps.shape
    sums = _products(maps, weight.permute(2, 3, 1, 0))
    # Input row i reaches output rows 2 i - 1 ... 2 i + 2 with taps 0 ... 3: taps 1, 2 are its own two rows,
    # tap 3 is the even row of its successor and tap 0 the odd row of its predecessor.
    _add_shifted(sums[1], sums[3], -1, -2)
    _add_shifted(sums[2], sums[0], 1, -2)
    rows = sums[1:3]
    _add_shifted(rows[:, 1], rows[:, 3], -1, -1)
    _add_shifted(rows[:, 2], rows[:, 0], 1, -1)
    # Written once, where it belongs, with its channels innermost.
    shape = (n, outputs, 2 * height, 2 * width)
    images = torch.empty(shape, dtype=sums.dtype, device=sums.device, memory_format=torch.channels_last)
    pairs = images.permute(0, 2, 3, 1).view(n, height, 2, width, 2, outputs)
    for column in (0, 1):
        torch.add(rows[:, 1 + column].permute(2, 3, 0, 4, 1), bias, out=pairs[:, :, :, :, column])
    return images
