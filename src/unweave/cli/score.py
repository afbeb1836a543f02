"""``unweave score``."""

from pathlib import Path

import click

from unweave.cli.commands import cli
from unweave.cli.flags import (
    intervals_flag,
    metrics_flag,
    options_argument,
    out_flag,
    quiet_flag,
    seed_flag,
    threads_flag,
)
from unweave.cli.terminal import prepare_logging, print_line, print_relations, print_scores, progress


@cli.command()
@click.argument("codes", type=click.Path(path_type=Path))
@options_argument
@metrics_flag
@click.option(
    "--latents",
    metavar="NAMES",
    help="Columns of a table that are codes, e.g. 'z*' [default: z*, code* ...].",
)
@click.option("--factors", metavar="NAMES", help="Columns that are factors [default: all others].")
@intervals_flag
@seed_flag
@out_flag("path", "JSON file [default: CODES with .scores.json].")
@threads_flag
@quiet_flag
def score(
    codes: Path,
    words: tuple[str, ...],
    metrics: str | None,
    latents: str | None,
    factors: str | None,
    intervals: bool,
    seed: int,
    path: Path | None,
    threads: int,
    quiet: bool,
) -> None:
    """Score plain arrays, no model needed: codes, factors and scales in an npz, csv or parquet file.

    Factors and scales (posterior standard deviations) are optional; metrics that need a missing array are skipped.
    Tables have named columns: those called z..., code..., latent..., mean... or mu... are codes, all others factors.
    From Python:

    \b
      np.savez("codes.npz", codes=means, factors=factors, scales=scales, factor_names=["shape", "x"])

    METRIC.OPTION=VALUE sets an option of a metric (`unweave metrics` lists them); without --metrics, only metrics whose
    options are set are computed then:

    \b
      unweave score codes.npz factor_vae_score.votes=5000 hoyer.normalised=false
    """  # noqa: D301
    from unweave import atomic
    from unweave.metrics import load_encoded, relations, score_all
    from unweave.metrics.registry import metrics_with_options

    prepare_logging(quiet)
    encoded = load_encoded(
        codes,
        latents=latents.split(",") if latents else None,
        factors=factors.split(",") if factors else None,
    )
    if encoded.constant:
        print_line(f"left out, a single value: {', '.join(encoded.constant)}", quiet=quiet)
    with progress("reading", quiet=quiet) as tell:
        named = metrics.split(",") if metrics else []
        names = metrics_with_options(named, words) if named or words else None
        scores = score_all(encoded, names, seed=seed, threads=threads, interval=intervals, tell=tell)
    found = relations(encoded, scores)
    print_scores(scores, quiet=quiet)
    print_relations(found, quiet=quiet)
    path = path or codes.with_suffix(".scores.json")
    atomic.write_json(path, {name: value.to_json() for name, value in scores.items()})
    print_line(f"written to {path}", quiet=quiet)
    if found is not None:
        beside = path.with_name(path.name.removesuffix(".json").removesuffix(".scores") + ".relations.json")
        atomic.write_json(beside, found.to_json())
        print_line(f"which factor sits in which latent: {beside}", quiet=quiet)
