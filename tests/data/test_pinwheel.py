"""The pinwheel against its definition, inverted."""

import numpy as np
import pytest
from scipy import stats

from unweave.data import DATASETS, Pinwheel
from unweave.errors import UnweaveError


def test_unrolled_the_arms_are_the_gaussians_they_were_made_from() -> None:
    """Turning every point back by its arm's angle needs the radius r, which solves r = |x| cos(...): find it."""
    wheel = Pinwheel(n=4000, radial=0.05, tangential=0.02, rate=0.25)
    radius = np.linalg.norm(wheel.points, axis=1)  # = sqrt(r^2 + t^2), r up to 0.0002 here
    angle = np.arctan2(wheel.points[:, 1], wheel.points[:, 0]) - 2 * np.pi * wheel.arms / 4
    residual = np.angle(np.exp(1j * (angle - 0.25 * np.exp(radius))))  # = t / r
    assert stats.kstest((radius - 1) / 0.05, "norm").pvalue > 1e-3
    assert residual.std() == pytest.approx(0.02, rel=0.05)
    assert abs(residual.mean()) < 0.002


def generator_of_the_authors(normal: np.ndarray) -> np.ndarray:
    """The set-up that DEC's authors call as pinwheel(0.1, 0.3, 4, 100, 0.25), in its own conventions.

    Features have the second deviation along x, which becomes the radius, and the first along y; they are rows, and
    multiply a rotation matrix from the left.
    """
    features = normal * [0.3, 0.1] + [1.0, 0.0]
    angles = np.repeat(np.arange(4) * np.pi / 2, len(normal) // 4) + 0.25 * np.exp(features[:, 0])
    c, s = np.cos(angles), np.sin(angles)
    turned = features[:, :1] * np.stack([c, -s], 1) + features[:, 1:] * np.stack([s, c], 1)
    return np.asarray(turned)


def test_the_defaults_are_the_data_of_the_authors() -> None:
    """Two-dimensional histograms of both, over many points: the same spirals, and not their mirror image."""
    n, edges = 400_000, np.linspace(-2, 2, 17)
    theirs = generator_of_the_authors(np.random.default_rng(1).standard_normal((n, 2)))

    def shares(points: np.ndarray) -> np.ndarray:
        return np.histogram2d(*points.T, bins=[edges, edges])[0] / n

    ours = Pinwheel(n=n).points
    assert np.abs(shares(ours) - shares(theirs)).sum() < 0.02
    for other in (ours * [1, -1], Pinwheel(n=n, radial=0.1, tangential=0.3, rate=0.25).points):
        assert np.abs(shares(other) - shares(theirs)).sum() > 0.3


def test_the_defaults_of_the_paper() -> None:
    wheel = Pinwheel()
    assert wheel.points.shape == (400, 2) and np.bincount(wheel.arms).tolist() == [100] * 4
    # without the curl: the first arm lies around (1, 0), longer along the radius than across it
    straight = Pinwheel(n=40_000, rate=0.0)
    first = straight.points[straight.arms == 0]
    np.testing.assert_allclose(first.mean(0), [1, 0], atol=0.01)
    np.testing.assert_allclose(first.std(0), [0.3, 0.1], rtol=0.03)


def test_points_are_images_of_two_pixels() -> None:
    wheel = Pinwheel()
    batch = wheel.sample(7, np.random.default_rng(0))
    assert batch.images.shape == (7, 1, 1, 2) and batch.factors is None
    np.testing.assert_allclose(wheel.at([3])[0, 0, 0], (wheel.points[3] + 2) / 4)
    assert DATASETS["Pinwheel"] is Pinwheel
    np.testing.assert_array_equal(Pinwheel(seed=0).points, wheel.points)
    assert not np.array_equal(Pinwheel(seed=1).points, wheel.points)


def test_mistakes_are_named() -> None:
    with pytest.raises(UnweaveError, match="multiple of the 4 clusters, got 402"):
        Pinwheel(n=402)
    with pytest.raises(UnweaveError, match="at least 0"):
        Pinwheel(radial=-1.0)
