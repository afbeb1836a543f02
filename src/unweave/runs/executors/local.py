"""Runs in processes of this machine, or in this process."""

import collections
import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unweave.errors import UnweaveError
from unweave.runs.executors.executor import THREADS, Event, Executor, Stop, Tell
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
        self.workers = workers or len(self.cores) or os.cpu_count() or 1
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
        self.selector = selectors.DefaultSelector()
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
        for key, _ in self.selector.select(timeout=0.1):
            worker = self.workers[key.data]
            for answer in worker.answers():
                if answer is None:
                    self._replace(key.data)
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

    def _replace(self, slot: int) -> None:
        """Replace a worker that has died; its run continues from its last saved state."""
        worker = self.workers[slot]
        assert worker.process.stdout is not None
        self.selector.unregister(worker.process.stdout)
        code = worker.process.wait()
        self.failed_starts += not worker.ready
        if self.failed_starts >= 2 * self.settings.attempts:
            raise UnweaveError(f"worker processes do not start ({_why(code)}); their messages are above")
        self.workers[slot] = self._start(slot)
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
            start_new_session=True,  # Ctrl-C interrupts this process only, which then stops the workers
        )
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self.selector.register(process.stdout, selectors.EVENT_READ, slot)
        return _Worker(process)

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
            if worker.process.stdout is not None:
                worker.process.stdout.close()
        self.selector.close()


@dataclass
class _Worker:
    process: "subprocess.Popen[bytes]"
    folder: Path | None = None
    ready: bool = False
    received: bytearray = field(default_factory=bytearray)

    def ask(self, folder: Path, metrics: Sequence[str]) -> None:
        assert self.process.stdin is not None
        self.folder = folder
        with contextlib.suppress(BrokenPipeError):  # it has just died, which its closed output will show
            self.process.stdin.write(json.dumps([str(folder), list(metrics)]).encode() + b"\n")
            self.process.stdin.flush()

    def answers(self) -> list[Any]:
        """The complete lines received so far; ``None`` at the end of the output."""
        assert self.process.stdout is not None
        piece: bytes | None = self.process.stdout.read(65536)
        if piece is None:
            return []
        self.received += piece
        *lines, rest = bytes(self.received).split(b"\n")
        self.received = bytearray(rest)
        found = [json.loads(line) for line in lines]
        return found if piece else [*found, None]


def _why(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
