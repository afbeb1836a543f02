"""The fast convolutions against the library's, values and all gradients."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from unweave.networks import fast
from unweave.networks.layers import Chain, ChainReLU, Downconv2d, SameConv2d, Upconv2d


def padded(maps: Tensor, kernel: int) -> Tensor:
    before = (kernel - 1) // 2
    after = kernel - 1 - before
    return F.pad(maps, (before, after, before, after))


def assert_same(function, reference, maps: Tensor, weight: Tensor, bias: Tensor) -> None:
    mine = [tensor.clone().requires_grad_() for tensor in (maps, weight, bias)]
    theirs = [tensor.clone().requires_grad_() for tensor in (maps, weight, bias)]
    out, expected = function(*mine), reference(*theirs)
    assert out.shape == expected.shape
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-5)
    arriving = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1))
    out.backward(arriving)
    expected.backward(arriving)
    for a, b in zip(mine, theirs, strict=True):
        scale = b.grad.abs().max().item() or 1.0
        torch.testing.assert_close(a.grad / scale, b.grad / scale, rtol=1e-5, atol=1e-5)


def tensors(*shapes: tuple[int, ...], memory: torch.memory_format = torch.contiguous_format) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randn(shape, generator=generator) / 4 for shape in shapes]
    return [t.contiguous(memory_format=memory) if t.dim() == 4 else t for t in drawn]


@pytest.mark.parametrize("kernel", [2, 3, 4, 5])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (3, 8), (7, 5)])
@pytest.mark.parametrize("colours", [1, 3])
def test_thin_same_convolution_is_the_library_s(kernel: int, size: tuple[int, int], colours: int) -> None:
    args = tensors((2, 6, *size), (colours, 6, kernel, kernel), (colours,))
    assert_same(fast.same_conv2d, lambda m, w, b: F.conv2d(padded(m, kernel), w, b), *args)


@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("kernel", [2, 3, 4, 5])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 4)])
@pytest.mark.parametrize("colours", [1, 3, 6])
def test_upconvolution_is_the_library_s(memory, kernel: int, size: tuple[int, int], colours: int) -> None:
    maps, weight, bias = tensors((2, 7, *size), (7, colours, kernel, kernel), (colours,), memory=memory)
    before = (kernel - 1) // 2

    def reference(m: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.conv_transpose2d(m, w, b, 2, before, 2 - kernel + 2 * before)

    assert_same(fast.upconv2d, reference, maps, weight, bias)


@pytest.mark.parametrize("function", [fast.same_conv2d, fast.upconv2d])
def test_gradients_of_gradients(function) -> None:
    generator = torch.Generator().manual_seed(0)
    maps, weight, bias = (
        torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((1, 2, 3, 2), (2, 2, 4, 4), (2,))
    )
    assert torch.autograd.gradcheck(function, (maps, weight, bias))
    assert torch.autograd.gradgradcheck(function, (maps, weight, bias))


def test_unneeded_gradients_are_not_made() -> None:
    maps, weight, bias = tensors((1, 6, 4, 4), (6, 1, 4, 4), (1,))
    fast.upconv2d(maps, weight.requires_grad_(), bias).sum().backward()
    assert maps.grad is None and bias.grad is None
    assert weight.grad is not None


def test_layers_exchange_weights_with_the_library_s() -> None:
    same, up = SameConv2d(5, 3), Upconv2d(5, 3)
    maps = torch.randn(2, 5, 6, 6)
    conv = torch.nn.Conv2d(5, 3, 4)
    conv.load_state_dict(same.state_dict())
    torch.testing.assert_close(same(maps), conv(padded(maps, 4)), rtol=1e-5, atol=1e-5)
    transposed = torch.nn.ConvTranspose2d(5, 3, 4, stride=2, padding=1)
    transposed.load_state_dict(up.state_dict())
    torch.testing.assert_close(up(maps), transposed(maps), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("outputs", [3, 8])
def test_same_convolution_pads_as_tensorflow_does(outputs: int) -> None:
    # k = 4 pads 1 before and 2 after: a kernel that is 1 at its first tap reads the pixel one before.
    layer = SameConv2d(1, outputs)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    layer.weight.data[:, :, 0, 0] = 1
    image = torch.arange(16.0).view(1, 1, 4, 4)
    expected = F.pad(image, (1, 0, 1, 0))[..., :4, :4]
    assert torch.equal(layer(image), expected.expand(1, outputs, 4, 4))
    layer.weight.data.zero_()[:, :, 3, 3] = 1
    expected = F.pad(image, (0, 2, 0, 2))[..., 2:, 2:]
    assert torch.equal(layer(image), expected.expand(1, outputs, 4, 4))


def test_wide_layers_and_exported_graphs_use_the_library() -> None:
    assert not fast.thin(torch.zeros(1, 8, 4, 4), fast.THIN + 1)
    exported = torch.export.export(Upconv2d(4, 1).eval(), (torch.zeros(1, 4, 4, 4),))
    assert any("conv_transpose" in str(node.target) for node in exported.graph.nodes)


def test_relu_in_place_has_the_values_and_gradients_of_relu_twice_over() -> None:
    torch.manual_seed(0)
    maps = torch.randn(2, 3, 4, 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    torch.testing.assert_close(fast.relu(maps * 1), maps.relu())
    [ours] = torch.autograd.grad((fast.relu(maps * 1) * weight).sum(), maps)
    torch.testing.assert_close(ours, weight * (maps > 0))
    [spread] = torch.autograd.grad(fast.relu(maps * 1).sum(), maps)
    torch.testing.assert_close(spread, (maps > 0).double())
    assert torch.autograd.gradgradcheck(lambda x: fast.relu(x * x - 0.3) ** 2, maps)


@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("size", [(2, 2), (4, 6), (8, 2)])
@pytest.mark.parametrize("colours", [1, 3])
def test_downconvolution_is_the_library_s(memory, relu: bool, size: tuple[int, int], colours: int) -> None:
    args = tensors((3, colours, *size), (7, colours, 4, 4), (7,), memory=memory)

    def reference(m: Tensor, w: Tensor, b: Tensor) -> Tensor:
        out = F.conv2d(m, w, b, 2, 1)
        return out.relu() if relu else out

    assert_same(lambda m, w, b: fast.downconv2d(m, w, b, relu), reference, *args)


@pytest.mark.parametrize("colours", [1, 3, 6])
def test_upconvolution_with_relu_is_the_library_s(colours: int) -> None:
    args = tensors((2, 7, 5, 4), (7, colours, 4, 4), (colours,), memory=torch.channels_last)
    reference = lambda m, w, b: F.conv_transpose2d(m, w, b, 2, 1).relu()  # noqa: E731
    assert_same(lambda m, w, b: fast.upconv2d(m, w, b, relu=True), reference, *args)


@pytest.mark.parametrize("function", [fast.downconv2d, fast.upconv2d])
def test_gradients_of_gradients_with_relu(function) -> None:
    generator = torch.Generator().manual_seed(0)
    maps, weight, bias = (
        torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((1, 2, 4, 2), (2, 2, 4, 4), (2,))
    )
    assert torch.autograd.gradcheck(lambda *args: function(*args, relu=True) ** 2, (maps, weight, bias))
    assert torch.autograd.gradgradcheck(lambda *args: function(*args, relu=True) ** 2, (maps, weight, bias))


@pytest.mark.parametrize("function", [fast.downconv2d, fast.upconv2d])
def test_relu_lets_nan_through(function) -> None:
    maps, weight, bias = tensors((1, 6, 4, 4), (6, 6, 4, 4), (6,), memory=torch.channels_last)
    bias[2] = torch.nan
    assert function(maps, weight, bias, relu=True)[:, 2].isnan().all()


def test_a_chain_is_its_layers_one_after_another() -> None:
    torch.manual_seed(0)
    chain = Chain(
        Downconv2d(3, 8),
        ChainReLU(),
        SameConv2d(8, 8),
        ChainReLU(),
        Upconv2d(8, 8),
        ChainReLU(),
        Upconv2d(8, 3),
    )
    down, _, same, _, up, _, last = chain
    maps = torch.randn(2, 3, 8, 8)
    hidden = F.conv2d(maps, down.weight, down.bias, 2, 1).relu()
    hidden = F.conv2d(padded(hidden, 4), same.weight, same.bias).relu()
    hidden = F.conv_transpose2d(hidden, up.weight, up.bias, 2, 1).relu()
    expected = F.conv_transpose2d(hidden, last.weight, last.bias, 2, 1)
    torch.testing.assert_close(chain(maps), expected, rtol=1e-5, atol=1e-5)
    assert (Chain(down, ChainReLU())(maps) >= 0).all() and (Chain(down)(maps) < 0).any()
    arriving = torch.randn(expected.shape)
    ours = torch.autograd.grad(chain(maps), list(chain.parameters()), arriving)
    theirs = torch.autograd.grad(expected, list(chain.parameters()), arriving)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a / b.abs().max(), b / b.abs().max(), rtol=1e-5, atol=1e-5)
    exported = torch.export.export(chain.eval(), (maps,))
    torch.testing.assert_close(exported.module()(maps), expected, rtol=1e-5, atol=1e-5)
