"""MLPs and the discriminator against ISA appendix A.4, layer by layer."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from unweave.errors import UnweaveError
from unweave.networks import DECODERS, ENCODERS, Discriminator, MLPDecoder, MLPEncoder


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def linear(module: nn.Module, place: int, x: torch.Tensor) -> torch.Tensor:
    layer = module.linear[place]
    return x @ layer.weight.T + layer.bias


def test_encoder_is_isa_a4() -> None:
    encoder = MLPEncoder((1, 64, 64), 20)
    assert count(encoder) == 4097 * 1200 + 1201 * 1200 + 1201 * 20
    images = torch.rand(2, 1, 64, 64)
    hidden = linear(encoder, 0, images.reshape(2, 4096)).relu()
    expected = linear(encoder, 4, linear(encoder, 2, hidden).relu())
    torch.testing.assert_close(encoder(images), expected, rtol=1e-5, atol=1e-5)


def test_encoder_reads_pixels_in_one_order_whatever_the_memory() -> None:
    encoder = MLPEncoder((3, 5, 7), 2, hidden=(4,))
    images = torch.rand(2, 3, 5, 7)
    assert torch.equal(encoder(images), encoder(images.contiguous(memory_format=torch.channels_last)))


def test_decoder_is_isa_a4() -> None:
    decoder = MLPDecoder(10, (1, 64, 64))
    assert count(decoder) == 11 * 1200 + 2 * 1201 * 1200 + 1201 * 4096
    codes = torch.randn(2, 10)
    hidden = codes
    for place in (0, 2, 4):
        hidden = torch.tanh(linear(decoder, place, hidden))
    expected = linear(decoder, 6, hidden).reshape(2, 1, 64, 64)
    torch.testing.assert_close(decoder(codes), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("layers", "parameters"), [
    (6, 11 * 1000 + 5 * 1001 * 1000 + 1001 * 2),  # FAC appendix A
    (5, 11 * 1000 + 4 * 1001 * 1000 + 1001 * 2),  # ISA appendix A.4
])  # fmt: skip
def test_discriminator(layers: int, parameters: int) -> None:
    critic = Discriminator(10, layers=layers)
    assert count(critic) == parameters
    codes = torch.randn(3, 10)
    hidden = codes
    for place in range(layers):
        hidden = F.leaky_relu(linear(critic, 2 * place, hidden), 0.2)
    torch.testing.assert_close(critic(codes), linear(critic, 2 * layers, hidden), rtol=1e-5, atol=1e-5)
    assert critic(codes[:1]).shape == (1, 2)


def test_slope_is_an_option() -> None:
    critic = Discriminator(2, layers=1, width=3, slope=0.5)
    codes = torch.randn(4, 2)
    expected = linear(critic, 2, F.leaky_relu(linear(critic, 0, codes), 0.5))
    torch.testing.assert_close(critic(codes), expected)


@pytest.mark.parametrize("name", ["Conv", "MLP"])
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 64, 64)])
def test_registered_encoders_share_one_signature(name: str, shape: tuple[int, int, int]) -> None:
    assert ENCODERS[name](shape, 14)(torch.zeros(2, *shape)).shape == (2, 14)


@pytest.mark.parametrize("name", ["Deconv", "SpatialBroadcast", "CoordConv", "MLP"])
@pytest.mark.parametrize("shape", [(1, 28, 28), (6, 32, 32)])
@pytest.mark.parametrize("latents", [1, 10])
def test_registered_decoders_share_one_signature(
    name: str, shape: tuple[int, int, int], latents: int
) -> None:
    decoder = DECODERS[name](latents, shape)
    out = decoder(torch.zeros(2, latents))
    assert out.shape == (2, *shape)
    out.sum().backward()
    assert all(parameter.grad is not None for parameter in decoder.parameters())


@pytest.mark.parametrize(("make", "message"), [
    (lambda: MLPEncoder((1, 8, 8), 4, hidden=(0,)), "hidden must be whole numbers"),
    (lambda: MLPDecoder(0, (1, 8, 8)), "latents must be a whole number of at least 1, got 0"),
    (lambda: Discriminator(4, layers=0), "layers must be a whole number of at least 1, got 0"),
    (lambda: Discriminator(4, slope=-1.0), "slope must be 0 or more"),
])  # fmt: skip
def test_mistakes_are_reported(make, message: str) -> None:
    with pytest.raises(UnweaveError, match=message):
        make()
