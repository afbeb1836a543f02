"""The interface of all executors: folders of runs in, events out."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unweave.runs.worker import Ended

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Environment variables that say how many threads the libraries of a process use."""

Kind = Literal["started", "ended", "lost", "beat"]


@dataclass(frozen=True)
class Event:
    """What happened to a run: it started, it ended (how), its process was lost and it is queued again; or a beat.

    Beats belong to no run. They come about twice a second, so that a display can update.

    Example:
        >>> Event("ended", Path("runs/a"), "finished").how
        'finished'
    """

    kind: Kind
    folder: Path | None = None
    how: Ended | None = None


def available_cores() -> int:
    """How many cores this process may use; where that cannot be told (macOS, Windows), all cores.

    Example:
        >>> available_cores() >= 1
        True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


Tell = Callable[[Event], None]
Stop = Callable[[], bool]


class Executor(ABC):
    """Executes the runs in some folders, in any order, and reports what happens.

    Example:
        >>> from unweave.runs.executors import Local
        >>> isinstance(Local(workers=2), Executor)
        True
    """

    def execute(
        self,
        folders: Sequence[Path],
        tell: Tell = lambda _: None,
        stop: Stop = lambda: False,
        metrics: Sequence[str] = (),
    ) -> None:
        """Returns when every run has ended, or soon after ``stop`` returns true (the runs are then interrupted)."""
        self._execute(folders, tell, stop, metrics)

    def check(self) -> None:  # noqa: B027 - most executors need nothing
        """Raise if runs cannot be executed from here, before any folder is created."""

    def advice(self) -> str:
        """What to tell the user after a stop."""
        return "stopped; run the same command again to resume"

    @abstractmethod
    def _execute(self, folders: Sequence[Path], tell: Tell, stop: Stop, metrics: Sequence[str]) -> None: ...
