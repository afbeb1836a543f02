"""Likelihoods against numpy: values, gradients, noise of samples, defaults and limits, with and without the blur."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from unweave.errors import UnweaveError
from unweave.likelihoods import LIKELIHOODS, MSE, Bernoulli, Gaussian
from unweave.runs import Config

SHAPE = (2, 4, 6)


def batch(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    features = torch.rand(3, *SHAPE, generator=generator, dtype=torch.float64) * 0.8 + 0.1
    return features, torch.rand(3, *SHAPE, generator=generator, dtype=torch.float64)


def blurred(images: np.ndarray, radius: int, kind: str) -> np.ndarray:
    """The linear blur with zeros outside, by its definition."""
    offsets = np.arange(-radius, radius + 1)
    profile = np.ones(len(offsets)) if kind == "box" else np.exp(-0.5 * (offsets / (radius / 3)) ** 2)
    profile = (profile / profile.sum()).astype(np.float32)
    height, width = images.shape[-2:]
    result = np.zeros_like(images)
    for i in range(height):
        for j in range(width):
            for r, a in zip(offsets, profile, strict=True):
                for s, b in zip(offsets, profile, strict=True):
                    if 0 <= i + r < height and 0 <= j + s < width:
                        result[..., i, j] += float(a) * float(b) * images[..., i + r, j + s]
    return result


def log_density(name: str, mean: np.ndarray, images: np.ndarray) -> np.ndarray:
    if name == "Bernoulli":
        return (images * np.log(mean) + (1 - images) * np.log(1 - mean)).sum((1, 2, 3))
    squares = ((mean - images) ** 2).sum((1, 2, 3))
    if name == "MSE":
        return -squares
    return -squares / (2 * 0.3) - 0.5 * math.prod(SHAPE) * math.log(2 * math.pi * 0.3)


def features_of(name: str, mean: Tensor) -> Tensor:
    return torch.logit(mean) if name == "Bernoulli" else mean


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("kind", ["none", "box", "gaussian"])
@pytest.mark.parametrize("weight", [None, 2.5])
def test_the_loss_by_numpy(name: str, kind: str, weight: float | None) -> None:
    mean, images = batch()
    likelihood = LIKELIHOODS[name](SHAPE, blur=kind, blur_radius=2, blur_weight=weight).double()
    ours = likelihood(features_of(name, mean)).log_prob(images).numpy()
    expected = log_density(name, mean.numpy(), images.numpy())
    if kind != "none":
        alpha = 25.0 if weight is None else weight
        expected = expected + alpha * log_density(
            name, blurred(mean.numpy(), 2, kind), blurred(images.numpy(), 2, kind)
        )
    np.testing.assert_allclose(ours, expected, rtol=1e-5)


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("kind", ["none", "box"])
def test_gradients_by_finite_differences(name: str, kind: str) -> None:
    mean, images = batch(1)
    likelihood = LIKELIHOODS[name](SHAPE, blur=kind, blur_radius=1).double()
    features = features_of(name, mean).requires_grad_()
    weights = torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64)
    (likelihood(features).log_prob(images) * weights).sum().backward()
    assert features.grad is not None
    rng = np.random.default_rng(0)
    for _ in range(6):
        place = tuple(int(rng.integers(size)) for size in features.shape)
        step = torch.zeros_like(features)
        step[place] = 1e-5
        with torch.no_grad():
            up = (likelihood(features + step).log_prob(images) * weights).sum()
            down = (likelihood(features - step).log_prob(images) * weights).sum()
        assert features.grad[place].item() == pytest.approx(((up - down) / 2e-5).item(), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("likelihood", [Gaussian(SHAPE), MSE(SHAPE)])
def test_gradients_reach_the_images(likelihood: torch.nn.Module) -> None:
    mean, images = batch(2)
    images.requires_grad_()
    likelihood.double()(mean).log_prob(images).sum().backward()
    scale = 1 / 0.3 if isinstance(likelihood, Gaussian) else 2.0
    torch.testing.assert_close(images.grad, scale * (mean - images.detach()), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    ("likelihood", "variance"),
    [
        (Gaussian(SHAPE, variance=0.09), 0.09),
        (MSE(SHAPE), 0.5),
        (Gaussian(SHAPE, blur="box", variance=0.04), 0.04),
    ],
)
def test_the_variance_of_samples(likelihood: torch.nn.Module, variance: float) -> None:
    mean, _ = batch()
    torch.manual_seed(0)
    samples = likelihood(mean.float()).sample(torch.Size([3000]))
    assert samples.shape == (3000, 3, *SHAPE)
    torch.testing.assert_close(samples.mean(0), mean.float(), rtol=0, atol=5 * math.sqrt(variance / 3000))
    assert samples.var(0).mean().item() == pytest.approx(variance, rel=0.02)


def test_samples_of_bernoulli_pixels_are_binary_with_their_probability() -> None:
    torch.manual_seed(0)
    p = Bernoulli(SHAPE)(torch.full((1, *SHAPE), math.log(0.2 / 0.8)))
    assert p.mean[0, 0, 0, 0].item() == pytest.approx(0.2)
    samples = p.sample(torch.Size([2000]))
    assert set(samples.unique().tolist()) == {0.0, 1.0}
    assert samples.mean().item() == pytest.approx(0.2, abs=0.01)
    assert (p.batch_shape, p.event_shape) == ((1,), SHAPE)


def test_defaults_and_choices_of_a_config() -> None:
    blur: dict[str, Any] = {"blur": "none", "blur_radius": 31, "blur_weight": None, "augmentation": None}
    expected: dict[str, dict[str, Any]] = {
        "Bernoulli": {},
        "MSE": {},
        "Gaussian": {"variance": 0.3, "learned": False, "per_output": False},
    }
    for name, own in expected.items():
        assert Config.of({"data": "circles", "likelihood": name}).likelihood.options == {**own, **blur}
        for kind in ("none", "box", "gaussian"):
            chosen = Config.of({"data": "circles", "likelihood": {"name": name, "blur": kind}})
            assert chosen.likelihood.options["blur"] == kind


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_limits_of_the_blur(name: str) -> None:
    LIKELIHOODS[name](SHAPE, blur="box", blur_radius=0, blur_weight=0.0)
    with pytest.raises(UnweaveError, match="blur_radius must be at least 0, got -1"):
        LIKELIHOODS[name](SHAPE, blur="box", blur_radius=-1)
    with pytest.raises(UnweaveError, match="blur_weight must be at least 0, got -1"):
        LIKELIHOODS[name](SHAPE, blur="box", blur_weight=-1.0)


@pytest.mark.parametrize("learned", [False, True])
def test_the_variance_is_stored_only_if_it_is_learned(learned: bool) -> None:
    likelihood = Gaussian(SHAPE, variance=0.2, learned=learned, blur="box")
    assert set(likelihood.state_dict()) == ({"log_variance"} if learned else set())
    assert likelihood.log_variance.item() == pytest.approx(math.log(0.2))
    Gaussian(SHAPE, variance=1e-3)
    with pytest.raises(UnweaveError, match="variance must be greater than 0"):
        Gaussian(SHAPE, variance=0.0)
