"""Runs in processes of this machine, or in this process."""

import collections
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unweave.errors import UnweaveError
from unweave.runs.executors.executor import THREADS, Event, Executor, Stop, Tell, available_cores
from unweave.runs.status import is_done
from unweave.runs.worker import IMPORT_PATHS, Ended, fail, import_paths, work


class Local(Executor):
    """Processes of this machine, one thread each, each on a core of its own, each taking run after run.

    A process that dies is replaced, and its run continues from its last saved state. A run whose process has died
    ``attempts`` times has failed. If the sweep itself is killed, the processes notice and save their runs. They import
    modules from the folders that this process imports from, and have its current folder.

    Args:
        workers: processes; none: as many as there are available cores.
        attempts: processes that may die with a run.
        checkpoint_seconds: time between the saved states of a run.
        pinned: keep each process on one core.

    Example:
        >>> Local(workers=2).workers
        2
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        attempts: int = 3,
        checkpoint_seconds: float = 30.0,
        pinned: bool = True,
    ) -> None:
        self.cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self.workers = workers or available_cores()
        self.attempts = attempts
        self.checkpoint_seconds = checkpoint_seconds
        self.pinned = pinned and bool(self.cores)

    def _execute(self, folders: Sequence[Path], tell: Tell, stop: Stop, metrics: Sequence[str]) -> None:
        pool = _Pool(self, folders, tell, metrics)
        beat = time.monotonic()
        try:
            while pool.busy and not stop():
                pool.hand_out()
                pool.listen()
                if time.monotonic() - beat > 0.5:
                    beat = time.monotonic()
                    tell(Event("beat"))
        finally:
            pool.close()


class Inline(Executor):
    """This process, one run after the other: for notebooks, and for runs so short that starting a process takes longer.

    Example:
        >>> Inline().workers
        1
    """

    workers = 1

    def _execute(self, folders: Sequence[Path], tell: Tell, stop: Stop, metrics: Sequence[str]) -> None:
        for folder in folders:
            if stop():
                return
            tell(Event("started", folder))
            tell(Event("ended", folder, work(folder, stop=stop, metrics=metrics)))


class _Pool:
    """The worker processes of one call, the queue of runs, and how often the process of each run has died."""

    def __init__(self, settings: Local, folders: Sequence[Path], tell: Tell, metrics: Sequence[str]) -> None:
        self.settings = settings
        self.metrics = metrics
        self.tell = tell
        self.queue = collections.deque(folders)
        self.later: list[tuple[float, Path]] = []  # another process works on it: tried again later
        self.lost: collections.Counter[Path] = collections.Counter()
        self.failed_starts = 0
        self.answers: queue.SimpleQueue[tuple[_Worker, Any]] = queue.SimpleQueue()
        self.workers = {slot: self._start(slot) for slot in range(min(settings.workers, len(folders)))}

    @property
    def busy(self) -> bool:
        return bool(self.queue or self.later or any(worker.folder for worker in self.workers.values()))

    def hand_out(self) -> None:
        now = time.monotonic()
        self.queue.extend(folder for due, folder in self.later if due <= now)
        self.later = [(due, folder) for due, folder in self.later if due > now]
        for worker in self.workers.values():
            if self.queue and worker.ready and worker.folder is None:
                folder = self.queue.popleft()
                worker.ask(folder, self.metrics)
                self.tell(Event("started", folder))

    def listen(self) -> None:
        with contextlib.suppress(queue.Empty):
            worker, answer = self.answers.get(timeout=0.1)
            if answer is None:
                self._replace(worker)
            elif answer == "ready":
                worker.ready, self.failed_starts = True, 0
            elif worker.folder is not None:
                folder, worker.folder = worker.folder, None
                self._ended(folder, answer)

    def _ended(self, folder: Path, how: Ended) -> None:
        if how == "busy":
            self.later.append((time.monotonic() + 1.0, folder))
        elif how == "interrupted":  # the process was stopped, but not by us
            self._again(folder)
        else:
            self.tell(Event("ended", folder, how))

    def _replace(self, worker: "_Worker") -> None:
        """Replace a worker that has died; its run continues from its last saved state."""
        code = worker.process.wait()
        self.failed_starts += not worker.ready
        if self.failed_starts >= 2 * self.settings.attempts:
            raise UnweaveError(f"worker processes do not start ({_why(code)}); their messages are above")
        self.workers[worker.slot] = self._start(worker.slot)
        if worker.folder is None:
            return
        self.lost[worker.folder] += 1
        times = self.lost[worker.folder]
        if times < self.settings.attempts or is_done(worker.folder, self.metrics):
            self._again(worker.folder)
        else:
            often = f"{times} times" if times > 1 else "once"
            fail(worker.folder, f"its process died {often}, at last with {_why(code)}")
            self.tell(Event("ended", worker.folder, "failed"))

    def _again(self, folder: Path) -> None:
        self.queue.appendleft(folder)
        self.tell(Event("lost", folder))

    def _start(self, slot: int) -> "_Worker":
        settings = self.settings
        core = settings.cores[slot % len(settings.cores)] if settings.pinned else -1
        process = subprocess.Popen(
            [sys.executable, "-m", "unweave.runs.worker", str(core), str(settings.checkpoint_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **dict.fromkeys(THREADS, "1"), IMPORT_PATHS: json.dumps(import_paths())},
            # Ctrl-C interrupts this process only, which then stops the workers.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        worker = _Worker(slot, process)
        threading.Thread(target=worker.read, args=(self.answers,), daemon=True).start()
        return worker

    def close(self) -> None:
        """End the workers: idle ones reach the end of their input, busy ones save their run first."""
        for worker in self.workers.values():
            assert worker.process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                worker.process.stdin.close()
            if worker.folder is not None or not worker.ready:
                worker.process.terminate()
        for worker in self.workers.values():
            try:
                worker.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            worker.ended.wait(timeout=5)  # a process that a library of its own has started may hold the pipe


@dataclass
class _Worker:
    slot: int
    process: "subprocess.Popen[bytes]"
    folder: Path | None = None
    ready: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    def ask(self, folder: Path, metrics: Sequence[str]) -> None:
        assert self.process.stdin is not None
        self.folder = folder
        with contextlib.suppress(BrokenPipeError):  # it has just died, which its closed output will show
            self.process.stdin.write(json.dumps([str(folder), list(metrics)]).encode() + b"\n")
            self.process.stdin.flush()

    def read(self, answers: "queue.SimpleQueue[tuple[_Worker, Any]]") -> None:
        """Hand over each answer as it comes, and ``None`` at the end of the output; a thread of its own does this.

        Windows cannot wait for several pipes at a time.
        """
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                with contextlib.suppress(ValueError):  # the process died in the middle of a line
                    answers.put((self, json.loads(line)))
        answers.put((self, None))
        self.ended.set()


def _why(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
