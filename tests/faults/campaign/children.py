"""Commands in forked children: this process imports torch and unweave once, a child starts in milliseconds."""

import contextlib
import gc
import importlib
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 30.0
"""A command that takes longer hangs; the time in which it waits for a processor does not count."""

MEMORY = 4e9
"""Bytes that a command may take."""

FREE = 3_000_000_000
"""Bytes that are free as far as a child knows, whatever the machine has: what is allowed must stay below ``MEMORY``."""


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    code: int
    signal: int
    output: str
    errors: str
    seconds: float
    memory: float
    hung: bool = False

    @property
    def kind(self) -> str:
        """``ok``, ``sentence``, ``killed``, ``traceback``, ``hang`` or ``memory``."""
        if self.memory > MEMORY:
            return "memory"
        if self.signal:
            return "hang" if self.hung else "killed"
        if "Traceback (most recent call last)" in self.errors or self.code not in (0, 1, 2, 130):
            return "traceback"
        return "ok" if self.code == 0 else "sentence"


def warm() -> None:
    """Import what children need, on one thread; small evaluations, no progress."""
    os.environ |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "COLUMNS": "200"}
    import lightgbm  # noqa: F401
    import omegaconf  # noqa: F401
    import safetensors.torch  # noqa: F401
    import sklearn.ensemble  # noqa: F401
    import torch

    torch.set_num_threads(1)
    import unweave.cli
    import unweave.models
    import unweave.recipes.catalogue
    import unweave.reports
    import unweave.runs.check
    import unweave.runs.evaluation
    import unweave.runs.tune
    from unweave import memory

    unweave.runs.evaluation.SAMPLES = 200  # type: ignore[misc]
    unweave.runs.evaluation.DECODED = 50  # type: ignore[misc]
    memory.available = lambda: FREE
    _import_what_a_child_imports()
    from unweave.runs import publishing
    from unweave.runs.config import SLOTS

    # What is read once in a process is read here: what installed packages offer, and their versions.
    assert all(len(slot) for slot in SLOTS.values())
    assert publishing.versions()
    gc.collect()
    gc.freeze()  # children would copy every page that the collector touches


def _import_what_a_child_imports() -> None:
    """One child trains and scores; this process imports what it has imported, without using any of it."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    words = ["data=circles", "data.size=32", "steps=2", "batch_size=4", "encoder=MLP", "decoder=MLP"]

    def work() -> None:
        from unweave import cli

        cli.main(["train", *words, "--out", str(folder / "run"), "--no-report", "--quiet"])
        cli.main(["evaluate", str(folder / "run"), "--metrics", "mig,elbo", "--quiet"])
        cli.main(["runs", "check", "--root", str(folder)])
        (folder / "modules").write_text("\n".join(sys.modules))

    assert in_child(work, seconds=120).code == 0
    for name in (folder / "modules").read_text().splitlines():
        if name not in sys.modules and not name.startswith("__"):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    shutil.rmtree(folder)


def in_child(
    work: Callable[[], object],
    *,
    seconds: float = SECONDS,
    kill_after: float | None = None,
    user: int | None = None,
    bounded: bool = True,
) -> Ended:
    """Do ``work`` in a forked process; killed after ``kill_after`` seconds if that is given, and when it hangs.

    It runs as ``user`` if that is given, and gets no more memory than it may take if it is ``bounded``.
    """
    folder = Path(tempfile.mkdtemp(prefix="child-"))
    out, err = folder / "out", folder / "err"
    started = time.monotonic()
    process = os.fork()
    if not process:
        _live(work, out, err, user, bounded)
    descriptor = os.pidfd_open(process)
    late = not select.select([descriptor], [], [], seconds if kill_after is None else kill_after)[0]
    while late and kill_after is None and (left := seconds - _own_time(started, process)) > 0:
        late = not select.select([descriptor], [], [], left + 0.1)[0]
    if late:
        os.kill(process, signal.SIGKILL)
    _, ended, used = os.wait4(process, 0)
    os.close(descriptor)
    took = time.monotonic() - started
    try:
        return Ended(
            os.waitstatus_to_exitcode(ended) if os.WIFEXITED(ended) else 0,
            os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else 0,
            out.read_text(errors="replace") if out.exists() else "",
            err.read_text(errors="replace") if err.exists() else "",
            took,
            1024.0 * used.ru_maxrss,
            late and kill_after is None,
        )
    finally:
        shutil.rmtree(folder)


def waited(process: int | str = "self") -> float:
    """Seconds that a process has waited for a processor because of other work on the machine."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def _own_time(started: float, process: int) -> float:
    """Seconds since a moment, without those in which a process waited for a processor."""
    return time.monotonic() - started - waited(process)


def command(*words: str, before: Callable[[], object] = lambda: None) -> Callable[[], object]:
    """The work of a child that executes ``unweave`` with these words."""

    def work() -> None:
        from unweave import cli

        before()
        cli.main(words)

    return work


def say(words: Sequence[str], **options: float | int | None) -> Ended:
    """Execute ``unweave`` with these words in a child."""
    return in_child(command(*words), **options)  # type: ignore[arg-type]


def _live(work: Callable[[], object], out: Path, err: Path, user: int | None, bounded: bool) -> None:
    code = 0
    try:
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if bounded:  # a child that takes more than it may gets an error instead of taking the machine down
            resource.setrlimit(resource.RLIMIT_DATA, (int(1.5 * MEMORY), int(1.5 * MEMORY)))
        if user is not None:
            os.setegid(user)
            os.seteuid(user)
        work()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 99
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
