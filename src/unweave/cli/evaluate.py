"""``unweave evaluate`` and ``unweave metrics``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import click

from unweave.cli.commands import cli
from unweave.cli.flags import (
    checked_device,
    device_flag,
    intervals_flag,
    metrics_flag,
    options_argument,
    quiet_flag,
    threads_flag,
)
from unweave.cli.target import run_folder
from unweave.cli.terminal import (
    as_typed,
    prepare_logging,
    print_line,
    print_relations,
    print_scores,
    print_table,
    progress,
)

if TYPE_CHECKING:
    from unweave.metrics import Score
    from unweave.runs.run import Run


@cli.command()
@click.argument("run")
@options_argument
@metrics_flag
@intervals_flag
@threads_flag
@device_flag
@quiet_flag
def evaluate(
    run: str,
    words: tuple[str, ...],
    metrics: str | None,
    intervals: bool,
    threads: int,
    device: str,
    quiet: bool,
) -> None:
    """Score a run with every metric, or with those of --metrics, and write its page anew.

    RUN is a folder, or the beginning of the label or identity of a run in runs/. Its data are encoded once and the
    codes saved.

    METRIC.OPTION=VALUE sets an option of a metric; a score with other options than the usual ones is stored beside the
    usual one. Without --metrics, only metrics whose options are set are computed then.

    \b
      unweave evaluate RUN factor_vae_score.mode=disentanglement_lib mig.bins=50
      unweave evaluate RUN log_likelihood.particles=500 log_likelihood.images=100
    """  # noqa: D301
    from unweave.metrics.registry import metrics_with_options
    from unweave.reports import write_run_report
    from unweave.runs.evaluation import relations_of
    from unweave.runs.run import Run
    from unweave.training import cpu

    prepare_logging(quiet)
    cpu.prepare(threads)
    opened = Run(run_folder(run))
    names = metrics_with_options(metrics.split(",") if metrics else () if words else ("all",), words)
    scores = score_run(opened, names, device=device, threads=threads, interval=intervals, quiet=quiet)
    print_scores(scores, quiet=quiet)
    print_relations(relations_of(opened, scores), quiet=quiet)
    print_line(f"written to {opened.folder / 'scores.json'}", quiet=quiet)
    print_line(f"report: {write_run_report(opened)}", quiet=quiet)


@cli.command()
@click.argument("runs", nargs=-1, required=True)
@click.option(
    "--kind",
    type=click.Choice(["spearman", "lasso"]),
    default="spearman",
    show_default=True,
    help="How latents are compared.",
)
def udr(runs: Sequence[str], kind: Literal["spearman", "lasso"]) -> None:
    """Whether runs that differ in their seed alone agree on their latents (UDR): a score without labels.

    The KL of a run that has not been scored yet is computed and stored first.
    """
    from unweave.runs.run import Run
    from unweave.runs.tune import udr_of

    score = udr_of([Run(run_folder(run)) for run in runs], kind)
    rows = [["run", "agreement with the others"]]
    rows += [[str(run), f"{each:.3f}"] for run, each in zip(runs, score.constants["models"], strict=True)]
    print_table([*rows, ["all", f"{score.value:.3f}"]])


@cli.command("metrics")
def list_metrics() -> None:
    """List the metrics, what they need and what they measure; below each its options and their defaults."""
    from unweave.metrics import METRICS
    from unweave.model_metrics import MODEL_METRICS
    from unweave.slots import describe

    rows = [["metric", "needs", "what it measures"]]
    for metric in (*METRICS.values(), *MODEL_METRICS.values()):
        rows.append([metric.name, ", ".join(sorted(getattr(metric, "needs", ["a run"]))), metric.sentence])
        rows += [
            [f"  {metric.name}.{key}", as_typed(option.default), describe(option.hint)]
            for key, option in metric.options.items()
        ]
    print_table(rows)


def score_run(
    run: "Run",
    metrics: Sequence[str] | None = None,
    *,
    device: str,
    threads: int = 1,
    interval: bool = True,
    quiet: bool,
) -> "dict[str, Score]":
    """Score a run and show on the terminal what is being computed."""
    from unweave.runs.evaluation import evaluate

    with progress("encoding", quiet=quiet) as tell:
        return evaluate(
            run, metrics=metrics, threads=threads, interval=interval, device=checked_device(device), tell=tell
        )
