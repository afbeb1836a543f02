"""Large arrays that are made once and found again on disk."""

import logging
import math
import os
import time
import uuid
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unweave.data.dataset import user_path

logger = logging.getLogger("unweave")

_HEADER = 128


def cache_folder() -> Path:
    """Where made data is kept: the environment variable UNWEAVE_CACHE, else ~/.cache/unweave.

    Example:
        >>> cache_folder().is_absolute()
        True
    """
    return user_path(os.environ.get("UNWEAVE_CACHE") or "~/.cache/unweave").absolute()


def cached(path: Path, shape: tuple[int, ...], build: Callable[[], NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """The uint8 array of `shape` kept in `path` (memory-mapped), or made by `build` and written there.

    The file is a 128-byte line (format, shape, crc32 of the rest) and the bytes. It appears under its name
    only when it is complete. A file of another shape, size or checksum is made anew; a folder that cannot be
    written means that the array lives in memory only. Both are said in a warning of the logger ``unweave``.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> cached(Path(folder.name) / "ones", (2, 2), lambda: np.ones((2, 2), np.uint8)).tolist()
        [[1, 1], [1, 1]]
        >>> folder.cleanup()
    """
    try:
        return _read(path, shape)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as problem:
        logger.warning("cache file %s cannot be used (%s): it is made anew", path, problem)
    array = build()
    try:
        _write(path, array)
    except OSError as problem:
        logger.warning(
            "cannot write the cache file %s (%s): kept in memory; set UNWEAVE_CACHE to a writable folder",
            path,
            problem.strerror or problem,
        )
    return array


def _header(array: NDArray[np.uint8]) -> bytes:
    shape = "x".join(map(str, array.shape))
    text = f"unweave array 1 uint8 {shape} crc32 {zlib.crc32(array.data):08x}"
    return text.ljust(_HEADER - 1).encode() + b"\n"


def _read(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    size, expected = path.stat().st_size, _HEADER + math.prod(shape)
    if size != expected:
        raise ValueError(f"{size} bytes instead of {expected}")
    # Mapped, not read: several runs on one machine then share one copy of the pages.
    array: NDArray[np.uint8] = np.memmap(path, np.uint8, mode="r", offset=_HEADER, shape=shape).view(
        np.ndarray
    )
    with path.open("rb") as file:
        if file.read(_HEADER) != _header(array):
            raise ValueError("wrong checksum")
    return array


def _write(path: Path, array: NDArray[np.uint8]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f"{path.name}.*.part"):  # by a process killed while it wrote
        if time.time() - left.stat().st_mtime > 3600:
            left.unlink(missing_ok=True)
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            file.write(_header(array))
            file.write(array.data)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
