"""Sprites in colour, in noise and on textures: dSprites with what its binary images lack."""

import functools
from typing import Any, Literal, final, get_args

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from unweave.data.dataset import Batch, Dataset, channels_last
from unweave.data.dsprites import DSprites
from unweave.data.files import OriginalFile
from unweave.data.indexed import IndexedDataset
from unweave.data.pictures import open_picture
from unweave.data.space import Array, FactorSpace, check_count
from unweave.errors import UnweaveError, check_choice

_SIZE = 64
_BYTES = _SIZE * _SIZE * 3
_POOL = 1 << 20
_THREES = np.tile(np.arange(3), 4 * 8)
_COLOUR = {"hue": (0.0, 1.0), "saturation": (0.3, 0.7), "value": (0.3, 0.7)}


@final
class ColoredSprites(Dataset):
    """dSprites in colours drawn for every image: hue, saturation and value are factors too.

    The five factors of dSprites and, continuous, hue in [0, 1], saturation and value in [0.3, 0.7]. The sprite has the
    colour, the background is black.

    Reference: SBD A.3.

    Example:
        >>> sprites = ColoredSprites()
        >>> len(sprites.space), sprites.count
        (8, None)
        >>> red = sprites.images([[0, 5, 0, 0, 0, 0.0, 0.5, 0.6]])
        >>> red[0, :, 10, 10].tolist()  # value, value (1 - saturation) twice, times 255
        [153, 76, 76]
    """

    description = "dSprites in colour: its 5 factors, hue, saturation and value (continuous, drawn online)"

    def __init__(self) -> None:
        self._sprites = DSprites()
        shapes = self._sprites.factor_space()
        self.image_shape = (3, _SIZE, _SIZE)
        self.space: FactorSpace = FactorSpace((*shapes.names, *_COLOUR), (*shapes.sizes, *_COLOUR.values()))
        self.count = None

    def images(self, factors: ArrayLike) -> NDArray[Any]:
        """Images (n, 3, 64, 64), uint8, of `factors` (n, 8)."""
        points = self.space.check(factors)
        return self._paint(points, whole=False)

    def sample(self, n: int, rng: Generator) -> Batch:
        """`n` sprites, uniform in all eight factors."""
        points = self.space.sample(n, rng)
        return Batch(self._paint(points, whole=True), points)

    def _paint(self, points: Array, whole: bool) -> NDArray[np.uint8]:
        rows = self._sprites.factor_space().index(points[:, :5])
        return _painted(*self._sprites.strips(rows, whole=whole), _rgb(*points[:, 5:].T))


Ground = Literal["color", "noise", "texture"]


