"""Arrays that are made once and found again on disk.

:func:`cached` holds what is computed: it fits into memory, and its file carries a checksum. :func:`converted` holds
what is read from larger files: it is written piece by piece and never fits into memory as a whole. Both map their
file, so that several runs on one machine share one copy of its pages, and both write it under its name only when it is
complete.
"""

import contextlib
import hashlib
import logging
import math
import os
import shutil
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

from unweave import atomic
from unweave.data.dataset import user_path
from unweave.errors import UnweaveError

logger = logging.getLogger("unweave")

_HEADER = 128
ROOM = 0.9
"""The part of the free disk that one file may take at most."""

Progress = Callable[[int], None]
"""Called with the number of rows that are done."""
Fill = Callable[[NDArray[Any], Progress], None]
"""Writes the rows of an array."""


def cache_folder() -> Path:
    """The folder of the cache: the environment variable UNWEAVE_CACHE, else the system's place for caches.

    That is ``$XDG_CACHE_HOME/unweave`` or ``~/.cache/unweave`` on Linux, ``~/Library/Caches/unweave`` on macOS. A
    ``~/.cache/unweave`` of an earlier version is used as long as the other folder does not exist.

    Example:
        >>> cache_folder().is_absolute()
        True
    """
    named = os.environ.get("UNWEAVE_CACHE")
    if named:
        return user_path(named).absolute()
    place, earlier = platformdirs.user_cache_path("unweave", appauthor=False), user_path("~/.cache/unweave")
    return (earlier if earlier.is_dir() and not place.exists() else place).absolute()


def source_key(path: Path, *options: object) -> str:
    """A short name for the present content of a file or folder and the way it is converted.

    It changes with the path, the size, the time of the last change and the options.

    Example:
        >>> source_key(Path("."), 64) == source_key(Path("."), 32)
        False
    """
    state = path.stat()
    description = repr((str(path.resolve()), state.st_size, state.st_mtime_ns, *options))
    return hashlib.sha256(description.encode()).hexdigest()[:16]


def cached(path: Path, shape: tuple[int, ...], build: Callable[[], NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """The uint8 array of `shape` in the file `path` (memory-mapped), or made by `build` and written there.

    The file is a 128-byte line (format, shape, crc32 of the rest) and the bytes. A file of another shape, size or
    checksum is made again; if the folder cannot be written, the array stays in memory. Both cases log a warning.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> cached(Path(folder.name) / "ones", (2, 2), lambda: np.ones((2, 2), np.uint8)).tolist()
        [[1, 1], [1, 1]]
        >>> folder.cleanup()
    """
    found = _usable(path, lambda: _read(path, shape))
    if found is not None:
        return found
    array = build()
    try:
        with _incomplete(path) as part, part.open("wb") as file:
            file.write(_header(array))
            file.write(array.data)
    except OSError as problem:
        logger.warning(
            "cannot write the cache file %s (%s): the data stay in memory; set UNWEAVE_CACHE to a writable folder",
            path,
            problem.strerror or problem,
        )
    return array


def converted(
    name: str, key: str, shape: tuple[int, ...], fill: Fill, dtype: type[np.generic] = np.uint8
) -> NDArray[Any]:
    """The array of `shape` in the cache folder, mapped; made there by `fill` if it is missing.

    Args:
        name: of the data, for the file's name and for progress.
        key: what the content depends on.
        shape: of the array.
        fill: gets the array to write into, and a function to call with the number of rows that are done.
        dtype: of the array.

    Example:
        >>> import tempfile, unittest.mock
        >>> with unittest.mock.patch.dict("os.environ", UNWEAVE_CACHE=tempfile.mkdtemp()):
        ...     converted("Ones", "a", (2, 2), lambda out, tell: out.fill(1)).tolist()
        [[1, 1], [1, 1]]
    """
    path = cache_folder() / f"{name.lower()}-{key}.npy"
    found = _usable(path, lambda: _map(path, shape, dtype))
    if found is not None:
        return found
    size = math.prod(shape) * np.dtype(dtype).itemsize
    try:
        with _incomplete(path) as part:
            free = shutil.disk_usage(path.parent).free
            if ROOM * free < size + (1 << 20):
                raise OSError("not enough room")
            logger.info("%s: converting once, %s MB in %s", name, f"{size / 1e6:,.0f}", path)
            out = np.lib.format.open_memmap(part, mode="w+", dtype=dtype, shape=shape)
            with part.open("r+b") as file:
                # A full disk is an error here; later it would be a signal that ends the process.
                atomic.reserve(file, part.stat().st_size)
            fill(out, _progress(name, shape[0]))
            out.flush()
            del out
    except OSError as problem:
        raise UnweaveError(
            f"cannot write {size / 1e6:,.0f} MB of {name} to {path} ({problem.strerror or problem}): "
            f"set UNWEAVE_CACHE to a folder with room"
        ) from problem
    return _map(path, shape, dtype)


def _usable(path: Path, read: Callable[[], NDArray[Any]]) -> NDArray[Any] | None:
    """What `read` finds in the file, or None, with a warning if there is a file that cannot be used."""
    try:
        return read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, EOFError) as problem:
        logger.warning("cache file %s cannot be used (%s): it is made again", path, problem)
        return None


@contextlib.contextmanager
def _incomplete(path: Path) -> Iterator[Path]:
    """A name beside `path` for a file that becomes `path` when it is complete, and vanishes if it never is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob("*.part"):
        if not atomic.is_held(left):  # left by a killed process
            left.unlink(missing_ok=True)
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as held:
            atomic.hold(held.fileno())
            yield part
            part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _header(array: NDArray[np.uint8]) -> bytes:
    shape = "x".join(map(str, array.shape))
    text = f"unweave array 1 uint8 {shape} crc32 {zlib.crc32(array.data):08x}"
    return text.ljust(_HEADER - 1).encode() + b"\n"


def _read(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    size, expected = path.stat().st_size, _HEADER + math.prod(shape)
    if size != expected:
        raise ValueError(f"{size} bytes instead of {expected}")
    mapped = np.memmap(path, np.uint8, mode="r", offset=_HEADER, shape=shape)
    array: NDArray[np.uint8] = mapped.view(np.ndarray)
    with path.open("rb") as file:
        if file.read(_HEADER) != _header(array):
            raise ValueError("wrong checksum")
    return array


def _map(path: Path, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    found = np.load(path, mmap_mode="r", allow_pickle=False)
    if found.shape != shape or found.dtype != dtype:
        raise ValueError(f"{found.dtype} {found.shape} instead of {np.dtype(dtype)} {shape}")
    return np.asarray(found).view(np.ndarray)


def _progress(name: str, rows: int) -> Progress:
    shown = 0

    def tell(done: int) -> None:
        nonlocal shown
        tenth = 10 * done // max(rows, 1)
        if tenth > shown:
            shown = tenth
            logger.info("%s: %d %%", name, 10 * tenth)

    return tell
