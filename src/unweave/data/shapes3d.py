"""3D Shapes: one object in a coloured room, rendered here or read from the original file."""

import functools
import logging
import math
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unweave.data.cache import cache_folder, cached
from unweave.data.dataset import Channels, channels_last
from unweave.data.files import RealFile
from unweave.data.room import FLOOR, OBJECT, SIZE, SKY, WALL, view
from unweave.data.space import Array, FactorSpace
from unweave.data.store import Hdf5
from unweave.data.stored import Stored
from unweave.errors import UnweaveError, unknown

logger = logging.getLogger("unweave")

Source = Literal["rendered", "file"]

_NAMES = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
_SPACE = FactorSpace(_NAMES, (10, 10, 10, 8, 4, 15))
_COUNT = 480_000
_GEOMETRIES = 8 * 4 * 15
_SAMPLES = 3
_BLOCK = 32
# Lines of the image in which floor, walls and object can be; nothing else of their pictures is kept.
_ROWS = (slice(39, 64), slice(0, 42), slice(6, 60))
_SHAPES = tuple((10 * _GEOMETRIES, rows.stop - rows.start, 3 * SIZE) for rows in _ROWS)
# The label values of the original file, by which its classes are recognised.
_LABELS = (
    *(np.arange(10) / 10,) * 3,
    np.linspace(0.75, 1.25, 8),
    np.arange(4.0),
    np.linspace(-30, 30, 15),
)


