"""The side of the command: starts the process that copies runs, says which, and ends it."""

import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from unweave.runs.executors import Event
from unweave.runs.worker import IMPORT_PATHS, import_paths
from unweave.tracking.follower import BEGIN, BYE, END, FAILED, NOTE
from unweave.tracking.registry import check_tracker

logger = logging.getLogger("unweave")

PATIENCE = 120.0
"""Seconds for which a command waits, at its end, for the tracker to take the rest."""


class Tracking:
    """Runs that are copied to a tracker while they are trained; see :func:`tracking`. Its methods never fail.

    Args:
        tracker: its name; none: nothing is copied.
        root: the folder of its files.

    Example:
        >>> Tracking(None, Path()).begin(Path("runs/a"))
    """

    def __init__(self, tracker: str | None, root: Path) -> None:
        self.tracker, self.root = tracker, root
        self.process: subprocess.Popen[str] | None = None
        self.failed = False
        if tracker is None:
            return
        try:
            self.process = _start(tracker, root)
        except OSError as error:
            self._warn(str(error))
            return
        self.listener = threading.Thread(target=self._listen, args=(self.process,), daemon=True)
        self.listener.start()

    def begin(self, folder: Path) -> None:
        """From now on, copy the run in ``folder``, which need not exist yet."""
        self._ask(BEGIN, folder)

    def end(self, folder: Path) -> None:
        """Copy the rest of a run that has ended."""
        self._ask(END, folder)

    def tell(self, event: Event) -> None:
        """Begin and end with the runs of a sweep."""
        if event.folder is not None and event.kind in ("started", "ended"):
            (self.begin if event.kind == "started" else self.end)(event.folder)

    def close(self) -> None:
        """Wait until everything is copied."""
        process = self.process
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            process.stdin.close()
        try:
            process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self._warn(f"it took longer than {PATIENCE:.0f} s")
            process.kill()
            process.wait()
        self.listener.join(timeout=5)

    def _ask(self, word: str, folder: Path) -> None:
        if self.process is not None and self.process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):  # it has ended, which its closed output shows
                self.process.stdin.write(json.dumps([word, str(folder.absolute())]) + "\n")
                self.process.stdin.flush()

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        """Wait for answers; that the process ended without a farewell is a failure of its own."""
        assert process.stdout is not None
        word = ""
        for line in process.stdout:
            with contextlib.suppress(ValueError):
                word, sentence = json.loads(line)
                if word == FAILED:
                    self._warn(sentence)
                elif word == NOTE:
                    logger.warning("%s", sentence)
        process.stdout.close()
        if word != BYE:
            self._warn(f"its process ended with code {process.wait()}")

    def _warn(self, problem: str) -> None:
        if not self.failed:
            self.failed = True
            logger.warning(
                "tracking with %s stopped (%s); the runs are not affected, and `unweave runs track RUN --to %s` sends "
                "the rest",
                self.tracker,
                problem,
                self.tracker,
            )


@contextlib.contextmanager
def tracking(tracker: str | None, runs: Path) -> Iterator[Tracking]:
    """Inside, runs are copied to a tracker while they are trained, here or in other processes.

    Args:
        tracker: tensorboard, mlflow or wandb; none: nothing is copied.
        runs: the folder that holds the runs; the tracker's files are in a folder of its name there.

    Example:
        >>> with tracking(None, Path("runs")) as tracked:
        ...     tracked.begin(Path("runs/a"))
    """
    if tracker is not None:
        check_tracker(tracker)
    tracked = Tracking(tracker, runs / (tracker or ""))
    try:
        yield tracked
    finally:
        tracked.close()


def _start(tracker: str, root: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "unweave.tracking.follower", tracker, str(root.absolute())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # packages print there as they like; what fails comes as an answer
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", IMPORT_PATHS: json.dumps(import_paths())},
        start_new_session=True,  # Ctrl-C interrupts the command only, which then ends this process
    )
