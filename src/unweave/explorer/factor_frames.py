"""Pictures of the true renderer for the factor sliders: a coarse grid of all factors, or one factor at a time."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.data import Dataset, FactorSpace
from unweave.errors import UnweaveError
from unweave.explorer.sheets import as_bytes, sheet

MOST_FRAMES = 512
MOST_BYTES = 300_000
"""Of the sheet of a page."""

_FINEST = 32
"""Values of one factor at most."""

_COARSEST = 3
"""Values of each factor that a grid must have; below that, one factor at a time says more."""


def factor_frames(dataset: Dataset, start: NDArray[Any]) -> dict[str, Any] | None:
    """Frames of a data set with factors, within the budget of a page; none if its images cannot be asked for so.

    Args:
        dataset: whose images are drawn.
        start: factors (K,) at which the sliders stand first.

    Example:
        >>> from unweave.data import XYSquares
        >>> dataset = XYSquares()
        >>> frames = factor_frames(dataset, dataset.evaluation(1, np.random.default_rng(0))[0])
        >>> frames["kind"], len(frames["levels"]), frames["sheet"]["count"] <= MOST_FRAMES
        ('cross', 6, True)
    """
    space = dataset.factor_space()
    most = MOST_FRAMES
    while most >= 16:
        levels = grid_levels(space, most)
        if levels is None:
            break
        points = _grid(levels)
        drawn = _drawn(dataset, points, "grid", levels, start)
        if drawn is None:
            break
        if len(drawn["sheet"]["png"]) <= MOST_BYTES:
            return drawn
        most = min(most // 2, most * MOST_BYTES // len(drawn["sheet"]["png"]))
    for finest in (16, 8, 5):
        levels = [_values(size, finest) for size in space.sizes]
        drawn = _drawn(dataset, _cross(levels, start), "cross", levels, start)
        if drawn is not None and len(drawn["sheet"]["png"]) <= MOST_BYTES:
            return drawn
    return None


def grid_levels(space: FactorSpace, most: int) -> list[NDArray[Any]] | None:
    """Values of each factor for a grid of at most ``most`` points, shared fairly; none if that leaves too few.

    Example:
        >>> [len(values) for values in grid_levels(FactorSpace(("shape", "x", "y"), (3, 32, 32)), 512)]
        [3, 13, 13]
    """
    sizes = [_FINEST if isinstance(size, tuple) else min(size, _FINEST) for size in space.sizes]
    counts = [min(size, _COARSEST) for size in sizes]
    if math.prod(counts) > most:
        return None
    while True:
        room = [k for k, size in enumerate(sizes) if counts[k] < size]
        room = [k for k in room if math.prod(counts) // counts[k] * (counts[k] + 1) <= most]
        if not room:
            return [_values(size, count) for size, count in zip(space.sizes, counts, strict=True)]
        counts[min(room, key=lambda k: counts[k])] += 1


def _values(size: int | tuple[float, float], count: int) -> NDArray[Any]:
    if isinstance(size, tuple):
        return np.linspace(size[0], size[1], max(count, 2))
    return np.unique(np.rint(np.linspace(0, size - 1, min(count, size))).astype(np.int64))


def _grid(levels: Sequence[NDArray[Any]]) -> NDArray[Any]:
    mesh = np.meshgrid(*levels, indexing="ij")
    return np.stack([values.ravel() for values in mesh], axis=1)


def _cross(levels: Sequence[NDArray[Any]], start: NDArray[Any]) -> NDArray[Any]:
    rows = []
    for k, values in enumerate(levels):
        points = np.tile(np.asarray(start, np.float64), (len(values), 1))
        points[:, k] = values
        rows.append(points)
    return np.concatenate(rows)


def _drawn(
    dataset: Dataset, points: NDArray[Any], kind: str, levels: Sequence[NDArray[Any]], start: NDArray[Any]
) -> dict[str, Any] | None:
    try:
        images = as_bytes(dataset.images(points))
        held_out = dataset.held_out(points)
    except UnweaveError:
        return None  # the user's own images need not contain every combination of factors
    nearest = [int(np.argmin(np.abs(values - at))) for values, at in zip(levels, start, strict=True)]
    return {
        "kind": kind,
        "levels": [[round(float(value), 4) for value in values] for values in levels],
        "start": nearest,
        "heldOut": np.flatnonzero(held_out).tolist(),
        "sheet": sheet(images),
    }
