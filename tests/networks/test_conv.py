"""Conv, Deconv, CoordConv: shapes, published parameter counts, literal forms, mistakes."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from unweave.errors import UnweaveError
from unweave.networks import Conv, CoordConv, Deconv
from unweave.networks.layers import channels_last


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def conv(inputs: int, outputs: int) -> int:
    return inputs * outputs * 16 + outputs


def fc(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


@pytest.mark.parametrize(("colours", "latents", "hidden"), [
    (1, 10, 128),  # FAC table 1
    (3, 6, 256),  # FAC table 2
    (1, 10, 256),  # FAC table 3
    (3, 25, 256),  # REC table A3
])  # fmt: skip
def test_parameter_counts_of_net_1(colours: int, latents: int, hidden: int) -> None:
    convs = conv(colours, 32) + conv(32, 32) + conv(32, 64) + conv(64, 64)
    encoder = Conv((colours, 64, 64), 2 * latents, hidden=(hidden,))
    assert count(encoder) == convs + fc(4 * 4 * 64, hidden) + fc(hidden, 2 * latents)
    decoder = Deconv(latents, (colours, 64, 64), hidden=(hidden,))
    upconvs = conv(64, 64) + conv(64, 32) + conv(32, 32) + conv(32, colours)
    assert count(decoder) == fc(latents, hidden) + fc(hidden, 4 * 4 * 64) + upconvs


def test_defaults_are_fac_table_2_in_plain_numbers() -> None:
    # 544 + 16,416 + 32,832 + 65,600 in convolutions, 262,400 + 5,140 in linear layers.
    assert count(Conv((1, 64, 64), 20)) == 382_932
    # 2,816 + 263,168 in linear layers, 65,600 + 32,800 + 16,416 + 513 in up-convolutions.
    assert count(Deconv(10, (1, 64, 64))) == 381_313


def test_parameter_counts_of_sbd_tables_1_and_2() -> None:
    encoder = Conv((3, 64, 64), 20, channels=(64, 64, 64, 64), initialisation="truncated_normal")
    assert count(encoder) == conv(3, 64) + 3 * conv(64, 64) + fc(4 * 4 * 64, 256) + fc(256, 20)
    decoder = Deconv(10, (3, 64, 64), channels=(64,) * 5, hidden=(), initialisation="truncated_normal")
    assert decoder.start == (64, 2, 2)
    assert count(decoder) == fc(10, 2 * 2 * 64) + 4 * conv(64, 64) + conv(64, 3)
    decoder = Deconv(10, (3, 64, 64), channels=(64, 64, 64, 32, 32), hidden=())
    assert decoder.start == (64, 2, 2)
    assert count(decoder) == fc(10, 256) + 2 * conv(64, 64) + conv(64, 32) + conv(32, 32) + conv(32, 3)


def test_parameter_count_of_coordconv() -> None:
    decoder = CoordConv(10, (3, 64, 64))
    assert count(decoder) == fc(10, 256) + 4 * conv(66, 64) + conv(66, 3)


@pytest.mark.parametrize(
    "size", [(28, 28), (32, 32), (64, 64), (128, 128), (96, 96), (64, 28), (4, 4), (8, 20)]
)
@pytest.mark.parametrize("colours", [1, 3, 6])
def test_every_size_that_fits(size: tuple[int, int], colours: int) -> None:
    shape = (colours, *size)
    with torch.no_grad():
        assert Conv(shape, 6, channels=(4, 4, 8, 8), hidden=(8,))(torch.zeros(2, *shape)).shape == (2, 6)
        assert Deconv(1, shape, channels=(8, 8, 4, 4), hidden=(8,))(torch.zeros(2, 1)).shape == (2, *shape)
        assert CoordConv(3, shape, channels=(4,) * 5)(torch.zeros(2, 3)).shape == (2, *shape)


@pytest.mark.parametrize(("size", "fits"), [
    ((30, 30), "28 x 28 or 32 x 32"),
    ((63, 63), "60 x 60 or 64 x 64"),
    ((64, 30), "64 x 28 or 64 x 32"),
    ((2, 2), "4 x 4"),
])  # fmt: skip
def test_sizes_that_do_not_fit_are_named(size: tuple[int, int], fits: str) -> None:
    message = f"image size {size[0]} x {size[1]} does not fit .* multiples of 4, for example {fits}$"
    with pytest.raises(UnweaveError, match=message):
        Conv((1, *size), 20)
    with pytest.raises(UnweaveError, match=message):
        Deconv(10, (1, *size))
    with pytest.raises(UnweaveError, match=message):
        CoordConv(10, (1, *size))


def literal_encoder(encoder: Conv, images: torch.Tensor) -> torch.Tensor:
    """FAC table 2 by its text: convolution, ReLU, ..., linear, ReLU, linear."""
    p = dict(encoder.named_parameters())
    maps = images
    for place in range(0, 8, 2):
        maps = F.conv2d(maps, p[f"convolutions.{place}.weight"], p[f"convolutions.{place}.bias"], 2, 1).relu()
    hidden = F.linear(maps.reshape(len(maps), -1), p["linear.0.weight"], p["linear.0.bias"]).relu()
    return F.linear(hidden, p["linear.2.weight"], p["linear.2.bias"])


def literal_decoder(decoder: Deconv, codes: torch.Tensor) -> torch.Tensor:
    p = dict(decoder.named_parameters())
    hidden = F.linear(codes, p["linear.0.weight"], p["linear.0.bias"]).relu()
    maps = F.linear(hidden, p["linear.2.weight"], p["linear.2.bias"]).relu().reshape(len(codes), 64, 4, 4)
    for place in range(0, 8, 2):
        weight, bias = p[f"upconvolutions.{place}.weight"], p[f"upconvolutions.{place}.bias"]
        maps = F.conv_transpose2d(maps if place == 0 else maps.relu(), weight, bias, 2, 1)
    return maps


@pytest.mark.parametrize("colours", [1, 3])
def test_net_1_is_what_the_tables_say(colours: int) -> None:
    encoder, decoder = Conv((colours, 64, 64), 20), Deconv(10, (colours, 64, 64))
    generator = torch.Generator().manual_seed(0)
    images, codes = (
        torch.rand(3, colours, 64, 64, generator=generator),
        torch.randn(3, 10, generator=generator),
    )
    torch.testing.assert_close(encoder(images), literal_encoder(encoder, images), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(decoder(codes), literal_decoder(decoder, codes), rtol=1e-4, atol=1e-5)


def test_net_1_gradients() -> None:
    decoder = Deconv(10, (3, 64, 64))
    codes = torch.randn(2, 10, generator=torch.Generator().manual_seed(0))
    decoder(codes).square().sum().backward()
    mine = {name: p.grad.clone() for name, p in decoder.named_parameters()}
    decoder.zero_grad()
    literal_decoder(decoder, codes).square().sum().backward()
    for name, parameter in decoder.named_parameters():
        scale = parameter.grad.abs().max()
        torch.testing.assert_close(mine[name] / scale, parameter.grad / scale, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("decoder", [Deconv, CoordConv])
@pytest.mark.parametrize("size", [4, 8, 28])
def test_thin_hidden_layers_train(decoder, size: int) -> None:
    # Layers with very few channels take another path; what follows them works in place.
    model = decoder(2, (1, size, size), channels=(3, 1, 2), hidden=())
    model(torch.ones(2, 2)).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_coordconv_appends_coordinates_at_every_layer() -> None:
    decoder = CoordConv(3, (3, 32, 32), channels=(4, 5, 6))
    p = dict(decoder.named_parameters())
    codes = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
    maps = F.linear(codes, p["linear.0.weight"], p["linear.0.bias"]).relu().reshape(2, 4, 4, 4)
    for place, size in enumerate((4, 8, 16)):
        axis = torch.linspace(-1, 1, size)
        y, x = torch.meshgrid(axis, axis, indexing="ij")
        maps = torch.cat([maps.relu(), torch.stack([x, y]).expand(2, 2, size, size)], 1)
        weight, bias = p[f"upconvolutions.{place}.weight"], p[f"upconvolutions.{place}.bias"]
        maps = F.conv_transpose2d(maps, weight, bias, 2, 1)
    torch.testing.assert_close(decoder(codes), maps, rtol=1e-5, atol=1e-5)


def test_truncated_normal_weights_and_zero_biases() -> None:
    torch.manual_seed(0)
    for module in (
        Conv((3, 64, 64), 20, initialisation="truncated_normal"),
        Deconv(10, (3, 64, 64), initialisation="truncated_normal"),
    ):
        for layer in module.modules():
            if not isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
                continue
            inputs = layer.in_features if isinstance(layer, nn.Linear) else layer.in_channels * 16
            assert torch.equal(layer.bias, torch.zeros_like(layer.bias))
            assert layer.weight.abs().max() <= 2 / math.sqrt(inputs)
            # A normal cut at two deviations keeps 0.8796 of its deviation.
            if layer.weight.numel() > 10_000:
                assert layer.weight.std().item() * math.sqrt(inputs) == pytest.approx(0.8796, rel=0.03)


def test_images_may_come_in_any_memory_layout() -> None:
    encoder = Conv((3, 32, 32), 4)
    images = torch.rand(2, 3, 32, 32)
    assert torch.equal(encoder(images), encoder(images.contiguous(memory_format=torch.channels_last)))
    grey = torch.rand(2, 1, 8, 8)
    assert channels_last(grey).stride() == (64, 1, 8, 1)
    assert torch.equal(channels_last(grey), grey)
    assert torch.equal(channels_last(images[:, 1:2]), images[:, 1:2])


def test_outputs_and_weights_are_channels_last() -> None:
    decoder = Deconv(4, (3, 32, 32))
    assert decoder(torch.zeros(2, 4)).is_contiguous(memory_format=torch.channels_last)
    weight = decoder.upconvolutions[0].weight
    assert weight.is_contiguous(memory_format=torch.channels_last) and not weight.is_contiguous()


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Conv((1, 64, 64), 0), "features must be a whole number of at least 1, got 0"),
    (lambda: Deconv(0, (1, 64, 64)), "latents must be a whole number of at least 1, got 0"),
    (lambda: Conv((64, 64), 20), r"image_shape must be \(channels, height, width\), got \(64, 64\)"),
    (lambda: Conv((0, 64, 64), 20), "image_shape must be whole numbers of at least 1"),
    (lambda: Conv((1, 64, 64), 20, channels=()), "at least one convolution"),
    (lambda: Deconv(10, (1, 64, 64), channels=()), "at least one convolution"),
    (lambda: CoordConv(10, (1, 64, 64), channels=()), "at least one convolution"),
    (lambda: Conv((1, 64, 64), 20, channels=(32, -1)), "channels must be whole numbers"),
    (lambda: Deconv(10, (1, 64, 64), hidden=(0,)), "hidden must be whole numbers"),
    (lambda: Conv((1, 64, 64), 20, initialisation="normal"), "initialisation must be default or truncated_normal"),
])  # fmt: skip
def test_mistakes_are_reported(make, message: str) -> None:
    with pytest.raises(UnweaveError, match=message):
        make()
