import numpy as np
import pytest
import torch

from unweave.errors import UnweaveError
from unweave.runs import Config, Run
from unweave.standardise import standardise
from unweave.vae import VAE

MEAN, STD = (0.2, 0.4, 0.6), (0.5, 0.25, 0.1)
TINY = [
    *("latents=2", "batch_size=4", "steps=3"),
    *("encoder.channels=[4,4]", "encoder.hidden=[8]", "decoder.channels=[4,4]", "decoder.hidden=[8]"),
]


def pair(likelihood: str) -> tuple[VAE, VAE]:
    """A VAE and its standardised twin with the same weights."""
    twins = []
    for _ in range(2):
        torch.manual_seed(0)
        twins.append(VAE.assemble((3, 32, 32), 2, likelihood=likelihood))
    return twins[0], standardise(twins[1], MEAN, STD)


@pytest.mark.parametrize("likelihood", ["MSE", "Gaussian"])
def test_the_loss_is_that_of_standardised_images(likelihood: str) -> None:
    plain, twin = pair(likelihood)
    x = torch.rand(5, 3, 32, 32)
    y = (x - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)
    z = torch.randn(5, 2)
    torch.testing.assert_close(twin.encode(x).mean, plain.encode(y).mean)
    torch.testing.assert_close(twin.decode(z).log_prob(x), plain.decode(z).log_prob(y))
    back = plain.decode(z).mean * torch.tensor(STD).view(3, 1, 1) + torch.tensor(MEAN).view(3, 1, 1)
    torch.testing.assert_close(twin.decode(z).mean, back)
    images = twin.reconstruct(x.numpy())
    assert images.min() >= 0
    assert images.max() <= 1
    assert twin.decode(z).sample().shape == (5, 3, 32, 32)


def test_the_constants_are_stored_with_the_weights() -> None:
    _, twin = pair("MSE")
    other = standardise(VAE.assemble((3, 32, 32), 2, likelihood="MSE"), (0, 0, 0), (1, 1, 1))
    other.load_state_dict(twin.state_dict())
    x = torch.rand(2, 3, 32, 32)
    torch.testing.assert_close(other.encode(x).mean, twin.encode(x).mean)


def test_bernoulli_refuses() -> None:
    with pytest.raises(
        UnweaveError, match=r"not in \[0, 1\], which a Bernoulli likelihood needs: choose likelihood=MSE"
    ):
        standardise(VAE.assemble((3, 32, 32), 2), MEAN, STD)
    with pytest.raises(UnweaveError, match="standardise needs 3 means and 3 deviations above 0"):
        standardise(VAE.assemble((3, 32, 32), 2, likelihood="MSE"), MEAN[:1], STD[:1])


def test_a_standardised_run_keeps_and_uses_its_constants(tmp_path) -> None:  # type: ignore[no-untyped-def]
    words = ["data=xysquares", "data.size=32", "standardise=true", "likelihood=MSE", *TINY]
    run = Run.create(Config.read(words=words), tmp_path / "run")
    run.train()
    import json

    channels = json.loads((tmp_path / "run" / "data.json").read_text())["channels"]
    np.testing.assert_allclose(channels["mean"], 1 / 64)
    vae = run.model()
    np.testing.assert_allclose(vae.likelihood.scale.mean.ravel(), 1 / 64)  # type: ignore[union-attr]
    np.testing.assert_allclose(vae.encoder[0].std.ravel(), channels["std"], rtol=1e-6)  # type: ignore[index, union-attr]
    with pytest.raises(UnweaveError, match="Bernoulli"):
        Run.create(Config.read(words=[*words, "likelihood=Bernoulli"]), tmp_path / "other").train()