@final
class BusySprites(IndexedDataset):
    """dSprites with what is not a factor drawn at random: a colour, noise, or a picture behind.

    ==========  ==================================================================================
    ground      image
    ==========  ==================================================================================
    color       sprite times a colour, uniform in [0.5, 1] for each of red, green and blue
    noise       sprite plus noise, uniform in [0, 1] for each pixel and channel, at most 1
    texture     a random 64 x 64 patch of a picture, averaged with a colour uniform in [0, 1];
                inside the sprite one minus that
    ==========  ==================================================================================

    Factors are the five of dSprites. In training batches the rest is drawn afresh for every image; :meth:`at` and
    :meth:`images` draw it from the row number, so that they give the same image again. The picture of ``texture`` is
    scream/scream.jpg in the data folder (reduced to fit 350 x 274), or, while that is missing, swirls made here.

    Reference: the variants color, noisy and scream of Locatello et al. 2019.

    Args:
        ground: what is drawn at random.
        picture: made here (``swirls``), or the file (``scream``).

    Example:
        >>> noisy = BusySprites(ground="noise")
        >>> image = noisy.at([0])
        >>> bool((image == noisy.at([0])).all()), image.shape
        (True, (1, 3, 64, 64))
    """

    description = "dSprites with nuisance: ground color, noise or texture; its 5 factors"
    originals = (OriginalFile("scream.jpg", "scream", "The Scream, as used by disentanglement_lib"),)
    stand_in = "data=BusySprites data.ground=texture data.picture=swirls"

    def __init__(self, *, ground: Ground = "color", picture: Literal["swirls", "scream"] = "swirls") -> None:
        check_choice("ground of BusySprites", ground, get_args(Ground))
        check_choice("picture of BusySprites", picture, ("swirls", "scream"))
        self.ground, self.picture = ground, picture
        self._sprites = DSprites()
        self._patches: NDArray[np.uint8] | None = None
        if ground == "texture":
            shown = swirls() if picture == "swirls" else self._scream()
            # Every patch of 64 x 64 pixels, at half the brightness, by its upper left corner; a view.
            dim = shown.reshape(len(shown), -1) >> 1
            self._patches = sliding_window_view(dim, (_SIZE, 3 * _SIZE))[:, ::3]
        self._grid(self._sprites.factor_space(), (3, _SIZE, _SIZE))

    def sample(self, n: int, rng: Generator) -> Batch:
        """`n` sprites, uniform in their factors, each with nuisance of its own."""
        rows = rng.integers(self.count, size=check_count(n))
        assert self.rows is not None
        return Batch(self._images_of_rows(rows, rng), self.rows.factors(rows))

    def _images_of(self, factors: Array, rng: Generator) -> NDArray[Any]:
        return self._images_of_rows(self.factor_space().index(factors), rng)

    def _images_of_rows(self, rows: NDArray[np.int64], rng: Generator) -> NDArray[Any]:
        return self._drawn(rows, rng.random((len(rows), 5)), whole=True)

    def _take(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        return self._drawn(rows, uniforms(rows, 5), whole=False)

    def _drawn(
        self, rows: NDArray[np.int64], drawn: NDArray[np.float64], *, whole: bool
    ) -> NDArray[np.uint8]:
        """Images of rows with the nuisance that five uniform numbers of each make, `drawn` (n, 5)."""
        shown, strips = self._sprites.strips(rows, whole=whole)
        if self.ground == "color":
            return _painted(shown, strips, 128 + (drawn[:, :3] * 128).astype(np.uint8))
        lines = _noise(drawn) if self.ground == "noise" else self._texture(drawn)
        behind = _whole(lines)[shown].view(np.uint8).reshape(strips.shape)
        if self.ground == "noise":
            strips |= behind
        else:
            strips ^= behind  # 255 - x is x ^ 255
        _whole(lines)[shown] = _whole(strips)
        return _as_images(lines)

    def _texture(self, drawn: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Lines (64 n, 192) of patches of the picture, averaged with a colour."""
        assert self._patches is not None
        top, left = (drawn[:, :2] * self._patches.shape[:2]).astype(np.int64).T
        ground: NDArray[np.uint8] = self._patches[top, left]  # half as bright as the picture
        fours = ground.reshape(-1, _SIZE // 4, 4 * 3 * _SIZE)  # four lines at once are added faster
        fours += _lines((drawn[:, 2:] * 128).astype(np.uint8), 4)[:, None]
        return ground.reshape(-1, 3 * _SIZE)

    def _scream(self) -> NDArray[np.uint8]:
        path = self.originals[0].require(self.name, self.stand_in)
        try:
            with open_picture(path) as picture:
                picture.thumbnail((350, 274))
                pixels = np.asarray(picture.convert("RGB"), np.uint8)
        except (OSError, ValueError, SyntaxError) as error:
            raise UnweaveError(f"{path} cannot be read as an image ({error})") from None
        if min(pixels.shape[:2]) < _SIZE:
            raise UnweaveError(f"{path} must have at least 64 x 64 pixels, got {pixels.shape[:2]}")
        return pixels


def mixed(seeds: NDArray[np.int64], n: int) -> NDArray[np.uint64]:
    """`n` pseudo-random 64-bit numbers for each seed, (len(seeds), n), by the splitmix64 mixer.

    Random access: the numbers of a seed depend on that seed only.

    Example:
        >>> mixed(np.array([7, 8]), 3).shape, bool((mixed(np.array([8]), 3) == mixed(np.array([7, 8]), 3)[1]).all())
        ((2, 3), True)
    """
    state = _mix(np.asarray(seeds).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))[:, None]
    return _mix(state + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def uniforms(seeds: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """`n` uniform numbers in [0, 1) for each seed, (len(seeds), n).

    Example:
        >>> bool((uniforms(np.arange(1000), 2).mean(axis=0).round(1) == 0.5).all())
        True
    """
    return np.asarray((mixed(seeds, n) >> np.uint64(11)) / 2.0**53)


@functools.lru_cache(maxsize=1)
def _noise_pool() -> NDArray[np.uint8]:
    """All stretches, a quarter of an image long, of a megabyte of uniform noise; a view."""
    pool = np.random.default_rng(0).integers(256, size=_POOL + _BYTES // 4, dtype=np.uint8)
    view: NDArray[np.uint8] = sliding_window_view(pool, _BYTES // 4)
    return view


def swirls(height: int = 274, width: int = 350) -> NDArray[np.uint8]:
    """A picture of warm and cool bands, (height, width, 3): smooth at large, busy at small scales.

    Example:
        >>> swirls().shape
        (274, 350, 3)
    """
    y, x = np.mgrid[:height, :width] / height
    bend = x + 0.25 * np.sin(5 * y + 2 * np.sin(3 * x)) + 0.1 * np.sin(17 * y + 4 * x)
    bands = np.sin(9 * bend + 7 * y) + 0.4 * np.sin(31 * (y + 0.2 * bend)) + 0.2 * np.sin(67 * bend)
    bands = (bands - bands.min()) / (bands.max() - bands.min())
    stops = np.array([[0.10, 0.12, 0.25], [0.25, 0.35, 0.45], [0.75, 0.40, 0.15], [0.95, 0.75, 0.35]])
    colour = [np.interp(bands, np.linspace(0, 1, 4), stops[:, c]) for c in range(3)]
    return np.asarray(np.rint(255 * np.stack(colour, axis=-1)), np.uint8)


def _noise(drawn: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Lines (64 n, 192) of noise: the four quarters of an image begin anywhere in the pool."""
    grain: NDArray[np.uint8] = _noise_pool()[(drawn[:, :4] * _POOL).astype(np.int64)]
    return grain.reshape(-1, 3 * _SIZE)


def _lines(colour: NDArray[np.uint8], many: int = 1) -> NDArray[np.uint8]:
    """Colours (n, 3) as one line of pixels each, or up to four, (n, 192 many)."""
    eight = colour.take(_THREES[:24], axis=1).view(np.uint64)  # 8 pixels are 3 words
    return eight.take(_THREES[: 24 * many], axis=1).view(np.uint8)


def _painted(
    shown: NDArray[np.bool_], strips: NDArray[np.uint8], colour: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Images (n, 3, 64, 64), black but for white `strips` (m, 192) at the lines `shown` (64 n,), in colours (n, 3)."""
    lines = np.zeros((len(shown), 3 * _SIZE), np.uint8)
    strips &= _lines(colour).repeat(np.count_nonzero(shown.reshape(-1, _SIZE), axis=1), axis=0)
    _whole(lines)[shown] = _whole(strips)
    return _as_images(lines)


def _whole(lines: NDArray[np.uint8]) -> NDArray[np.void]:
    """Lines (m, 192) as (m,) items of 192 bytes, a view: items are chosen by a mask in a third of the time."""
    return lines.view(f"V{3 * _SIZE}")[:, 0]


def _as_images(lines: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Lines of bytes (64 n, 192) as images (n, 3, 64, 64)."""
    return channels_last(lines.reshape(-1, _SIZE, _SIZE, 3))


def _rgb(hue: Array, saturation: Array, value: Array) -> NDArray[np.uint8]:
    """Colours (n, 3), uint8, of hue, saturation and value (n,) each: v (1 - s + s t), t the hue's trapezoid."""
    turn = (6 * hue[:, None] + np.array([0.0, 4.0, 2.0])) % 6
    full = np.clip(np.abs(turn - 3) - 1, 0, 1)
    colour = np.rint(255 * value[:, None] * (1 - saturation[:, None] * (1 - full)))
    return np.asarray(colour, np.uint8)
