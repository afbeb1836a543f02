import subprocess
import sys
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from unweave.data import DATASETS, Arrays, Circles, DSprites, Folder, XYSquares, load
from unweave.errors import UnweaveError


def test_names_are_those_of_the_classes() -> None:
    assert {DSprites, Circles, XYSquares, Folder, Arrays} <= set(DATASETS.values())
    assert all(name == dataset.__name__ for name, dataset in DATASETS.items())
    for cls in DATASETS.values():
        assert "\n" not in cls.description


@pytest.mark.parametrize("name", ["dsprites", "DSprites", "d-sprites", "D_SPRITES"])
def test_names_match_whatever_their_case(name: str) -> None:
    dataset = load(name)
    assert isinstance(dataset, DSprites)
    assert dataset.name == "DSprites"


def test_options_reach_the_dataset() -> None:
    circles = load("circles", variant="xh", hole="center", size=32)
    assert isinstance(circles, Circles)
    assert (circles.variant, circles.hole, circles.image_shape) == ("xh", "center", (3, 32, 32))


def test_paths_give_the_users_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    (tmp_path / "circles").mkdir()
    PIL.Image.fromarray(pixels).save(tmp_path / "circles" / "a.png")
    np.savez(tmp_path / "data.npz", images=pixels[None])
    for own in (
        load(tmp_path / "circles", size=16),
        load(str(tmp_path / "circles") + "/", size=16),
        load("folder", path=tmp_path / "circles", size=16),
        load(tmp_path / "data.npz"),
        load("arrays", path=str(tmp_path / "data.npz")),
    ):
        np.testing.assert_array_equal(own.at([0])[0, 0], pixels)
    monkeypatch.chdir(tmp_path)
    assert isinstance(load("circles"), Circles)
    assert isinstance(load("./circles"), Folder)
    assert isinstance(load("data.npz"), Arrays)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("dsprits", {}, "unknown dataset 'dsprits': did you mean DSprites"),
        ("circles", {"varient": "xy"}, "unknown option of data Circles 'varient': did you mean variant"),
        ("dsprites", {"size": 64}, r"unknown option of data DSprites 'size' \(there are: source\)"),
        (
            "some/where/",
            {},
            "there is no folder or file some/where/: give a folder of images, an npz file or the name of a data set",
        ),
        ("data.npz", {}, "there is no folder or file data.npz"),
        ("~no-such-user/data", {}, "there is no folder or file ~no-such-user/data"),
        ("circles", {"size": "large"}, "data.size must be a whole number, got 'large'"),
        ("folder", {}, "data Folder needs the option data.path"),
        ("arrays", {}, "data Arrays needs the option data.path"),
        ("readme.md", {}, "readme.md is neither a folder of images nor an npz file"),
    ],
)
def test_mistakes_are_named(name, options, message, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "readme.md").write_text("text")
    with pytest.raises(UnweaveError, match=message):
        load(name, **options)


def test_data_needs_neither_torch_nor_pillow_to_be_imported() -> None:
    code = "import sys, unweave.data; print({'torch', 'PIL', 'sklearn', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
