"""Runs on a Ray cluster."""

import contextlib
import logging
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unweave.errors import UnweaveError
from unweave.runs.executors.executor import THREADS, Event, Executor, Stop, Tell, available_cores
from unweave.runs.worker import Ended, add_import_paths, fail, import_paths, work

logger = logging.getLogger("unweave")


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
                "num_cpus": self.workers or available_cores(),
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
            runtime_env={"env_vars": dict.fromkeys(THREADS, "1")},
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
