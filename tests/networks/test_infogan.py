import pytest
import torch
from torch import nn

from unweave.errors import UnweaveError
from unweave.networks.infogan import InfoGANCritic, InfoGANGenerator

TABLES = {
    4: ((1, 28, 28), 74, 2 * 2 + 10, {}),
    5: ((1, 64, 64), 12, 4 * 2 + 3, {"channels": (32, 32, 64, 64), "hidden": 128}),
    6: ((1, 64, 64), 136, 4 * 2 + 3, {"channels": (64, 128, 256, 256, 256), "halvings": (2, 2, 2, 1, 1)}),
}
CONVOLUTIONS = {
    4: [(1, 64), (64, 128)],
    5: [(1, 32), (32, 32), (32, 64), (64, 64)],
    6: [(1, 64), (64, 128), (128, 256), (256, 256), (256, 256)],
}
UPCONVOLUTIONS = {
    4: [(128, 64), (64, 1)],
    5: [(64, 64), (64, 32), (32, 32), (32, 1)],
    6: [(256, 256), (256, 256), (256, 128), (128, 64), (64, 1)],
}
STARTS = {4: (128, 7, 7), 5: (64, 4, 4), 6: (256, 8, 8)}


@pytest.mark.parametrize("table", TABLES)
def test_the_layers_are_those_of_the_papers_tables(table: int) -> None:
    shape, inputs, features, options = TABLES[table]
    hidden = options.get("hidden", 1024)
    generator, critic = InfoGANGenerator(inputs, shape, **options), InfoGANCritic(shape, features, **options)
    convolutions = [m for m in critic.convolutions if isinstance(m, nn.Conv2d)]
    assert [(m.in_channels, m.out_channels) for m in convolutions] == CONVOLUTIONS[table]
    assert {m.kernel_size for m in convolutions} == {(4, 4)}
    up = [m for m in generator.upconvolutions if isinstance(m, nn.Conv2d | nn.ConvTranspose2d)]
    assert [(m.in_channels, m.out_channels) for m in up] == UPCONVOLUTIONS[table]
    assert generator.start == STARTS[table]
    linear = [m for m in generator.linear if isinstance(m, nn.Linear)]
    assert [m.out_features for m in linear] == [hidden, torch.tensor(STARTS[table]).prod().item()]
    assert [m.out_features for m in critic.code if isinstance(m, nn.Linear)] == [128, features]
    assert critic.linear[0].out_features == hidden
    images = generator(torch.randn(2, inputs))
    assert images.shape == (2, *shape)
    assert images.min() >= 0
    assert images.max() <= 1
    scores, codes = critic(images)
    assert scores.shape == (2,)
    assert codes.shape == (2, features)


def norms(network: nn.Module) -> list[type]:
    kinds = (nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm)
    return [type(m) for m in network.modules() if isinstance(m, kinds)]


def test_normalisation_is_that_of_appendix_h() -> None:
    """InfoGAN: batch norm but in the first layer; InfoWGAN-GP: none in the convolutions, then layer norm."""
    batch, layer = InfoGANCritic((1, 28, 28), 14), InfoGANCritic((1, 28, 28), 14, norm="layer")
    assert norms(batch.convolutions) == [nn.BatchNorm2d]
    assert norms(batch.linear) == [nn.BatchNorm1d]
    assert norms(layer.convolutions) == []
    assert norms(layer.linear) == [nn.LayerNorm]
    assert norms(batch.code) == norms(layer.code) == [nn.BatchNorm1d]
    assert norms(InfoGANGenerator(74, (1, 28, 28))) == [nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d]


def test_the_wasserstein_critic_treats_images_one_by_one() -> None:
    torch.manual_seed(0)
    critic = InfoGANCritic((1, 28, 28), 14, norm="layer").train()
    images = torch.rand(3, 1, 28, 28)
    alone = torch.cat([critic.scores(images[i : i + 1]) for i in range(3)])
    torch.testing.assert_close(critic.scores(images), alone)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"channels": ()}, "at least one convolution"),
        ({"halvings": (2, 3)}, "1 or 2"),
        ({"channels": (4, 4, 4), "halvings": (2, 2, 2)}, "28 x 28 cannot be halved 3 times"),
    ],
)
def test_impossible_sizes_are_refused(options: dict[str, tuple[int, ...]], message: str) -> None:
    with pytest.raises(UnweaveError, match=message):
        InfoGANCritic((1, 28, 28), 14, **options)  # type: ignore[arg-type]
