"""The room of 3D Shapes by ray casting: a floor, three walls, sky, one object and its shadow."""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SIZE = 64
SKY = np.array([153, 226, 249]) / 255

_HALF_SIDE = 3.5
_WALL_HEIGHT = 2.04
_CAMERA_DISTANCE = 2.52
_CAMERA_HEIGHT = 0.75
_FOCAL = 69.7  # pixels
_LIGHT = np.array([-0.265, 0.116, 1.0]) / np.linalg.norm([-0.265, 0.116, 1.0])
_CUBE_HALF_EDGE = 0.35
_CYLINDER_RADIUS, _CYLINDER_HEIGHT = 0.3545, 0.7275
_SPHERE_RADIUS = 0.425
_CAPSULE_RADIUS, _CAPSULE_HEIGHT = 0.321, 1.32

# Brightness of each surface, a polynomial of the place (in half sides) or of the normal, fitted to the 50 golden
# images by least absolute deviations; values above 1 saturate, as they do in the originals.
_FLOOR = np.array([1.0637, -0.6152, 0.0747, -0.218, 0.3468, -0.4647])  # 1, x, y, xx, xy, yy
_FRONT = np.array([1.0022, -0.0231, 0.0309, -0.0443, -0.0433, -0.0947])  # 1, x, z, xx, xz, zz
_RIGHT = np.array([0.7783, -0.1865, -0.0481])  # 1, y, z
_LEFT = np.array([0.9068, -0.2675, -0.0187])
_SHADOW = 0.3384
_OBJECT = np.array([0.5714, -0.1599, -0.3552, 0.2187, -0.0404, -0.0789, -0.1687, 0.1496, 0.2009])
_GLOSS = np.array([0.0003, -0.0521, -0.0078, 0.042, -0.0203, -0.0845, -0.0284, 0.103, 0.1024])

FLOOR, WALL, OBJECT = 0, 1, 2


@dataclass(frozen=True)
class View:
    """What each ray (n,) meets: its `surface` (-1 for the sky), how bright it is, and how much white is added.

    A surface of colour c shows ``min(shade c + gloss (1 - c), 1)`` in every channel.

    Example:
        >>> seen = view(2, 1.25, 30.0, 1)
        >>> round(float((seen.surface == -1).mean()), 1)  # the share of the sky
        0.3
    """

    surface: NDArray[np.int64]
    shade: Array
    gloss: Array


def view(shape: int, scale: float, azimuth: float, samples: int) -> View:
    """Cast ``samples`` x ``samples`` rays through each of the 64 x 64 pixels, row by row.

    Args:
        shape: 0 cube, 1 cylinder, 2 sphere, 3 capsule; it stands on the middle of the floor.
        scale: size of the object, 0.75 .. 1.25.
        azimuth: of the camera around the middle, in degrees.
        samples: rays along each side of a pixel.

    Returns:
        fields of shape ((64 samples)^2,).

    Example:
        >>> seen = view(0, 1.0, 0.0, 1).surface.reshape(64, 64)
        >>> seen[0, 32].item(), seen[40, 32].item(), seen[63, 0].item()
        (-1, 2, 0)
    """
    start, ray, distance, (x, y), surface, shade = _empty_room(azimuth, samples)
    surface, shade = surface.copy(), shade.copy()
    on_floor = surface == FLOOR
    # The object's shadow is never further than this from the middle.
    near = np.flatnonzero(on_floor & (np.hypot(x, y) * _HALF_SIDE < 2.0))
    floor = np.stack([x[near], y[near], np.full(len(near), 1e-6)], axis=1) * [_HALF_SIDE, _HALF_SIDE, 1.0]
    shaded = np.isfinite(_meet(shape, scale, floor, np.broadcast_to(_LIGHT, floor.shape))[0])
    shade[near[shaded]] = _SHADOW

    gloss = np.zeros_like(shade)
    across = np.abs(start[0] * ray[:, 1] - start[1] * ray[:, 0]) / np.hypot(ray[:, 0], ray[:, 1])
    near = np.flatnonzero(across < 0.6 * scale)
    reached, normal = _meet(shape, scale, np.broadcast_to(start, (len(near), 3)), ray[near])
    hit = reached < distance[near]
    near, (a, b, c) = near[hit], normal[hit].T
    terms = (np.ones_like(a), a, b, c, a * b, b * c, a * c, a * a, c * c)
    surface[near] = OBJECT
    shade[near] = _polynomial(_OBJECT, *terms)
    gloss[near] = np.clip(_polynomial(_GLOSS, *terms), 0, 1)
    return View(surface, np.clip(shade, 0, 2), gloss)


