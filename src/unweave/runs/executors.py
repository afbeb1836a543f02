"""Where runs are executed: processes of this machine, or a Ray cluster, behind one interface."""

import collections
import contextlib
import json
import logging
import os
import selectors
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from unweave.errors import UnweaveError, check_choice
from unweave.runs.status import is_done
from unweave.runs.worker import IMPORT_PATHS, Ended, add_import_paths, fail, import_paths, work

logger = logging.getLogger("unweave")

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


Tell = Callable[[Event], None]
Stop = Callable[[], bool]


class Executor(ABC):
    """Executes the runs in some folders, in any order, and reports what happens.

    Example:
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

    @abstractmethod
    def _execute(self, folders: Sequence[Path], tell: Tell, stop: Stop, metrics: Sequence[str]) -> None: ...


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
            env={**os.environ, **dict.fromkeys(_THREADS, "1"), IMPORT_PATHS: json.dumps(import_paths())},
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


_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


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


class OnRay(Executor):
    """A Ray cluster: an existing one, or one on this machine for as long as the sweep lasts.

    The folders must have the same path on every node. A run whose worker or node dies is given to another one and
    continues from its last saved state; the lock in its folder keeps two processes from working on it at a time.
    Workers import modules from the folders that this process imports from, and change to its current folder, where
    these exist on their node; nothing is uploaded.

    Args:
        address: of a cluster (``auto``, ``host:6379``, ``ray://host:10001``); none: ``RAY_ADDRESS``, else a local one.
        workers: runs at a time on a local cluster; none: as many as there are cores.
        resources: of one run, e.g. ``{"CPU": 1, "GPU": 0.25}``.
        attempts: processes that may die with a run.
        checkpoint_seconds: time between the saved states of a run.

    Example:
        >>> OnRay(resources={"CPU": 2}).resources
        {'CPU': 2}
    """

    def __init__(
        self,
        *,
        address: str | None = None,
        workers: int | None = None,
        resources: Mapping[str, float] | None = None,
        attempts: int = 3,
        checkpoint_seconds: float = 30.0,
    ) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS")
        self.workers = workers
        self.resources = dict(resources or {"CPU": 1})
        self.attempts = attempts
        self.checkpoint_seconds = checkpoint_seconds

    def _execute(self, folders: Sequence[Path], tell: Tell, stop: Stop, metrics: Sequence[str]) -> None:
        ray = _ray()
        begun = not ray.is_initialized()
        if begun:
            self._connect(ray)
        try:
            self._await_tasks(ray, folders, tell, stop, metrics)
        finally:
            if begun:
                ray.shutdown()

    def _connect(self, ray: Any) -> None:
        options: dict[str, Any] = {"address": self.address}
        if not self.address:
            options = {
                "include_dashboard": False,
                "num_cpus": self.workers or len(os.sched_getaffinity(0)),
                "object_store_memory": 100 * 2**20,  # only names of folders are exchanged
            }
        try:
            ray.init(logging_level="error", log_to_driver=False, **options)
        except Exception as error:  # Ray raises many kinds for a cluster that cannot be reached
            raise UnweaveError(
                f"cannot reach a Ray cluster at {self.address or 'this machine'}: {str(error).splitlines()[0][:200]}"
            ) from error

    def _await_tasks(
        self, ray: Any, folders: Sequence[Path], tell: Tell, stop: Stop, metrics: Sequence[str]
    ) -> None:
        counts = {name: amount for name, amount in self.resources.items() if name not in ("CPU", "GPU")}
        task = ray.remote(_on_ray).options(
            num_cpus=self.resources.get("CPU", 1),
            num_gpus=self.resources.get("GPU", 0),
            resources=counts or None,
            max_retries=self.attempts - 1,
            runtime_env={"env_vars": dict.fromkeys(_THREADS, "1")},
        )
        device = "cuda" if self.resources.get("GPU") else "cpu"
        options = _RayTask(device, self.checkpoint_seconds, list(metrics), str(Path.cwd()), import_paths())
        pending = {task.remote(str(folder.resolve()), options): folder for folder in folders}
        begun: set[Path] = set()
        alive = _alive(ray)
        while pending:
            alive = _still_alive(ray, alive)
            if stop():
                for reference in pending:
                    ray.cancel(reference, force=False)
                ray.wait(list(pending), num_returns=len(pending), timeout=60)  # until their runs are saved
                return
            ended, _ = ray.wait(list(pending), num_returns=1, timeout=0.5)
            for name in pending.values():
                if name not in begun and (name / "status.json").exists():
                    begun.add(name)
                    tell(Event("started", name))
            for reference in ended:
                name = pending.pop(reference)
                try:
                    how: Ended = ray.get(reference)
                except Exception as error:  # an error of Ray: the run reports its own errors
                    fail(name, _lost(error, self.attempts))
                    how = "failed"
                tell(Event("ended", name, how))
            tell(Event("beat"))


def _alive(ray: Any) -> dict[str, str]:
    """The nodes of the cluster that answer: their identity and their name."""
    return {node["NodeID"]: str(node.get("NodeManagerHostname")) for node in ray.nodes() if node["Alive"]}


def _still_alive(ray: Any, before: dict[str, str]) -> dict[str, str]:
    """Those of the nodes before that answer; a warning names the others."""
    now = _alive(ray)
    for node in before.keys() - now.keys():
        logger.warning("the node %s of the Ray cluster was lost; its runs are given to others", before[node])
    return {node: name for node, name in before.items() if node in now}


def _lost(error: Exception, attempts: int) -> str:
    """Why a run failed on Ray: its processes died, or nodes were lost with them."""
    kind = type(error).__name__
    often = f"{attempts} times" if attempts > 1 else "once"
    if "Node" in kind:
        return f"the node that it ran on was lost, and with it its process for the last of {attempts} attempts: {kind}"
    return f"its process was lost {often}: {kind}"


class _RayTask(NamedTuple):
    """What a worker of the cluster must know besides the folder of its run."""

    device: str
    checkpoint_seconds: float
    metrics: list[str]
    current_folder: str
    import_paths: list[str]


def _on_ray(folder: str, options: _RayTask) -> Ended:
    """A run on a node of the cluster; waits for a predecessor that has lost its node but not yet noticed."""
    from unweave.training.signals import StopOnSignal

    with contextlib.suppress(OSError):  # the node may not have that folder
        os.chdir(options.current_folder)
    add_import_paths([path for path in options.import_paths if Path(path).exists()])
    parent = os.getppid()
    with StopOnSignal() as stop:  # a cancelled task receives a signal
        while True:
            ended = work(
                Path(folder),
                device=options.device,
                checkpoint_seconds=options.checkpoint_seconds,
                metrics=options.metrics,
                stop=lambda: stop() or os.getppid() != parent,
            )
            if ended == "interrupted" and not stop():
                os._exit(1)  # the node is gone and so is this process: Ray gives the run to another one
            if ended != "busy":
                return ended
            time.sleep(1.0)


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise UnweaveError("the ray executor needs Ray: pip install 'unweave[cluster]'") from error
    return ray


EXECUTORS: dict[str, type] = {"local": Local, "inline": Inline, "ray": OnRay}


def make(name: str, **options: Any) -> Executor:
    """The executor of that name with its options; an option that is ``None`` takes its default.

    Example:
        >>> type(make("local", workers=3, address=None)).__name__
        'Local'
    """
    import inspect

    check_choice("executor", name, EXECUTORS)
    known = inspect.signature(EXECUTORS[name]).parameters
    for key, value in options.items():
        if value is not None and key not in known:
            raise UnweaveError(f"the {name} executor has no option {key}")
    executor: Executor = EXECUTORS[name](
        **{key: value for key, value in options.items() if value is not None and key in known}
    )
    return executor


def read_resources(words: str) -> dict[str, float]:
    """The resources of a run, from ``CPU=1,GPU=0.5``.

    Example:
        >>> read_resources("CPU=1,GPU=0.5")
        {'CPU': 1.0, 'GPU': 0.5}
    """
    try:
        pairs = [word.split("=") for word in words.split(",")]
        return {name.strip(): float(amount) for name, amount in pairs}
    except ValueError:
        raise UnweaveError(f"--resources must be like CPU=1,GPU=0.5, got {words!r}") from None
