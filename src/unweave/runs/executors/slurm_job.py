"""The job of SLURM that executes one run, and what is written down about a submission before SLURM is asked.

A submission is a folder ``.slurm/NAME`` beside the run folders, with ``submission.json``: which runs, by which metrics,
with which current folder and import paths. ``NAME`` is also the name of the jobs. It is complete before the jobs are
submitted, so whoever finds it can ask SLURM for the jobs of that name, wherever the submitting process died.
"""

import contextlib
import json
import os
import secrets
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from unweave import atomic
from unweave.errors import UnweaveError
from unweave.runs import status
from unweave.runs.worker import Ended, add_import_paths, fail, import_paths, work

PLACE = ".slurm"
_RECORD = "submission.json"


@dataclass(frozen=True)
class Submission:
    """Runs that were handed to SLURM together: job ``i`` of the array executes ``runs[i]``.

    Args:
        folder: of the submission; its name is the name of the jobs.
        runs: names of run folders, beside the folder ``.slurm``.
        metrics: to score by.
        current_folder: of the submitting process.
        import_paths: of the submitting process.
        device: ``cuda`` or ``cpu``.
        checkpoint_seconds: time between the saved states of a run.
        time_limit: of a job, as text.

    Example:
        >>> import tempfile
        >>> made = Submission.create(Path(tempfile.mkdtemp()), ["a", "b"])
        >>> Submission.read(made.folder) == made, made.run(1).name
        (True, 'b')
    """

    folder: Path
    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    current_folder: str
    import_paths: tuple[str, ...]
    device: str
    checkpoint_seconds: float
    time_limit: str

    @classmethod
    def create(
        cls,
        place: Path,
        runs: Sequence[str],
        *,
        metrics: Sequence[str] = (),
        device: str = "cpu",
        checkpoint_seconds: float = 30.0,
        time_limit: str = "4 h",
    ) -> "Submission":
        """Write down that the runs in the folder ``place`` are about to be submitted."""
        readable = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in place.resolve().name)
        folder = place.resolve() / PLACE / f"unweave-{readable[:40]}-{secrets.token_hex(4)}"
        made = cls(
            folder,
            tuple(runs),
            tuple(metrics),
            str(Path.cwd()),
            tuple(import_paths()),
            device,
            checkpoint_seconds,
            time_limit,
        )
        content = {key: value for key, value in asdict(made).items() if key != "folder"}
        atomic.write_json(folder / _RECORD, content)
        return made

    @classmethod
    def read(cls, folder: Path) -> "Submission":
        """The submission in a folder."""
        content = atomic.read_json(folder / _RECORD)
        try:
            lists = {key: tuple(content[key]) for key in ("runs", "metrics", "import_paths")}
            values: dict[str, Any] = {**content, **lists}
            return cls(folder=folder, **values)
        except (KeyError, TypeError) as error:
            raise UnweaveError(f"cannot read {folder / _RECORD}: {error!r}") from error

    @property
    def name(self) -> str:
        """The name of the jobs."""
        return self.folder.name

    def run(self, index: int) -> Path:
        """The folder of a run."""
        return self.folder.parent.parent / self.runs[index]

    def job(self, index: int) -> "RunJob":
        """What the job of a run calls."""
        return RunJob(str(self.folder), index)

    def record_end(self, index: int, how: Ended) -> None:
        """Record how a run ended, for whoever watches, now or later."""
        atomic.write_json(self.folder / "ended" / f"{index}.json", {"how": how})

    def ended(self, index: int) -> Ended | None:
        """How a run ended, if its job could record it."""
        try:
            how: Ended = json.loads((self.folder / "ended" / f"{index}.json").read_text())["how"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return how

    def forget_end(self, index: int) -> None:
        """Forget how a run ended: somebody was told, and it may be submitted again."""
        (self.folder / "ended" / f"{index}.json").unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove it, with the files of its jobs."""
        shutil.rmtree(self.folder, ignore_errors=True)


def submissions(place: Path) -> list[Submission]:
    """The submissions of runs in the folder ``place``, the oldest first; one that cannot be read is left out.

    Example:
        >>> submissions(Path("nowhere"))
        []
    """
    found = []
    with contextlib.suppress(OSError):
        for folder in sorted((place.resolve() / PLACE).iterdir(), key=lambda path: path.stat().st_mtime_ns):
            with contextlib.suppress(UnweaveError):
                found.append(Submission.read(folder))
    return found


class RunJob:
    """What a job calls: the run from its present state, until it ends or SLURM wants the job to end.

    Before the time limit SLURM sends SIGUSR2 (submitit asks it to): the run is saved, and submitit's own handler puts
    the job into the queue again. SIGTERM (``scancel``, a preemption) saves the run and ends the job.

    Args:
        submission: the folder of the submission.
        index: of the run.

    Example:
        >>> RunJob("runs/betas/.slurm/unweave-betas-1", 3).index
        3
    """

    def __init__(self, submission: str, index: int) -> None:
        self.submission = submission
        self.index = index

    def __call__(self) -> Ended:
        """Execute the run; returns how it ended."""
        submission = Submission.read(Path(self.submission))
        with contextlib.suppress(OSError):  # the node may not have that folder
            os.chdir(submission.current_folder)
        add_import_paths([path for path in submission.import_paths if Path(path).exists()])
        folder = submission.run(self.index)
        step = _step(folder)
        with _signals() as received:
            ended = _work(folder, submission, received)
        if ended == "interrupted" and signal.SIGUSR2 in received:
            if _step(folder) > step:
                self._requeue()
            else:
                fail(
                    folder,
                    f"its job's time limit ({submission.time_limit}) is over before one more step of it could be "
                    "saved; give it more with --slurm-time",
                )
                ended = "failed"
        if ended != "interrupted":
            submission.record_end(self.index, ended)
        return ended

    def checkpoint(self) -> Any:
        """What submitit writes down for the job when it comes from the queue again: the same call."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)

    def _requeue(self) -> None:
        """Submitit's handler of the signal puts the job into the queue again and ends this process.

        Where SLURM refuses that, the job ends as interrupted, and the run is submitted again by whoever watches.
        """
        with contextlib.suppress(Exception):
            signal.raise_signal(signal.SIGUSR2)


def _work(folder: Path, submission: Submission, received: list[int]) -> Ended:
    """The run, after a predecessor that has lost its node but not yet noticed."""
    while True:
        ended = work(
            folder,
            stop=lambda: bool(received),
            device=submission.device,
            checkpoint_seconds=submission.checkpoint_seconds,
            metrics=submission.metrics,
        )
        if ended != "busy":
            return ended
        if received:
            return "interrupted"
        time.sleep(1.0)


def _step(folder: Path) -> int:
    """The step at which the run was saved last."""
    step = status.readable(folder / status.STATUS).get("step", 0)
    return step if isinstance(step, int) else 0


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """The signals by which SLURM announces the end of a job, as they come; none of them ends this process."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)

    previous = {number: signal.signal(number, note) for number in (signal.SIGUSR2, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
