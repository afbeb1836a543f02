"""Images whose lines repeat, kept as bands of a few lines, each different one once."""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unweave.data.cache import cached

Bands = tuple[NDArray[np.int32], NDArray[np.uint8]]
"""A plan (n, bands of an image), and the rows (m, bytes of a band) that its numbers mean."""


def distinct(images: NDArray[np.uint8]) -> Bands:
    """The different bands of images (n, bands, bytes), in the order in which they appear, and those of each image.

    Example:
        >>> plan, bands = distinct(np.array([[[7, 7], [1, 2]], [[1, 2], [3, 3]]], np.uint8))
        >>> plan.tolist(), bands.tolist()
        ([[0, 1], [1, 2]], [[7, 7], [1, 2], [3, 3]])
    """
    known: dict[bytes, int] = {}
    rows = images.reshape(-1, images.shape[2])
    places = [
        known.setdefault(hashlib.blake2b(row.tobytes(), digest_size=16).digest(), len(known)) for row in rows
    ]
    first = np.unique(places, return_index=True)[1]
    return np.array(places, np.int32).reshape(images.shape[:2]), rows[first]


def cached_bands(
    path: Path, shape: tuple[int, int], width: int, build: Callable[[], Bands], more: int = 0
) -> Bands:
    """Bands of `width` bytes and their plan of `shape`, kept in `path`.plan and .bands, or made by `build`.

    Args:
        path: where they are kept, without the ending.
        shape: of the plan.
        width: bytes of a band.
        build: makes both.
        more: how many bands follow those that the plan names.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> made = distinct(np.array([[[7, 7], [1, 2]]], np.uint8))
        >>> cached_bands(Path(folder.name) / "two", (1, 2), 2, lambda: made)[0].tolist()
        [[0, 1]]
        >>> folder.cleanup()
    """
    made = functools.lru_cache(maxsize=1)(build)  # once, if both files are missing
    kept = cached(
        path.with_suffix(".plan"),
        (*shape, 4),
        lambda: made()[0].astype("<i4")[..., None].view(np.uint8),
    )
    plan = kept.view("<i4")[..., 0].astype(np.int32)
    bands = cached(path.with_suffix(".bands"), (int(plan.max()) + 1 + more, width), lambda: made()[1])
    return plan, bands
