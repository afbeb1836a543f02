"""The history of a run: ``history.jsonl``, one line for each logged step."""

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TextIO

from unweave import atomic

FILE = "history.jsonl"
Record = dict[str, Any]


class HistoryWriter:
    """Appends records to a history, each with the training time so far.

    Args:
        path: of the file; opened at the first record, after a resumed run has cut it to its checkpoint.
        seconds: the training time so far.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / FILE
        >>> with HistoryWriter(path, lambda: 1.5) as history:
        ...     history.append({"step": 1, "total": 3.0})
        >>> read_history(path)
        [{'step': 1, 'total': 3.0, 'seconds': 1.5}]
    """

    def __init__(self, path: Path, seconds: Callable[[], float]) -> None:
        self.path = path
        self.seconds = seconds
        self.file: TextIO | None = None

    def __enter__(self) -> Self:
        return self

    def append(self, record: Record) -> None:
        """Write one line."""
        if self.file is None:
            self.file = self.path.open("a", buffering=1)
        self.file.write(json.dumps({**record, "seconds": round(self.seconds(), 3)}) + "\n")

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()


def read_history(path: Path) -> list[Record]:
    """All records of a history; a line torn by a crash is skipped.

    Example:
        >>> read_history(Path("nowhere.jsonl"))
        []
    """
    records = []
    for line in path.read_text().splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            records.append(json.loads(line))
    return records


def cut_history(path: Path, step: int) -> list[Record]:
    """Drop the records after ``step``; returns those that remain.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / FILE
        >>> _ = path.write_text('{"step": 1}' + chr(10) + '{"step": 2}' + chr(10))
        >>> cut_history(path, 1), len(read_history(path))
        ([{'step': 1}], 1)
    """
    remaining = [record for record in read_history(path) if record["step"] <= step]
    atomic.write(path, "".join(json.dumps(record) + "\n" for record in remaining))
    return remaining


def last_record(path: Path) -> Record:
    """The last whole record of a history without its lists; empty if there is none. Reads the end of the file only.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / FILE
        >>> _ = path.write_text('{"step": 1, "kl": 2.0}' + chr(10) + '{"step": 2, "k')
        >>> last_record(path)
        {'step': 1, 'kl': 2.0}
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, io.SEEK_END)
            file.seek(max(0, size - 8192))
            lines = file.read().splitlines()
    except OSError:
        return {}
    for line in reversed(lines):
        with contextlib.suppress(ValueError):
            record = json.loads(line)
            if isinstance(record, dict):
                return {key: value for key, value in record.items() if not isinstance(value, list)}
    return {}
