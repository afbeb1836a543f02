"""The flags that choose where and how many runs are executed, and the execution of runs with a display."""

import contextlib
import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unweave.cli.flags import out_flag, quiet_flag, track_flag
from unweave.cli.slurm_flags import slurm_flags
from unweave.cli.terminal import print_line
from unweave.console import console
from unweave.errors import UnweaveError

if TYPE_CHECKING:
    from unweave.runs.executors import Event, Executor, Stop, Tell
    from unweave.runs.sweep import Member, Sweep
    from unweave.tracking import Tracking


@dataclasses.dataclass(frozen=True)
class Execution:
    """The values of the flags of :func:`execution_flags`."""

    executor: str
    workers: int | None
    address: str | None
    resources: str | None
    attempts: int | None
    folder: Path | None
    track: str | None
    no_report: bool
    quiet: bool
    slurm_partition: str | None = None
    slurm_time: str | None = None
    slurm_cpus: int | None = None
    slurm_gpus: int | None = None
    slurm_memory: str | None = None
    slurm_account: str | None = None
    slurm_parallel: int | None = None
    slurm_option: tuple[str, ...] = ()

    def make_executor(self) -> "Executor":
        """The executor that the flags name."""
        from unweave.runs.executors import make, read_resources

        return make(
            self.executor,
            **self._slurm_options(),
            workers=self.workers,
            attempts=self.attempts,
            address=self.address,
            resources=read_resources(self.resources) if self.resources else None,
        )

    def _slurm_options(self) -> dict[str, Any]:
        """The values of the flags for SLURM, which no other executor takes."""
        from unweave.runs.executors.slurm_queue import read_options

        prefix = "slurm_"
        given = {
            field.name: value
            for field in dataclasses.fields(self)
            if field.name.startswith(prefix) and (value := getattr(self, field.name)) not in (None, ())
        }
        if self.executor != "slurm":
            for name in given:
                raise UnweaveError(f"--{name.replace('_', '-')} needs --executor slurm, got {self.executor}")
            return {}
        if self.workers is not None:
            raise UnweaveError("--workers is for other executors: with slurm, use --slurm-parallel")
        options = given.pop("slurm_option", ())
        return {
            **{name.removeprefix(prefix): value for name, value in given.items()},
            "options": read_options(options),
        }

    def print_line(self, text: str, *, title: str = "") -> None:
        """Print a title in bold and the text after it, unless --quiet is given."""
        print_line(text, title=title, quiet=self.quiet)


_FLAGS = (
    click.option("--executor", default="local", show_default=True, help="local, inline, ray or slurm."),
    click.option(
        "--workers", type=click.IntRange(min=1), help="Number of runs at a time [default: one per core]."
    ),
    click.option("--address", help="Ray cluster: auto, host:6379, ray://host:10001."),
    click.option(
        "--resources", metavar="CPU=1,GPU=0.5", help="Resources of the Ray cluster that one run uses."
    ),
    click.option(
        "--attempts",
        type=click.IntRange(min=1),
        help="Number of processes that may die before a run counts as failed [default: 3].",
    ),
    *slurm_flags,
    out_flag("folder", "Folder [default: runs/NAME, runs/reproduce]."),
    track_flag,
    click.option("--no-report", is_flag=True, help="Write no page at the end."),
    quiet_flag,
)


def execution_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Add the flags that choose the executor; the command receives them as one ``execution``."""

    @functools.wraps(command)
    def with_execution(**values: Any) -> None:
        flags = {field.name: values.pop(field.name) for field in dataclasses.fields(Execution)}
        command(**values, execution=Execution(**flags))

    for flag in reversed(_FLAGS):
        with_execution = flag(with_execution)
    return with_execution


@contextlib.contextmanager
def display_and_stop(
    members: "Sequence[Member]", tracked: "Tracking", execution: Execution, executor: "Executor"
) -> "Iterator[tuple[Tell, Stop]]":
    """A display of the runs and a stop that Ctrl-C sets; after a stop the command exits with code 130.

    Args:
        members: the runs to be executed.
        tracked: what copies them to a tracker.
        execution: the flags.
        executor: what to tell after a stop depends on it.
    """
    from unweave.runs.display import SweepDisplay
    from unweave.training.signals import StopOnSignal

    with StopOnSignal() as stop, SweepDisplay(members, console(execution.quiet)) as display:

        def tell(event: "Event") -> None:
            display.tell(event)
            tracked.tell(event)

        yield tell, stop
    if stop():
        execution.print_line(executor.advice())
        sys.exit(130)


@contextlib.contextmanager
def tracked_runs(folder: Path, execution: Execution) -> "Iterator[Tracking]":
    """Inside, runs are copied to the tracker of the flags, if there is one; afterwards, how to look at it."""
    from unweave.tracking import tracking

    with tracking(execution.track, folder) as tracked:
        yield tracked
    tell_where_tracked(tracked, quiet=execution.quiet)


def tell_where_tracked(tracked: "Tracking", *, quiet: bool) -> None:
    """How to look at what was tracked; nothing if there is no tracker, or if it failed, which was told then."""
    from unweave.tracking import TRACKERS

    if tracked.tracker is not None and not tracked.failed:
        print_line(f"tracked; to look at it: {TRACKERS[tracked.tracker].look(tracked.root)}", quiet=quiet)


def execute(sweep: "Sweep", executor: "Executor", execution: Execution, tracked: "Tracking") -> None:
    """Execute the unfinished runs of a sweep; Ctrl-C saves the active runs."""
    for member in sweep.members:
        if member.done:  # perhaps the last command was killed before a tracker had all of it
            tracked.begin(member.run.folder)
            tracked.end(member.run.folder)
    with display_and_stop(sweep.todo, tracked, execution, executor) as (tell, stop):
        sweep.execute(executor, tell, stop)


def conclude(sweep: "Sweep", execution: Execution) -> None:
    """Print how the runs of a sweep ended and write its page; exit with code 1 if a run is not done or was left out."""
    from unweave.runs.sweep import describe

    execution.print_line(describe(sweep))
    for member in sweep.members:
        if member.run.status == "failed":
            execution.print_line(f"failed: {member.run.reason}; see: unweave runs log {member.run.folder}")
    for variant, reason in sweep.refused.items():
        print_line(
            f"left out: {variant}: {reason}"
        )  # even if quiet: it is why the command does not end with 0
    if not execution.no_report:
        from unweave.reports import write_sweep_report

        execution.print_line(f"report: {write_sweep_report(sweep)}")
    if sweep.todo:  # failed, or not even that could be written, as on a full disk
        print_line(f"{len(sweep.todo)} runs are not done; run the same command again to resume")
    if sweep.todo or sweep.refused:
        sys.exit(1)
