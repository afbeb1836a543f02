"""``unweave agreement`` and ``unweave sensitivity``: how metrics relate, and how much they depend on their options."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from unweave.cli.commands import cli
from unweave.cli.flags import quiet_flag
from unweave.cli.terminal import prepare_logging, print_table, progress

if TYPE_CHECKING:
    from unweave.metrics.agreement import Kind


@cli.command()
@click.argument("sweep", type=click.Path(path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(["pearson", "kendall", "spearman"]),
    default="spearman",
    show_default=True,
    help="Linear, pairs in the same order, or ranks.",
)
@click.option("--metrics", metavar="NAMES", help="Comma-separated scores [default: all that every run has].")
@click.option(
    "--resamples", default=1000, show_default=True, type=click.IntRange(min=1), help="Of intervals."
)
def agreement(sweep: Path, kind: "Kind", metrics: str | None, resamples: int) -> None:
    """Correlations of the scores of a sweep across its finished runs: do they rank the same models first?"""
    from unweave.metrics.agreement import agreement as correlate
    from unweave.runs.sweep import Sweep, scores_of_runs

    table = scores_of_runs(Sweep(sweep), metrics.split(",") if metrics else None)
    found = correlate(table, kind=kind, resamples=resamples)
    rows = [["score", "and", kind, "95 % interval", "runs"]]
    for i, one in enumerate(found.names):
        for two in found.names[i + 1 :]:
            score = found.score(one, two)
            rows.append(
                [one, two, f"{score.value:.3f}", f"{score.low:.3f} to {score.high:.3f}", str(found.models)]
            )
    print_table(rows)


@cli.command()
@click.argument("codes", type=click.Path(path_type=Path))
@click.argument("words", nargs=-1, required=True, metavar="METRIC.OPTION=[VALUE,...]...")
@click.option("--seeds", default=10, show_default=True, type=click.IntRange(min=2), help="Of each setting.")
@quiet_flag
def sensitivity(codes: Path, words: tuple[str, ...], seeds: int, quiet: bool) -> None:
    """Mean and deviation of a metric of plain arrays for every combination of values of its options.

    \b
      unweave sensitivity codes.npz 'factor_vae_score.samples=[25,50,100]' 'factor_vae_score.votes=[200,800]'
    """  # noqa: D301
    from unweave.metrics import load_encoded
    from unweave.metrics.registry import metrics_with_options, sensitivity_of

    prepare_logging(quiet)
    (asked,) = metrics_with_options([], words) if len({w.partition(".")[0] for w in words}) == 1 else (None,)
    if asked is None:
        raise click.UsageError("the options must be those of one metric")
    with progress("reading", quiet=quiet) as tell:
        found = sensitivity_of(asked, load_encoded(codes), seeds=seeds, tell=tell)
    print_table(found.table())