class Shapes3D(Stored):
    """3D Shapes: a cube, cylinder, sphere or capsule in a room, 480,000 images 64 x 64 x 3.

    Factors are class indices in the order of the original file: floor_hue, wall_hue, object_hue (hue k/10), scale
    (0.75 .. 1.25), shape (cube, cylinder, sphere, capsule), orientation (-30 .. 30 degrees, fastest).

    ``rendered`` casts rays into the room that was measured from the originals. Only 480 geometries exist, and every
    surface takes 10 colours, so that an image is the sum of three ready pictures: its floor, its walls with the sky,
    its object (112 MB in the cache folder, made once in some seconds). Mean absolute error to 50 original images: 0.014
    in the median, 0.023 at worst; distances along factors within 8 % of REC table A1, channel means within 0.02 of
    table A2. The faint texture of the original's floor and walls is left out.

    ``file`` reads the original 3dshapes.h5.

    Reference: Burgess and Kim, 3D Shapes, 2018; used in FAC 5, REC tables A1 and A2.

    Args:
        source: rendered here, or read from the original file.

    Example:
        >>> shapes = Shapes3D()
        >>> shapes.count, shapes.image_shape
        (480000, (3, 64, 64))
        >>> shapes.images([[0, 5, 3, 4, 0, 7]])[0, :, 0, 0].tolist()  # the sky
        [153, 226, 249]
    """

    description = (
        "object in a room: hue of floor, wall, object 10, scale 8, shape 4, orientation 15 (made, or file)"
    )
    originals = (
        RealFile(
            "3dshapes.h5",
            "3dshapes",
            "deepmind/3d-shapes",
            267_573_662,
            sha256="0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
            md5="099a2078d58cec4daad0702c55d06868",
        ),
    )
    stand_in = "data=Shapes3D data.source=rendered"

    def __init__(self, *, source: Source = "rendered") -> None:
        if source not in get_args(Source):
            raise unknown("source of Shapes3D", str(source), get_args(Source))
        self.source = source
        self._tables: tuple[NDArray[np.uint8], ...] = ()
        if source == "file":
            self._open(self.originals[0].require(self.name, self.stand_in))
            return
        self._grid(_SPACE, (3, SIZE, SIZE))

    def _open(self, path: Path) -> None:
        file = Hdf5(path)
        shape = file.shape("images")
        if shape[1:] != (SIZE, SIZE, 3) or file.shape("labels") != (shape[0], 6):
            raise UnweaveError(
                f"{path} is not 3D Shapes: images must have shape (n, 64, 64, 3) and labels (n, 6), "
                f"got {shape} and {file.shape('labels')}"
            )
        classes = nearest_classes(file.read("labels"), _LABELS, path)
        whole = shape[0] == _COUNT and bool((_SPACE.index(classes) == np.arange(_COUNT)).all())
        self._store(file.array("images", self.name), _SPACE, None if whole else classes)

    def channels(self) -> Channels:
        """The constants of REC table A2."""
        return Channels(
            (0.502584966788819, 0.578759756608967, 0.603449973185958),
            (0.294081404355556, 0.344397908751721, 0.366168598152475),
            "REC table A2",
        )

    def _take(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        if self.source == "file":
            return super()._take(rows)
        if not self._tables:
            self._tables = _pictures(cache_folder() / "shapes3d-1.lines")
        floor, wall, thing, scale, shape, orientation = _SPACE.factors(rows).T
        geometry = ((scale * 4 + shape) * 15 + orientation) * 10
        pixels = np.empty((len(rows), SIZE, 3 * SIZE), np.uint8)
        low, high = _ROWS[FLOOR].start, _ROWS[WALL].stop
        rooms = [np.empty((_BLOCK, *table.shape[1:]), np.uint8) for table in self._tables]
        for start in range(
            0, len(rows), _BLOCK
        ):  # in small blocks, so that sums are made in the processor's cache
            block = pixels[start : start + _BLOCK]
            part = slice(start, start + len(block))
            for table, hue, room in zip(self._tables, (floor, wall, thing), rooms, strict=True):
                # clipping never happens, and spares take a copy
                table.take(geometry[part] + hue[part], axis=0, out=room[: len(block)], mode="clip")
            grounds, walls, things = (room[: len(block)] for room in rooms)
            block[:, :low] = walls[:, :low]
            block[:, low:] = grounds
            block[:, low:high] += walls[:, low:]
            block[:, _ROWS[OBJECT]] += things
        return channels_last(pixels.reshape(-1, SIZE, SIZE, 3))


def nearest_classes(labels: Array, values: tuple[Array, ...], path: Path) -> NDArray[np.int64]:
    """Classes (n, K) of label values (n, K): the place of each in the list of its factor's `values`.

    Example:
        >>> nearest_classes(np.array([[0.1, 30.0]]), (np.arange(10) / 10, np.array([-30.0, 30.0])), Path("x"))
        array([[1, 1]])
    """
    classes = np.empty(labels.shape, np.int64)
    for k, known in enumerate(values):
        step = np.abs(labels[:, k, None] - known)
        classes[:, k] = step.argmin(axis=1)
        wrong = ~(step.min(axis=1) < 1e-3 * max(1.0, float(np.abs(known).max())))
        if wrong.any():
            raise UnweaveError(
                f"{path} has a label {labels[wrong][0, k]:g} in column {k}: expected one of "
                f"{', '.join(f'{value:g}' for value in known)}"
            )
    return classes


@functools.lru_cache(maxsize=1)
def _pictures(path: Path) -> tuple[NDArray[np.uint8], ...]:
    sizes = [math.prod(shape) for shape in _SHAPES]
    kept = cached(path, (sum(sizes),), _render)
    parts = np.split(kept, np.cumsum(sizes)[:-1])
    return tuple(part.reshape(shape) for part, shape in zip(parts, _SHAPES, strict=True))


def _render() -> NDArray[np.uint8]:
    """What each surface adds to an image, where it can be, for every geometry and hue; all in one line.

    A pixel's rays may meet several surfaces; the parts are then rounded down, so that their sum stays below 256.
    """
    logger.info("3D Shapes: casting rays into 480 rooms, once (112 MB, some seconds)")
    turn = (6 * np.arange(10)[:, None] / 10 + np.array([0.0, 4.0, 2.0])) % 6
    colours = np.clip(np.abs(turn - 3) - 1, 0, 1)
    levels, level = np.unique(colours.round(6), return_inverse=True)
    level = level.reshape(10, 3)
    tables = [np.empty(shape, np.uint8) for shape in _SHAPES]
    for geometry in range(_GEOMETRIES):
        scale, shape, orientation = np.unravel_index(geometry, (8, 4, 15))
        seen = view(int(shape), 0.75 + 0.5 * scale / 7, -30 + 60 * orientation / 14, _SAMPLES)
        for part in (FLOOR, WALL, OBJECT):
            met = np.flatnonzero(seen.surface == part)
            shade, gloss, pixel = seen.shade[met], seen.gloss[met], _PIXEL_OF_RAY[met]
            light = [
                np.bincount(pixel, np.minimum(shade * v + gloss * (1 - v), 1), SIZE * SIZE) for v in levels
            ]
            shown = _rounded(np.stack(light, axis=1), np.bincount(pixel, minlength=SIZE * SIZE))
            added = shown[:, level].transpose(1, 0, 2)
            if part == WALL:
                rays = np.bincount(_PIXEL_OF_RAY[seen.surface < 0], minlength=SIZE * SIZE)
                added = added + _rounded(rays[:, None] * SKY, rays)
            added = added.reshape(10, SIZE, 3 * SIZE)
            kept = added[:, _ROWS[part]]
            assert np.count_nonzero(kept) == np.count_nonzero(added)
            tables[part][10 * geometry : 10 * (geometry + 1)] = kept
    return np.concatenate([table.ravel() for table in tables])


# The pixel that each ray of a view belongs to.
_PIXEL_OF_RAY = (
    np.arange(SIZE * SIZE).reshape(SIZE, SIZE).repeat(_SAMPLES, axis=0).repeat(_SAMPLES, axis=1).ravel()
)


def _rounded(light: Array, rays: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Sums of light (4096, c) over rays, of which each pixel has `rays`, as bytes; rounded down if others share it."""
    shown = 255 * light / _SAMPLES**2
    alone = (rays == _SAMPLES**2)[:, None]
    return np.where(alone, np.rint(shown), np.floor(shown + 1e-6)).astype(np.uint8)
