"""``unweave score``."""

from pathlib import Path

import click

from unweave.cli.commands import cli
from unweave.cli.flags import metrics_flag, options_argument, out_flag, quiet_flag, seed_flag, threads_flag
from unweave.cli.terminal import prepare_logging, print_line, print_scores, progress


@cli.command()
@click.argument("codes", type=click.Path(path_type=Path))
@options_argument
@metrics_flag
@seed_flag
@out_flag("path", "JSON file [default: CODES with .scores.json].")
@threads_flag
@quiet_flag
def score(
    codes: Path,
    words: tuple[str, ...],
    metrics: str | None,
    seed: int,
    path: Path | None,
    threads: int,
    quiet: bool,
) -> None:
    """Score plain arrays, no model needed: an npz file of codes (n, latents), factors (n, K) and scales.

    Factors and scales (posterior standard deviations) are optional; metrics that need a missing array are skipped.
    From Python:

    \b
      np.savez("codes.npz", codes=means, factors=factors, scales=scales)

    METRIC.OPTION=VALUE sets an option of a metric (`unweave metrics` lists them); without --metrics, only metrics whose
    options are set are computed then:

    \b
      unweave score codes.npz factor_vae_score.votes=5000 hoyer.normalised=false
    """  # noqa: D301
    from unweave import atomic
    from unweave.metrics import Encoded, score_all
    from unweave.metrics.registry import metrics_with_options

    prepare_logging(quiet)
    encoded = Encoded.load(codes)
    with progress("reading", quiet=quiet) as tell:
        named = metrics.split(",") if metrics else []
        names = metrics_with_options(named, words) if named or words else None
        scores = score_all(encoded, names, seed=seed, threads=threads, tell=tell)
    print_scores(scores, quiet=quiet)
    path = path or codes.with_suffix(".scores.json")
    atomic.write_json(path, {name: value.to_json() for name, value in scores.items()})
    print_line(f"written to {path}", quiet=quiet)
