import math

import numpy as np
import pytest
import torch
from torch import Tensor

from unweave.errors import UnweaveError
from unweave.likelihoods import LIKELIHOODS, MSE, Bernoulli, Gaussian

SHAPE = (2, 3, 5)


def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(4, *SHAPE, generator=generator), torch.rand(4, *SHAPE, generator=generator)


def test_bernoulli_is_the_cross_entropy_in_nats_summed_over_pixels() -> None:
    logits, images = batch()
    p = 1 / (1 + np.exp(-logits.double().numpy()))
    x = images.double().numpy()
    expected = (x * np.log(p) + (1 - x) * np.log(1 - p)).sum((1, 2, 3))
    np.testing.assert_allclose(Bernoulli(SHAPE)(logits).log_prob(images), expected, rtol=1e-5)


def test_bernoulli_is_finite_for_extreme_logits() -> None:
    logits = torch.full((1, *SHAPE), 200.0)
    assert Bernoulli(SHAPE)(logits).log_prob(torch.zeros(1, *SHAPE)).item() == pytest.approx(-200.0 * 30)


def test_gaussian_is_the_normal_density_with_its_constant() -> None:
    means, images = batch()
    expected = torch.distributions.Normal(means, math.sqrt(0.3)).log_prob(images).sum((1, 2, 3))
    torch.testing.assert_close(Gaussian(SHAPE, variance=0.3)(means).log_prob(images), expected)


def test_learned_variance_has_its_maximum_likelihood_at_the_mean_square() -> None:
    means, images = batch()
    optimum = (images - means).square().mean().item()
    likelihood = Gaussian(SHAPE, variance=optimum, learned=True)
    likelihood(means).log_prob(images).sum().backward()
    [parameter] = likelihood.parameters()
    assert abs(parameter.grad.item()) < 1e-4
    assert not list(Gaussian(SHAPE).parameters())


def test_mse_is_the_gaussian_of_variance_one_half_without_its_constant() -> None:
    means, images = batch()
    gaussian = Gaussian(SHAPE, variance=0.5)(means).log_prob(images)
    constant = 0.5 * math.prod(SHAPE) * math.log(math.pi)
    torch.testing.assert_close(MSE(SHAPE)(means).log_prob(images), gaussian + constant)


@pytest.mark.parametrize("likelihood", [Bernoulli(SHAPE), Gaussian(SHAPE, variance=0.04), MSE(SHAPE)])
def test_samples_have_the_mean_and_the_log_prob_its_shape(likelihood: torch.nn.Module) -> None:
    features, _ = batch()
    p = likelihood(features)
    torch.manual_seed(0)
    samples = p.sample(torch.Size([4000]))
    assert samples.shape == (4000, 4, *SHAPE)
    error = samples.std(0) / math.sqrt(4000)
    assert ((samples.mean(0) - p.mean).abs() < 5 * error + 1e-6).all()
    assert p.log_prob(samples[0]).shape == (4,)


def test_variance_must_be_positive() -> None:
    with pytest.raises(UnweaveError, match=r"likelihood\.variance must be greater than 0, got -1"):
        Gaussian(SHAPE, variance=-1.0)


def direct_blur(images: np.ndarray, radius: int) -> np.ndarray:
    """The mean over a window, zeros outside, by its definition."""
    n, channels, height, width = images.shape
    padded = np.zeros((n, channels, height + 2 * radius, width + 2 * radius))
    padded[:, :, radius : radius + height, radius : radius + width] = images
    side = 2 * radius + 1
    blurred = np.zeros_like(images)
    for i in range(height):
        for j in range(width):
            blurred[:, :, i, j] = padded[:, :, i : i + side, j : j + side].sum((2, 3)) / side**2
    return blurred


@pytest.mark.parametrize("radius", [1, 4])
@pytest.mark.parametrize("weight", [None, 7.0])
def test_the_overlap_loss_is_equation_11_for_every_family(radius: int, weight: float | None) -> None:
    """REC Eq. 11: L(x, x^) + alpha L(blur x, blur x^), alpha the area of the window if not given."""
    features, images = batch()
    alpha = (2 * radius + 1) ** 2 if weight is None else weight
    x, f = images.double().numpy(), features.double().numpy()
    p = 1 / (1 + np.exp(-f))
    bx = direct_blur(x, radius)

    def cross_entropy(target: np.ndarray, mean: np.ndarray) -> np.ndarray:
        return -(target * np.log(mean) + (1 - target) * np.log(1 - mean)).sum((1, 2, 3))

    def gaussian(target: np.ndarray, mean: np.ndarray) -> np.ndarray:
        return (0.5 * (target - mean) ** 2 / 0.3 + 0.5 * math.log(2 * math.pi * 0.3)).sum((1, 2, 3))

    def squares(target: np.ndarray, mean: np.ndarray) -> np.ndarray:
        return ((target - mean) ** 2).sum((1, 2, 3))

    for family, loss, mean in ((Bernoulli, cross_entropy, p), (Gaussian, gaussian, f), (MSE, squares, f)):
        expected = loss(x, mean) + alpha * loss(bx, direct_blur(mean, radius))
        options = {"blur": "box", "blur_radius": radius, "blur_weight": weight}
        found = -family(SHAPE, **options)(features).log_prob(images)
        np.testing.assert_allclose(found, expected, rtol=2e-5)


