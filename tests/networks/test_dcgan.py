"""The DCGAN networks against the layers of DEC table 1c, written out."""

import pytest
import torch
from torch import nn

from unweave.errors import UnweaveError
from unweave.networks import DECODERS, ENCODERS, DCGANDecoder, DCGANEncoder, MLPDecoder, MLPEncoder


def literal_encoder() -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128), (128, 256)):
        layers += [nn.Conv2d(inputs, outputs, 4, 2, 1), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Conv2d(256, 100, 4), nn.Flatten())


def literal_decoder() -> nn.Sequential:
    layers: list[nn.Module] = [nn.ConvTranspose2d(50, 256, 4, 1, 0)]
    for inputs, outputs in ((256, 128), (128, 64), (64, 32), (32, 3)):
        layers += [nn.BatchNorm2d(inputs), nn.ReLU(), nn.ConvTranspose2d(inputs, outputs, 4, 2, 1)]
    return nn.Sequential(*layers)


def same_weights(to: nn.Module, of: nn.Module) -> None:
    to.load_state_dict(dict(zip(to.state_dict(), of.state_dict().values(), strict=True)))


@pytest.mark.parametrize("training", [True, False])
def test_the_encoder_is_the_table(training: bool) -> None:
    torch.manual_seed(0)
    ours, table = DCGANEncoder((3, 64, 64), 100), literal_encoder()
    same_weights(table, ours)
    ours.train(training)
    table.train(training)
    x = torch.rand(4, 3, 64, 64)
    torch.testing.assert_close(ours(x), table(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_the_decoder_is_the_table(training: bool) -> None:
    torch.manual_seed(0)
    ours, table = DCGANDecoder(50, (3, 64, 64)), literal_decoder()
    same_weights(table, ours)
    ours.train(training)
    table.train(training)
    z = torch.randn(4, 50)
    torch.testing.assert_close(ours(z), table(z[:, :, None, None]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [28, 32, 64])
def test_other_sizes_and_gradients(size: int) -> None:
    encoder, decoder = DCGANEncoder((1, size, size), 6), DCGANDecoder(3, (1, size, size))
    images = decoder(encoder(torch.rand(2, 1, size, size))[:, :3])
    assert images.shape == (2, 1, size, size)
    images.sum().backward()
    assert all(p.grad is not None for p in [*encoder.parameters(), *decoder.parameters()])


def test_they_are_chosen_by_name_and_refuse_nonsense() -> None:
    assert ENCODERS["DCGAN"] is DCGANEncoder and DECODERS["DCGAN"] is DCGANDecoder
    with pytest.raises(UnweaveError, match="at least one convolution"):
        DCGANEncoder((3, 64, 64), 4, channels=())
    with pytest.raises(UnweaveError, match="multiples of 4"):
        DCGANDecoder(4, (3, 30, 30))


def test_the_pinwheel_networks_are_table_1b() -> None:
    torch.manual_seed(0)
    encoder = MLPEncoder((1, 1, 2), 4, hidden=(100,))
    decoder = MLPDecoder(2, (2, 1, 2), hidden=(100,), activation="relu")
    x = torch.rand(5, 1, 1, 2)
    (a, b), (c, d) = ([m for m in part.modules() if isinstance(m, nn.Linear)] for part in (encoder, decoder))
    torch.testing.assert_close(encoder(x), b(a(x.flatten(1)).relu()))
    z = torch.randn(5, 2)
    torch.testing.assert_close(decoder(z).flatten(1), d(c(z).relu()))
