"""Files that are complete or absent, and readings that tell a missing file from an unreadable and a damaged one.

A file gets its name only when its whole content is on disk; a folder only when all its files are. What cannot be read
is told and left alone; what is proved to be damaged may be set aside under another name, and is never deleted.
"""

import contextlib
import errno
import hashlib
import json
import lzma
import os
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from unweave import file_locks
from unweave.errors import UnweaveError

_OCCUPIED = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EBUSY)
"""How a rename to an existing folder fails: it has content, or is a link or the root of a file system."""

RAW: int = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags of an open file: not handed to other processes; on Windows, its bytes as they are."""

_FOLDER: int | None = os.O_RDONLY | os.O_DIRECTORY if hasattr(os, "O_DIRECTORY") else None
"""Flags to open a folder with; ``None`` where folders cannot be opened."""

_BLOCK = 1 << 20

TEMPORARY = ".new-"
"""Files and folders that begin so are not complete; those that nobody holds were left by a killed process."""


ARCHIVE_DAMAGE: tuple[type[Exception], ...] = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, OverflowError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    RuntimeError,  # a flipped bit may say that a member is encrypted, or compressed in a way that is not known
)
"""What zipfile, its decompressors and numpy raise for a damaged archive of arrays."""


class UnreadableError(UnweaveError):
    """A file exists but the system does not hand out its content: nothing is known about it, nothing is changed.

    Example:
        >>> issubclass(UnreadableError, UnweaveError)
        True
    """


class DamagedError(UnweaveError):
    """The content of a file was read and is not what was written: its checksum or its structure is wrong.

    Example:
        >>> issubclass(DamagedError, UnweaveError)
        True
    """


def write(path: Path, content: bytes | str, *, sync: bool = True) -> None:
    """Write a file so that a crash at any moment leaves the old content or the new one, never a part of it.

    Args:
        path: of the file.
        content: of the file; text as UTF-8.
        sync: wait until content and name are on the disk, so that they also survive a loss of power.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.txt"
        >>> write(path, "whole")
        >>> path.read_text()
        'whole'
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, data, sync)
        if sync:
            sync_folder(path.parent)
    except OSError as error:
        raise explain(error, path) from error


def _write(path: Path, data: bytes, sync: bool) -> None:
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            hold(file.fileno())
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
            if file_locks.KERNEL:  # held until it has its name
                os.replace(temporary, path)
        if not file_locks.KERNEL:  # Windows renames no open file
            os.replace(temporary, path)
    except OSError:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON, complete or not at all.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.json"
        >>> write_json(path, {"mig": 0.5})
        >>> json.loads(path.read_text())
        {'mig': 0.5}
    """
    write(path, json.dumps(value, indent=2) + "\n")


def publish(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Make a folder with its first files in one step; returns whether this call made it.

    The files are written into a folder with another name beside it, which is then renamed. If several processes do
    this at once, one of them makes the folder and the others get ``False``; so does a folder that is not empty.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "run"
        >>> publish(folder, {"a.txt": b"first"}), publish(folder, {"a.txt": b"second"})
        (True, False)
        >>> (folder / "a.txt").read_text()
        'first'
    """
    name = hashlib.sha256(folder.name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    beside = folder.parent / f"{TEMPORARY}{name}"
    made = folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _held_folder(beside) if _FOLDER is not None else _own_folder(beside, folder) as beside:
            for name, data in files.items():
                made = folder / name
                _write(beside / name, data, sync=True)
            made = folder
            sync_folder(beside)
            beside.rename(folder)
            sync_folder(folder.parent)
    except OSError as error:
        if error.errno in _OCCUPIED and folder.is_dir():
            return False
        raise explain(error, made) from error
    return True


@contextlib.contextmanager
def _own_folder(beside: Path, folder: Path) -> Iterator[Path]:
    """A new folder that only this process knows, where folders cannot be held; gone at the end.

    Windows renames no folder to that of an empty one, which therefore is removed first.
    """
    own = Path(tempfile.mkdtemp(prefix=f"{beside.name}-", dir=beside.parent))
    own.chmod(0o777 & ~_umask())
    try:
        with contextlib.suppress(OSError):
            folder.rmdir()
        yield own
    finally:
        shutil.rmtree(own, ignore_errors=True)


@contextlib.contextmanager
def _held_folder(folder: Path) -> Iterator[Path]:
    """A new folder that this process holds; one that a killed process left is emptied first. Gone at the end."""
    assert _FOLDER is not None
    while True:  # until what is held still has that name: another process may rename it at any moment
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
        try:
            descriptor = os.open(folder, _FOLDER)
        except FileNotFoundError:
            if folder.is_symlink():  # to nowhere: not one of ours
                raise
            continue
        file_locks.lock_folder(descriptor)  # waits for another process that makes the same run right now
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), folder.stat()):
                break
        os.close(descriptor)
    try:
        for left in folder.iterdir():
            left.unlink()
        yield folder
    finally:
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), folder.stat()):
                shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove the incomplete files that killed processes left in a folder; those that are being written stay.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / ".new-abc").touch()
        >>> [path.name for path in remove_leftovers(folder)]
        ['.new-abc']
    """
    found = leftovers(folder)
    for path in found:
        with contextlib.suppress(OSError):
            path.unlink()
    return found


def leftovers(folder: Path) -> list[Path]:
    """The incomplete files in a folder that no process is writing.

    Example:
        >>> leftovers(Path("nowhere"))
        []
    """
    return [path for path in sorted(folder.glob(f"{TEMPORARY}*")) if path.is_file() and not is_held(path)]


def read(path: Path) -> bytes:
    """The content of a file; one sentence if there is none, or if the system does not hand it out.

    Example:
        >>> read(Path("nowhere.json"))
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: nowhere.json: there is no such file
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for somebody to write into it.
        descriptor = os.open(path, os.O_RDONLY | RAW | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                kind = "a folder" if path.is_dir() else "a pipe or a device"
                raise DamagedError(f"cannot read {path}: it is {kind}, not a file")
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        raise UnweaveError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise DamagedError(f"cannot read {path}: it is a folder, not a file") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnreadableError(f"cannot read {path}: {reason}; nothing was changed") from error


def parse_json(content: bytes, path: Path) -> dict[str, Any]:
    """The mapping that the content of a JSON file is; one sentence if it is something else.

    Example:
        >>> parse_json(b"[1]", Path("a.json"))
        Traceback (most recent call last):
        ...
        unweave.atomic.DamagedError: cannot read a.json: it holds no mapping
    """
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"cannot read {path}: {error}") from error
    if not isinstance(value, dict):
        raise DamagedError(f"cannot read {path}: it holds no mapping")
    return value


