"""Runs as jobs of a SLURM cluster."""

import logging
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unweave.errors import UnweaveError
from unweave.runs.executors.executor import Event, Executor, Stop, Tell
from unweave.runs.executors.slurm_job import Submission, submissions
from unweave.runs.executors.slurm_queue import MOST, Job, Queue, Request, read_minutes
from unweave.runs.status import is_diverged, is_done
from unweave.runs.worker import Ended, fail

logger = logging.getLogger("unweave")

_USUAL = {"None", "", "Resources", "Priority", "JobArrayTaskLimit", "BeginTime", "Cleaning", "Prolog"}
"""Reasons to wait that need nobody's attention."""


class OnSlurm(Executor):
    """A SLURM cluster: each run is a job of an array.

    The folders must have the same path on every node, and so must this Python. A job that reaches its time limit saves
    its run and is put into the queue again; a job that is lost, cancelled or killed is submitted again; both continue
    from the last saved state. A stop leaves the jobs alone. Executing the same runs again watches the jobs that are
    still in the queue, and submits only what has none.

    Args:
        partition: to submit to; none: the cluster's default.
        time: limit of a job, e.g. ``4h``.
        cpus: of a job, and threads of its process.
        gpus: of a job; with any, runs train on the first.
        memory: of a job, e.g. ``4G``; none: the partition's default.
        account: to charge.
        parallel: jobs that may run at a time; none: as many as SLURM allows.
        options: other options of sbatch, e.g. ``{"qos": "long"}``.
        attempts: jobs that may be lost with a run.
        checkpoint_seconds: time between the saved states of a run.
        interval: seconds between two questions to SLURM.
        patience: seconds that a job may be gone before it counts as lost: shared folders show files late.
        queue: SLURM itself.

    Example:
        >>> OnSlurm(partition="cpu", time="4h").request.minutes
        240
    """

    def __init__(
        self,
        *,
        partition: str | None = None,
        time: str = "4h",
        cpus: int = 1,
        gpus: int = 0,
        memory: str | None = None,
        account: str | None = None,
        parallel: int | None = None,
        options: Mapping[str, Any] | None = None,
        attempts: int = 3,
        checkpoint_seconds: float = 30.0,
        interval: float = 5.0,
        patience: float = 30.0,
        queue: Queue | None = None,
    ) -> None:
        if memory is not None and not re.fullmatch(r"\d+[KMGT]?B?", memory, re.IGNORECASE):
            raise UnweaveError(f"--slurm-memory must be like 4G or 500M, got {memory!r}")
        minutes = read_minutes(time)
        self.request = Request(partition, minutes, cpus, gpus, memory, account, parallel, dict(options or {}))
        self.workers = parallel
        self.attempts = attempts
        self.checkpoint_seconds = checkpoint_seconds
        self.interval = interval
        self.patience = patience
        self.queue = queue or Queue()
        self.left: list[str] = []

    def check(self) -> None:
        """Raise if SLURM or submitit is missing here."""
        self.queue.check()

    def _execute(self, folders: Sequence[Path], tell: Tell, stop: Stop, metrics: Sequence[str]) -> None:
        watch = _Watch(self, folders, tell, tuple(metrics))
        asked = float("-inf")
        while watch.runs and not stop():
            if time.monotonic() - asked >= self.interval:
                watch.look()
                asked = time.monotonic()
            tell(Event("beat"))
            time.sleep(min(0.5, self.interval))
        self.left = watch.names
        if not watch.runs:
            watch.tidy()

    def advice(self) -> str:
        """What to know after a stop: the jobs go on."""
        if not self.left:
            return super().advice()
        names = ",".join(self.left)
        return (
            "no longer watching; the jobs stay in SLURM's queue, and the same command watches them again\n"
            f"look: squeue --name={names}\ncancel: scancel --name={names}"
        )