def test_the_papers_blur_is_63_by_63_with_weight_3969() -> None:
    likelihood = MSE((1, 64, 64), blur="box")
    assert likelihood.weight == 63**2
    delta = torch.zeros(1, 1, 64, 64)
    delta[0, 0, 31, 31] = 1.0
    # 63^2 pixels differ by 1/63^2 each: 63^2 * 63^2 * (1/63^2)^2 = 1 on top of the 1 of the pixel itself
    assert likelihood(torch.zeros(1, 1, 64, 64)).log_prob(delta).item() == pytest.approx(-2.0, rel=1e-5)


def test_mean_and_samples_are_those_of_the_family_without_blur() -> None:
    features, _ = batch()
    blurred, plain = Bernoulli(SHAPE, blur="gaussian", blur_radius=1)(features), Bernoulli(SHAPE)(features)
    assert torch.equal(blurred.mean, plain.mean)
    torch.manual_seed(0)
    first = blurred.sample((2,))
    torch.manual_seed(0)
    assert torch.equal(first, plain.sample((2,)))


def test_any_differentiable_map_can_be_the_augmentation() -> None:
    features, images = batch()
    features.requires_grad_()
    likelihood = Gaussian(SHAPE).with_overlap(lambda x: x.flip(3)[:, :1] ** 2, weight=2.0)
    found = likelihood(features).log_prob(images)
    plain = Gaussian(SHAPE)(features).log_prob(images)
    augmented = Gaussian((1, 3, 5))(features.flip(3)[:, :1] ** 2).log_prob(images.flip(3)[:, :1] ** 2)
    torch.testing.assert_close(found, plain + 2 * augmented)
    found.sum().backward()
    assert torch.isfinite(features.grad).all()


def test_black_and_white_reconstructions_keep_finite_gradients_when_blurred() -> None:
    features = torch.full((1, 1, 8, 8), -60.0, requires_grad=True)
    loss = -Bernoulli((1, 8, 8), blur="box", blur_radius=2)(features).log_prob(torch.ones(1, 1, 8, 8))
    loss.backward()
    assert math.isfinite(loss.item())
    assert torch.isfinite(features.grad).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"blur": "box", "blur_radius": -1}, r"likelihood\.blur_radius must be at least 0, got -1"),
        ({"blur": "box", "blur_weight": -1.0}, r"likelihood\.blur_weight must be at least 0, got -1"),
    ],
)
def test_impossible_blurs_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UnweaveError, match=message):
        MSE(SHAPE, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("family", [Bernoulli, Gaussian, MSE])
@pytest.mark.parametrize("blur", ["none", "box"])
def test_gradients_are_those_of_finite_differences(family: type, blur: str) -> None:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(2, *SHAPE, generator=generator, dtype=torch.float64, requires_grad=True)
    images = torch.rand(2, *SHAPE, generator=generator, dtype=torch.float64)
    likelihood = family(SHAPE, blur=blur, blur_radius=1).double()
    assert torch.autograd.gradcheck(lambda f: likelihood(f).log_prob(images), features)


def test_a_variance_for_every_output() -> None:
    """DEC table 1b: the decoder gives means and log-variances, twice the channels."""
    likelihood = Gaussian((2, 1, 3), per_output=True)
    assert likelihood.output_shape == (4, 1, 3)
    features = torch.randn(5, 4, 1, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    p = likelihood(features)
    x = torch.rand(5, 2, 1, 3, dtype=torch.float64)
    expected = torch.distributions.Normal(features[:, :2], (0.5 * features[:, 2:]).exp()).log_prob(x)
    torch.testing.assert_close(p.log_prob(x), expected.sum((1, 2, 3)))
    torch.testing.assert_close(p.mean, features[:, :2])
    torch.manual_seed(0)
    drawn = p.sample((20_000,))
    torch.testing.assert_close(drawn.std(0), (0.5 * features[:, 2:]).exp(), rtol=0.03, atol=0)
    certain = likelihood(torch.full((1, 4, 1, 3), -1e9))
    assert torch.isfinite(certain.log_prob(torch.zeros(1, 2, 1, 3))).all()
    with pytest.raises(UnweaveError, match="per_output decodes every variance"):
        Gaussian((1, 2, 2), per_output=True, learned=True)


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("blur", ["none", "box", "gaussian"])
def test_the_gradient_in_the_image_is_that_of_the_value(name: str, blur: str) -> None:
    torch.manual_seed(0)
    part = LIKELIHOODS.make({"name": name, "blur": blur, "blur_radius": 1}, image_shape=(2, 4, 5)).double()
    features, direction = torch.randn(2, 3, 2, 4, 5, dtype=torch.float64)
    images = torch.rand(3, 2, 4, 5, dtype=torch.float64, requires_grad=True)
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)

    def value(at: torch.Tensor) -> torch.Tensor:
        return (weights * part(features).log_prob(at)).sum()

    (gradient,) = torch.autograd.grad(value(images), images)
    with torch.no_grad():
        difference = (value(images + 1e-5 * direction) - value(images - 1e-5 * direction)) / 2e-5
    torch.testing.assert_close((gradient * direction).sum(), difference, rtol=1e-6, atol=1e-6)
