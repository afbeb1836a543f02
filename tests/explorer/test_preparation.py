"""Any picture in the shape of a model: the page's own crop, filter and conversions give Pillow's bytes."""

from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from unweave.models import Preparation

SCRIPT = Path(__file__).parents[2] / "src/unweave/explorer/page/pictures.js"

CASES = [
    ((64, 64), Preparation((3, 64, 64))),
    ((301, 190), Preparation((3, 64, 64))),
    ((190, 301), Preparation((1, 28, 28), background="white")),
    ((19, 30), Preparation((3, 64, 64))),  # enlarged
    ((65, 65), Preparation((1, 64, 64))),
    ((200, 178), Preparation((3, 64, 64), crop=148)),
    ((91, 130), Preparation((3, 24, 40))),  # not square
    ((75, 45), Preparation((1, 40, 24), crop=None)),
    ((123, 77), Preparation((3, 32, 32), crop=None, background="#8040ff")),  # squeezed
]


@pytest.fixture(scope="module")
def blank(browser: Any) -> Any:
    page = browser.new_page()
    page.add_script_tag(content=SCRIPT.read_text() + "\nwindow.prepare = prepare;")
    yield page
    page.close()


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
@pytest.mark.parametrize(("size", "preparation"), CASES, ids=lambda value: str(value))
def test_bytes_are_those_of_pillow(
    blank: Any, size: tuple[int, int], preparation: Preparation, mode: str
) -> None:
    rng = np.random.default_rng(sum(size))
    bytes_ = rng.integers(0, 256, (size[1], size[0], 4), np.uint8)
    bytes_[..., 3] = 255 if mode == "RGB" else np.where(rng.random(bytes_.shape[:2]) < 0.3, 0, bytes_[..., 3])
    picture = PIL.Image.fromarray(bytes_)
    facts = {
        "shape": list(preparation.image_shape),
        "crop": preparation.crop,
        "background": list(PIL.Image.new("RGB", (1, 1), preparation.background).getpixel((0, 0))),  # type: ignore[arg-type]
    }
    given = {"bytes": bytes_.ravel().tolist(), "width": size[0], "height": size[1]}
    found = blank.evaluate("([picture, facts]) => Array.from(prepare(picture, facts).pixels)", [given, facts])
    wanted = preparation.picture(picture if mode == "RGBA" else picture.convert("RGB"))
    np.testing.assert_array_equal(np.rint(255 * np.array(found)), wanted.ravel())


@pytest.mark.parametrize("size", [(3, 200), (50, 100), (100, 50), (20, 190)])
def test_squeezed_pictures_are_filtered_along_rows_first(blank: Any, size: tuple[int, int]) -> None:
    """Until version 12, Pillow always did; since then it chooses, which may change a byte by one."""
    bytes_ = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 4), np.uint8)
    bytes_[..., 3] = 255
    picture = PIL.Image.fromarray(bytes_).convert("RGB")
    given = {"bytes": bytes_.ravel().tolist(), "width": size[0], "height": size[1]}
    facts = {"shape": [3, 16, 16], "crop": None, "background": [0, 0, 0]}
    found = blank.evaluate("([picture, facts]) => Array.from(prepare(picture, facts).pixels)", [given, facts])
    bilinear = PIL.Image.Resampling.BILINEAR
    by_axes = np.asarray(picture.resize((16, size[1]), bilinear).resize((16, 16), bilinear))
    shown = np.rint(255 * np.array(found))
    np.testing.assert_array_equal(shown, by_axes.transpose(2, 0, 1).ravel())
    at_once = Preparation((3, 16, 16), crop=None).picture(picture)
    assert np.abs(shown - at_once.ravel()).max() <= 1


def test_a_picture_that_is_too_small_for_the_crop_is_refused(blank: Any) -> None:
    message = blank.evaluate(
        """() => {
            try { prepare({ bytes: [], width: 100, height: 90 }, { shape: [3, 64, 64], crop: 148 }); }
            catch (error) { return error.message; }
        }"""
    )
    assert message == "The picture is 100 x 90 pixels; the model cuts 148 x 148 from its middle."
