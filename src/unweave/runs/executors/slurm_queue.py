"""What SLURM is told and asked: jobs are submitted by submitit, and looked at by SLURM's own commands."""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from unweave.errors import UnweaveError
from unweave.runs.executors.executor import THREADS
from unweave.runs.executors.slurm_job import Submission, submissions

MOST = 1000
"""Jobs of one array; SLURM's MaxArraySize is 1001 unless an administrator changed it."""


class Job(NamedTuple):
    """A job in the queue: its number (``12_3`` is job 3 of array 12), its state, and why it waits.

    Example:
        >>> Job("12_3", "PENDING", "Priority").state
        'PENDING'
    """

    number: str
    state: str
    reason: str = "None"


@dataclass(frozen=True)
class Request:
    """What a job asks SLURM for.

    Args:
        partition: to submit to; none: the cluster's default.
        minutes: until a job is cut off; its run is saved before, and continues.
        cpus: of a job, and threads of its process.
        gpus: of a job.
        memory: of a job as sbatch takes it, e.g. ``4G``; none: the partition's default.
        account: to charge.
        parallel: jobs that may run at a time; none: as many as SLURM allows.
        options: other options of sbatch, e.g. ``{"qos": "long"}``.

    Example:
        >>> Request(minutes=240, options={"qos": "long"}).signal_seconds
        90
    """

    partition: str | None = None
    minutes: int = 240
    cpus: int = 1
    gpus: int = 0
    memory: str | None = None
    account: str | None = None
    parallel: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def signal_seconds(self) -> int:
        """How long before the time limit a run is asked to save itself."""
        return min(90, 60 * self.minutes // 4)

    def parameters(self, name: str, arrays: int = 1) -> dict[str, Any]:
        """As submitit takes them, for the jobs of that name, which come in that many arrays."""
        paths = os.pathsep.join(os.path.abspath(path) for path in _python_path())  # noqa: PTH100
        chosen = {
            "partition": self.partition,
            "gpus_per_node": self.gpus or None,
            "mem": self.memory,
            "account": self.account,
            "additional_parameters": {"requeue": True, **self.options},
        }
        return {
            "job_name": name,
            "time": self.minutes,
            "cpus_per_task": self.cpus,
            "signal_delay_s": self.signal_seconds,
            "array_parallelism": max(1, self.parallel // arrays) if self.parallel else MOST,
            "wckey": None,
            "setup": [
                *(f"export {variable}={self.cpus}" for variable in THREADS),
                *([f"export PYTHONPATH={shlex.quote(paths)}"] if paths else []),
            ],
            **{key: value for key, value in chosen.items() if value is not None},
        }


class Queue:
    """SLURM's queue, as the machine on which this process runs sees it.

    Example:
        >>> Queue().jobs([])
        {}
    """

    def check(self) -> None:
        """Raise if jobs cannot be submitted from this machine."""
        _submitit()
        if shutil.which("sbatch") is None or shutil.which("srun") is None:
            raise UnweaveError(
                "the slurm executor needs SLURM's commands (sbatch, srun, squeue): use it on a machine of the cluster"
            )

    def submit(self, submission: Submission, request: Request, arrays: int = 1) -> None:
        """Submit one job for each run of a submission, as an array."""
        self.check()
        submitit = _submitit()
        executor = submitit.SlurmExecutor(folder=submission.folder, max_num_timeout=10**9)
        executor.update_parameters(**request.parameters(submission.name, arrays))
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                executor.submit_array([submission.job(index) for index in range(len(submission.runs))])
        except submitit.core.utils.FailedJobError as error:
            reasons = [line.strip() for line in (str(error) or said.getvalue()).splitlines() if line.strip()]
            raise UnweaveError(
                f"SLURM did not take the jobs: {' '.join(reasons)[:300] or 'sbatch gave no reason'}"
            ) from error

    def complete(self, submission: Submission, jobs: Mapping[int, Job]) -> None:
        """Write the files of jobs whose submitting process died after SLURM had taken them, before it wrote these."""
        _submitit()
        from submitit.core.utils import JobPaths
        from submitit.helpers import DelayedSubmission

        for index, job in jobs.items():
            path = JobPaths(submission.folder, job_id=job.number).submitted_pickle
            if not path.exists():
                call = DelayedSubmission(submission.job(index))
                call.set_timeout(1, 10**9)
                part = path.with_name(f"{path.name}.part")
                call.dump(part)
                part.rename(path)

    def jobs(self, names: Iterable[str]) -> dict[str, dict[int, Job]] | None:
        """The jobs in the queue by their name and their index in the array; ``None`` if SLURM does not answer."""
        wanted = ",".join(names)
        if not wanted:
            return {}
        command = ["squeue", "--noheader", "--array", "--format=%i|%T|%j|%r", f"--name={wanted}"]
        told = _ask(command)
        if told is None:
            return None
        found: dict[str, dict[int, Job]] = {}
        for line in told.splitlines():
            number, state, name, reason = (*line.strip().split("|", 3), "", "", "")[:4]
            index = number.partition("_")[2] or "0"
            if index.isdigit():
                found.setdefault(name, {})[int(index)] = Job(number, state, reason)
        return found

    def why(self, number: str) -> str:
        """Why a job has left the queue, in SLURM's words; empty if SLURM has forgotten it."""
        told = _ask(["scontrol", "--oneliner", "show", "job", number]) or ""
        state = re.search(r"\bJobState=(\S+)", told)
        reason = re.search(r"\bReason=(\S+)", told)
        words = [found[1] for found in (state, reason) if found and found[1] != "None"]
        return ", ".join(words)


def states_of_runs(places: Iterable[Path], queue: Queue | None = None) -> dict[Path, str]:
    """The runs in some folders that are jobs of SLURM: ``queued`` or ``running``. SLURM is asked once, if at all.

    Example:
        >>> states_of_runs([Path("nowhere")])
        {}
    """
    known = [each for place in places for each in submissions(place)]
    jobs = (queue or Queue()).jobs(each.name for each in known) or {}
    return {
        each.run(index): "running" if job.state in ("RUNNING", "COMPLETING") else "queued"
        for each in known
        for index, job in jobs.get(each.name, {}).items()
        if index < len(each.runs) and each.ended(index) is None
    }


def read_minutes(words: str) -> int:
    """A time limit in minutes, rounded up: ``4h``, ``90min``, ``1d12h``, or SLURM's ``HH:MM:SS`` and ``D-HH:MM:SS``.

    Example:
        >>> [read_minutes(words) for words in ("4h", "90min", "1d12h", "30s", "1-12:00:00", "00:30:00")]
        [240, 90, 2160, 1, 2160, 30]
    """
    clock = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d\d)(?::(\d\d))?", words.strip())
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(d|h|min|m|s)", words)
    rest = re.sub(r"(\d+(?:\.\d+)?)\s*(d|h|min|m|s)", "", words).strip()
    seconds = 0.0
    if clock:
        days, hours, minutes, left = (int(part or 0) for part in clock.groups())
        seconds = 86400 * days + 3600 * hours + 60 * minutes + left
    elif parts and not rest:
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if seconds <= 0:
        raise UnweaveError(f"--slurm-time must be like 4h, 90min, 1d12h or 1-12:00:00, got {words!r}")
    return -int(-seconds // 60)


def read_options(words: Iterable[str]) -> dict[str, Any]:
    """Options of sbatch from ``key=value`` words; a word without a value is a switch.

    Example:
        >>> read_options(["qos=long", "exclusive"])
        {'qos': 'long', 'exclusive': True}
    """
    options: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.lstrip("-").partition("=")
        key = key.strip().replace("_", "-")
        if not re.fullmatch(r"[a-z][a-z0-9-]*", key) or (equals and not value.strip()):
            raise UnweaveError(f"--slurm-option must be like qos=long or exclusive, got {word!r}")
        if key in _OURS:
            raise UnweaveError(f"--slurm-option {key} is not yours to give: {_OURS[key]}")
        options[key] = value.strip() if equals else True
    return options


_UNITS = {"d": 86400, "h": 3600, "min": 60, "m": 60, "s": 1}
_FLAGS = {
    **{"partition": "--slurm-partition", "time": "--slurm-time", "cpus-per-task": "--slurm-cpus"},
    **{"gpus-per-node": "--slurm-gpus", "mem": "--slurm-memory", "account": "--slurm-account"},
}
_OURS = {
    **{key: f"use {flag}" for key, flag in _FLAGS.items()},
    **dict.fromkeys(
        ("array", "job-name", "output", "error", "signal", "open-mode", "wrap", "requeue", "no-requeue"),
        "the sweep needs it itself",
    ),
}


def _ask(command: list[str]) -> str | None:
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return told.stdout if told.returncode == 0 else None


def _python_path() -> list[str]:
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


def _submitit() -> Any:
    try:
        import submitit
        import submitit.core.utils
    except ImportError as error:
        raise UnweaveError("the slurm executor needs submitit: pip install 'unweave[slurm]'") from error
    return submitit
