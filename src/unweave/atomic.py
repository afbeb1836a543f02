"""Files that are complete or absent: a file gets its name only when its whole content is on disk."""

import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from unweave.errors import UnweaveError


def write(path: Path, content: bytes | str) -> None:
    """Write a file so that a crash at any moment leaves the old content or the new one, never a part of it.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.txt"
        >>> write(path, "whole")
        >>> path.read_text()
        'whole'
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise explain(error, path) from error


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
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        if default is not None:
            return default
        raise UnweaveError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise UnweaveError(f"cannot read {path}: {error}") from error
    if not isinstance(content, dict):
        raise UnweaveError(f"cannot read {path}: it holds no mapping")
    return content


def explain(error: OSError, path: Path) -> UnweaveError:
    """A failed write as a sentence: which file, why, and what to do.

    Example:
        >>> print(explain(OSError(errno.ENOSPC, "No space left on device"), Path("runs/a/b.pt")))
        cannot write runs/a/b.pt: the disk is full; free some space or choose another folder with --out
    """
    reasons = {
        errno.ENOSPC: "the disk is full; free some space or choose another folder with --out",
        errno.EDQUOT: "your disk quota is used up; free some space or choose another folder with --out",
        errno.EACCES: "permission denied; choose a folder you may write to with --out",
        errno.EPERM: "permission denied; choose a folder you may write to with --out",
        errno.EROFS: "the folder is read-only; choose another one with --out",
        errno.ENOTDIR: "a part of that path is a file, not a folder; choose another folder with --out",
        errno.EEXIST: "there is a file where a folder is needed; choose another folder with --out",
    }
    return UnweaveError(f"cannot write {path}: {reasons.get(error.errno or 0, error.strerror or str(error))}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