class _Watch:
    """The runs of one call that have not ended, their jobs, and how often the job of each was lost."""

    def __init__(
        self, settings: OnSlurm, folders: Sequence[Path], tell: Tell, metrics: tuple[str, ...]
    ) -> None:
        self.settings = settings
        self.metrics = metrics
        self.tell = tell
        self.runs = {folder.resolve(): folder for folder in folders}
        self.places = list(dict.fromkeys(folder.parent for folder in self.runs))
        self.jobs: dict[Path, tuple[Submission, int]] = {}
        self.numbers: dict[Path, str] = {}
        self.gone: dict[Path, float] = {}
        self.begun: set[Path] = set()
        self.lost: Counter[Path] = Counter()
        self.told: set[str] = set()
        self._attach()

    @property
    def names(self) -> list[str]:
        """The names of the jobs of the runs that have not ended."""
        return list(dict.fromkeys(submission.name for submission, _ in self.jobs.values()))

    def _attach(self) -> None:
        """Find the jobs that earlier calls have submitted; submit the runs that have none."""
        known = [each for place in self.places for each in submissions(place)]
        jobs = self.settings.queue.jobs(each.name for each in known)
        if jobs is None:
            raise UnweaveError(
                "SLURM does not answer (squeue failed), so jobs that are already in its queue cannot be found; "
                "try again when squeue works"
            )
        for submission in known:
            alive = jobs.get(submission.name, {})
            self.settings.queue.complete(submission, alive)
            for index in range(len(submission.runs)):
                folder = submission.run(index)
                if folder in self.runs and (index in alive or submission.ended(index) == "failed"):
                    self.jobs[folder] = (submission, index)
            if not alive and not any(mine is submission for mine, _ in self.jobs.values()):
                submission.remove()  # all its jobs are gone; what they have done is in the folders of the runs
        if self.jobs:
            logger.info("watching %d jobs of SLURM that were submitted before", len(self.jobs))
        self._submit([folder for folder in self.runs if folder not in self.jobs])

    def _submit(self, folders: Sequence[Path]) -> None:
        request = self.settings.request
        for place in self.places:
            names = [folder.name for folder in folders if folder.parent == place]
            pieces = [names[first : first + MOST] for first in range(0, len(names), MOST)]
            for piece in pieces:
                submission = Submission.create(
                    place,
                    piece,
                    metrics=self.metrics,
                    device="cuda" if request.gpus else "cpu",
                    checkpoint_seconds=self.settings.checkpoint_seconds,
                    time_limit=f"{request.minutes} min",
                )
                try:
                    self.settings.queue.submit(submission, request, len(pieces))
                except UnweaveError:
                    submission.remove()
                    raise
                logger.info("submitted to SLURM: %d jobs named %s", len(piece), submission.name)
                self.jobs |= {submission.run(index): (submission, index) for index in range(len(piece))}

    def look(self) -> None:
        """Ask SLURM for all jobs, and tell what has happened to their runs."""
        jobs = self.settings.queue.jobs(self.names)
        if jobs is None:
            self._tell_once("SLURM does not answer; its jobs are asked for again until it does")
            return
        again = []
        for folder in list(self.runs):
            submission, index = self.jobs[folder]
            job = jobs.get(submission.name, {}).get(index)
            ended = submission.ended(index)
            if ended in ("finished", "diverged") and not is_done(folder, self.metrics):
                ended = None  # an earlier command submitted it with other metrics
            if ended is not None:
                self._end(folder, ended)
            elif job is not None:
                self._alive(folder, job)
            elif self._is_lost(folder):
                again += [folder] if self._may_try_again(folder) else []
        self._submit(again)

    def _alive(self, folder: Path, job: Job) -> None:
        self.gone.pop(folder, None)
        self.numbers[folder] = job.number
        if job.state == "RUNNING" and folder not in self.begun:
            self.begun.add(folder)
            self.tell(Event("started", self.runs[folder]))
        if job.state == "PENDING" and job.reason.strip("()") not in _USUAL:
            self._tell_once(
                f"job {job.number} waits in SLURM's queue for this reason: {job.reason}", job.reason
            )

    def _is_lost(self, folder: Path) -> bool:
        """Whether a job that has left the queue has had the time to show what it has done."""
        since = self.gone.setdefault(folder, time.monotonic())
        return time.monotonic() - since >= self.settings.patience

    def _may_try_again(self, folder: Path) -> bool:
        """Whether a run whose job is lost is submitted again; otherwise it has ended: done, or failed."""
        self.gone.pop(folder, None)
        self.begun.discard(folder)
        if is_done(folder, self.metrics):
            self._end(folder, "diverged" if is_diverged(folder) else "finished")
            return False
        self.lost[folder] += 1
        if self.lost[folder] < self.settings.attempts:
            self.tell(Event("lost", self.runs[folder]))
            return True
        fail(folder, self._last_words(folder))
        self._end(folder, "failed")
        return False

    def _last_words(self, folder: Path) -> str:
        number = self.numbers.get(folder, "")
        why = self.settings.queue.why(number) if number else ""
        times = self.lost[folder]
        often = f"{times} times" if times > 1 else "once"
        log = self.jobs[folder][0].folder / f"{number}_0_log.err"
        return (
            f"its job left SLURM's queue {often} without an end of the run"
            f"{f' (job {number}: {why})' if why else ''}; see {log}"
        )

    def _end(self, folder: Path, how: Ended) -> None:
        if how == "failed":  # told now; the next command tries it again
            submission, index = self.jobs[folder]
            submission.forget_end(index)
        self.tell(Event("ended", self.runs.pop(folder), how))

    def _tell_once(self, text: str, key: str | None = None) -> None:
        if (key or text) not in self.told:
            self.told.add(key or text)
            logger.warning(text)

    def tidy(self) -> None:
        """Remove the submissions without jobs, except where a job's own log tells why its run failed."""
        alive = self.settings.queue.jobs(self.names)
        given_up = [folder for folder, times in self.lost.items() if times >= self.settings.attempts]
        kept = {self.jobs[folder][0].name for folder in given_up}
        for submission in {each.folder: each for each, _ in self.jobs.values()}.values():
            if alive is not None and submission.name not in (*alive, *kept):
                submission.remove()
