"""``unweave score``."""

from pathlib import Path

import click

from unweave.cli.commands import Command
from unweave.cli.flags import metrics_flag, out_flag, quiet_flag, seed_flag, threads_flag
from unweave.cli.terminal import prepare_logging, print_line, print_scores, progress


@click.command(cls=Command)
@click.argument("codes", type=click.Path(path_type=Path))
@metrics_flag
@seed_flag
@out_flag("path", "JSON file [default: CODES with .scores.json].")
@threads_flag
@quiet_flag
def score(codes: Path, metrics: str | None, seed: int, path: Path | None, threads: int, quiet: bool) -> None:
    """Score plain arrays, no model needed: an npz file of codes (n, latents), factors (n, K) and scales.

    Factors and scales (posterior standard deviations) are optional; metrics that need a missing array are skipped.
    From Python:

    \b
      np.savez("codes.npz", codes=means, factors=factors, scales=scales)
    """  # noqa: D301
    from unweave import atomic
    from unweave.metrics import Encoded, score_all

    prepare_logging(quiet)
    encoded = Encoded.load(codes)
    with progress("reading", quiet=quiet) as tell:
        names = metrics.split(",") if metrics else None
        scores = score_all(encoded, names, seed=seed, threads=threads, tell=tell)
    print_scores(scores, quiet=quiet)
    path = path or codes.with_suffix(".scores.json")
    atomic.write_json(path, {name: value.to_json() for name, value in scores.items()})
    print_line(f"written to {path}", quiet=quiet)
