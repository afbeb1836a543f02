"""The history of a run: ``history.jsonl``, one line for each logged step, each with a checksum."""

import contextlib
import io
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, TextIO

from unweave import atomic
from unweave.artefacts import is_sealed, opened_line, sealed_line

logger = logging.getLogger("unweave")

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
        self.file.write(sealed_line({**record, "seconds": round(self.seconds(), 3)}) + "\n")

    def sync(self) -> None:
        """Wait until all records are on the disk: a checkpoint must not know of steps that the history lacks."""
        if self.file is not None:
            self.file.flush()
            os.fsync(self.file.fileno())

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()


class History(NamedTuple):
    """The records of a history, and the numbers of the lines (from 1) that are damaged.

    Example:
        >>> History([{"step": 1}], [2]).damaged
        [2]
    """

    records: list[Record]
    damaged: list[int]

    def missing(self, steps: Sequence[int]) -> list[int]:
        """Those of some logged steps that have no record.

        Example:
            >>> History([{"step": 1}], []).missing([1, 2])
            [2]
        """
        present = {record["step"] for record in self.records}
        return [step for step in steps if step not in present]


def parse_history(path: Path) -> History:
    """All intact records of a history in their order, and where it is damaged.

    Example:
        >>> parse_history(Path("nowhere.jsonl"))
        History(records=[], damaged=[])
    """
    records, damaged = [], []
    content = atomic.read(path) if os.path.lexists(path) else b""
    sealed = is_sealed(content)
    for number, line in enumerate(content.split(b"\n"), 1):
        record = opened_line(line, sealed=sealed) if line else None
        if record is not None and _is_step(record.get("step")):
            records.append(record)
        elif line:
            damaged.append(number)
    return History(records, damaged)


def read_history(path: Path) -> list[Record]:
    """All records of a history; damaged lines, such as one torn by a crash, are skipped.

    Example:
        >>> read_history(Path("nowhere.jsonl"))
        []
    """
    return parse_history(path).records


def cut_history(path: Path, step: int, logged: Sequence[int] = ()) -> list[Record]:
    """Drop the records after ``step``; returns those that remain.

    A history with damaged lines is first set aside. If some of the ``logged`` steps have no record, that is told.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / FILE
        >>> _ = path.write_text('{"step": 1}' + chr(10) + '{"step": 2}' + chr(10))
        >>> cut_history(path, 1), len(read_history(path))
        ([{'step': 1}], 1)
    """
    try:
        found = parse_history(path)
    except atomic.DamagedError as error:  # a folder in its place
        logger.warning("%s", error)
        found = History([], [1])
    lines = len(found.records) + len(found.damaged)
    torn = found.damaged == [lines] and path.is_file()  # the last line, by a crash: its step is taken again
    if found.damaged and not torn:
        aside = atomic.set_aside(path)
        logger.warning("%s is damaged in %d lines: it is kept as %s", path, len(found.damaged), aside.name)
    remaining = _once([record for record in found.records if record["step"] <= step])
    gap = History(remaining, []).missing([number for number in logged if number <= step])
    if gap:
        logger.warning(
            "%s has no records of %d logged steps, %d to %d: its curves have a gap there; the weights are not affected",
            path,
            len(gap),
            gap[0],
            gap[-1],
        )
    atomic.write(path, "".join(sealed_line(record) + "\n" for record in remaining))
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
        if not path.is_file():
            return {}
        with path.open("rb") as file:
            size = file.seek(0, io.SEEK_END)
            file.seek(max(0, size - 8192))
            end = file.read()
    except OSError:
        return {}
    for line in reversed(end.split(b"\n")):
        record = opened_line(line, sealed=is_sealed(end))
        if record is not None:
            return {key: value for key, value in record.items() if not isinstance(value, list)}
    return {}


def seconds_of(record: Record) -> float:
    """The training time of a record; 0 if it has none.

    Example:
        >>> seconds_of({"step": 1, "seconds": 2.5}), seconds_of({"step": 1})
        (2.5, 0.0)
    """
    with contextlib.suppress(TypeError, ValueError):
        return float(record.get("seconds", 0.0))
    return 0.0


def _is_step(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _once(records: Sequence[Record]) -> list[Record]:
    """The last record of each step, in the order of the steps."""
    return [record for _, record in sorted({record["step"]: record for record in records}.items())]
