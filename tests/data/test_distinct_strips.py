from pathlib import Path

import numpy as np

from unweave.data.distinct_strips import cached_strips, distinct

IMAGES = np.random.default_rng(0).integers(2, size=(50, 4, 3), dtype=np.uint8)


def test_images_come_back_from_their_bands() -> None:
    plan, bands = distinct(IMAGES)
    np.testing.assert_array_equal(bands[plan], IMAGES)
    assert len(bands) == len(np.unique(IMAGES.reshape(-1, 3), axis=0)) == 8
    np.testing.assert_array_equal(bands[0], IMAGES[0, 0])


def test_made_once_and_whatever_of_it_is_lost_made_again(tmp_path: Path) -> None:
    calls = []

    def build() -> tuple[np.ndarray, np.ndarray]:
        calls.append(1)
        plan, bands = distinct(IMAGES)
        return plan, np.concatenate([bands, np.full((2, 3), 9, np.uint8)])

    for lost in (None, None, ".plan", ".bands"):
        if lost:
            (tmp_path / "images").with_suffix(lost).unlink()
        plan, bands = cached_strips(tmp_path / "images", (50, 4), 3, build, more=2)
        np.testing.assert_array_equal(bands[plan], IMAGES)
        assert len(bands) == 10
        assert (bands[-2:] == 9).all()
    assert len(calls) == 3
    assert sorted(file.name for file in tmp_path.iterdir()) == ["images.bands", "images.plan"]
