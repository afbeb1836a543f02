"""A data set with a count is one of PyTorch's: it has a length and items, and a loader goes through it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from torch.utils.data import DataLoader

from unweave import data
from unweave.errors import UnweaveError
from unweave.vae import as_tensor


@pytest.fixture
def images() -> Iterator[np.ndarray]:
    yield np.random.default_rng(0).integers(256, size=(23, 8, 8, 3), dtype=np.uint8)


def test_items_are_the_images_of_their_factors() -> None:
    dataset = data.XYSquares()
    assert len(dataset) == dataset.count == 262144
    rows = [0, 5, 70_000, 262_143]
    expected = as_tensor(dataset.images(dataset.factors_at(rows)))
    for row, image in zip(rows, expected, strict=True):
        assert dataset[row].dtype == torch.float32
        assert_array_equal(dataset[row], image)
    assert_array_equal(dataset[-1], expected[-1])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_shuffles_and_shows_every_image_once(workers: int, images: np.ndarray) -> None:
    dataset = data.Arrays.from_arrays(images)
    loader = DataLoader(
        dataset, 5, shuffle=True, num_workers=workers, generator=torch.Generator().manual_seed(0)
    )
    batches = list(loader)
    assert [len(batch) for batch in batches] == [5, 5, 5, 5, 3]
    seen = (torch.cat(batches).numpy() * 255).round().astype(np.uint8)
    assert not (seen == images.transpose(0, 3, 1, 2)).all()
    order = {image.tobytes() for image in seen}
    assert order == {np.ascontiguousarray(image).tobytes() for image in images.transpose(0, 3, 1, 2)}


def test_floats_stay_as_they_are() -> None:
    pixels = np.random.default_rng(0).random((4, 8, 8, 1), np.float32)
    dataset = data.Arrays.from_arrays(pixels)
    assert_array_equal(dataset[2], pixels[2].transpose(2, 0, 1))


def test_the_end_is_an_index_error_so_that_a_loop_ends(images: np.ndarray) -> None:
    dataset = data.Arrays.from_arrays(images)
    assert len(list(dataset)) == 23
    with pytest.raises(IndexError, match="has rows 0 to 22, got 23"):
        dataset[23]


def test_without_a_last_image_it_says_so_in_one_sentence() -> None:
    dataset = data.Circles()
    assert dataset.count is None
    assert dataset
    for use in (lambda: len(dataset), lambda: dataset[0], lambda: DataLoader(dataset, shuffle=True)):
        with pytest.raises(
            UnweaveError, match=r"Circles has continuous factors and no length.*sample\(n, rng\)"
        ):
            use()


def test_the_cache_is_where_the_system_says_and_an_earlier_one_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unweave.data.cache import cache_folder

    monkeypatch.delenv("UNWEAVE_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "unweave"
    (tmp_path / ".cache" / "unweave").mkdir(parents=True)
    assert cache_folder() == tmp_path / ".cache" / "unweave"
    (tmp_path / "xdg" / "unweave").mkdir(parents=True)
    assert cache_folder() == tmp_path / "xdg" / "unweave"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == tmp_path / ".cache" / "unweave"
    monkeypatch.setenv("UNWEAVE_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
