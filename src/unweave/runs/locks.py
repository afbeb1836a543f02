"""Locks of run folders: held by one process at a time, released by the kernel however that process ends."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from unweave import file_locks

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
    with file_locks.held(path) as got:
        yield got


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
    return file_locks.is_held(path)
