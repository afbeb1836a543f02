"""One run whose folder is read as it grows, and whose news go to a tracker."""

import contextlib
import logging
import time
from pathlib import Path

from unweave.runs import locks, status
from unweave.runs.history import FILE
from unweave.tracking.folder import Tail, points_of, scores_of, subject_of
from unweave.tracking.tracker import Tracker

logger = logging.getLogger(__name__)

PAUSE = 50
"""A run is given this many times as long as its last pictures took until the next ones are made."""

PATIENCE = 60.0
"""Seconds for which the end of a run waits for another process that copies it."""


class Followed:
    """A run that is being copied to a tracker, from when it has something to copy until it is closed.

    Args:
        folder: of the run.
        root: the folder of the tracker's files.
        kind: the tracker.

    Example:
        >>> run = Followed(Path("nowhere"), Path("nowhere"), Tracker)
        >>> run.update()  # it has not begun
        >>> run.tracker is None
        True
    """

    def __init__(self, folder: Path, root: Path, kind: type[Tracker]) -> None:
        self.folder, self.root, self.kind = folder, root, kind
        self.tracker: Tracker | None = None
        self.tail = Tail(folder / FILE)
        self.next_pictures = 0.0
        self._held = contextlib.ExitStack()

    def update(self, *, last: bool = False) -> None:
        """Send what is new; the ``last`` time also pictures of the final weights, however short the run was."""
        if not self._opened():
            return
        assert self.tracker is not None
        subject = self.tracker.subject
        points = [point for record in self.tail.read() for point in points_of(record, subject.created)]
        self.tracker.log([*points, *scores_of(self.folder, subject)])
        if last or time.monotonic() >= self.next_pictures:
            self._show_pictures()

    def close(self) -> None:
        """Send the rest, and say how the run ended."""
        patience = time.monotonic() + PATIENCE
        while self._begun() and not self._opened() and time.monotonic() < patience:
            time.sleep(0.5)  # the process that a killed command had started may still be copying
        try:
            self.update(last=True)
            if self.tracker is not None:
                self.tracker.close(status.present_status(self.folder))
        finally:
            self._held.close()

    def _begun(self) -> bool:
        return (self.folder / "run.json").is_file() and (self.folder / FILE).is_file()

    def _opened(self) -> bool:
        """Whether this process copies the run: it has begun, and no other process copies it to the same place."""
        if self.tracker is not None:
            return True
        if not self._begun():
            return False
        subject = subject_of(self.folder, self.root)
        self.root.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            mark = self.root / f".{subject.name.replace('/', '-')}.lock"
            if not stack.enter_context(locks.lock(mark)):
                return False
            self.tracker = self.kind(self.root, subject)
            self._held = stack.pop_all()
        return True

    def _show_pictures(self) -> None:
        assert self.tracker is not None
        newest = _step_of_weights(self.folder, int(self.tracker.subject.config["steps"]))
        if not newest or ("pictures/traversals", newest) in self.tracker.known:
            return
        started = time.process_time()
        try:
            from unweave.tracking.pictures import pictures

            found = list(pictures(self.folder))
        except Exception as error:  # a model of one's own may lack what a picture needs; curves do not
            logger.warning("%s: no pictures at step %d: %s", self.folder, newest, error)
            self.next_pictures = float("inf")
            return
        self.next_pictures = time.monotonic() + PAUSE * (time.process_time() - started)
        for name, step, image in found:
            self.tracker.show(name, step, image)


def _step_of_weights(folder: Path, steps: int) -> int:
    """The training step of the newest weights: final ones, or a checkpoint; 0 if there are none yet."""
    if status.is_trained(folder):
        return steps
    saved = sorted(path.stem for path in (folder / "checkpoints").glob("step-*.pt"))
    return int(saved[-1].removeprefix("step-")) if saved and saved[-1][5:].isdigit() else 0
