"""3D Shapes: one object in a coloured room, rendered here or read from the original file."""

import functools
import logging
from pathlib import Path
from typing import Any, Literal, final, get_args

import numpy as np
from numpy.typing import NDArray

from unweave.data.array_files import Hdf5
from unweave.data.cache import cache_folder
from unweave.data.dataset import Channels, channels_last
from unweave.data.distinct_strips import Strips, cached_strips
from unweave.data.files import OriginalFile
from unweave.data.indexed import IndexedDataset
from unweave.data.shapes3d_renderer import FLOOR, OBJECT, SIZE, SKY, WALL, view
from unweave.data.space import Array, FactorSpace
from unweave.errors import UnweaveError, check_choice

logger = logging.getLogger("unweave")

Source = Literal["rendered", "file"]

_NAMES = ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
_SPACE = FactorSpace(_NAMES, (10, 10, 10, 8, 4, 15))
_COUNT = 480_000
_GEOMETRIES = 8 * 4 * 15
_SAMPLES = 3
# An image is 16 bands of four lines. Strips in which floor, walls and object can be:
_BANDS, _BAND = SIZE // 4, 12 * SIZE
_REACH = (slice(9, 16), slice(0, 11), slice(1, 15))
_UPPER, _MIDDLE, _LOWER = np.arange(0, 9), np.arange(9, 11), np.arange(11, 16)
# The label values of the original file, by which its classes are recognised.
_LABELS = (
    *(np.arange(10) / 10,) * 3,
    np.linspace(0.75, 1.25, 8),
    np.arange(4.0),
    np.linspace(-30, 30, 15),
)


