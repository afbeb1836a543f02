"""Numbers with an exact answer for functions whose arguments are usually symmetric, even or zero."""

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.integrate import quad
from scipy.stats import norm
from torch.distributions import Independent, Normal

from unweave.functional import (
    averaged_to_summed,
    blur,
    blur_profile,
    code_covariance,
    covariance,
    covariance_penalties,
    discriminator_accuracy,
    discriminator_loss,
    gradient_penalty,
    permute_dims,
    summed_to_averaged,
)
from unweave.functional.blur import kernel_area
from unweave.functional.gaussian_moments import absolute_moment
from unweave.functional.singular_values import singular_values


@pytest.mark.parametrize("shape", [(1, 1, 7, 7), (2, 3, 5, 9)])
def test_a_blur_that_is_not_even(shape: tuple[int, ...]) -> None:
    """``sum_rs profile[r] profile[s] images[i + r, j + s]``: the same way round along both axes."""
    profile = torch.tensor([0.5, 0.3, 0.1, 0.07, 0.03])
    images = torch.rand(*shape, generator=torch.Generator().manual_seed(0))
    kernel = torch.outer(profile, profile).expand(shape[1], 1, -1, -1)
    expected = F.conv2d(images, kernel, padding=2, groups=shape[1])
    torch.testing.assert_close(blur(images, profile), expected)


@pytest.mark.parametrize("radius", [1, 4, 31])
def test_profiles_of_the_blur(radius: int) -> None:
    offsets = np.arange(-radius, radius + 1)
    gaussian = norm(0, radius / 3).pdf(offsets)
    np.testing.assert_allclose(blur_profile("gaussian", radius), gaussian / gaussian.sum(), rtol=1e-5)
    np.testing.assert_allclose(
        blur_profile("box", radius), np.full(2 * radius + 1, 1 / (2 * radius + 1)), rtol=1e-6
    )
    assert kernel_area(radius) == (2 * radius + 1) ** 2


def test_singular_values_of_a_seed() -> None:
    """Without oversampling and passes the estimate is rough and shows its seed; the global generator is untouched."""
    generator = torch.Generator().manual_seed(0)
    matrix = torch.randn(30, 40, generator=generator)
    torch.manual_seed(3)
    before = torch.get_rng_state()
    rough = [singular_values(matrix, 3, extra=0, passes=0, seed=seed) for seed in (0, 0, 1)]
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(rough[0], rough[1])
    assert not torch.allclose(rough[0], rough[2], rtol=1e-3)
    assert torch.equal(rough[0], singular_values(matrix, 3, extra=0, passes=0))
    exact = torch.linalg.svdvals(matrix)[:3]
    torch.testing.assert_close(singular_values(matrix, 3), exact, rtol=1e-4, atol=0)
    once = singular_values(matrix, 3, extra=0, passes=1)
    assert (exact - once).abs().sum() < (exact - rough[0]).abs().sum()
    padded = singular_values(matrix[:2], 4)
    assert padded.shape == (4,)
    assert padded[2:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("mean", [0.0, 0.7, -3.0, 7.9, 8.1, -40.0])
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.3])
def test_absolute_moments_by_quadrature(mean: float, scale: float, p: float) -> None:
    density = norm(mean * scale, scale)
    points = [mean * scale + k * scale for k in (-10, -4, 0, 4, 10)]
    pieces = sorted({*points, 0.0} if points[0] < 0 < points[-1] else set(points))
    expected = sum(
        quad(lambda x: abs(x) ** p * density.pdf(x), a, b, epsabs=0, epsrel=1e-11)[0]
        for a, b in itertools.pairwise(pieces)
    )
    ours = absolute_moment(*(torch.tensor(v, dtype=torch.float64) for v in (mean * scale, scale, p)))
    assert ours.item() == pytest.approx(expected, rel=1e-9)


