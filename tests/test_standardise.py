from typing import Any

import numpy as np
import pytest
import torch

from unweave.data import Arrays
from unweave.errors import UnweaveError
from unweave.functional import blur, blur_profile
from unweave.likelihoods import MSE
from unweave.model_metrics.log_likelihood import log_likelihood
from unweave.objectives import BetaVAE
from unweave.runs import Config, Run
from unweave.standardise import standardise
from unweave.training import train
from unweave.vae import VAE

MLP: dict[str, Any] = {"encoder": {"name": "MLP", "hidden": [4]}, "decoder": {"name": "MLP", "hidden": [4]}}
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


def test_an_augmentation_still_gets_images_and_its_result_is_standardised() -> None:
    """A blur that is written by hand is the same term as the one that comes with the likelihood."""
    profile = blur_profile("box", 2)
    options = {"name": "MSE", "blur": "box", "blur_radius": 2, "blur_weight": 3.0}
    built_in = standardise(VAE.assemble((3, 8, 8), 2, **MLP, likelihood=options), MEAN, STD)
    seen: list[torch.Tensor] = []

    def by_hand(images: torch.Tensor) -> torch.Tensor:
        seen.append(images)
        return blur(images, profile)

    vae = VAE.assemble((3, 8, 8), 2, **MLP, likelihood=MSE((3, 8, 8)).with_overlap(by_hand, weight=3.0))
    other = standardise(vae, MEAN, STD)
    x, features = torch.rand(4, 3, 8, 8), torch.randn(4, 3, 8, 8)
    seen.clear()
    torch.testing.assert_close(
        other.likelihood(features).log_prob(x),
        built_in.likelihood(features).log_prob(x),
        rtol=1e-4,
        atol=1e-3,
    )
    torch.testing.assert_close(seen[-1], x)
    with pytest.raises(UnweaveError, match=r"must keep their 3 channels, .* got \(1, 1, 8, 8\)"):
        grey = MSE((3, 8, 8)).with_overlap(lambda images: images.mean(1, keepdim=True), weight=3.0)
        standardise(VAE.assemble((3, 8, 8), 2, **MLP, likelihood=grey), MEAN, STD)


def test_the_principal_components_are_those_of_standardised_images() -> None:
    """A pixel in each channel varies by ``spread`` of that channel's deviation."""
    rng, spread, std = np.random.default_rng(0), np.array([2.0, 1.0, 0.5]), np.array([0.001, 0.01, 0.05])
    images = np.full((400, 4, 4, 3), 0.5, np.float32)
    images[:, 1, 2] += (spread * std * rng.standard_normal((400, 3))).astype(np.float32)
    prior = {"name": "AnisotropicNormal", "scales": "pca", "images": 2000}
    vae = standardise(
        VAE.assemble((3, 4, 4), 3, **MLP, prior=prior, likelihood="MSE"), (0.5, 0.5, 0.5), tuple(std)
    )
    train(vae, BetaVAE(), Arrays.from_arrays(images), steps=1, batch_size=2)
    expected = 3 * np.exp(spread) / np.exp(spread).sum()
    np.testing.assert_allclose(vae.prior().stddev, expected, rtol=0.1)


@pytest.mark.parametrize(
    ("likelihood", "normalised", "name"),
    [
        ("MSE", False, "StandardisedLikelihood of MSE"),
        ("Gaussian", True, "StandardisedLikelihood of Gaussian"),
        ({"name": "Gaussian", "blur": "box", "blur_radius": 1}, False, "StandardisedLikelihood of Gaussian"),
    ],
)
def test_a_standardised_loss_is_no_density(likelihood: Any, normalised: bool, name: str) -> None:
    vae = standardise(VAE.assemble((3, 8, 8), 2, **MLP, likelihood=likelihood), MEAN, STD)
    score = log_likelihood(vae, np.zeros((2, 3, 8, 8), np.uint8), particles=2)
    assert score.constants["normalised"] is normalised
    assert score.constants["likelihood"] == name
