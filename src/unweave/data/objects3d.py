"""Solid toys seen from all sides: a stand-in for Cars3D and SmallNORB that is rendered here."""

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from unweave.data.cache import cache_folder
from unweave.data.dataset import channels_last
from unweave.data.distinct_strips import Strips, cached_strips, distinct
from unweave.data.indexed import IndexedDataset
from unweave.data.space import FactorSpace
from unweave.errors import UnweaveError

logger = logging.getLogger("unweave")

Array = NDArray[np.float64]

_SPACE = FactorSpace(("category", "instance", "azimuth", "elevation", "lighting"), (5, 8, 24, 4, 4))
_SIZE = 64
_LINES = 4
_FINE = 2 * _SIZE
_DISTANCE = 4.6
_FOCAL = 2.3 * _FINE
_LOOK_AT = np.array([0.0, 0.0, 0.46])
_GROUND = np.array([0.80, 0.80, 0.78])
# Towards the light, as the camera sees it: right, up, towards the camera.
_GLASS = np.array([0.2, 0.25, 0.32])
_LIGHTS = np.array([[-0.8, 0.5, 0.4], [0.8, 0.5, 0.4], [0.0, 1.0, 0.25], [0.1, 0.25, 1.0]])
_STRENGTH = np.array([0.85, 0.85, 1.0, 0.7])


