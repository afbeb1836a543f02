"""The process that copies runs to a tracker while others train them: ``python -m unweave.tracking.follower``.

It is told on its standard input which runs begin and end, one JSON list a line, and answers on its standard output.
When its input ends, because the command is done or was killed, it copies what is there and ends.
"""

import json
import logging
import os
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from unweave.runs.worker import IMPORT_PATHS, add_import_paths
from unweave.tracking import followed
from unweave.tracking.followed import Followed
from unweave.tracking.registry import TRACKERS
from unweave.tracking.tracker import Tracker

BEGIN, END = "begin", "end"
FAILED, NOTE, BYE = "failed", "note", "bye"
SECONDS = 0.5
"""Time between two looks at the folders."""

Warn = Callable[[str], None]


class Follower:
    """The runs that are being copied. What fails in a tracker is told once, and nothing more is sent to it.

    Args:
        kind: the tracker.
        root: the folder of its files.
        warn: called with the sentence about what failed.

    Example:
        >>> follower = Follower(Tracker, Path("nowhere"), print)
        >>> follower.obey("begin", Path("no-run"))
        >>> len(follower.runs)
        1
    """

    def __init__(self, kind: type[Tracker], root: Path, warn: Warn) -> None:
        self.kind, self.root, self.warn = kind, root, warn
        self.runs: dict[Path, Followed] = {}
        self.ended: set[Path] = set()
        self.failed = False

    def obey(self, word: str, folder: Path) -> None:
        """Begin or end to copy a run; one that has ended is not begun again."""
        if word == BEGIN and folder not in self.ended:
            self.runs.setdefault(folder, Followed(folder, self.root, self.kind))
        elif word == END and (run := self.runs.pop(folder, None)) is not None:
            self.ended.add(folder)
            self._try(run.close)

    def look(self) -> None:
        """Copy what is new."""
        for run in list(self.runs.values()):
            self._try(run.update)

    def close(self) -> None:
        """Copy the rest, and end all runs."""
        for folder in list(self.runs):
            self.obey(END, folder)

    def _try(self, action: Callable[[], None]) -> None:
        if self.failed:
            return
        try:
            action()
        except Exception as error:  # whatever a tracker raises
            self.failed = True
            self.warn(described(error))


def described(error: BaseException) -> str:
    """An error of a tracker in one line.

    Example:
        >>> described(OSError(28, "No space left on device"))
        'OSError: [Errno 28] No space left on device'
    """
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def serve(tracker: str, root: Path, requests: IO[str], answers: IO[str]) -> None:
    r"""Copy runs until the requests end.

    Example:
        >>> import io
        >>> answers = io.StringIO()
        >>> serve("tensorboard", Path("nowhere"), io.StringIO('["begin", "no-run"]\n'), answers)
        >>> answers.getvalue()
        '["bye", ""]\n'
    """

    def answer(word: str, sentence: str = "") -> None:
        try:
            answers.write(json.dumps([word, sentence]) + "\n")
            answers.flush()
        except (BrokenPipeError, ValueError):  # the command was killed
            pass

    try:
        kind = TRACKERS[tracker].load()
    except Exception as error:  # a package that is there but cannot be imported
        answer(FAILED, described(error))
        answer(BYE)
        return
    follower = Follower(kind, root, lambda sentence: answer(FAILED, sentence))
    lines = _lines(requests)
    logging.getLogger(followed.__name__).addHandler(_Notes(answer))
    while True:
        try:
            line = lines.get(timeout=SECONDS)
        except queue.Empty:
            follower.look()
            continue
        if line is None:
            break
        word, folder = json.loads(line)
        follower.obey(word, Path(folder))
    follower.close()
    answer(BYE)


class _Notes(logging.Handler):
    """Hands on what the copying of a run has to say."""

    def __init__(self, answer: Callable[[str, str], None]) -> None:
        super().__init__(logging.WARNING)
        self.answer = answer

    def emit(self, record: logging.LogRecord) -> None:
        self.answer(NOTE, record.getMessage())


def _lines(requests: IO[str]) -> "queue.Queue[str | None]":
    """The lines of the input as they come, and ``None`` at its end."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in requests:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def _main() -> None:
    """The process: tracker ``argv[1]``, files in ``argv[2]``."""
    # A service of wandb that another process has started would keep the run of a killed one as in use.
    os.environ.pop("WANDB_SERVICE", None)
    if hasattr(os, "nice"):
        os.nice(5)  # whoever trains comes first
    add_import_paths(json.loads(os.environ.get(IMPORT_PATHS, "[]")))
    # Standard output carries answers only: whatever a package prints goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.argv[1], Path(sys.argv[2]), sys.stdin, answers)


if __name__ == "__main__":
    _main()
