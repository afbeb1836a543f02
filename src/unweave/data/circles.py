"""Circles with continuous factors (SBD table 3), drawn with exact pixel coverage."""

from dataclasses import dataclass
from typing import Any, Literal, final, get_args

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from unweave.data.dataset import Batch, Dataset, channels_last
from unweave.data.pictures import check_size
from unweave.data.space import Array, FactorSpace
from unweave.errors import UnweaveError, check_choice

Variant = Literal["xy", "xh", "rg", "xyh_small", "xyh_tiny", "xys"]
Hole = Literal["none", "center", "corner"]

_POSITION = (0.2, 0.8)
_HUE = (0.2, 0.8)
_INTENSITY = (0.4, 0.8)


@dataclass(frozen=True)
class _Row:
    """One row of SBD table 3; what is not a factor is constant."""

    diameter: float
    ranges: dict[str, tuple[float, float]]


_TABLE = {
    "xy": _Row(0.2, {"x": _POSITION, "y": _POSITION}),
    "xh": _Row(0.3, {"x": _POSITION, "hue": _HUE}),
    "rg": _Row(0.5, {"red": _INTENSITY, "green": _INTENSITY}),
    "xyh_small": _Row(0.1, {"x": _POSITION, "y": _POSITION, "hue": _HUE}),
    "xyh_tiny": _Row(0.075, {"x": _POSITION, "y": _POSITION, "hue": _HUE}),
    "xys": _Row(0.3, {"x": _POSITION, "y": _POSITION, "size": (0.1, 0.3)}),
}


