"""Locks of run folders: held by one process at a time, released by the kernel however that process ends."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

TRAINING = ".lock"
"""Held by the process that trains a run."""

WORKING = ".work"
"""Held by the worker that trains and scores a run."""


@contextlib.contextmanager
def lock(path: Path) -> Iterator[bool]:
    """Hold the lock file ``path``; yields whether this process got it.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / WORKING
        >>> with lock(path) as first, lock(path) as second:
        ...     first, second
        (True, False)
    """
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock file ``path``.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / TRAINING
        >>> with lock(path):
        ...     is_locked(path)
        True
        >>> is_locked(path)
        False
    """
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no lock file: nobody has ever held it
        return False
    return False
