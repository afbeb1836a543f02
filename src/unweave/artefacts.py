"""The files of a run or a sweep: each is written with its hash, and read only if it still has it.

Beside the files, ``manifest.jsonl`` gets a line for every file that is about to be written: its name, size and SHA-256.
The line is on the disk before the file has its name. So a file is intact if its content is one of those that were
recorded under its name, whenever the process was killed. A file that was never recorded (older runs have no manifest)
is read as it is.
"""

import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unweave import atomic
from unweave.atomic import DamagedError

MANIFEST = "manifest.jsonl"
_SEAL = ', "crc32": "'


def sealed_line(record: dict[str, Any]) -> str:
    """A line of a file that grows line by line: JSON with a checksum of its own, at the end.

    Example:
        >>> sealed_line({"step": 1})
        '{"step": 1, "crc32": "3daa833a"}'
    """
    body = json.dumps(record)[:-1]
    return f'{body}{_SEAL}{zlib.crc32(body.encode()):08x}"}}'


def is_sealed(content: bytes) -> bool:
    """Whether lines of a file have checksums; older files have none.

    Example:
        >>> is_sealed(sealed_line({"step": 1}).encode()), is_sealed(b'{"step": 1}')
        (True, False)
    """
    return _SEAL.encode() in content


def opened_line(line: bytes, *, sealed: bool = False) -> dict[str, Any] | None:
    """The record of a line, without its checksum; ``None`` if the line is damaged.

    Args:
        line: of the file.
        sealed: whether a line without a checksum is damaged, too.

    Example:
        >>> opened_line(b'{"step": 1, "crc32": "3daa833a"}'), opened_line(b'{"step": 2, "crc32": "3daa833a"}')
        ({'step': 1}, None)
        >>> opened_line(b'{"step": 3}'), opened_line(b'{"st')
        ({'step': 3}, None)
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    crc = record.pop("crc32", None)
    if crc is None:
        return None if sealed else record
    body = line.rstrip()[: -len(f'{_SEAL}{"0" * 8}"}}')]
    return record if crc == f"{zlib.crc32(body):08x}" else None


def write(path: Path, content: bytes | str, *, sync: bool = True) -> None:
    """Write a file completely or not at all, after its hash.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.txt"
        >>> write(path, "whole")
        >>> read(path)
        b'whole'
    """
    data = content.encode() if isinstance(content, str) else content
    record(path, data, sync=sync)
    atomic.write(path, data, sync=sync)


def record(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Record what a file holds, or will hold, in the manifest of its folder.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.txt"
        >>> record(path, b"whole")
        >>> list(recorded(path.parent))
        ['a.txt']
    """
    manifest = path.parent / MANIFEST
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(manifest, os.O_WRONLY | os.O_CREAT | os.O_APPEND | atomic.RAW, 0o666)
        try:
            os.write(descriptor, entry(path.name, data))
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise atomic.explain(error, manifest) from error


def write_json(path: Path, value: Any, *, sync: bool = True) -> None:
    """Write a value as indented JSON, with its hash.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.json"
        >>> write_json(path, {"mig": 0.5})
        >>> read_json(path)
        {'mig': 0.5}
    """
    write(path, json.dumps(value, indent=2) + "\n", sync=sync)


def entry(name: str, data: bytes) -> bytes:
    """The line of the manifest for a file with this content; it begins a new line even after a torn one.

    Example:
        >>> json.loads(entry("a.txt", b"whole"))["size"]
        5
    """
    record = {"file": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return f"\n{sealed_line(record)}\n".encode()


def recorded(folder: Path) -> dict[str, set[str]]:
    """The hashes that were recorded for each file of a folder; damaged lines are skipped.

    Example:
        >>> recorded(Path("nowhere"))
        {}
    """
    found: dict[str, set[str]] = {}
    manifest = folder / MANIFEST
    if not os.path.lexists(manifest):
        return found
    for line in atomic.read(manifest).splitlines():
        record = opened_line(line, sealed=True) if line else None
        with contextlib.suppress(KeyError, TypeError):
            if record is not None:
                found.setdefault(str(record["file"]), set()).add(str(record["sha256"]))
    return found


def read(path: Path) -> bytes:
    """The content of a file, if it is one that was recorded for it or if nothing was.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.txt"
        >>> write(path, "whole")
        >>> _ = path.write_text("whale")
        >>> read(path)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.atomic.DamagedError: .../a.txt is damaged: its content is not what was written
    """
    content = atomic.read(path)
    hashes = recorded(path.parent).get(path.name)
    if hashes and hashlib.sha256(content).hexdigest() not in hashes:
        raise DamagedError(f"{path} is damaged: its content is not what was written")
    return content


def read_json(path: Path, default: dict[str, Any] | None = None) -> dict[str, Any]:
    """The mapping in a JSON file that was not changed since it was written, or ``default`` if there is none.

    Example:
        >>> read_json(Path("nowhere.json"), default={})
        {}
    """
    if default is not None and not os.path.lexists(path):
        return default
    return atomic.parse_json(read(path), path)


@contextlib.contextmanager
def structure_of(path: Path, *errors: type[Exception]) -> Iterator[None]:
    """Inside, these errors mean that the content of a file, which was read, is damaged.

    Example:
        >>> with structure_of(Path("a.npz"), ValueError):
        ...     int("x")
        Traceback (most recent call last):
        ...
        unweave.atomic.DamagedError: a.npz is damaged: ValueError: invalid literal for int() with base 10: 'x'
    """
    try:
        yield
    except errors as error:
        told = " ".join(str(error).split())[:160]
        raise DamagedError(f"{path} is damaged: {type(error).__name__}: {told}") from error