@functools.lru_cache(maxsize=15)
def _empty_room(
    azimuth: float, samples: int
) -> tuple[Array, Array, Array, tuple[Array, Array], NDArray[np.int64], Array]:
    """Of the room without its object: the camera, rays, their lengths, places (x, y), surfaces and brightness."""
    start, ray = _rays(azimuth, samples)
    with np.errstate(divide="ignore"):
        to_side = (np.sign(ray[:, 0]) * _HALF_SIDE - start[0]) / ray[:, 0]
        to_front = (_HALF_SIDE - start[1]) / ray[:, 1]
        to_floor = np.where(ray[:, 2] < 0, -start[2] / ray[:, 2], np.inf)
    to_side[ray[:, 0] == 0] = np.inf
    to_wall = np.minimum(to_side, to_front)
    distance = np.minimum(to_floor, to_wall)
    x, y, z = ((start + distance[:, None] * ray) / _HALF_SIDE).T
    one = np.ones_like(x)

    surface = np.where(to_floor < to_wall, FLOOR, WALL)
    shade = np.where(
        to_front <= to_side,
        _polynomial(_FRONT, one, x, z, x * x, x * z, z * z),
        np.where(ray[:, 0] > 0, _polynomial(_RIGHT, one, y, z), _polynomial(_LEFT, one, y, z)),
    )
    on_floor = surface == FLOOR
    shade = np.where(on_floor, _polynomial(_FLOOR, one, x, y, x * x, x * y, y * y), shade)
    surface[~on_floor & (z * _HALF_SIDE > _WALL_HEIGHT)] = -1
    return start, ray, distance, (x, y), surface, shade


def _polynomial(weights: Array, *terms: Array) -> Array:
    return np.asarray(sum(weight * term for weight, term in zip(weights, terms, strict=True)))


def _rays(azimuth: float, samples: int) -> tuple[Array, Array]:
    """The camera's place (3,) and directions (n, 3), with 1 along its axis."""
    angle = np.deg2rad(azimuth)
    side = ((np.arange(SIZE * samples) + 0.5) / samples - SIZE / 2) / _FOCAL
    right, down = (values.ravel() for values in np.meshgrid(side, side))
    start = np.array([_CAMERA_DISTANCE * np.sin(angle), -_CAMERA_DISTANCE * np.cos(angle), _CAMERA_HEIGHT])
    x = right * np.cos(angle) - np.sin(angle)
    y = right * np.sin(angle) + np.cos(angle)
    return start, np.stack([x, y, -down], axis=1)


def _meet(shape: int, scale: float, start: Array, ray: Array) -> tuple[Array, Array]:
    """Distance (n,), inf if there is none, to the object along rays (n, 3), and its normal (n, 3) there."""
    if shape == 0:
        return _meet_cube(_CUBE_HALF_EDGE * scale, start, ray)
    if shape == 2:
        return _meet_ball(_SPHERE_RADIUS * scale, _SPHERE_RADIUS * scale, start, ray)
    if shape == 1:
        radius, bottom, top = _CYLINDER_RADIUS * scale, 0.0, _CYLINDER_HEIGHT * scale
        ends = [_meet_lid(radius, top, start, ray)]
    else:
        radius, bottom = _CAPSULE_RADIUS * scale, _CAPSULE_RADIUS * scale
        top = _CAPSULE_HEIGHT * scale - radius
        ends = [_meet_ball(radius, bottom, start, ray), _meet_ball(radius, top, start, ray)]
    distance, normal = _meet_tube(radius, bottom, top, start, ray)
    for other, other_normal in ends:
        nearer = other < distance
        distance, normal = np.where(nearer, other, distance), np.where(nearer[:, None], other_normal, normal)
    return distance, normal


def _meet_cube(half: float, start: Array, ray: Array) -> tuple[Array, Array]:
    with np.errstate(divide="ignore", invalid="ignore"):
        one = (np.array([-half, -half, 0]) - start) / ray
        two = (np.array([half, half, 2 * half]) - start) / ray
    enter, leave = np.minimum(one, two), np.maximum(one, two)
    side, rows = enter.argmax(axis=1), np.arange(len(ray))
    distance = enter[rows, side]
    normal = np.zeros_like(ray)
    normal[rows, side] = -np.sign(ray[rows, side])
    return np.where((distance < leave.min(axis=1)) & (distance > 0), distance, np.inf), normal


def _meet_ball(radius: float, height: float, start: Array, ray: Array) -> tuple[Array, Array]:
    centre = np.array([0, 0, height])
    distance = _first_root(start - centre, ray, radius)
    place = start + np.where(np.isfinite(distance), distance, 0)[:, None] * ray
    return distance, (place - centre) / radius


def _meet_tube(radius: float, bottom: float, top: float, start: Array, ray: Array) -> tuple[Array, Array]:
    distance = _first_root(start[:, :2], ray[:, :2], radius)
    place = start + np.where(np.isfinite(distance), distance, 0)[:, None] * ray
    inside = (place[:, 2] >= bottom) & (place[:, 2] <= top)
    return np.where(inside, distance, np.inf), place * [1 / radius, 1 / radius, 0]


def _meet_lid(radius: float, height: float, start: Array, ray: Array) -> tuple[Array, Array]:
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = (height - start[:, 2]) / ray[:, 2]
        place = start[:, :2] + distance[:, None] * ray[:, :2]
        inside = (distance > 0) & ((place**2).sum(axis=1) < radius**2)
    return np.where(inside, distance, np.inf), np.broadcast_to([0.0, 0.0, 1.0], ray.shape)


def _first_root(start: Array, ray: Array, radius: float) -> Array:
    """The smaller t > 0 with |start + t ray| = radius, else inf."""
    a, b = (ray * ray).sum(axis=1), (start * ray).sum(axis=1)
    inside = b * b - a * ((start * start).sum(axis=1) - radius**2)
    root = (-b - np.sqrt(np.maximum(inside, 0))) / np.maximum(a, 1e-300)
    return np.where((inside > 0) & (root > 0), root, np.inf)
