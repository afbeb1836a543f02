"""Pictures that are made here stay as they are: block means of a few of them, recorded once in `pictures.json`.

A run of yesterday and one of today must have seen the same images. `python tests/data/test_pictures_stay.py` records
them anew, which is right only together with a new version of a data set.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from unweave.data import BusySprites, Circles, ColoredSprites, Pinwheel, XYSquares
from unweave.data.objects3d import build, render
from unweave.data.sprites import swirls

RECORDED = Path(__file__).with_name("pictures.json")


def blocks(images: NDArray[Any]) -> list[Any]:
    """Means of 4 x 4 blocks of each image (n, channels, height, width), on the scale 0 to 255."""
    n, channels, height, width = images.shape
    parts = images.astype(np.float64).reshape(n, channels, 4, height // 4, 4, width // 4)
    means: list[Any] = parts.mean(axis=(3, 5)).round(3).tolist()
    return means


def objects(category: int) -> NDArray[Any]:
    """Two objects of a category from two sides each, in all lights."""
    views = [
        render(build(category, instance), azimuth, elevation)
        for instance, azimuth, elevation in ((0, 20.0, 30.0), (3, 200.0, 55.0))
    ]
    return np.concatenate(views)[::3].transpose(0, 3, 1, 2)


def sampled(dataset: Any) -> NDArray[Any]:
    """Three draws of a seed."""
    images: NDArray[Any] = dataset.sample(3, np.random.default_rng(5)).images
    return images


MADE: dict[str, Any] = {
    **{f"objects of category {category}": (lambda c=category: objects(c)) for category in range(5)},
    **{
        f"circles {variant}": (lambda v=variant: sampled(Circles(variant=v)))
        for variant in ("xy", "xh", "rg")
    },
    "squares": lambda: sampled(XYSquares()),
    "coloured sprites": lambda: sampled(ColoredSprites()),
    "sprites on noise": lambda: sampled(BusySprites(ground="noise")),
    "sprites on swirls": lambda: sampled(BusySprites(ground="texture")),
    "swirls": lambda: swirls(64, 64)[None].transpose(0, 3, 1, 2),
    "pinwheel": lambda: (
        (100 * sampled(Pinwheel(seed=3, radial=0.1, tangential=0.3, rate=0.25)))
        .repeat(4, axis=2)
        .repeat(2, axis=3)
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_pictures_are_those_of_before(name: str) -> None:
    found, expected = blocks(MADE[name]()), json.loads(RECORDED.read_text())[name]
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.1)


if __name__ == "__main__":
    RECORDED.write_text(json.dumps({name: blocks(make()) for name, make in MADE.items()}) + "\n")
