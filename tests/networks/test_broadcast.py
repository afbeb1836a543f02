"""The Spatial Broadcast decoder against its literal form: tile, concatenate, convolve."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unweave.errors import UnweaveError
from unweave.networks import SpatialBroadcast, broadcast
from unweave.networks.broadcast import BroadcastConv2d, shuffled_coordinates
from unweave.networks.layers import SameConv2d, Upconv2d, coordinates


def literal(decoder: SpatialBroadcast, codes: Tensor, parameters: dict[str, Tensor]) -> Tensor:
    """SBD algorithm 1 and table 1, written down from the paper with the library's convolutions alone."""
    for place in range(0, len(decoder.mlp), 2):
        weight, bias = parameters[f"mlp.{place}.weight"], parameters[f"mlp.{place}.bias"]
        codes = torch.relu(codes @ weight.T + bias)
    _, height, width = decoder.first.grid.shape
    tiles = codes[:, :, None, None].repeat(1, 1, height, width)
    maps = torch.cat([tiles, decoder.first.grid.repeat(len(codes), 1, 1, 1)], 1)
    names = ["first.layer", *(f"rest.{i}" for i in range(len(decoder.rest)))]
    for layer, name in zip([decoder.first.layer, *decoder.rest], names, strict=True):
        if name != "first.layer":
            maps = torch.relu(maps)
        weight, bias = parameters[f"{name}.weight"], parameters[f"{name}.bias"]
        kernel = weight.shape[-1]
        before = (kernel - 1) // 2
        if isinstance(layer, nn.ConvTranspose2d):
            maps = F.conv_transpose2d(maps, weight, bias, 2, before, 2 - kernel + 2 * before)
        else:
            after = kernel - 1 - before
            maps = F.conv2d(F.pad(maps, (before, after, before, after)), weight, bias)
    return maps


