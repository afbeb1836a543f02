"""What an evaluation leaves out and takes in: constant factors, posteriors without scales, GANs, images by the seed."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from unweave.errors import UnweaveError
from unweave.metrics import METRICS
from unweave.model_metrics import Codes
from unweave.runs import Config, Run
from unweave.runs import evaluation as module
from unweave.runs.config import merge, read_words
from unweave.runs.evaluation import codes_of, evaluate

NETWORKS = [
    *(
        "latents=2",
        "batch_size=4",
        "steps=1",
        "encoder=MLP",
        "encoder.hidden=[8]",
        "decoder=MLP",
        "decoder.hidden=[8]",
    )
]
GAN = ["model=InfoGAN", "model.channels=[4,8]", "model.hidden=16", "model.noise=3"]
CIRCLES = ["data=circles", "data.size=32", *NETWORKS]


@pytest.fixture(autouse=True)
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLES", 200)


def trained(folder: Path, *words: str) -> Run:
    run = Run.create(Config.read(words=list(words)), folder)
    run.train()
    return run


def own_data(folder: Path, factors: np.ndarray) -> str:
    images = np.random.default_rng(0).integers(0, 256, (len(factors), 16, 16, 1)).astype(np.uint8)
    np.savez(folder / "images.npz", images=images, factors=factors)
    return f"data={folder / 'images.npz'}"


def test_factors_that_do_not_vary_count_as_none(tmp_path: Path) -> None:
    data = own_data(tmp_path, np.ones((60, 2), np.int64))
    scores = evaluate(trained(tmp_path / "run", data, *NETWORKS))
    assert set(scores) == {"elbo", "nll", "kl", "latents_used"}


def test_factors_that_vary_are_scored(tmp_path: Path) -> None:
    factors = np.stack(np.meshgrid(range(12), range(5), indexing="ij"), -1).reshape(-1, 2)
    run = trained(tmp_path / "run", own_data(tmp_path, factors), *NETWORKS)
    assert {"mig", "factor_vae_score"} <= set(evaluate(run))
    stored = codes_of(run)
    assert stored.factors is not None
    np.testing.assert_array_equal(stored.factors, factors)


def test_all_beside_other_names_is_all(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", *CIRCLES)
    standard = {label for metric in METRICS.values() if metric.standard for label in metric.labels}
    assert standard <= set(evaluate(run, metrics=["hoyer", "ALL"]))
    assert set(evaluate(run, metrics=["hoyer"])) == {"hoyer"}


def test_a_latent_without_a_scale_means_no_scales(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", *CIRCLES)
    codes_of(run)
    codes = Codes.load(run.folder / "codes.npz")
    assert codes is not None
    codes.scales[:, 1] = 0
    codes.save(run.folder / "codes.npz")
    with pytest.raises(UnweaveError, match="needs scales"):
        evaluate(run, metrics=["sampled_mig"])


def test_the_images_of_the_log_likelihood_are_drawn_by_the_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[np.ndarray] = []

    def noted(model: Any, images: np.ndarray, *options: Any) -> Any:
        shown.append(images)
        raise UnweaveError(f"seen with seed {torch.initial_seed()}")

    monkeypatch.setattr(sys.modules["unweave.model_metrics.log_likelihood"], "_log_likelihood", noted)
    for name, seed in (("a", 0), ("b", 3), ("c", 3)):
        run = trained(tmp_path / name, *CIRCLES, f"seed={seed}")
        with pytest.raises(UnweaveError, match=f"seen with seed {seed}"):
            evaluate(run, metrics=["log_likelihood"])
    assert [len(images) for images in shown] == [64, 64, 64]
    np.testing.assert_array_equal(shown[1], shown[2])
    assert (shown[0] != shown[1]).any()


def test_a_few_images_are_all_used_for_the_log_likelihood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[np.ndarray] = []

    def noted(model: Any, images: np.ndarray, *options: Any) -> Any:
        shown.append(images)
        raise UnweaveError("seen")

    monkeypatch.setattr(sys.modules["unweave.model_metrics.log_likelihood"], "_log_likelihood", noted)
    run = trained(tmp_path / "run", own_data(tmp_path, np.arange(20)[:, None]), *NETWORKS)
    with pytest.raises(UnweaveError, match="seen"):
        evaluate(run, metrics=["log_likelihood"])
    assert len(shown[0]) == 20
    assert len(np.unique(shown[0].reshape(20, -1), axis=0)) == 20


def test_a_gan_has_no_bound(tmp_path: Path) -> None:
    run = trained(
        tmp_path / "run", "data=circles", "data.size=32", "steps=1", "batch_size=2", "model=InfoGAN"
    )
    scores = evaluate(run, metrics=["elbo", "hoyer"])
    assert set(scores) == {"hoyer"}
    assert len(codes_of(run).nll) == 0


@pytest.mark.parametrize("word", ["=3", "seed", "", "="])
def test_words_must_be_key_and_value(word: str) -> None:
    with pytest.raises(UnweaveError, match="expected key=value"):
        read_words([word])


def test_another_name_drops_the_options_below() -> None:
    below = {"objective": {"name": "BetaVAE", "beta": 4}, "seed": 2}
    assert merge(below, {"objective": {"name": "FactorVAE"}}) == {
        "objective": {"name": "FactorVAE"},
        "seed": 2,
    }
    assert merge(below, {"objective": {"name": "BetaVAE", "x": 1}})["objective"] == {
        "name": "BetaVAE",
        "beta": 4,
        "x": 1,
    }
    assert merge(below, {"objective": {"beta": 5}})["objective"] == {"name": "BetaVAE", "beta": 5}
    assert merge({"objective": "BetaVAE"}, {"objective": {"beta": 5}})["objective"] == {
        "name": "BetaVAE",
        "beta": 5,
    }
    assert merge({}, {"objective": {"beta": 5}}) == {"objective": {"beta": 5}}
    assert merge({"seed": 1}, {"seed": 2}) == {"seed": 2}


def test_a_standardising_model_without_constants_changes_nothing() -> None:
    """Opened without its data, a model gets zeros and ones until the weights bring the constants."""
    settings = {"data": "circles", "latents": 2, "likelihood": "MSE", "encoder": "MLP", "decoder": "MLP"}
    images = torch.rand(2, 3, 8, 16)
    found = []
    for standardise in (False, True):
        torch.manual_seed(0)
        model = Config.of({**settings, "standardise": standardise}).make_model((3, 8, 16))
        found.append(model.codes(images.numpy()))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["averaged", "capacity", "capacity_steps", "standardise", "objective", "prior"]
)
def test_a_gan_takes_the_place_of_the_parts_of_a_vae(name: str) -> None:
    given: dict[str, Any] = {"averaged": True, "capacity": 3.0, "capacity_steps": 5, "standardise": True}
    with pytest.raises(UnweaveError, match=f"takes the place of the VAE's {name}"):
        Config.of({"data": "circles", "model": "InfoGAN", name: given.get(name, "BetaVAE")})


def test_latents_of_a_gan_are_its_codes() -> None:
    model = {"name": "InfoGAN", "continuous": 3, "categorical": [10, 4]}
    assert Config.of({"data": "circles", "model": model}).latents == 5
    assert Config.of({"data": "circles", "model": model, "latents": 5}).latents == 5
    with pytest.raises(UnweaveError, match="5 columns"):
        Config.of({"data": "circles", "model": model, "latents": 4})
