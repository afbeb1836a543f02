"""Letters drawn with fonts: real-world shapes without a download."""

import functools
import hashlib
import importlib.util
import logging
import string
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from unweave.data.cache import cache_folder, cached
from unweave.data.dataset import channels_last, user_path
from unweave.data.indexed import IndexedDataset
from unweave.data.pictures import check_size
from unweave.data.space import FactorSpace
from unweave.errors import UnweaveError, unknown

logger = logging.getLogger("unweave")

_BUNDLED = (
    "DejaVuSans",
    "DejaVuSans-Bold",
    "DejaVuSans-Oblique",
    "DejaVuSansMono",
    "DejaVuSansMono-Bold",
    "DejaVuSerif",
    "DejaVuSerif-Bold",
    "DejaVuSerif-Italic",
)
_PLACES = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.fonts",
    "~/.local/share/fonts",
    "/Library/Fonts",
    "/System/Library/Fonts",
    "C:/Windows/Fonts",
)
_LETTERS = string.ascii_uppercase
_SCALES = (0.28, 0.36, 0.44)  # height of the em square, in frames
_ANGLES = np.linspace(-35, 35, 8)
_STEPS = 8
_WINDOW = 0.6
_FINE = 4


@final
class Glyphs(IndexedDataset):
    """Capital letters in grey: typeface, letter 26, size 3, rotation 8, x 8, y 8.

    White on black, antialiased, centred by the letter's own extent; rotation from -35 to 35 degrees. ``bundled`` draws
    with the 8 DejaVu faces that come with matplotlib, so that the images are the same on every machine (319,488 of
    them); ``system`` with the fonts that are installed, at most `most`, in the order of their file names. A run
    stores a fingerprint of the images and detects when its fonts have changed.

    Args:
        typefaces: which fonts.
        most: how many system fonts at most.
        size: height and width in pixels.

    Example:
        >>> glyphs = Glyphs(size=32)
        >>> glyphs.space.sizes, glyphs.image_shape
        ((8, 26, 3, 8, 8, 8), (1, 32, 32))
        >>> glyphs.faces[0], glyphs.letters[2]
        ('DejaVuSans', 'C')
    """

    description = "letters from fonts: typeface 8, letter 26, size 3, rotation 8, x 8, y 8 (made)"

    def __init__(
        self, *, typefaces: Literal["bundled", "system"] = "bundled", most: int = 16, size: int = 64
    ) -> None:
        if typefaces not in ("bundled", "system"):
            raise unknown("typefaces of Glyphs", str(typefaces), ("bundled", "system"))
        if check_size(size, self.name) < 24:
            raise UnweaveError(f"size of Glyphs must be at least 24 pixels, got {size}")
        if most < 1:
            raise UnweaveError(f"most of Glyphs must be at least 1 typeface, got {most}")
        fonts = _bundled_fonts() if typefaces == "bundled" else _system_fonts(most)
        self.faces = tuple(font.stem for font in fonts)
        self.letters = _LETTERS
        self.size = size
        self._fonts = fonts
        self._masks: NDArray[np.uint8] | None = None
        sizes = (len(fonts), len(_LETTERS), len(_SCALES), len(_ANGLES), _STEPS, _STEPS)
        self._grid(FactorSpace(("typeface", "letter", "size", "rotation", "x", "y"), sizes), (1, size, size))

    def _take(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        if self._masks is None:
            self._masks = _masks(tuple(self._fonts), self.size)
        window = self._masks.shape[1]
        mask, place = np.divmod(rows, _STEPS * _STEPS)
        left, top = (step * (self.size - window) // (_STEPS - 1) for step in np.divmod(place, _STEPS))
        pixels = np.zeros((len(rows), self.size, self.size), np.uint8)
        windows = sliding_window_view(pixels, (window, window), axis=(1, 2), writeable=True)
        windows[np.arange(len(rows)), top, left] = self._masks.take(mask, axis=0)
        return channels_last(pixels[..., None])


def _bundled_fonts() -> list[Path]:
    spec = importlib.util.find_spec("matplotlib")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    fonts = [Path(root) / "mpl-data" / "fonts" / "ttf" / f"{name}.ttf" for root in roots for name in _BUNDLED]
    missing = [font for font in fonts if not font.exists()]
    if missing or not fonts:
        raise UnweaveError(
            "Glyphs needs the DejaVu fonts of matplotlib: install matplotlib, or use typefaces=system"
        )
    return fonts


def _system_fonts(most: int) -> list[Path]:
    found = {
        font.name: font
        for place in _PLACES
        if user_path(place).is_dir()
        for font in sorted(user_path(place).rglob("*"))
        if font.suffix.lower() in (".ttf", ".otf")
    }
    fonts = [font for _, font in sorted(found.items()) if _has_letters(font)][:most]
    if not fonts:
        raise UnweaveError(
            f"Glyphs found no font with Latin letters in {', '.join(_PLACES)}: use typefaces=bundled"
        )
    return fonts


def _has_letters(font: Path) -> bool:
    import PIL.ImageFont

    try:
        face = PIL.ImageFont.truetype(str(font), 24)
        shapes = {bytes(face.getmask(letter)) for letter in _LETTERS}
    except (OSError, ValueError):
        return False
    return len(shapes) == len(_LETTERS) and min(map(len, shapes)) > 0


@functools.lru_cache(maxsize=4)
def _masks(fonts: tuple[Path, ...], size: int) -> NDArray[np.uint8]:
    """Letters (typefaces * 26 * sizes * rotations, window, window)."""
    window = round(_WINDOW * size)
    content = hashlib.sha256(b"".join(hashlib.sha256(font.read_bytes()).digest() for font in fonts))
    path = cache_folder() / f"glyphs-1-{content.hexdigest()[:16]}-{size}.masks"
    count = len(fonts) * len(_LETTERS) * len(_SCALES) * len(_ANGLES)
    return cached(path, (count, window, window), lambda: _draw(fonts, size, window))


def _draw(fonts: tuple[Path, ...], size: int, window: int) -> NDArray[np.uint8]:
    import PIL.Image
    import PIL.ImageDraw
    import PIL.ImageFont

    logger.info("Glyphs: drawing %d letters, once", len(fonts) * len(_LETTERS) * len(_SCALES) * len(_ANGLES))
    masks = np.zeros((len(fonts), len(_LETTERS), len(_SCALES), len(_ANGLES), window, window), np.uint8)
    side = window * _FINE
    for f, font in enumerate(fonts):
        for s, scale in enumerate(_SCALES):
            face = PIL.ImageFont.truetype(str(font), round(scale * size * _FINE))
            for i, letter in enumerate(_LETTERS):
                left, top, right, bottom = face.getbbox(letter)
                upright = PIL.Image.new("L", (side, side))
                corner = ((side - right - left) / 2, (side - bottom - top) / 2)
                PIL.ImageDraw.Draw(upright).text(corner, letter, fill=255, font=face)
                for r, angle in enumerate(_ANGLES):
                    turned = upright.rotate(angle, resample=PIL.Image.Resampling.BILINEAR)
                    small = turned.resize((window, window), PIL.Image.Resampling.BOX)
                    masks[f, i, s, r] = np.asarray(small, np.uint8)
    return masks.reshape(-1, window, window)
