"""``unweave tune``."""

from pathlib import Path

import click

from unweave.cli.commands import cli
from unweave.cli.execution import Execution, conclude, execute, execution_flags, tracked_runs
from unweave.cli.terminal import prepare_logging, typed_command


@cli.command()
@click.argument("study")
@click.option("--target", help="What to optimise: a score, elbo or udr [default: the study's, or elbo].")
@click.option(
    "--trials", default=20, show_default=True, type=click.IntRange(min=1), help="Total number of trials."
)
@execution_flags
def tune(study: str, target: str | None, trials: int, execution: Execution) -> None:
    """Search for the best values instead of running all of them; runs, folder and page are those of a sweep.

    STUDY has `search` instead of `grid`; a trial is one choice of values, run with all seeds of the study:

    \b
      base: {data: circles, steps: 2000}
      search:
        objective.beta: {low: 0.5, high: 32, log: true}
        decoder: [Deconv, SpatialBroadcast]
      seeds: 3

    `elbo` and `udr` (agreement between seeds) need no labels.
    """  # noqa: D301
    from unweave.runs.study import load
    from unweave.runs.tune import Search

    prepare_logging(execution.quiet)
    plan = load(study)
    folder = execution.folder or Path("runs") / plan.name
    executor = execution.make_executor()
    executor.check()
    search = Search(plan, folder, target=target, command=typed_command())
    execution.print_line(
        f" in {folder}: {search.done} of {trials} trials done, target {search.target}", title=plan.name
    )
    with tracked_runs(folder, execution) as tracked:
        made = search.run(
            trials, executor, around=lambda made, executor: execute(made, executor, execution, tracked)
        )
    for line in search.summary():
        execution.print_line(line)
    conclude(made, execution)
