"""Factors of one's own images: from a table, or from the names of folders."""

from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from unweave.data import Folder
from unweave.errors import UnweaveError


def pictures(root: Path, *names: str) -> None:
    for k, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        PIL.Image.new("L", (8, 8), 10 * k).save(root / name)


def shades(folder: Folder, factors: list[list[int]]) -> list[int]:
    return [int(shade) for shade in folder.images(factors)[:, 0, 0, 0]]


def test_a_table_gives_factors_of_words_and_numbers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pictures(tmp_path, "a.png", "below/b.png", "below/c.png", "d.png")
    # In another order, by path, by name and without the ending; one line for a picture that is not there.
    (tmp_path / "labels.csv").write_text(
        "file, kind ,age\nd,dog,7.5\nbelow/b.png,cat,3\nc.png,dog,3\ngone.png,fish,1\na.png,cat,2\n"
    )
    with caplog.at_level("INFO", "unweave"):
        folder = Folder(tmp_path, size=8)
    assert folder.space is not None
    assert (folder.space.names, folder.space.sizes) == (("kind", "age"), (2, 3))
    assert [values.tolist() for values in folder.values] == [["cat", "dog"], [2.0, 3.0, 7.5]]
    assert folder.factors_at(range(4)).tolist() == [[0, 0], [0, 1], [1, 1], [1, 2]]
    assert shades(folder, [[1, 2], [0, 1]]) == [30, 10]
    assert caplog.messages == ["labels.csv gives the factors kind (2 classes), age (3 classes)"]


def test_many_numbers_become_classes_of_equal_size(tmp_path: Path) -> None:
    names = [f"{k:03}.png" for k in range(50)]
    pictures(tmp_path, *names)
    numbers = np.random.default_rng(0).lognormal(sigma=3, size=50)
    (tmp_path / "ages.csv").write_text(
        "\n".join(["file,age", *(f"{name},{x}" for name, x in zip(names, numbers, strict=True))])
    )
    folder = Folder(tmp_path, size=8, labels="ages.csv")
    classes = folder.factors_at(range(50))[:, 0]
    assert np.bincount(classes).tolist() == [5] * 10
    np.testing.assert_array_equal(classes, np.argsort(np.argsort(numbers)) // 5)
    np.testing.assert_allclose(folder.values[0], np.sort(numbers).reshape(10, 5).mean(axis=1))


def test_folders_are_classes(tmp_path: Path) -> None:
    pictures(tmp_path, "cats/1.png", "cats/more/2.png", "dogs/1.png")
    folder = Folder(tmp_path, size=8)
    assert folder.space is not None
    assert (folder.space.names, folder.values[0].tolist()) == (("folder",), ["cats", "dogs"])
    assert folder.factors_at([0, 1, 2]).tolist() == [[0], [0], [1]]
    assert Folder(tmp_path, size=8, labels="none").space is None
    # A run that was trained before folders were read keeps its data.
    assert folder.fingerprint() == Folder(tmp_path, size=8, labels="none").fingerprint()
    pictures(tmp_path, "loose.png")
    assert Folder(tmp_path, size=8).space is None
    with pytest.raises(UnweaveError, match=r"loose.png lies in no subfolder"):
        Folder(tmp_path, size=8, labels="folders")


def test_a_changed_table_is_changed_data(tmp_path: Path) -> None:
    pictures(tmp_path, "a.png", "b.png")
    (tmp_path / "labels.csv").write_text("file,kind\na.png,x\nb.png,y\n")
    before = Folder(tmp_path, size=8).fingerprint()
    (tmp_path / "labels.csv").write_text("file,kind\na.png,y\nb.png,x\n")
    assert Folder(tmp_path, size=8).fingerprint() != before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "file,kind\na.png,x\n",
            r"has no line for 1 of 2 images \(b.png\): add them, or use data.labels=none",
        ),
        ("file,kind\na.png,x\nb.png,\n", r"the column 'kind' of .* is empty for 1 images \(b.png\)"),
        ("file,kind\na.png,x\na.png,y\n", r"has several lines for a.png"),
        ("file,kind\na.png,x,3\n", r"has 2 names, but line 2 has 3 values"),
        ("file\na.png\n", r"must have a line of names and a line for each image"),
        ("file,kind,kind\na.png,1,2\nb.png,1,2\n", r"names of the columns .* differ"),
    ],
)
def test_a_wrong_table_is_one_sentence(tmp_path: Path, text: str, expected: str) -> None:
    pictures(tmp_path, "a.png", "b.png")
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(UnweaveError, match=expected):
        Folder(tmp_path, size=8)
    assert Folder(tmp_path, size=8, labels="none").count == 2


def test_a_table_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    pictures(tmp_path, "a.png")
    with pytest.raises(UnweaveError, match=r"there is no table .*ages.csv"):
        Folder(tmp_path, size=8, labels="ages.csv")
    (tmp_path / "labels.csv").write_bytes(b"file,\xff\xfe\n")
    with pytest.raises(UnweaveError, match="is not a csv file"):
        Folder(tmp_path, size=8)
