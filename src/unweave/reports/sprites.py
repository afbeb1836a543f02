"""Many small images in one: what lies behind the points of a figure, and the rows of a sheet."""

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

from unweave.plots.images import as_rgb

MOST_BYTES = 350_000
"""Of a sprite sheet; a larger one is stored with losses."""
LARGEST_SIDE = 96
"""Pixels to which larger images are reduced."""
GAP = 2


@dataclass(frozen=True)
class Strip:
    """Images side by side in one picture, transparent between them.

    Example:
        >>> strip = Strip.of(np.zeros((3, 1, 8, 8)), "three squares")
        >>> strip.count, strip.markup()[:32]
        (3, Markup('<img class="strip" alt="three sq'))
    """

    content: bytes
    kind: str
    count: int
    size: tuple[int, int]
    alt: str

    @classmethod
    def of(cls, images: ArrayLike, alt: str) -> "Strip":
        """The strip of images (n, C, H, W)."""
        tiles = as_rgb(images)
        count, height, width, _ = tiles.shape
        sheet = np.zeros((height, count * (width + GAP) - GAP, 4), np.uint8)
        for k, tile in enumerate(tiles):
            left = k * (width + GAP)
            sheet[:, left : left + width, :3] = tile
            sheet[:, left : left + width, 3] = 255
        return cls(*_encoded(sheet, MOST_BYTES // 10), count, (width, height), alt)

    def markup(self) -> Markup:
        """The element of a page that shows it."""
        width, height = self.size
        soft = "" if max(width, height) <= 48 else " soft"
        return Markup(
            f'<img class="strip{soft}" alt="{html.escape(self.alt)}" data-count="{self.count}" '
            f'width="{self.count * (width + GAP) - GAP}" height="{height}" src="{_address(self.content, self.kind)}">'
        )


def sprite_sheet(images: ArrayLike, label: str) -> Markup:
    """A hidden picture of images (n, C, H, W), from which the page's script cuts the one that is asked for.

    Example:
        >>> markup = sprite_sheet(np.zeros((10, 1, 16, 16)), "data")
        >>> 'data-columns="4"' in markup, 'data-label="data"' in markup
        (True, True)
    """
    tiles = as_rgb(images)
    count, height, width, _ = tiles.shape
    columns = int(np.ceil(np.sqrt(count)))
    rows = -(-count // columns)
    sheet = np.zeros((rows * height, columns * width, 3), np.uint8)
    for k, tile in enumerate(tiles):
        top, left = k // columns * height, k % columns * width
        sheet[top : top + height, left : left + width] = tile
    content, kind = _encoded(sheet, MOST_BYTES)
    return Markup(
        f'<img class="sprites" hidden alt="" data-label="{html.escape(label)}" data-columns="{columns}" '
        f'data-width="{width}" data-height="{height}" src="{_address(content, kind)}">'
    )


def reduced(images: NDArray[Any]) -> NDArray[Any]:
    """Images (n, C, H, W) of at most 96 pixels a side: every second, third ... pixel of larger ones.

    Example:
        >>> reduced(np.zeros((1, 3, 128, 64))).shape
        (1, 3, 64, 32)
    """
    stride = -(-max(images.shape[-2:]) // LARGEST_SIDE)
    return images[..., ::stride, ::stride]


def subgrid(factors: NDArray[np.float64], most: int = 11) -> NDArray[np.int64]:
    """The numbers of the points of a grid (m, 2) that keep at most ``most`` values of each factor, evenly chosen.

    Example:
        >>> factors = np.stack(np.meshgrid(range(21), range(5), indexing="ij"), -1).reshape(-1, 2)
        >>> chosen = subgrid(factors)
        >>> len(chosen), factors[chosen][:6].tolist()
        (55, [[0, 0], [0, 1], [0, 2], [0, 3], [0, 4], [2, 0]])
    """
    keep = np.ones(len(factors), bool)
    for column in factors.T:
        values = np.unique(column)
        places = np.unique(np.rint(np.linspace(0, len(values) - 1, min(most, len(values)))).astype(int))
        keep &= np.isin(column, values[places])
    return np.flatnonzero(keep)


def strips(rows: Sequence[ArrayLike], alts: Sequence[str]) -> list[Strip]:
    """One strip for each row of images.

    Example:
        >>> len(strips(np.zeros((2, 3, 1, 8, 8)), ["a", "b"]))
        2
    """
    return [Strip.of(reduced(np.asarray(row)), alt) for row, alt in zip(rows, alts, strict=True)]


def _encoded(sheet: NDArray[np.uint8], most: int) -> tuple[bytes, str]:
    """A picture as the content of a file: PNG, or WebP with losses if that is too large."""
    import PIL.Image

    picture = PIL.Image.fromarray(sheet)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=6)
    if buffer.tell() <= most:
        return buffer.getvalue(), "png"
    lossy = io.BytesIO()
    picture.save(lossy, "WEBP", quality=85, method=4)
    return (lossy.getvalue(), "webp") if lossy.tell() < buffer.tell() else (buffer.getvalue(), "png")


def _address(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
