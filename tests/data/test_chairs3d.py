"""3D Chairs: renders written here, in a folder and in an archive."""

import tarfile
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from unweave.data import Chairs3D
from unweave.errors import UnweaveError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("packed", [False, True])
def test_chairs_are_cropped_and_resized(place: Path, tmp_path: Path, packed: bool) -> None:
    root = (tmp_path / "raw" if packed else place / "chairs") / "rendered_chairs"
    pictures = []
    for model in ("b", "a"):
        (root / model / "renders").mkdir(parents=True)
        for view in (1, 0):
            pixels = RNG.integers(256, size=(60, 60, 3), dtype=np.uint8)
            PIL.Image.fromarray(pixels).save(root / model / "renders" / f"image_{view:03}.png")
            pictures.append((f"{model}{view}", pixels))
    if packed:
        (place / "chairs").mkdir()
        with tarfile.open(place / "chairs" / "rendered_chairs.tar", "w") as archive:
            archive.add(root, "rendered_chairs")
    dataset = Chairs3D(size=40, crop=40)
    assert (dataset.count, dataset.space, dataset.image_shape) == (4, None, (3, 40, 40))
    expected = [pixels[10:50, 10:50] for _, pixels in sorted(pictures)]
    np.testing.assert_array_equal(dataset.at(np.arange(4)).transpose(0, 2, 3, 1), expected)
    grey = np.asarray(
        PIL.Image.fromarray(expected[0]).convert("L").resize((20, 20), PIL.Image.Resampling.BILINEAR)
    )
    np.testing.assert_array_equal(Chairs3D(size=20, crop=40, channels=1).at([0])[0, 0], grey)
    with pytest.raises(UnweaveError, match=r"cannot crop 400 x 400 pixels from 60 x 60"):
        Chairs3D()