@final
class Objects3D(IndexedDataset):
    """Toy animals, humans, planes, trucks and cars on a turntable, 15,360 images 64 x 64.

    A stand-in for Cars3D and SmallNORB: real variation of solid objects, made of balls, boxes, tubes and cones by exact
    ray casting. Factors: category (animal, human, plane, truck, car), instance (8 of each, of different build and
    colour; instance 0 of one category has nothing to do with instance 0 of another), azimuth (24 steps of 15 degrees),
    elevation (10, 25, 40, 55 degrees), lighting (from the left, the right, above, the front). Rendered once, in about
    a minute (104 MB in the cache folder).

    Args:
        channels: 3 (colour) or 1 (grey, the mean of the three).

    Example:
        >>> Objects3D.description.split(":")[0]
        'solid toys from all sides'
    """

    description = (
        "solid toys from all sides: category 5, instance 8, azimuth 24, elevation 4, lighting 4 (made)"
    )

    def __init__(self, *, channels: Literal[1, 3] = 3) -> None:
        if channels not in (1, 3):
            raise UnweaveError(f"channels of Objects3D must be 1 (grey) or 3 (colour), got {channels!r}")
        self.channels_shown = channels
        self._tables: Strips | None = None
        self._grid(_SPACE, (channels, _SIZE, _SIZE))

    def _take(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        if self._tables is None:
            plan, bands = _pictures(cache_folder())
            self._tables = plan, bands if self.channels_shown == 3 else _grey(bands)
        plan, bands = self._tables
        pixels = bands.take(plan.take(rows, axis=0), axis=0)
        return channels_last(pixels.reshape(-1, _SIZE, _SIZE, self.channels_shown))


def _grey(bands: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The mean of the three channels, rounded, (m, 256)."""
    grey = np.empty((len(bands), bands.shape[1] // 3), np.uint8)
    for start in range(0, len(bands), 4096):
        red, green, blue = (bands[start : start + 4096, c::3].astype(np.uint16) for c in range(3))
        grey[start : start + 4096] = (red + green + blue + 1) // 3
    return grey


@functools.lru_cache(maxsize=1)
def _pictures(folder: Path) -> Strips:
    """Strips of four lines: of nine, five are like no other, most others show nothing but the ground."""
    width = _LINES * _SIZE * 3
    shape = (15_360, _SIZE // _LINES)
    return cached_strips(
        folder / "objects3d-2", shape, width, lambda: distinct(_render_all().reshape(*shape, width))
    )


def _render_all() -> NDArray[np.uint8]:
    logger.info("Objects3D: rendering 15,360 images, once (104 MB, about a minute)")
    pictures = np.empty((5, 8, 24, 4, 4, _SIZE, _SIZE, 3), np.uint8)
    for category in range(5):
        for instance in range(8):
            toy = build(category, instance)
            for azimuth in range(24):
                for elevation in range(4):
                    pictures[category, instance, azimuth, elevation] = render(
                        toy, 15.0 * azimuth, 10.0 + 15.0 * elevation
                    )
        logger.info("Objects3D: %s rendered", ("animals", "humans", "planes", "trucks", "cars")[category])
    return pictures.reshape(15_360, _SIZE, _SIZE, 3)


@dataclass(frozen=True)
class Part:
    """A ball, box, tube or cone of half extents `half` around `centre`, turned by `turn` (3, 3), in one colour.

    Example:
        >>> Part("ball", np.zeros(3), np.ones(3), np.eye(3), np.ones(3)).kind
        'ball'
    """

    kind: Literal["ball", "box", "tube", "cone"]
    centre: Array
    half: Array
    turn: Array
    colour: Array


class _Toy:
    """Collects the parts of one object; lengths are in object heights, z points up, x forward."""

    def __init__(self) -> None:
        self.parts: list[Part] = []

    def add(
        self,
        kind: Literal["ball", "box", "tube", "cone"],
        centre: tuple[float, float, float],
        half: tuple[float, float, float],
        colour: Array | float,
        axis: Literal["x", "y", "z"] = "z",
        pitch: float = 0.0,
    ) -> None:
        """Add a part, and its mirror image if it does not stand in the middle, at y = 0.

        The tube's or cone's own z lies along `axis`; `pitch` (degrees) then turns around y.
        """
        turn = {
            "z": np.eye(3),
            "x": np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]),
            "y": np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]),
        }[axis]
        angle = np.deg2rad(pitch)
        tilt = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
        for side in (1, -1) if centre[1] else (1,):
            place = np.array(centre) * [1, side, 1]
            self.parts.append(Part(kind, place, np.array(half), tilt @ turn, np.full(3, colour)))


def build(category: int, instance: int) -> list[Part]:
    """The parts of an object, drawn by the numbers of its category and instance.

    Example:
        >>> len(build(4, 0)) > 5
        True
    """
    rng = np.random.default_rng([category, instance, 7])
    toy = _Toy()
    hue = (instance / 8 + 0.13 * category) % 1
    turn = (6 * hue + np.array([0.0, 4.0, 2.0])) % 6
    colour = 0.25 + 0.65 * np.clip(np.abs(turn - 3) - 1, 0, 1)
    makers: tuple[Callable[[_Toy, Generator, Array], None], ...] = (_animal, _human, _plane, _truck, _car)
    makers[category](toy, rng, colour)
    return toy.parts


def _animal(toy: _Toy, rng: Generator, colour: Array) -> None:
    length, girth, leg, neck = rng.uniform([0.38, 0.15, 0.2, 0.0], [0.62, 0.26, 0.5, 0.5])
    dark = 0.55 * colour
    back = leg + girth
    toy.add("ball", (0, 0, back), (length, girth, girth), colour)
    for x in (0.6 * length, -0.6 * length):
        toy.add("tube", (x, 0.6 * girth, leg / 2 + 0.03), (0.055, 0.055, leg / 2 + 0.03), dark)
    head = (length + 0.1 + 0.2 * neck, 0.0, back + girth * 0.4 + neck)
    toy.add("ball", head, (0.19, 0.13, 0.14), colour)
    toy.add("ball", (head[0] + 0.16, 0, head[2] - 0.04), (0.1, 0.07, 0.07), dark)
    toy.add("cone", (head[0] - 0.06, 0.08, head[2] + 0.18), (0.05, 0.05, 0.09), dark)
    middle = ((0.7 * length + head[0]) / 2, 0.0, (back + head[2]) / 2)
    toy.add("tube", middle, (0.075, 0.075, 0.16 + neck / 2), colour, pitch=25)
    toy.add("tube", (-length - 0.1, 0, back + 0.05), (0.03, 0.03, 0.22), dark, pitch=-55)


def _human(toy: _Toy, rng: Generator, colour: Array) -> None:
    leg, broad, arm = rng.uniform(0.38, 0.55), rng.uniform(0.14, 0.24), rng.uniform(-50, 60)
    skin = np.array([0.85, 0.65, 0.5]) * rng.uniform(0.5, 1.1)
    trousers = colour[::-1] * 0.6
    toy.add("tube", (0, 0.09, leg / 2), (0.07, 0.07, leg / 2), trousers)
    toy.add("ball", (0.05, 0.09, 0.04), (0.11, 0.06, 0.045), 0.15)
    toy.add("box", (0, 0, leg + 0.21), (0.11, broad, 0.22), colour)
    toy.add("ball", (0, 0, leg + 0.6), (0.13, 0.13, 0.16), skin)
    toy.add("ball", (-0.03, 0, leg + 0.66), (0.135, 0.14, 0.13), 0.3 * skin)
    out = 0.22 * np.sin(np.deg2rad(arm))
    toy.add("tube", (out, broad + 0.06, leg + 0.24), (0.045, 0.045, 0.22), colour, pitch=-arm)
    toy.add(
        "ball", (2 * out, broad + 0.06, leg + 0.03 + 0.2 * (1 - np.cos(np.deg2rad(arm)))), (0.06,) * 3, skin
    )
    if rng.random() < 0.5:
        toy.add("tube", (0, 0, leg + 0.79), (0.11, 0.11, 0.07), trousers)
        toy.add("tube", (0, 0, leg + 0.72), (0.2, 0.2, 0.015), trousers)


def _plane(toy: _Toy, rng: Generator, colour: Array) -> None:
    length, span, thick = rng.uniform(0.6, 0.8), rng.uniform(0.5, 0.85), rng.uniform(0.1, 0.17)
    dark, high = 0.5 * colour, rng.choice([0.0, 0.1, -0.07])
    toy.add("ball", (0, 0, 0.4), (length, thick, thick), colour)
    toy.add("box", (0.05, 0, 0.4 + high), (rng.uniform(0.1, 0.19), span, 0.025), dark)
    toy.add("box", (-0.85 * length, 0, 0.42), (0.09, 0.26, 0.02), dark)
    toy.add("box", (-0.88 * length, 0, 0.55), (0.09, 0.02, 0.16), dark)
    toy.add("ball", (0.45 * length, 0, 0.4 + 0.75 * thick), (0.15, 0.07, 0.07), np.array([0.25, 0.3, 0.35]))
    if rng.random() < 0.5:
        toy.add("cone", (length + 0.02, 0, 0.4), (0.06, 0.06, 0.08), 0.2, axis="x")
        toy.add("box", (length + 0.01, 0, 0.4), (0.012, 0.2, 0.02), 0.25)
    else:
        toy.add("tube", (0.08, 0.45 * span, 0.32 + high), (0.06, 0.06, 0.14), 0.7, axis="x")
    for x, y in ((0.5 * length, 0.0), (-0.05, 0.18)):
        toy.add("tube", (x, y, 0.16), (0.02, 0.02, 0.14), 0.4)
        toy.add("tube", (x, y, 0.07), (0.07, 0.07, 0.03), 0.1, axis="y")


def _wheels(toy: _Toy, places: list[float], side: float, radius: float) -> None:
    for x in places:
        toy.add("tube", (x, side, radius), (radius, radius, 0.05), 0.1, axis="y")
        toy.add("tube", (x, side + 0.03, radius), (0.5 * radius, 0.5 * radius, 0.03), 0.7, axis="y")


def _truck(toy: _Toy, rng: Generator, colour: Array) -> None:
    radius, cab, load, top = rng.uniform([0.09, 0.14, 0.36, 0.16], [0.14, 0.22, 0.56, 0.36])
    floor = 1.6 * radius
    toy.add("box", (0, 0, floor), (load + cab, 0.2, 0.03), 0.25)
    front = load
    toy.add("box", (front, 0, floor + 0.2), (cab, 0.22, 0.2), colour)
    toy.add("box", (front + 0.35 * cab, 0, floor + 0.28), (0.7 * cab, 0.225, 0.08), _GLASS)
    kind = rng.integers(3)
    box = np.array([0.9, 0.9, 0.85]) if rng.random() < 0.6 else colour[[1, 2, 0]]
    if kind == 0:
        toy.add("box", (-cab, 0, floor + top), (load - 0.03, 0.24, top), box)
    elif kind == 1:
        toy.add("tube", (-cab, 0, floor + 0.24), (0.22, 0.22, load - 0.03), box, axis="x")
    else:
        toy.add("box", (-cab, 0.21, floor + 0.14), (load - 0.03, 0.02, 0.13), box)
        toy.add("box", (-cab - load + 0.05, 0, floor + 0.14), (0.02, 0.22, 0.13), box)
        toy.add("ball", (-cab, 0, floor + 0.1), (0.8 * load, 0.18, 0.17), np.array([0.45, 0.33, 0.2]))
    _wheels(
        toy,
        [front, -cab - 0.55 * load, -cab - 0.55 * load + 2.3 * radius][: 2 + int(load > 0.42)],
        0.2,
        radius,
    )


def _car(toy: _Toy, rng: Generator, colour: Array) -> None:
    length, height, radius, roof = rng.uniform([0.55, 0.1, 0.11, 0.22], [0.78, 0.16, 0.16, 0.46])
    back = rng.uniform(-0.22, 0.02)
    middle = radius + height
    toy.add("box", (0, 0, middle), (length, 0.3, height), colour)
    toy.add("ball", (length, 0, middle), (0.1, 0.3, height), colour)
    toy.add("ball", (-length, 0, middle), (0.08, 0.3, height), colour)
    if rng.random() < 0.75:
        toy.add("ball", (back, 0, middle + height), (1.25 * roof, 0.265, rng.uniform(0.2, 0.32)), _GLASS)
        toy.add("box", (back, 0, middle + height + 0.19), (0.7 * roof, 0.22, 0.025), colour)
    else:
        toy.add("box", (0.15, 0, middle + height + 0.06), (0.02, 0.26, 0.09), _GLASS, pitch=-25)
        toy.add("box", (-0.12, 0, middle + height + 0.03), (0.1, 0.24, 0.06), 0.4 * colour)
    toy.add("ball", (length + 0.05, 0.2, middle + 0.02), (0.05, 0.06, 0.05), np.array([1.0, 1.0, 0.75]))
    toy.add("ball", (-length - 0.03, 0.2, middle + 0.02), (0.05, 0.06, 0.04), np.array([0.8, 0.1, 0.1]))
    _wheels(toy, [0.62 * length, -0.62 * length], 0.29, radius)


def render(toy: list[Part], azimuth: float, elevation: float) -> NDArray[np.uint8]:
    """Pictures (4, 64, 64, 3), one for each light, of an object turned by `azimuth` and seen from `elevation` degrees.

    Example:
        >>> render(build(4, 0), 30.0, 25.0).shape
        (4, 64, 64, 3)
    """
    a, e = np.deg2rad([azimuth, elevation])
    towards = np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    up = np.cross(towards, right)
    start = _LOOK_AT + _DISTANCE * towards
    side = (np.arange(_FINE) + 0.5 - _FINE / 2) / _FOCAL
    ray = -towards + side[None, :, None] * right - side[:, None, None] * up

    depth = np.full((_FINE, _FINE), np.inf)
    normal = np.zeros((_FINE, _FINE, 3))
    with np.errstate(divide="ignore"):
        to_ground = np.where(ray[..., 2] < -1e-6, -start[2] / ray[..., 2], np.inf)
    place = (start + np.where(np.isfinite(to_ground), to_ground, 0)[..., None] * ray)[..., :2]
    reach = np.mean([np.abs(p.centre[:2]).max() + p.half[:2].max() for p in toy])
    contact = np.exp(-((place / (0.75 * reach)) ** 2).sum(axis=2) * 2) * np.isfinite(to_ground)
    albedo = _GROUND * (1 - 0.45 * contact[..., None])
    solid = np.zeros((_FINE, _FINE), np.bool_)

    for part in toy:
        window = _window(part, start, right, up, towards)
        if window is None:
            continue
        reached, outward = _meet(part, start, ray[window])
        nearer = reached < depth[window]
        depth[window][nearer] = reached[nearer]
        normal[window][nearer] = outward[nearer]
        albedo[window][nearer] = part.colour
        solid[window] |= nearer

    return _lit(albedo, normal, solid, np.stack([right, up, towards]))


def _lit(albedo: Array, normal: Array, solid: NDArray[np.bool_], axes: Array) -> NDArray[np.uint8]:
    """The pictures under each light, of pixels with a colour and, where they are solid, a normal; axes of the eye."""
    facing, colour, towards = normal[solid], albedo[solid], axes[2]
    pictures = np.empty((4, _SIZE, _SIZE, 3), np.uint8)
    for i, (direction, strength) in enumerate(zip(_LIGHTS, _STRENGTH, strict=True)):
        light = direction @ axes
        light /= np.linalg.norm(light)
        half = (light + towards) / np.linalg.norm(light + towards)
        lambert = np.maximum(facing @ light, 0)
        shine = 0.25 * np.maximum(facing @ half, 0) ** 24
        shown = albedo * (0.55 + 0.45 * strength)
        lit = colour * (0.32 + strength * 0.68 * lambert)[:, None] + (strength * shine)[:, None]
        shown[solid] = np.minimum(lit, 1)
        small = shown.reshape(_SIZE, 2, _SIZE, 2, 3).mean(axis=(1, 3))
        pictures[i] = np.rint(255 * small)
    return pictures


def _window(part: Part, start: Array, right: Array, up: Array, towards: Array) -> tuple[slice, slice] | None:
    """The pixels that the part's bounding ball may cover."""
    radius = float(np.linalg.norm(part.half))
    offset = part.centre - start
    depth = -float(offset @ towards) - radius
    x, y = float(offset @ right), float(offset @ up)
    reach = _FOCAL * radius / depth + 2
    far = _FOCAL / (depth + radius)
    column, row = _FINE / 2 + x * far, _FINE / 2 - y * far
    spans = []
    for middle in (row, column):
        low, high = int(max(middle - reach, 0)), int(min(middle + reach + 1, _FINE))
        if low >= high:
            return None
        spans.append(slice(low, high))
    return spans[0], spans[1]


def _meet(part: Part, start: Array, ray: Array) -> tuple[Array, Array]:
    """Distance (h, w) along rays (h, w, 3), inf if there is none, and the normal (h, w, 3) there."""
    o = (start - part.centre) @ part.turn / part.half
    d = ray @ part.turn / part.half
    distance, normal = _UNIT[part.kind](o, d)
    normal = normal / part.half @ part.turn.T
    length = np.linalg.norm(normal, axis=-1, keepdims=True)
    return distance, normal / np.where(length > 0, length, 1)


def _ball(o: Array, d: Array) -> tuple[Array, Array]:
    distance = _root((d * d).sum(-1), d @ o, float(o @ o) - 1)
    return distance, o + np.where(np.isfinite(distance), distance, 0)[..., None] * d


def _box(o: Array, d: Array) -> tuple[Array, Array]:
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (-1 - o) / d, (1 - o) / d
    enter, leave = np.minimum(one, two), np.maximum(one, two)
    distance = enter.max(axis=-1)
    face = enter == distance[..., None]
    hit = (distance < leave.min(axis=-1)) & (distance > 0)
    return np.where(hit, distance, np.inf), -np.sign(d) * face


def _tube(o: Array, d: Array) -> tuple[Array, Array]:
    near = _root((d[..., :2] ** 2).sum(-1), d[..., :2] @ o[:2], float(o[:2] @ o[:2]) - 1)
    return _capped(o, d, near, np.array([1.0, 1.0, 0.0]), (-1.0, 1.0), lambda z: np.ones_like(z))


def _cone(o: Array, d: Array) -> tuple[Array, Array]:
    """Of radius (1 - z)/2: 1 at z = -1, a point at z = 1."""
    k, m = (1 - o[2]) / 2, -d[..., 2] / 2
    a = (d[..., :2] ** 2).sum(-1) - m * m
    b = d[..., :2] @ o[:2] - k * m
    near = _root(a, b, float(o[:2] @ o[:2] - k * k))
    return _capped(o, d, near, np.array([1.0, 1.0, 0.0]), (-1.0,), lambda z: (1 - z) / 2)


def _capped(
    o: Array, d: Array, near: Array, outward: Array, lids: tuple[float, ...], radius: Callable[[Array], Array]
) -> tuple[Array, Array]:
    place = o + np.where(np.isfinite(near), near, 0)[..., None] * d
    distance = np.where(np.abs(place[..., 2]) <= 1, near, np.inf)
    normal = place * outward
    if len(lids) == 1:
        normal = normal + np.array([0, 0, 0.5]) * radius(place[..., 2])[..., None]
    for lid in lids:
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (lid - o[2]) / d[..., 2]
        flat = o[:2] + np.where(np.isfinite(t), t, 0)[..., None] * d[..., :2]
        limit = float(radius(np.array(lid))) ** 2
        better = np.isfinite(t) & (t > 0) & ((flat**2).sum(-1) <= limit) & (t < distance)
        distance = np.where(better, t, distance)
        normal = np.where(better[..., None], np.array([0, 0, lid]), normal)
    return distance, normal


def _root(a: Array, b: Array, c: float) -> Array:
    """The smaller t > 0 with a t^2 + 2 b t + c = 0, else inf."""
    inside = b * b - a * c
    root = (-b - np.sqrt(np.maximum(inside, 0))) / np.where(np.abs(a) > 1e-12, a, 1e-12)
    return np.where((inside > 0) & (root > 0), root, np.inf)


_UNIT: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
    "ball": _ball,
    "box": _box,
    "tube": _tube,
    "cone": _cone,
}
