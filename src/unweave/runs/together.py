"""Several runs at once on this machine: one process each, one thread each, so that they do not fight over cores."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from unweave.errors import UnweaveError
from unweave.runs.run import Run

Watch = Callable[[Run], None]


def train_together(runs: Sequence[Run], *, watch: Watch = lambda _: None, poll: float = 0.5) -> None:
    """Train runs side by side to their end; each is resumed if it was begun before.

    Args:
        runs: the runs, at most as many as there are cores.
        watch: called with each run about every ``poll`` seconds, to show how far it is.
        poll: seconds between looks.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config
        >>> from pathlib import Path
        >>> words = ["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"]
        >>> folder = Path(tempfile.mkdtemp())
        >>> runs = [Run.create(Config.read(words=[*words, f"seed={s}"]), folder / str(s)) for s in (0, 1)]
        >>> train_together(runs)
        >>> [run.status for run in runs]
        ['finished', 'finished']
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    processes = [_start(run, environment) for run in runs]
    try:
        while any(process.poll() is None for process in processes):
            for run in runs:
                watch(run)
            time.sleep(poll)
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()  # saves its state and ends
        errors = [process.communicate()[1] for process in processes]
    for run, process, error in zip(runs, processes, errors, strict=True):
        watch(run)
        if process.returncode != 0:
            reason = error.strip().splitlines()[-1] if error.strip() else f"exit code {process.returncode}"
            raise UnweaveError(f"{run.folder} did not finish: {reason.removeprefix('unweave: ')}")


def _start(run: Run, environment: dict[str, str]) -> "subprocess.Popen[str]":
    words = ["train", str(run.folder / "config.yaml"), "--out", str(run.folder)]
    flags = ["--no-report", "--quiet", "--threads", "1"]
    return subprocess.Popen(
        [sys.executable, "-m", "unweave", *words, *flags],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
