"""3D Shapes: one object in a coloured room, rendered here or read from the original file."""

import functools
import logging
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
    its object (177 MB in the cache folder, made once in some seconds). Mean absolute error to 50 original images: 0.014
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
        self._tables: NDArray[np.uint8] | None = None
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
        if self._tables is None:
            self._tables = _pictures(cache_folder() / "shapes3d-1.parts")
        floor, wall, thing, scale, shape, orientation = _SPACE.factors(rows).T
        geometry = ((scale * 4 + shape) * 15 + orientation) * 10
        pixels = np.empty((len(rows), SIZE * SIZE * 3), np.uint8)
        # In small blocks, so that sums are made in the cache; clipping never happens and spares take a copy.
        added = np.empty((_BLOCK, SIZE * SIZE * 3), np.uint8)
        for start in range(0, len(rows), _BLOCK):
            block = pixels[start : start + _BLOCK]
            chosen = slice(start, start + len(block))
            more = added[: len(block)]
            self._tables[FLOOR].take(geometry[chosen] + floor[chosen], axis=0, out=block, mode="clip")
            for part, hue in ((WALL, wall), (OBJECT, thing)):
                self._tables[part].take(geometry[chosen] + hue[chosen], axis=0, out=more, mode="clip")
                block += more
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
def _pictures(path: Path) -> NDArray[np.uint8]:
    return cached(path, (3, _GEOMETRIES * 10, SIZE * SIZE * 3), _render)


def _render() -> NDArray[np.uint8]:
    """What each surface adds to an image (3, 4800, 12288), for every geometry and hue.

    A pixel's rays may meet several surfaces; the parts are then rounded down, so that their sum stays below 256.
    """
    logger.info("3D Shapes: casting rays into 480 rooms, once (177 MB, some seconds)")
    turn = (6 * np.arange(10)[:, None] / 10 + np.array([0.0, 4.0, 2.0])) % 6
    colours = np.clip(np.abs(turn - 3) - 1, 0, 1)
    levels, level = np.unique(colours.round(6), return_inverse=True)
    level = level.reshape(10, 3)
    tables = np.zeros((3, _GEOMETRIES, 10, SIZE * SIZE, 3), np.uint8)
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
            tables[part, geometry] = shown[:, level].transpose(1, 0, 2)
        rays = np.bincount(_PIXEL_OF_RAY[seen.surface < 0], minlength=SIZE * SIZE)
        tables[WALL, geometry] += _rounded(rays[:, None] * SKY, rays)
    return tables.reshape(3, _GEOMETRIES * 10, SIZE * SIZE * 3)


# The pixel that each ray of a view belongs to.
_PIXEL_OF_RAY = (
    np.arange(SIZE * SIZE).reshape(SIZE, SIZE).repeat(_SAMPLES, axis=0).repeat(_SAMPLES, axis=1).ravel()
)


def _rounded(light: Array, rays: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Sums of light (4096, c) over rays, of which each pixel has `rays`, as bytes; rounded down if others share it."""
    shown = 255 * light / _SAMPLES**2
    alone = (rays == _SAMPLES**2)[:, None]
    return np.where(alone, np.rint(shown), np.floor(shown + 1e-6)).astype(np.uint8)
