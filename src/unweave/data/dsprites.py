"""dSprites: drawn by its recovered generator, so that nothing needs to be downloaded, or read from its files."""

import functools
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, final, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from unweave.data.array_files import Hdf5, Npz, blocks
from unweave.data.cache import cache_folder, cached, source_key
from unweave.data.dataset import Batch, Channels, channels_last
from unweave.data.files import OriginalFile, require
from unweave.data.indexed import IndexedDataset
from unweave.data.space import Array, FactorSpace
from unweave.errors import UnweaveError, check_choice

logger = logging.getLogger("unweave")

_SIZE = 64
_SUBPIXELS = 256
_SPACE = FactorSpace(("shape", "scale", "orientation", "x", "y"), (3, 6, 40, 32, 32))
_COUNT = 3 * 6 * 40 * 32 * 32


_FILE = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64"

Source = Literal["rendered", "file"]


@final
class DSprites(IndexedDataset):
    """dSprites (2D Shapes): a white square, ellipse or heart on black, 737,280 binary images 64 x 64.

    Factors are class indices in the order of the original file: shape (square, ellipse, heart), scale (0.5,
    0.6 .. 1), orientation (2 pi k/39, counter-clockwise), x (16 + 32 k/31 pixels from the left), y (the same
    from the top). Orientation 0 and 39 are the same picture, as in the original.

    Rendered, each outline is a polygon whose corners are snapped to 1/256 pixel; a pixel is on if its centre is
    inside. :meth:`images` and :meth:`at` draw single images. :meth:`sample` makes the whole set once, one
    bit a pixel (377 MB), and stores it in the cache folder (UNWEAVE_CACHE, else ~/.cache/unweave). All known original
    images come out pixel for pixel.

    ``source="file"`` reads the original npz or hdf5 (dsprites/ in the data folder) into the same form. The color
    factor of the file, which has one class, is dropped; the pickled metadata is not touched.

    Reference: Matthey et al. 2017, dSprites; used in FAC section 6, SBD A.3 (coloured), REC table A1.

    Args:
        source: rendered here, or read from the original file.

    Example:
        >>> dsprites = DSprites()
        >>> dsprites.count, dsprites.image_shape
        (737280, (1, 64, 64))
        >>> square = dsprites.images([[0, 5, 0, 0, 0]])
        >>> int((square == 255).sum())
        400
    """

    description = (
        "white square, ellipse or heart: shape 3, scale 6, orientation 40, x 32, y 32 (made, or file)"
    )
    originals = (
        OriginalFile(f"{_FILE}.npz", "dsprites", "deepmind/dsprites-dataset"),
        OriginalFile(
            f"{_FILE}.hdf5",
            "dsprites",
            "deepmind/dsprites-dataset",
            28_024_106,
            sha256="729fa22e884c9c500e1f17415d580746b4c5894fbbb780a1319bbcfa39a745bb",
            md5="b331c4447a651c44bf5e8ae09022e230",
        ),
    )
    stand_in = "data=DSprites data.source=rendered (the same images)"

    def __init__(self, *, source: Source = "rendered") -> None:
        check_choice("source of DSprites", source, get_args(Source))
        self.source = source
        self._packed: NDArray[np.uint8] | None = None
        if source == "file":
            self._open(require(self.originals, self.name, self.stand_in))
        else:
            self._grid(_SPACE, (1, _SIZE, _SIZE))

    def _open(self, path: Path) -> None:
        npz = path.suffix == ".npz"
        file = Npz(path) if npz else Hdf5(path)
        key = "latents_classes" if npz else "latents/classes"
        for wanted in ("imgs", key):
            if wanted not in file.keys:
                raise UnweaveError(f"{path} is not dSprites: it has no array {wanted!r}")
        shape, labelled = file.shape("imgs"), file.shape(key)
        if shape[1:] != (_SIZE, _SIZE) or labelled != (shape[0], 6):
            raise UnweaveError(
                f"{path} is not dSprites: imgs must have shape (n, 64, 64) and {key} (n, 6), got {shape} and {labelled}"
            )
        classes = file.read(key)[:, 1:]
        if shape[0] == _COUNT and bool((_SPACE.index(classes) == np.arange(_COUNT)).all()):
            packed = cache_folder() / f"dsprites-file-{source_key(path)}.bits"
            self._packed = cached(packed, (_COUNT, _SIZE * _SIZE // 8), lambda: _pack(file, path))
            self._grid(_SPACE, (1, _SIZE, _SIZE))
        else:
            images = file.array("imgs", self.name)[..., None]
            self._store(images, _SPACE, classes, binary=bool(images.max() <= 1))

    def sample(self, n: int, rng: Generator) -> Batch:
        """`n` of the images, drawn uniformly with replacement."""
        if self.source == "rendered":
            self.packed()
        return super().sample(n, rng)

    def packed(self) -> NDArray[np.uint8]:
        """The whole set, made on first use: (737280, 512) bytes, one bit a pixel, highest bit first."""
        if self._packed is None:
            self._packed = _packed_set(cache_folder() / "dsprites-1.bits")
        return self._packed

    def strips(self, rows: NDArray[np.int64], *, whole: bool) -> tuple[NDArray[np.bool_], NDArray[np.uint8]]:
        """The lines of images that show something, with three equal channels: (64 n,) and (m, 192), bytes 0 or 255.

        Three lines of four are black, so only the others are unpacked. The first array marks these:
        line l of the i-th of the images is 64 i + l.

        Args:
            rows: which images.
            whole: look them up in the whole set, which is made if necessary; else draw them unless it exists.
        """
        packed = self.packed() if whole else self._packed
        bits = _draw(_SPACE.factors(rows)) if packed is None else packed.take(rows, axis=0)
        lines = bits.view(np.uint64).ravel()
        shown = lines != 0
        return shown, _triple().take(lines[shown].view(np.uint16), axis=0).reshape(-1, 3 * _SIZE)

    def channels(self) -> Channels:
        """The constants of REC table A2."""
        return Channels((0.042494423521890,), (0.195166458806261,), "REC table A2")

    def _take(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        if self._packed is not None:
            return _unpack(self._packed.take(rows, axis=0))
        return super()._take(rows) if self.source == "file" else _unpack(_draw(_SPACE.factors(rows)))


def _pack(file: Npz | Hdf5, path: Path) -> NDArray[np.uint8]:
    """Packed images of an original file, read in blocks."""
    images = file.array("imgs", "DSprites")
    bits = np.empty((len(images), _SIZE * _SIZE // 8), np.uint8)
    for part in blocks(len(images), _SIZE * _SIZE):
        block = images[part]
        if block.max() > 1:
            raise UnweaveError(
                f"{path} is not dSprites: imgs must hold nothing but 0 and 1, got {block.max()}"
            )
        bits[part] = np.packbits(block.reshape(len(block), -1), axis=1)
    return bits


@functools.lru_cache(maxsize=1)
def _packed_set(path: Path) -> NDArray[np.uint8]:
    return cached(path, (_COUNT, _SIZE * _SIZE // 8), _build)


@functools.lru_cache(maxsize=1)
def _triple() -> NDArray[np.uint8]:
    """For every two bytes in a row their 16 pixels with three equal channels, 48 bytes of 0 or 255."""
    bits = np.unpackbits(np.arange(1 << 16, dtype=np.uint16).view(np.uint8).reshape(-1, 2), axis=1)
    return np.repeat(255 * bits, 3, axis=1)


def _unpack(bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
    pixels = np.unpackbits(bits, axis=1)
    np.negative(pixels, out=pixels)  # 1 -> 255 in uint8
    return channels_last(pixels.reshape(-1, _SIZE, _SIZE, 1))


def _outline(shape: int) -> NDArray[np.float64]:
    """Corners (V, 2) of a shape of scale 1 at angle 0, in units of its half side, y downward."""
    if shape == 0:
        return np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
    if shape == 1:
        t = 2 * np.pi * np.arange(100) / 100
        return np.stack([1.33 * np.cos(t), np.sin(t) / 1.33], axis=1)
    t = 2 * np.pi * np.arange(150) / 150
    up = (13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)) / 14.5 + 0.15
    return np.stack([np.sin(t) ** 3, -up], axis=1)


_OUTLINES = tuple(_outline(shape) for shape in range(3))


def _turned(shape: int, scale: NDArray[np.int64], orientation: NDArray[np.int64]) -> NDArray[np.float64]:
    """Corners (n, V, 2) in pixels around the centre, of one shape at n scales and orientations."""
    half = 0.15 * _SIZE * (0.5 + 0.1 * scale)[:, None]
    angle = (2 * np.pi * orientation / 39)[:, None]
    x, y = _OUTLINES[shape].T
    turned_x = (x * np.cos(angle) + y * np.sin(angle)) * half
    turned_y = (y * np.cos(angle) - x * np.sin(angle)) * half
    return np.stack([turned_x, turned_y], axis=2)


def _snap(offset: NDArray[np.float64], position: NDArray[np.int64]) -> NDArray[np.int64]:
    """Coordinates in 1/256 pixel of corners `offset` from the centre of position class `position`."""
    return np.rint(_SUBPIXELS * (16 + 32 * position / 31 + offset)).astype(np.int64)


def _draw(points: Array) -> NDArray[np.uint8]:
    """Packed images (n, 512) of factors (n, 5)."""
    bits = np.empty((len(points), _SIZE * _SIZE // 8), np.uint8)
    for shape in range(3):
        which = np.flatnonzero(points[:, 0] == shape)
        if which.size:
            _, scale, orientation, x, y = points[which].T
            corners = _turned(shape, scale, orientation)
            rows = _scan(_snap(corners[:, :, 0], x[:, None])[:, :, None], _snap(corners[:, :, 1], y[:, None]))
            bits[which] = _to_bytes(rows[:, :, 0])
    return bits


def _build() -> NDArray[np.uint8]:
    """Packed images (737280, 512) of the whole set.

    A corner's x depends on the x position alone and its y on the y position alone, so the rows that an edge
    crosses are found once for 32 images.
    """
    logger.info("dSprites: drawing %s images, once (377 MB, some seconds)", f"{_COUNT:,}")
    places = np.arange(32)
    bits = np.empty((3 * 6 * 40, 32, 32, _SIZE), ">u8")
    for i, (shape, corners) in enumerate(_poses()):
        x = _snap(corners[:, None, 0], places)
        y = _snap(corners[None, :, 1], places[:, None])
        bits[i] = _scan(np.broadcast_to(x, (32, *x.shape)), y).transpose(2, 0, 1)
        if i % 240 == 239:
            logger.info("dSprites: %s drawn", ("squares", "ellipses", "hearts")[shape])
    return bits.view(np.uint8).reshape(_COUNT, -1)


def _poses() -> Iterator[tuple[int, NDArray[np.float64]]]:
    for shape in range(3):
        scale, orientation = np.divmod(np.arange(6 * 40), 40)
        for corners in _turned(shape, scale, orientation):
            yield shape, corners


def _to_bytes(rows: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(rows, ">u8").view(np.uint8)


# _FROM[i]: a row of 64 pixels, highest bit first, in which pixel i and all to its right are on.
_FROM = np.array([(1 << (_SIZE - i)) - 1 for i in range(_SIZE + 1)], np.uint64)


def _scan(x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Rows of 64 bits (n, 64, m) of n polygons with corners `y` (n, V), each for m sets of `x` (n, V, m).

    Coordinates are in 1/256 pixel. An edge crosses row r if exactly one end has Y < the row's centre; it then
    flips all pixels from ceil(X - 1/2) on, X in pixels being where it crosses. Quotients in float64 are exact
    here: one that is not whole is at least 1/(256 * 8192) away from the next whole number.
    """
    n, corners = y.shape
    end = np.roll(np.arange(corners), -1)
    half = _SUBPIXELS // 2
    row = (y + half) // _SUBPIXELS  # the first row whose centre is below the corner
    upper, lower = np.minimum(row, row[:, end]), np.maximum(row, row[:, end])
    polygon, edge = np.nonzero(upper < lower)
    times = (lower - upper)[polygon, edge]
    first = np.cumsum(times) - times
    polygon, edge, top = (np.repeat(a, times) for a in (polygon, edge, upper[polygon, edge] - first))
    crossed = top + np.arange(len(polygon))

    order = np.argsort(polygon * _SIZE + crossed, kind="stable")
    polygon, edge, crossed = polygon[order], edge[order], crossed[order]
    y0, y1 = y[polygon, edge, None], y[polygon, end[edge], None]
    x0, x1 = x[polygon, edge], x[polygon, end[edge]]
    centre = _SUBPIXELS * crossed[:, None] + half
    pixel = np.ceil(((x0 - half) * (y1 - y0) + (centre - y0) * (x1 - x0)) / (_SUBPIXELS * (y1 - y0)))

    line = polygon * _SIZE + crossed
    starts = np.flatnonzero(np.diff(line, prepend=-1))
    rows = np.zeros((n * _SIZE, x.shape[2]), np.uint64)
    rows[line[starts]] = np.bitwise_xor.reduceat(_FROM[pixel.astype(np.intp)], starts, axis=0)
    return rows.reshape(n, _SIZE, -1)
