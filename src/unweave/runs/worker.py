"""The whole work of one run, as an executor's process does it: train, score, say how it ended.

Also the program of such a process: ``python -m unweave.runs.worker`` reads the folders of runs from its standard input,
one a line with the metrics to score it by, and answers each with a line on its standard output.
"""

import contextlib
import fcntl
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal

from unweave import atomic
from unweave.errors import UnweaveError

Ended = Literal["finished", "diverged", "failed", "interrupted", "busy"]
LOG = "log.txt"
SCORED = "scored.json"


def is_done(folder: Path, metrics: Sequence[str] = ()) -> bool:
    """Whether nothing is left to do in the folder of a run: trained and scored (by ``metrics`` too), or diverged.

    Example:
        >>> import tempfile
        >>> is_done(Path(tempfile.mkdtemp()))
        False
    """
    if (folder / "model.safetensors").exists():
        scored = _read(folder / SCORED).get("metrics", [])
        return _is_scored(folder) and set(metrics) <= set(scored)
    return _status(folder) == "diverged"


def work(
    folder: Path,
    *,
    stop: Callable[[], bool] = lambda: False,
    device: str = "cpu",
    threads: int = 1,
    checkpoint_seconds: float = 30.0,
    metrics: Sequence[str] = (),
) -> Ended:
    """Train and score the run in ``folder``, from where it stands; a mistake or a crash of its code is its own.

    What the run says goes to ``log.txt`` in its folder. ``busy`` means that another process is at it.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config, Run
        >>> words = ["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"]
        >>> run = Run.create(Config.read(words=words), Path(tempfile.mkdtemp()) / "run")
        >>> work(run.folder), "mig" in run.scores, run.status
        ('finished', True, 'finished')
    """
    from unweave.runs.evaluation import evaluate
    from unweave.runs.run import Run

    with held(folder) as ours:
        if not ours:
            return "busy"
        if is_done(folder, metrics):  # another process may have done it while this one was asked to
            return "diverged" if _status(folder) == "diverged" else "finished"
        started = time.monotonic()
        with (folder / LOG).open("a", buffering=1) as log:
            try:
                run = Run(folder)
                _note(log, f"process {os.getpid()} begins {run.config.label}")
                outcome = run.train(
                    device=device, threads=threads, checkpoint_seconds=checkpoint_seconds, stop=stop
                )
                if outcome.status == "finished":
                    trained = time.monotonic()
                    before = _read(folder / SCORED).get("metrics", []) if _is_scored(folder) else []
                    if not _is_scored(folder):
                        evaluate(run, device=device)
                    missing = [name for name in metrics if name not in before]
                    if missing:  # other studies may share the run and have asked for other scores
                        evaluate(run, metrics=missing, device=device)
                        atomic.write_json(folder / SCORED, {"metrics": [*before, *missing]})
                    scoring = time.monotonic() - trained
                    _note(
                        log,
                        f"finished: {trained - started:.1f} s of training here, {scoring:.1f} s of scoring",
                    )
                else:
                    _note(log, f"{outcome.status} at step {outcome.step}: {outcome.reason}")
                return outcome.status
            except Exception as error:
                log.write(traceback.format_exc())
                told = str(error) if isinstance(error, UnweaveError) else f"{type(error).__name__}: {error}"
                fail(folder, told, log)
                return "failed"


def fail(folder: Path, reason: str, log: IO[str] | None = None) -> None:
    """Mark a run as failed and write the reason into its log.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> fail(folder, "its process was killed 3 times")
        >>> _status(folder), "killed 3 times" in (folder / "log.txt").read_text()
        ('failed', True)
    """
    try:
        if log is None:
            with (folder / LOG).open("a") as file:
                _note(file, f"failed: {reason}")
        else:
            _note(log, f"failed: {reason}")
        before = _read(folder / "status.json")
        value = {**before, "status": "failed", "reason": " ".join(reason.split())[:500]}
        atomic.write_json(folder / "status.json", value)
    except (OSError, UnweaveError) as error:  # the disk may be what failed
        print(f"unweave: {folder}: {reason}; and that could not be noted: {error}", file=sys.stderr)


@contextlib.contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Whether this process got the run for itself; the kernel lets go of it however the process ends.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> with held(folder) as first, held(folder) as second:
        ...     first, second
        (True, False)
    """
    with (folder / ".work").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def serve(requests: IO[str], answers: IO[str], checkpoint_seconds: float) -> None:
    r"""Work through the folders that come in, one after the other, until there are no more or the asker is gone.

    Example:
        >>> import io
        >>> answers = io.StringIO()
        >>> serve(io.StringIO(""), answers, 30.0)
        >>> answers.getvalue()
        '"ready"\n'
    """
    from unweave.training.signals import StopOnSignal

    asker = os.getppid()
    from unweave.runs import evaluation, run  # noqa: F401  the slow imports, before saying "ready"

    with StopOnSignal() as stop:
        _answer(answers, "ready")
        for line in requests:
            place, metrics = json.loads(line)
            folder = Path(place)
            with _said_in(folder / LOG):
                ended = work(
                    folder,
                    stop=lambda: stop() or os.getppid() != asker,
                    checkpoint_seconds=checkpoint_seconds,
                    metrics=metrics,
                )
            _answer(answers, ended)
            if stop():
                return


@contextlib.contextmanager
def _said_in(path: Path) -> Iterator[None]:
    """Everything that this process prints, its libraries' C code included, goes into a file."""
    kept = os.dup(2)
    with path.open("a") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)


def _answer(answers: IO[str], value: str) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def _note(log: IO[str], text: str) -> None:
    log.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {text}\n")


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return content


def _is_scored(folder: Path) -> bool:
    """Whether there are scores of the final weights; those of an earlier state do not count."""
    scores, weights = folder / "scores.json", folder / "model.safetensors"
    return scores.exists() and scores.stat().st_mtime_ns >= weights.stat().st_mtime_ns


def _status(folder: Path) -> str:
    return str(_read(folder / "status.json").get("status", "new"))


def _main() -> None:
    """The process: pinned to the core in ``argv[1]`` (-1: to none), states saved every ``argv[2]`` seconds."""
    core = int(sys.argv[1])
    if core >= 0 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    # Answers have the pipe for themselves: what a library prints would garble them.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.stdin, answers, float(sys.argv[2]))


if __name__ == "__main__":
    _main()
