"""Constants of channels against numpy: each image's own deviation, with n - 1, averaged over images (REC table A2)."""

from pathlib import Path

import numpy as np
import pytest

from unweave.data import Arrays
from unweave.data.dataset import Dataset


def dataset(folder: Path, images: np.ndarray) -> Dataset:
    path = folder / "images.npz"
    np.savez(path, images=images)
    return Arrays(path=str(path))


@pytest.mark.parametrize("kind", ["uint8", "float32"])
def test_mean_and_deviation_of_each_channel(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (7, 8, 8, 3)).astype(np.uint8)
    images[..., 1] //= 4
    images[3] //= 2
    stored = images if kind == "uint8" else (images / 255).astype(np.float32)
    measured = dataset(tmp_path, stored).channels()
    flat = images.reshape(7, -1, 3) / 255
    np.testing.assert_allclose(measured.mean, flat.mean(axis=(0, 1)), rtol=1e-5)
    np.testing.assert_allclose(measured.std, flat.std(axis=1, ddof=1).mean(axis=0), rtol=1e-5)
    assert abs(flat.std(axis=1, ddof=0).mean(axis=0)[0] / measured.std[0] - 1) > 5e-3  # it matters which
    assert measured.source == "of all images"


def test_a_limit_measures_drawn_images(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (40, 8, 8, 1)).astype(np.uint8)
    data = dataset(tmp_path, images)
    assert data.measured_channels(limit=40).source == "of all images"
    some = data.measured_channels(limit=25)
    assert some.source == "of 25 images"
    drawn = data.sample(25, np.random.default_rng(0)).images.reshape(25, -1) / 255
    np.testing.assert_allclose(some.mean, [drawn.mean()], rtol=1e-5)
    np.testing.assert_allclose(some.std, [drawn.std(axis=1, ddof=1).mean()], rtol=1e-5)


def test_more_images_than_a_block(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (1100, 4, 4, 1)).astype(np.uint8)
    images[:500] //= 8
    measured = dataset(tmp_path, images).channels()
    flat = images.reshape(1100, -1) / 255
    np.testing.assert_allclose(measured.mean, [flat.mean()], rtol=1e-5)
    np.testing.assert_allclose(measured.std, [flat.std(axis=1, ddof=1).mean()], rtol=1e-5)
