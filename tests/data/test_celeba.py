"""CelebA: the tiny files in its original formats."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from unweave.data import CelebA
from unweave.errors import UnweaveError

Link = Callable[..., None]
CELEBA = ("img_align_celeba.zip", "list_attr_celeba.txt", "list_eval_partition.txt")


def test_celeba_golden_round_trip(place: Path, formats: Path, link: Link) -> None:
    link("celeba", *CELEBA)
    dataset = CelebA()
    assert (dataset.count, dataset.space, dataset.image_shape) == (6, None, (3, 64, 64))
    with zipfile.ZipFile(formats / CELEBA[0]) as archive:
        for i in range(6):
            with PIL.Image.open(io.BytesIO(archive.read(f"img_align_celeba/{i + 1:06}.jpg"))) as picture:
                whole = picture.convert("RGB")
                expected = np.asarray(whole.resize((64, 64), PIL.Image.Resampling.BILINEAR))
            np.testing.assert_array_equal(dataset.at([i])[0].transpose(1, 2, 0), expected)
    lines = (formats / CELEBA[1]).read_text().splitlines()
    column = lines[1].split().index("Smiling")
    smiling = [int(line.split()[1 + column]) > 0 for line in lines[2:]]
    asked = CelebA(attributes=("Smiling",))
    np.testing.assert_array_equal(asked.factors_at(np.arange(6))[:, 0], smiling)
    parts = dict(line.split() for line in (formats / CELEBA[2]).read_text().splitlines())
    for number, split in enumerate(("train", "valid", "test")):
        many = sum(value == str(number) for value in parts.values())
        if many:
            assert CelebA(split=split).count == many
        else:
            with pytest.raises(UnweaveError, match=f"belongs to the split {split}"):
                CelebA(split=split)
    side = min(whole.size)
    assert CelebA(crop=side).image_shape == (3, 64, 64)
    with pytest.raises(UnweaveError, match="unknown attribute of CelebA 'Smilin': did you mean Smiling"):
        CelebA(attributes=("Smilin",))


def test_wrong_celeba_is_named(place: Path, formats: Path) -> None:
    (place / "celeba").mkdir()
    (place / "celeba" / CELEBA[0]).write_bytes((formats / CELEBA[0]).read_bytes()[:900])
    with pytest.raises(UnweaveError, match="cannot be read as a zip archive"):
        CelebA()
    (place / "celeba" / CELEBA[0]).write_bytes((formats / CELEBA[0]).read_bytes())
    lines = (formats / CELEBA[1]).read_text().splitlines()
    (place / "celeba" / CELEBA[1]).write_text("\n".join(lines[:-2]))
    with pytest.raises(UnweaveError, match=r"list_attr_celeba.txt is truncated: 4 of 6 rows are there"):
        CelebA(attributes=("Smiling",))