def assert_same(decoder: SpatialBroadcast, n: int = 3) -> None:
    generator = torch.Generator().manual_seed(1)
    for name, parameter in decoder.named_parameters():
        if name.endswith("bias"):
            parameter.data.normal_(0, 0.3, generator=generator)
    codes = torch.randn(n, decoder.latents, generator=generator, requires_grad=True)
    again = codes.detach().clone().requires_grad_()
    copies = {name: p.detach().clone().requires_grad_() for name, p in decoder.named_parameters()}
    out, expected = decoder(codes), literal(decoder, again, copies)
    assert out.shape == (n, *decoder.output_shape)
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-5)
    arriving = torch.randn(expected.shape, generator=generator)
    out.backward(arriving)
    expected.backward(arriving)
    pairs = [(codes.grad, again.grad)]
    pairs += [(p.grad, copies[name].grad) for name, p in decoder.named_parameters()]
    for mine, theirs in pairs:
        assert theirs.abs().max() > 0
        scale = theirs.abs().max()
        torch.testing.assert_close(mine / scale, theirs / scale, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernel", [2, 3, 4, 5])
@pytest.mark.parametrize("size", [(1, 1), (2, 2), (3, 7), (4, 4), (5, 9), (8, 6), (13, 16)])
def test_equals_the_literal_form_at_every_size(kernel: int, size: tuple[int, int]) -> None:
    assert_same(SpatialBroadcast(4, (3, *size), kernel=kernel, width=8))


@pytest.mark.parametrize("options", [
    {"depth": 2},
    {"depth": 5},
    {"mlp": (7,)},
    {"mlp": (7, 5, 6)},
    {"upscales": 1},
    {"upscales": 2},
    {"upscales": 3},
    {"upscales": 1, "kernel": 3},
    {"upscales": 2, "kernel": 5},
    {"shuffle_coordinates": True},
    {"shuffle_coordinates": True, "upscales": 1, "mlp": (6,), "depth": 4},
    {"initialisation": "default"},
])  # fmt: skip
@pytest.mark.parametrize("colours", [1, 6])
def test_equals_the_literal_form_with_every_option(options: dict, colours: int) -> None:
    assert_same(SpatialBroadcast(3, (colours, 8, 16), width=6, **options))


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("upscales", [0, 2])
def test_equals_the_literal_form_when_thin(width: int, upscales: int) -> None:
    assert_same(SpatialBroadcast(3, (1, 8, 8), width=width, depth=4, upscales=upscales))


def test_equals_the_literal_form_of_table_1_at_full_size() -> None:
    assert_same(SpatialBroadcast(10, (3, 64, 64)), n=2)


@pytest.mark.parametrize("size", [(6, 6), (5, 8), (1, 3), (2, 1)])
@pytest.mark.parametrize("layer", [SameConv2d, Upconv2d])
@pytest.mark.parametrize("kernel", [2, 3, 4, 5])
def test_first_layer_in_double_precision(layer, size: tuple[int, int], kernel: int) -> None:
    first = BroadcastConv2d(3, layer(5, 4, kernel), coordinates(*size)).double()
    codes = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = torch.relu(first.layer(broadcast(codes, *size)))
    torch.testing.assert_close(first(codes), expected, rtol=1e-12, atol=1e-12)
    spare = first(codes, extra=1)
    torch.testing.assert_close(spare, F.pad(expected, (0, 1, 0, 1)), rtol=1e-12, atol=1e-12)


def test_number_of_border_classes_does_not_grow_with_the_image() -> None:
    for size in (8, 64):
        assert len(BroadcastConv2d(3, SameConv2d(5, 4, 4), coordinates(size, size)).masks) == 16
        assert len(BroadcastConv2d(3, Upconv2d(5, 4, 4), coordinates(size, size)).masks) == 16


def test_broadcast_is_algorithm_1() -> None:
    codes = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    h, w = 3, 5
    for n in range(2):
        tiled = np.tile(codes[n], (h, w, 1))
        x, y = np.meshgrid(np.linspace(-1, 1, w), np.linspace(-1, 1, h))
        expected = np.concatenate([tiled, x[..., None], y[..., None]], axis=-1)
        np.testing.assert_allclose(
            broadcast(torch.from_numpy(codes), h, w)[n].permute(1, 2, 0).numpy(), expected, atol=1e-7
        )


def test_coordinates_are_shuffled_in_pairs_and_stay_fixed() -> None:
    plain, shuffled = coordinates(6, 9), shuffled_coordinates(6, 9, seed=3)
    assert not torch.equal(plain, shuffled)
    assert sorted(map(tuple, plain.flatten(1).T.tolist())) == sorted(
        map(tuple, shuffled.flatten(1).T.tolist())
    )
    assert torch.equal(shuffled, shuffled_coordinates(6, 9, seed=3))
    assert not torch.equal(shuffled, shuffled_coordinates(6, 9, seed=4))
    options = {"shuffle_coordinates": True, "shuffle_seed": 3, "width": 4}
    decoder = SpatialBroadcast(2, (1, 6, 9), **options)
    assert torch.equal(decoder.first.grid, shuffled)
    other = SpatialBroadcast(2, (1, 6, 9), shuffle_coordinates=True, shuffle_seed=4, width=4)
    other.load_state_dict(decoder.state_dict())
    codes = torch.ones(1, 2)
    assert torch.equal(other(codes), decoder(codes))


def test_parameter_counts_of_the_published_tables() -> None:
    def count(**options) -> int:
        return sum(p.numel() for p in SpatialBroadcast(10, (3, 64, 64), **options).parameters())

    first, middle, last = 12 * 16 * 64 + 64, 64 * 16 * 64 + 64, 64 * 16 * 3 + 3
    assert count() == first + middle + last == 81027  # table 1
    assert count(depth=2) == first + last
    assert count(depth=6) == first + 4 * middle + last  # 3D Object-in-Room
    assert count(upscales=3) == count()  # table 10: same kernels, other strides
    after_mlp = 258 * 16 * 64 + 64 + middle + last
    assert count(mlp=(256,)) == 10 * 256 + 256 + after_mlp  # table 7
    assert count(mlp=(256, 256, 256)) == 10 * 256 + 256 + 2 * (256 * 256 + 256) + after_mlp


@pytest.mark.parametrize(("options", "message"), [
    ({"depth": 1}, "depth must be at least 2"),
    ({"width": 0}, "width must be a whole number of at least 1, got 0"),
    ({"kernel": 1}, "kernel must be at least 2"),
    ({"mlp": (256, 0)}, "mlp must be whole numbers of at least 1"),
    ({"upscales": 4}, "upscales must be a whole number from 0 to the depth, 3, got 4"),
    ({"upscales": -1}, "upscales must be a whole number from 0"),
    ({"upscales": 3}, "image size 20 x 28 cannot be doubled 3 times .* multiple of 8 or fewer upscales"),
    ({"initialisation": "zeros"}, "initialisation must be default or truncated_normal"),
])  # fmt: skip
def test_mistakes_are_reported(options: dict, message: str) -> None:
    with pytest.raises(UnweaveError, match=message):
        SpatialBroadcast(4, (1, 20, 28), **options)


def test_latents_must_be_positive() -> None:
    with pytest.raises(UnweaveError, match="latents must be a whole number of at least 1, got 0"):
        SpatialBroadcast(0, (1, 16, 16))
