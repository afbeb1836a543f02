"""Images whose lines repeat, stored as strips of a few lines: every distinct strip once, and a plan of each image."""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unweave.data.cache import cached

Strips = tuple[NDArray[np.int32], NDArray[np.uint8]]
"""A plan (n, strips of an image) of row numbers, and the rows (m, bytes of a strip) that they refer to."""


def distinct(images: NDArray[np.uint8]) -> Strips:
    """The distinct strips of images (n, strips, bytes), in the order in which they appear, and those of each image.

    Example:
        >>> plan, strips = distinct(np.array([[[7, 7], [1, 2]], [[1, 2], [3, 3]]], np.uint8))
        >>> plan.tolist(), strips.tolist()
        ([[0, 1], [1, 2]], [[7, 7], [1, 2], [3, 3]])
    """
    known: dict[bytes, int] = {}
    rows = images.reshape(-1, images.shape[2])
    places = [
        known.setdefault(hashlib.blake2b(row.tobytes(), digest_size=16).digest(), len(known)) for row in rows
    ]
    first = np.unique(places, return_index=True)[1]
    return np.array(places, np.int32).reshape(images.shape[:2]), rows[first]


def cached_strips(
    path: Path, shape: tuple[int, int], width: int, build: Callable[[], Strips], more: int = 0
) -> Strips:
    """Strips of `width` bytes and their plan of `shape`, from the files `path`.plan and .bands, or made by `build`.

    Args:
        path: of the two files, without the ending.
        shape: of the plan.
        width: bytes of a strip.
        build: makes both.
        more: how many strips follow those that the plan refers to.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> made = distinct(np.array([[[7, 7], [1, 2]]], np.uint8))
        >>> cached_strips(Path(folder.name) / "two", (1, 2), 2, lambda: made)[0].tolist()
        [[0, 1]]
        >>> folder.cleanup()
    """
    made = functools.lru_cache(maxsize=1)(build)  # once, if both files are missing
    stored = cached(
        path.with_suffix(".plan"),
        (*shape, 4),
        lambda: made()[0].astype("<i4")[..., None].view(np.uint8),
    )
    plan = stored.view("<i4")[..., 0].astype(np.int32)
    strips = cached(path.with_suffix(".bands"), (int(plan.max()) + 1 + more, width), lambda: made()[1])
    return plan, strips
