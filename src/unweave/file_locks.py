"""Locks of files: held by one process at a time, and free again however that process ends.

Linux and macOS have ``flock``, Windows has ``msvcrt.locking``; the kernel releases both. Where Python has neither, a
second file that is created exclusively says which process holds the lock; a process that is gone holds nothing.
"""

import contextlib
import importlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


fcntl, msvcrt = _module("fcntl"), _module("msvcrt")

KERNEL = fcntl is not None
"""Whether an open file can be held by ``flock``; on Windows an open file cannot be renamed or removed anyway."""

_BYTE = 1 << 30
"""The byte that is locked on Windows, far behind the end: a locked byte cannot be read by others."""


@contextlib.contextmanager
def held(path: Path) -> Iterator[bool]:
    """Hold the lock file ``path``; yields whether this process got it.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "lock"
        >>> with held(path) as first, held(path) as second:
        ...     first, second
        (True, False)
        >>> with held(path) as again:
        ...     again
        True
    """
    with path.open("a") as file:
        if KERNEL or msvcrt is not None:
            yield try_lock(file)
            return
        got = _create(_holder(path))
        try:
            yield got
        finally:
            if got:
                _holder(path).unlink(missing_ok=True)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock file ``path``; a file that does not exist is held by nobody.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "lock"
        >>> with held(path):
        ...     is_held(path)
        True
        >>> is_held(path), is_held(Path("nowhere"))
        (False, False)
    """
    try:
        if not (KERNEL or msvcrt is not None):
            return _lives(_holder(path))
        with path.open("r" if KERNEL else "r+") as file:
            return not try_lock(file, shared=True)
    except OSError:  # no lock file: nobody has ever held it
        return False


def lock_folder(descriptor: int) -> None:
    """Wait for the lock of an open folder, where there are such locks.

    Example:
        >>> import tempfile
        >>> descriptor = os.open(tempfile.mkdtemp(), os.O_RDONLY)
        >>> lock_folder(descriptor)
        >>> os.close(descriptor)
    """
    if KERNEL:
        with contextlib.suppress(OSError):  # not every file system has locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)


def mark(descriptor: int) -> None:
    """Hold an open file for as long as it is open, where there are such locks.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     mark(file.fileno())
        ...     is_held(Path(file.name)) or not KERNEL
        True
    """
    if KERNEL:
        with contextlib.suppress(OSError):  # not every file system has locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def try_lock(file: IO[Any], *, shared: bool = False) -> bool:
    """Lock an open file until it is closed; whether that succeeded. Other errors than a held lock are raised.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryFile() as file:
        ...     try_lock(file)
        True
    """
    if KERNEL:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
    descriptor = file.fileno()
    try:
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except PermissionError:
        return False
    return True


def _holder(path: Path) -> Path:
    return path.with_name(f"{path.name}.held")


def _create(holder: Path) -> bool:
    """Create the file that says who holds a lock, unless a process that lives has done so."""
    for _ in range(2):
        try:
            with holder.open("x") as file:
                json.dump({"process": os.getpid(), "host": socket.gethostname()}, file)
        except FileExistsError:
            if _lives(holder) or not _removed(holder):
                return False
        else:
            return True
    return False


def _removed(holder: Path) -> bool:
    """Remove the file of a process that is gone; whether this process was the one to judge and remove it."""
    judge = holder.with_name(f"{holder.name}.judged")
    try:
        judge.mkdir()
    except FileExistsError:
        return False
    try:
        if _lives(holder):  # another process may have taken the lock meanwhile
            return False
        holder.unlink(missing_ok=True)
        return True
    finally:
        judge.rmdir()


def _lives(holder: Path) -> bool:
    """Whether the process that holds a lock lives; on another machine, or where that cannot be told, yes."""
    try:
        said = json.loads(holder.read_text())
        process, host = int(said["process"]), said["host"]
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError):
        return True  # it is being written
    if host != socket.gethostname() or os.name == "nt":  # Windows has no signal 0
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
