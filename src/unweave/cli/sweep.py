"""``unweave sweep``."""

import dataclasses
from pathlib import Path

import click

from unweave.cli.commands import cli
from unweave.cli.execution import Execution, conclude, execute, execution_flags, tracked_runs
from unweave.cli.terminal import prepare_logging, typed_command
from unweave.errors import UnweaveError


@cli.command()
@click.argument("study")
@click.option(
    "--seeds", type=click.IntRange(min=1), help="Number of seeds (0, 1, ...), instead of the study's own."
)
@click.option(
    "--metrics",
    metavar="NAMES",
    help="Comma-separated metrics in addition to the default scores, or all. `unweave metrics` lists them.",
)
@click.option("--dry-run", is_flag=True, help="Print the runs left to do and the expected time; run nothing.")
@execution_flags
def sweep(study: str, seeds: int | None, metrics: str | None, dry_run: bool, execution: Execution) -> None:
    """Run every variant of a study with every seed, and write one page about all of them.

    STUDY is a .yaml file with `base`, `grid` and/or `variants`, and `seeds`; or a .py file or module:function, whose
    code is run.

    \b
      base: {data: circles, steps: 2000, batch_size: 16}
      grid: {objective.beta: [1, 4, 16], decoder: [Deconv, SpatialBroadcast]}
      seeds: 5

    A sweep can be stopped or killed at any time, and the study can get more seeds or values: the same command
    resumes it and repeats nothing.
    """  # noqa: D301
    from unweave.runs.rehearsal import rehearse
    from unweave.runs.study import load, metrics_of
    from unweave.runs.sweep import Sweep, describe, estimate, preview

    prepare_logging(execution.quiet)
    plan = load(study)
    if plan.search:
        raise UnweaveError(f"{study} has a search: use unweave tune {study}")
    plan = plan.with_seeds(seeds) if seeds else plan
    plan = dataclasses.replace(plan, metrics=metrics_of(metrics)) if metrics else plan
    folder = execution.folder or Path("runs") / plan.name
    executor = execution.make_executor()
    plan, refused = rehearse(plan, folder)
    if not plan.runs:
        raise UnweaveError(f"no run of {study} can be trained: {next(iter(refused.values()))}")
    with preview(plan, folder) as planned:
        expected = estimate(planned, getattr(executor, "workers", None) or 1)
        execution.print_line(f" in {folder}: {describe(planned)}", title=plan.name)
        if planned.todo:
            execution.print_line(f"{len(planned.todo)} to do, {expected.told} (from {expected.source})")
    if dry_run:
        return
    executor.check()
    made = Sweep.create(plan, folder, typed_command(), {"refused": refused} if refused else None)
    with tracked_runs(folder, execution) as tracked:
        execute(made, executor, execution, tracked)
    conclude(made, execution)