@final
class Shapes3D(IndexedDataset):
    """3D Shapes: a cube, cylinder, sphere or capsule in a room, 480,000 images 64 x 64 x 3.

    Factors are class indices in the order of the original file: floor_hue, wall_hue, object_hue (hue k/10), scale
    (0.75 .. 1.25), shape (cube, cylinder, sphere, capsule), orientation (-30 .. 30 degrees, fastest).

    ``rendered`` casts rays into the room that was measured from the originals. Only 480 geometries exist, and every
    surface takes 10 colours, so that four lines of an image are one of 390,000: an image is looked up in 16 of them
    (301 MB in the cache folder, made once in some seconds). Mean absolute error to 50 original images: 0.014 in the
    median, 0.023 at worst; distances along factors within 8 % of REC table A1, channel means within 0.02 of table A2.
    The faint texture of the original's floor and walls is omitted.

    ``file`` reads the original 3dshapes.h5.

    Reference: Burgess & Kim 2018, 3D Shapes; used in FAC section 6, REC tables A1 and A2.

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
        OriginalFile(
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
        check_choice("source of Shapes3D", source, get_args(Source))
        self.source = source
        self._tables: _Tables | None = None
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
            self._tables = _pictures(cache_folder())
        floor, wall, thing, geometry = np.unravel_index(rows, (10, 10, 10, _GEOMETRIES))
        plan, bands, things = self._tables
        index = np.empty((len(rows), _BANDS), np.intp)
        for part, places, hues in zip(
            (_UPPER, _MIDDLE, _LOWER), plan, ((wall, thing), (floor, wall), (floor, thing)), strict=True
        ):
            index[:, part[0] : part[-1] + 1] = places.take((10 * geometry + hues[0]) * 10 + hues[1], axis=0)
        pixels = bands.take(index, axis=0)
        pixels[:, _MIDDLE[0] : _LOWER[0]] += things.take(10 * geometry + thing, axis=0)
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


_Tables = tuple[list[NDArray[np.int32]], NDArray[np.uint8], NDArray[np.uint8]]


@functools.lru_cache(maxsize=1)
def _pictures(folder: Path) -> _Tables:
    """Where the upper, middle and lower bands of images are, all bands, and what the object adds to the middle ones."""
    middle = 10 * _GEOMETRIES
    plan, bands = cached_strips(
        folder / "shapes3d-3",
        (100 * _GEOMETRIES, _BANDS),
        _BAND,
        lambda: _arrange(*_render()),
        more=middle * len(_MIDDLE),
    )
    parts = [np.ascontiguousarray(plan[:, part]) for part in (_UPPER, _MIDDLE, _LOWER)]
    return parts, bands, bands[-middle * len(_MIDDLE) :].reshape(middle, len(_MIDDLE), _BAND)


def _arrange(*tables: NDArray[np.uint8]) -> Strips:
    """A plan and all different bands that images consist of, from what each surface adds to them.

    A band shows the wall or the floor, and maybe the object; the two in the middle show the floor and the wall (the
    object, with which they would be ten times as many, is to be added, and comes after all bands). The plan (48000, 16)
    has the row of each band for every geometry and hues of two surfaces, the object's last.
    """
    thing = tables[OBJECT]
    seen = np.zeros((_GEOMETRIES, _BANDS), np.bool_)
    seen[:, _REACH[OBJECT]] = thing.any(axis=(1, 3))
    plan = np.zeros((_GEOMETRIES, 10, 10, _BANDS), np.int32)
    bands = np.empty(((100 * seen + 10 * ~seen).sum() + 220 * _GEOMETRIES, _BAND), np.uint8)
    count = 0
    known: dict[bytes, int] = {}

    def add(geometry: int, which: NDArray[np.int64], surfaces: tuple[int, int]) -> None:
        nonlocal count
        one, two = (tables[part][geometry][:, which - _REACH[part].start] for part in surfaces)
        many = 100 * len(which)
        np.add(one[:, None], two, out=bands[count : count + many].reshape(10, 10, len(which), _BAND))
        plan[geometry][..., which] = np.arange(count, count + many).reshape(10, 10, -1)
        count += many

    for geometry in range(_GEOMETRIES):
        for part, half in ((WALL, _UPPER), (FLOOR, _LOWER)):
            add(geometry, half[seen[geometry, half]], (part, OBJECT))
            for band in half[~seen[geometry, half]]:
                shown = tables[part][geometry, :, band - _REACH[part].start]
                place = known.setdefault(shown.tobytes(), count)
                if place == count:
                    bands[count : count + 10] = shown
                    count += 10
                plan[geometry, ..., band] = place + np.arange(10)[:, None]
        add(geometry, _MIDDLE, (FLOOR, WALL))
    last = thing[:, :, _MIDDLE - _REACH[OBJECT].start].reshape(-1, _BAND)
    bands[count : count + len(last)] = last
    return plan.reshape(-1, _BANDS), bands[: count + len(last)]


def _render() -> list[NDArray[np.uint8]]:
    """What each surface adds to the bands in its reach, for every geometry and hue, (480, 10, bands, 768).

    A pixel's rays may meet several surfaces; the parts are then rounded down, so that their sum stays below 256.
    """
    logger.info("3D Shapes: casting rays into 480 rooms, once (301 MB, some seconds)")
    turn = (6 * np.arange(10)[:, None] / 10 + np.array([0.0, 4.0, 2.0])) % 6
    colours = np.clip(np.abs(turn - 3) - 1, 0, 1)
    levels, level = np.unique(colours.round(6), return_inverse=True)
    level = level.reshape(10, 3)
    tables = [np.empty((_GEOMETRIES, 10, reach.stop - reach.start, _BAND), np.uint8) for reach in _REACH]
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
            added = added.reshape(10, _BANDS, _BAND)
            tables[part][geometry] = added[:, _REACH[part]]
            assert np.count_nonzero(tables[part][geometry]) == np.count_nonzero(added)
    return tables


# The pixel that each ray of a view belongs to.
_PIXEL_OF_RAY = (
    np.arange(SIZE * SIZE).reshape(SIZE, SIZE).repeat(_SAMPLES, axis=0).repeat(_SAMPLES, axis=1).ravel()
)


def _rounded(light: Array, rays: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Sums of light (4096, c) over rays, of which each pixel has `rays`, as bytes; rounded down if others share it."""
    shown = 255 * light / _SAMPLES**2
    alone = (rays == _SAMPLES**2)[:, None]
    return np.where(alone, np.rint(shown), np.floor(shown + 1e-6)).astype(np.uint8)