@final
class Circles(Dataset):
    """One circle on black, three channels, continuous factors (SBD table 3, figures 4, 7, 8, 11-20).

    ============  ===========================  ========  =======================================
    variant       factors                      diameter  the rest
    ============  ===========================  ========  =======================================
    xy            x, y in [0.2, 0.8]           0.2       white
    xh            x, hue in [0.2, 0.8]         0.3       y = 0.5, saturation = value = 1
    rg            red, green in [0.4, 0.8]     0.5       x = y = 0.5, blue = 1
    xyh_small     x, y, hue in [0.2, 0.8]      0.1       saturation = value = 1
    xyh_tiny      x, y, hue in [0.2, 0.8]      0.075     saturation = value = 1
    xys           x, y in [0.2, 0.8], size     0.1..0.3  white
    ============  ===========================  ========  =======================================

    SBD appendix A.3 lists the size among the factors it controls, and figure 11 mentions data in which it varies, but
    table 3 has none of these: the range of ``xys`` is ours. The paper draws 500,000 images once (``finite``); by
    default every image is drawn anew.

    Units are frame widths, x from the left and y from the top edge. "Size" in table 3 is read as the
    diameter: the captions of figures 7 and 8 call these circles "0.1 times the frame-width". A pixel's value
    is the exact area of the pixel that the circle covers, times the colour, rounded to uint8. The paper draws five
    times as large and averages (``supersampling=5``).

    A **hole** excludes one quarter of the space from training: the middle half (``center``) or the lower half
    (``corner``) of the ranges of the first two factors. :meth:`images` still draws it, :meth:`held_out` marks
    it.

    **Blank** images are black and have no circle, so their factors are NaN in a :class:`Batch`;
    :meth:`images` draws a row with NaN as black. :meth:`evaluation` gives circles only.

    Args:
        variant: row of the table.
        hole: where training data is missing.
        blank: fraction of black images in training data, 0 <= blank < 1 (SBD figure 20: 0.5).
        size: height and width in pixels.
        finite: number of different images, always the same; none: as many as are asked for. SBD has 500,000.
        supersampling: points along each side of a pixel of which it is the mean (SBD appendix A.3: 5); none: exact.

    Example:
        >>> circles = Circles(variant="xy")
        >>> image = circles.images([[0.5, 0.5]])
        >>> image.shape, image[0, :, 32, 32].tolist()
        ((1, 3, 64, 64), [255, 255, 255])
        >>> abs(image[0, 0].sum() / 255 - np.pi * 6.4**2) < 0.1
        np.True_
    """

    description = (
        "one circle, continuous factors: variant xy, xh, rg, xyh_small, xyh_tiny; hole none, center, corner"
    )

    def __init__(
        self,
        *,
        variant: Variant = "xy",
        hole: Hole = "none",
        blank: float = 0.0,
        size: int = 64,
        finite: int | None = None,
        supersampling: int | None = None,
    ) -> None:
        check_choice("variant of Circles", variant, get_args(Variant))
        check_choice("hole of Circles", hole, get_args(Hole))
        if not isinstance(blank, (int, float)) or not 0 <= blank < 1:
            raise UnweaveError(f"blank of Circles must be a fraction from 0 to below 1, got {blank!r}")
        if not isinstance(size, int) or isinstance(size, bool) or size < 8:
            raise UnweaveError(f"size of Circles must be a whole number of pixels from 8 up, got {size!r}")
        check_size(size, "Circles")
        for name, number in (("finite", finite), ("supersampling", supersampling)):
            if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 1):
                raise UnweaveError(f"{name} of Circles must be a whole number from 1 up, got {number!r}")
        self.variant, self.hole, self.blank, self.size = variant, hole, float(blank), size
        self.finite, self.supersampling = finite, supersampling
        row = _TABLE[variant]
        self.diameter = row.diameter
        self.image_shape = (3, size, size)
        self.space: FactorSpace = FactorSpace(tuple(row.ranges), tuple(row.ranges.values()))
        self.count = None
        self._drawn_once = None if finite is None else self._points(finite, np.random.default_rng(0))

    def images(self, factors: ArrayLike) -> NDArray[Any]:
        """Images (n, 3, size, size), uint8, of `factors` (n, K); rows with NaN are black."""
        points = np.asarray(factors)
        if points.ndim != 2 or points.dtype.kind != "f":
            points = self.space.check(points)
        shown = ~np.isnan(points).any(axis=1)
        return self._draw(self.space.check(points[shown]), shown)

    def sample(self, n: int, rng: Generator) -> Batch:
        """`n` draws, uniform outside the hole; blank images have NaN factors."""
        if self._drawn_once is None:
            points = self._points(n, rng)
        else:
            points = self._drawn_once[rng.integers(len(self._drawn_once), size=n)]
        shown = np.asarray(~np.isnan(points).any(axis=1))
        return Batch(self._draw(points[shown], shown), points)

    def _points(self, n: int, rng: Generator) -> Array:
        """Factors (n, K) of `n` images, NaN of those that are blank."""
        points = self.space.sample(n, rng)
        if self.hole != "none":
            points[:, :2] = self._outside_hole(n, rng)
        if self.blank:
            points[rng.random(n) < self.blank] = np.nan
        return points

    def held_out(self, factors: ArrayLike) -> NDArray[np.bool_]:
        """True (n,) for `factors` (n, K) inside the hole (its border belongs to the training data)."""
        points = self.space.check(factors)
        if self.hole == "none":
            return np.zeros(len(points), np.bool_)
        low, high = (0.25, 0.75) if self.hole == "center" else (-np.inf, 0.5)
        start, width = self._ranges()
        place = (points[:, :2] - start) / width
        inside = (place > low + 1e-9) & (place < high - 1e-9)
        return np.asarray(inside.all(axis=1))

    def _ranges(self) -> tuple[Array, Array]:
        bounds = np.array(self.space.sizes[:2], np.float64)
        return bounds[:, 0], bounds[:, 1] - bounds[:, 0]

    def _outside_hole(self, n: int, rng: Generator) -> Array:
        # Three of four quarters, uniformly; the centred hole is the corner hole moved by a quarter.
        quarter = rng.integers(1, 4, n)
        place = (np.stack([quarter // 2, quarter % 2], axis=1) + rng.random((n, 2))) / 2
        if self.hole == "center":
            place = (place + 0.25) % 1
        start, width = self._ranges()
        return np.asarray(start + place * width)

    def _draw(self, points: Array, shown: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Images (len(shown), 3, size, size), black where not `shown`, else the circles `points` in turn."""
        pixels = np.zeros((len(shown), self.size, self.size, 3), np.uint8)
        values = dict(zip(self.space.names, points.T, strict=True))
        middle = np.full(1, 0.5)  # one row, broadcast: a circle that does not move is covered once
        window = min(int(np.ceil(self.diameter * self.size)) + 1, self.size)
        radius = values.get("size", np.full(1, self.diameter)) * self.size / 2
        x, left = self._window(values.get("x", middle), radius, window)
        y, top = self._window(values.get("y", middle), radius, window)
        covered = self._covered(x, y, radius[:, None]).astype(np.float32)[:, None]
        light = covered * (255 * self._colour(values, len(points)))[:, :, None, None]
        light += 0.5  # the cast to uint8 truncates
        windows = sliding_window_view(pixels, (window, window), axis=(1, 2), writeable=True)
        windows[np.flatnonzero(shown), top, left] = light.astype(np.uint8)
        return channels_last(pixels)

    def _window(self, place: Array, radius: Array, window: int) -> tuple[Array, Array]:
        """Pixel borders (n, window + 1) seen from the circle's centre, and the window's first pixel (n,)."""
        centre = place * self.size
        first = np.clip(np.floor(centre - radius).astype(np.int64), 0, self.size - window)
        return first[:, None] + np.arange(window + 1) - centre[:, None], first

    def _covered(self, x: Array, y: Array, radius: Array) -> Array:
        """The share of each pixel that lies inside the circle, (n, window, window)."""
        if self.supersampling is None:
            return disc_coverage(x, y, radius)
        return sampled_coverage(x, y, radius, self.supersampling)

    @staticmethod
    def _colour(values: dict[str, Array], n: int) -> Array:
        colour = np.ones((n, 3), np.float32)
        if "hue" in values:
            # HSV with saturation and value 1: each channel is a trapezoid of the hue.
            turn = (6 * values["hue"][:, None] + np.array([0.0, 4.0, 2.0])) % 6
            colour[:] = np.clip(np.abs(turn - 3) - 1, 0, 1)
        if "red" in values:
            colour[:, 0], colour[:, 1] = values["red"], values["green"]
        return colour


def disc_coverage(x: Array, y: Array, radius: float | Array) -> Array:
    """Exact area of each cell of a grid that lies inside the disc of `radius` around the origin.

    With the unit disc, A(u) = pi/2 + u sqrt(1 - u^2) + asin u is its area left of u, and the area left of u
    and above v is F(u, v) = (A(u) + A(v))/2 - pi/4 + u v if (u, v) is inside, else A(u)[v>=0] + A(v)[u>=0] -
    pi [u>=0][v>=0]. A cell's area is F's difference over its four corners.

    Args:
        x: column borders (n, W + 1), ascending, relative to the centre; n may be 1 to serve for all.
        y: row borders (n, H + 1), likewise.
        radius: in the units of `x` and `y`; one for all, or (n, 1).

    Returns:
        areas (n, H, W).

    Example:
        >>> cells = disc_coverage(np.array([[-2.0, 0.0, 2.0]]), np.array([[-2.0, 2.0]]), 1.0)
        >>> np.allclose(cells, np.pi / 2)
        True
    """
    u, v = (np.clip(border / radius, -1, 1) for border in (x, y))
    a, b = (np.pi / 2 + t * np.sqrt(1 - t * t) + np.arcsin(t) for t in (u, v))
    right, below = u >= 0, v >= 0
    u, a, right = u[:, None, :], a[:, None, :], right[:, None, :]
    v, b, below = v[:, :, None], b[:, :, None], below[:, :, None]
    inside = (a + b) / 2 - np.pi / 4 + u * v
    outside = a * below + b * right - np.pi * (right & below)
    area = np.where(u * u + v * v < 1, inside, outside) * np.square(np.asarray(radius))[..., None]
    return np.asarray(np.diff(np.diff(area, axis=1), axis=2))


def sampled_coverage(x: Array, y: Array, radius: float | Array, points: int) -> Array:
    """The share of ``points`` x ``points`` places in each cell of a grid that lie inside the disc: SBD's antialiasing.

    Args:
        x: column borders (n, W + 1), ascending, relative to the centre; n may be 1 to serve for all.
        y: row borders (n, H + 1), likewise.
        radius: in the units of `x` and `y`; one for all, or (n, 1).
        points: along each side of a cell, in the middles of equal parts.

    Returns:
        shares (n, H, W), multiples of 1 / points^2.

    Example:
        >>> sampled_coverage(np.array([[-1.0, 0.0, 1.0]]), np.array([[-1.0, 1.0]]), 0.6, 2).tolist()
        [[[0.5, 0.5]]]
    """
    inside = (np.arange(points) + 0.5) / points
    u, v = (border[:, :-1, None] + np.diff(border)[:, :, None] * inside for border in (x, y))
    squares = np.square(v)[:, :, :, None, None] + np.square(u)[:, None, None]
    within = squares < np.square(np.asarray(radius))[..., None, None, None]
    return np.asarray(within.mean(axis=(2, 4)))