def test_covariances_of_unequal_numbers() -> None:
    rng = np.random.default_rng(0)
    means, deviations = rng.normal(1, 2, (9, 3)), rng.uniform(0.2, 2, (9, 3))
    q = Independent(Normal(torch.from_numpy(means), torch.from_numpy(deviations)), 1)
    own = np.cov(means.T, ddof=0)
    np.testing.assert_allclose(covariance(torch.from_numpy(means)), own)
    whole = own + np.diag((deviations**2).mean(0))
    np.testing.assert_allclose(code_covariance(q), whole)
    off, diagonal = covariance_penalties(torch.from_numpy(whole))
    assert off.item() == pytest.approx(float((whole**2).sum() - (np.diag(whole) ** 2).sum()))
    assert diagonal.item() == pytest.approx(float(((np.diag(whole) - 1) ** 2).sum()))


def test_the_discriminator_by_hand() -> None:
    of_q, of_r = torch.tensor([[2.0, 0.5], [-1.0, 1.0], [0.0, 0.0]]), torch.tensor([[0.5, 0.3], [0.0, 3.0]])
    log_d = [-math.log1p(math.exp(b - a)) for a, b in of_q.tolist()]
    log_not_d = [-math.log1p(math.exp(a - b)) for a, b in of_r.tolist()]
    expected = -0.5 * (sum(log_d) / 3 + sum(log_not_d) / 2)
    assert discriminator_loss(of_q, of_r).item() == pytest.approx(expected, rel=1e-6)
    # A tie is no vote for q: 1 of 3 right on one side, 1 of 2 on the other.
    assert discriminator_accuracy(of_q, of_r).item() == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert discriminator_accuracy(torch.zeros(4, 2), torch.zeros(4, 2)).item() == 0.5


def test_permuted_codes_are_permuted_latent_by_latent() -> None:
    z = torch.arange(200.0).view(100, 2)
    torch.manual_seed(0)
    permuted = permute_dims(z)
    assert torch.equal(permuted.sort(0).values, z)
    assert (permuted[:, 0] != z[:, 0]).sum() > 90
    assert (permuted[:, 1] - permuted[:, 0] != 1).sum() > 90  # not the same permutation for both


def test_the_gradient_penalty_of_a_linear_and_a_quadratic_critic() -> None:
    weight = torch.tensor([3.0, 4.0, 12.0])
    real, fake = torch.rand(5, 3), torch.rand(5, 3)
    assert gradient_penalty(lambda x: x @ weight, real, fake).item() == pytest.approx(
        144.0, rel=1e-5
    )  # (13 - 1)^2
    # Of |x|^2 / 2 the slope is |x^|: with equal images it is theirs, each on its own.
    images = torch.tensor([[3.0, 4.0], [0.0, 2.0]]).view(2, 1, 1, 2)
    penalty = gradient_penalty(lambda x: x.square().flatten(1).sum(1) / 2, images, images)
    assert penalty.item() == pytest.approx((16 + 1) / 2, rel=1e-5)
    # Between 0 and 2 along a line: E (2u - 1)^2 = 1/3, u even for each image.
    torch.manual_seed(0)
    ends = torch.zeros(20_000, 1), torch.full((20_000, 1), 2.0)
    spread = gradient_penalty(lambda x: x.square().sum(1) / 2, *ends)
    assert spread.item() == pytest.approx(1 / 3, rel=0.02)


def test_the_gradient_penalty_trains_the_critic_and_not_the_images() -> None:
    weight = torch.tensor([3.0, 4.0], requires_grad=True)
    real, fake = torch.rand(5, 2, requires_grad=True), torch.rand(5, 2, requires_grad=True)
    gradient_penalty(lambda x: x @ weight, real, fake).backward()
    torch.testing.assert_close(weight.grad, 2 * (5 - 1) * torch.tensor([0.6, 0.8]))
    assert real.grad is None
    assert fake.grad is None


def test_conversion_of_beta() -> None:
    assert averaged_to_summed(0.5, (3, 4, 5), 6) == pytest.approx(0.5 * 60 / 6)
    assert summed_to_averaged(0.5, (3, 4, 5), 6) == pytest.approx(0.5 * 6 / 60)
