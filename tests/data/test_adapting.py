"""Data sets from what a Python user has."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from unweave.data import Arrays, Circles, as_dataset
from unweave.errors import UnweaveError

PIXELS = np.random.default_rng(0).integers(256, size=(7, 3, 8, 16), dtype=np.uint8)
LABELS = np.array([4, 4, 9, 1, 9, 9, 1])
TENSOR = torch.from_numpy(PIXELS)


class Items:
    """A torch-style data set: a length and items, which do not end by themselves."""

    def __len__(self) -> int:
        return len(PIXELS)

    def __getitem__(self, i: int) -> tuple[Any, int]:
        return TENSOR[i % 7], int(LABELS[i % 7])


def lazily() -> Iterator[np.ndarray]:
    yield from PIXELS


@pytest.mark.parametrize(
    ("source", "labelled"),
    [
        (PIXELS, False),
        (PIXELS.transpose(0, 2, 3, 1), False),
        (TENSOR.clone().requires_grad_(False), False),
        (lazily(), False),
        (list(TENSOR), False),
        ([PIL.Image.fromarray(image.transpose(1, 2, 0)) for image in PIXELS], False),
        (DataLoader(TensorDataset(TENSOR), batch_size=3), False),
        ((PIXELS, LABELS), True),
        (Items(), True),
        (DataLoader(Items(), batch_size=3), True),
        (DataLoader(TensorDataset(TENSOR, torch.from_numpy(LABELS)), batch_size=2), True),
        ([{"image": image, "label": label} for image, label in zip(PIXELS, LABELS, strict=True)], True),
        (
            DataLoader([{"img": image, "label": int(k)} for image, k in zip(TENSOR, LABELS, strict=True)], 4),
            True,
        ),
    ],
)
def test_every_source_gives_the_same_images_and_labels(source: Any, labelled: bool) -> None:
    dataset = as_dataset(source)
    assert dataset.image_shape == (3, 8, 16)
    np.testing.assert_array_equal(dataset.at(range(7)), PIXELS)
    assert (dataset.space is not None) == labelled
    if labelled:
        assert isinstance(dataset, Arrays)
        assert dataset.values[0].tolist() == [1, 4, 9]
        assert dataset.factors_at(range(7))[:, 0].tolist() == [1, 1, 2, 0, 2, 2, 0]


def test_data_sets_names_classes_and_paths_are_taken_as_they_are(tmp_path: Path) -> None:
    circles = Circles(size=32)
    assert as_dataset(circles) is circles
    assert as_dataset({"name": "circles", "size": 32}).image_shape == circles.image_shape
    assert as_dataset(Circles).name == "Circles"
    PIL.Image.new("L", (9, 9)).save(tmp_path / "a.png")
    for path in (tmp_path, str(tmp_path)):
        assert as_dataset(path).image_shape == (1, 64, 64)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (5, "data must be a data set, its name, images or an iterable of images, got int"),
        ([], "list holds no images"),
        ([PIXELS[0], PIXELS[0, :, :4]], r"got \(3, 8, 16\) and, as item 1 of list, \(3, 4, 16\)"),
        ([{"picture": PIXELS[0]}], "item 0 has no image under image, img, .* it has picture"),
        (PIXELS / 10.0, "must lie between 0 and 1"),
    ],
)
def test_what_is_no_data_is_one_sentence(source: Any, expected: str) -> None:
    with pytest.raises(UnweaveError, match=expected):
        as_dataset(source)