def read_json(path: Path, default: dict[str, Any] | None = None) -> dict[str, Any]:
    """The mapping in a JSON file, or ``default`` if there is no such file; one sentence if it cannot be read.

    Example:
        >>> read_json(Path("nowhere.json"), default={})
        {}
        >>> read_json(Path("nowhere.json"))
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: nowhere.json: there is no such file
    """
    if default is not None and not os.path.lexists(path):
        return default
    return parse_json(read(path), path)


def set_aside(path: Path) -> Path:
    """Give a damaged file, or whatever lies in its place, another name in the same folder; returns the new path.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.json"
        >>> _ = path.write_text("{")
        >>> set_aside(path).name, path.exists()
        ('a.json.damaged', False)
    """
    number = 1
    while os.path.lexists(
        aside := path.with_name(f"{path.name}.damaged{'' if number == 1 else f'-{number}'}")
    ):
        number += 1
    try:
        path.rename(aside)
    except OSError as error:
        raise explain(error, path) from error
    return aside


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk.

    Example:
        >>> sync_folder(Path("."))
    """
    if _FOLDER is None:
        return
    descriptor = os.open(folder, _FOLDER)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EROFS, errno.ENOTSUP):  # some systems cannot sync a folder
            raise
    finally:
        os.close(descriptor)


def reserve(file: IO[bytes], size: int) -> None:
    """Give a file, open for writing, all the blocks of its size on the disk; a full disk is an error here.

    Example:
        >>> with tempfile.TemporaryFile() as file:
        ...     reserve(file, 10)
        ...     os.fstat(file.fileno()).st_size
        10
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for first in range(0, size, _BLOCK):  # elsewhere what is there is written again, and zeros into the holes
        file.seek(first)
        content = file.read(_BLOCK)
        file.seek(first)
        file.write(content.ljust(min(_BLOCK, size - first), b"\0"))
    file.flush()


def explain(error: OSError, path: Path) -> UnweaveError:
    """A failed write as a sentence: which file, why, and what to do.

    Example:
        >>> print(explain(OSError(errno.ENOSPC, "No space left on device"), Path("runs/a/b.pt")))
        cannot write runs/a/b.pt: the disk is full; free some space or choose another folder with --out
    """
    reasons = {
        errno.ENOSPC: "the disk is full; free some space or choose another folder with --out",
        errno.EDQUOT: "your disk quota is used up; free some space or choose another folder with --out",
        errno.EFBIG: "files may not become that large here; choose another folder with --out",
        errno.EACCES: "permission denied; choose a folder you may write to with --out",
        errno.EPERM: "permission denied; choose a folder you may write to with --out",
        errno.EROFS: "the folder is read-only; choose another one with --out",
        errno.ENOTDIR: "a part of that path is a file, not a folder; choose another folder with --out",
        errno.EEXIST: "there is a file where a folder is needed; choose another folder with --out",
        errno.EISDIR: "there is a folder where a file is needed; choose another folder with --out",
        errno.ENAMETOOLONG: "the name is too long for this file system; choose a shorter one with --out",
    }
    shown = str(path) if len(str(path)) <= 300 else f"{str(path)[:140]}...{str(path)[-140:]}"
    return UnweaveError(
        f"cannot write {shown}: {reasons.get(error.errno or 0, error.strerror or str(error))}"
    )


def hold(descriptor: int) -> None:
    """Mark a temporary file as being written, for as long as it is open.

    Example:
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     hold(file.fileno())
        ...     is_held(Path(file.name))
        True
    """
    file_locks.mark(descriptor)


def is_held(path: Path) -> bool:
    """Whether a process is writing a temporary file; where that cannot be told (Windows), yes.

    Example:
        >>> is_held(Path("nowhere"))
        True
    """
    try:
        with path.open("rb") as file:
            return not file_locks.KERNEL or not file_locks.try_lock(file, shared=True)
    except OSError:
        return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
