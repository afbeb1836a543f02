"""All the work for one run, as the process of an executor does it: train, score, record how it ended.

This is also the program of such a process: ``python -m unweave.runs.worker`` reads the folders of runs from standard
input, one per line with the metrics to score it by, and answers each with a line on standard output.
"""

import contextlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from unweave import artefacts
from unweave.errors import UnweaveError
from unweave.runs import locks, status

if TYPE_CHECKING:
    from unweave.runs.run import Run

Ended = Literal["finished", "diverged", "failed", "interrupted", "busy"]
LOG = "log.txt"
IMPORT_PATHS = "UNWEAVE_IMPORT_PATHS"
"""Environment variable of a worker: the folders from which its parent imports modules, as JSON."""


def work(
    folder: Path,
    *,
    stop: Callable[[], bool] = lambda: False,
    device: str = "cpu",
    checkpoint_seconds: float = 30.0,
    metrics: Sequence[str] = (),
) -> Ended:
    """Train and score the run in ``folder``, from its present state; an error in its code ends this run only.

    Messages go to ``log.txt`` in the folder. ``busy`` means that another process is working on the run.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config, Run
        >>> words = ["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"]
        >>> run = Run.create(Config.read(words=words), Path(tempfile.mkdtemp()) / "run")
        >>> work(run.folder), "mig" in run.scores, run.status
        ('finished', True, 'finished')
    """
    with locks.lock(folder / locks.WORKING) as ours:
        if not ours:
            return "busy"
        if status.is_done(folder, metrics):  # another process may have finished it in the meantime
            return "diverged" if status.is_diverged(folder) else "finished"
        with (folder / LOG).open("a", buffering=1) as log:
            try:
                return _train_and_score(folder, log, stop, device, checkpoint_seconds, metrics)
            except Exception as error:
                log.write(traceback.format_exc())
                reason = str(error) if isinstance(error, UnweaveError) else f"{type(error).__name__}: {error}"
                fail(folder, reason)
                return "failed"


def _train_and_score(
    folder: Path,
    log: IO[str],
    stop: Callable[[], bool],
    device: str,
    checkpoint_seconds: float,
    metrics: Sequence[str],
) -> Ended:
    from unweave.runs.run import Run

    run = Run(folder)
    _note(log, f"process {os.getpid()} begins {run.config.label}")
    started = time.monotonic()
    outcome = run.train(device=device, checkpoint_seconds=checkpoint_seconds, stop=stop)
    if outcome.status != "finished":
        _note(log, f"{outcome.status} at step {outcome.step}: {outcome.reason}")
        return outcome.status
    trained = time.monotonic()
    score(run, metrics, device)
    scoring = time.monotonic() - trained
    _note(log, f"finished: {trained - started:.1f} s of training here, {scoring:.1f} s of scoring")
    return "finished"


def score(run: "Run", metrics: Sequence[str], device: str = "cpu") -> None:
    """Compute the scores that a finished run lacks: the usual ones, and those of ``metrics``.

    Several studies may share a run and request different metrics; ``scored.json`` lists them all.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config, Run
        >>> words = ["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"]
        >>> run = Run.create(Config.read(words=words), Path(tempfile.mkdtemp()) / "run")
        >>> _ = run.train()
        >>> score(run, ["hoyer"])
        >>> status.scored_by(run.folder), "elbo" in run.scores
        (['hoyer'], True)
    """
    from unweave.runs.evaluation import evaluate

    before = status.scored_by(run.folder)
    if not status.is_scored(run.folder):
        evaluate(run, device=device)
    missing = [name for name in metrics if name not in before]
    if missing:
        evaluate(run, metrics=missing, device=device)
        artefacts.write_json(run.folder / status.SCORED, {"metrics": [*before, *missing]})


def fail(folder: Path, reason: str) -> None:
    """Mark a run as failed and write the reason into its log.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> fail(folder, "its process was killed 3 times")
        >>> status.last_status(folder), "killed 3 times" in (folder / "log.txt").read_text()
        ('failed', True)
    """
    try:
        with (folder / LOG).open("a") as log:
            _note(log, f"failed: {reason}")
        before = status.readable(folder / status.STATUS)
        content = {**before, "status": "failed", "reason": " ".join(reason.split())[:500]}
        artefacts.write_json(folder / status.STATUS, content)
    except (OSError, UnweaveError) as error:  # the disk itself may have failed
        print(f"unweave: {folder}: {reason}; recording this failed: {error}", file=sys.stderr)


def serve(requests: IO[str], answers: IO[str], checkpoint_seconds: float) -> None:
    r"""Work on the requested runs, one after the other, until the input ends or the parent process is gone.

    Example:
        >>> import io
        >>> answers = io.StringIO()
        >>> serve(io.StringIO(""), answers, 30.0)
        >>> answers.getvalue()
        '"ready"\n'
    """
    from unweave.training.signals import StopOnSignal

    parent = os.getppid()
    from unweave.runs import evaluation, run  # noqa: F401  the slow imports, before the answer "ready"

    with StopOnSignal() as stop:
        with contextlib.suppress(BrokenPipeError):
            _answer(answers, "ready")
        for line in requests:
            place, metrics = json.loads(line)
            folder = Path(place)
            with _stderr_to(folder / LOG):
                ended = work(
                    folder,
                    stop=lambda: stop() or os.getppid() != parent,
                    checkpoint_seconds=checkpoint_seconds,
                    metrics=metrics,
                )
            try:
                _answer(answers, ended)
            except BrokenPipeError:  # the sweep was killed: its runs are saved, and nobody is left to be told
                os.dup2(os.open(os.devnull, os.O_WRONLY), answers.fileno())
                return
            if stop():
                return


def import_paths() -> list[str]:
    """The folders from which this process imports modules, as absolute paths.

    Example:
        >>> all(Path(path).is_absolute() for path in import_paths())
        True
    """
    return list(dict.fromkeys(str(Path(path).absolute()) for path in sys.path))


def add_import_paths(paths: Sequence[str]) -> None:
    """Search further folders for modules, after all that this process searches already.

    Example:
        >>> before = list(sys.path)
        >>> add_import_paths([*before, "/parts"])
        >>> sys.path[len(before):]
        ['/parts']
        >>> sys.path[:] = before
    """
    sys.path += [path for path in paths if path not in sys.path]


@contextlib.contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """Everything that this process writes to standard error, C code of libraries included, goes into a file."""
    original = os.dup(2)
    with path.open("a") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(original, 2)
            os.close(original)


def _answer(answers: IO[str], value: str) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def _note(log: IO[str], text: str) -> None:
    log.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {text}\n")


def _main() -> None:
    """The process: pinned to the core in ``argv[1]`` (-1: to none), states saved every ``argv[2]`` seconds."""
    core = int(sys.argv[1])
    if core >= 0 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    add_import_paths(json.loads(os.environ.get(IMPORT_PATHS, "[]")))
    # Standard output carries answers only: whatever a library prints goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.stdin, answers, float(sys.argv[2]))


if __name__ == "__main__":
    _main()
