"""``unweave report``."""

from pathlib import Path

import click

from unweave.cli.commands import cli
from unweave.cli.evaluate import score_run
from unweave.cli.flags import out_flag, quiet_flag
from unweave.cli.target import run_folder
from unweave.cli.terminal import prepare_logging, print_line


@cli.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@out_flag("path", "File of the page [default: RUN/report.html].")
@quiet_flag
def report(runs: tuple[str, ...], path: Path | None, quiet: bool) -> None:
    """Write one self-contained HTML page about a run, a sweep, or several runs side by side."""
    from unweave.reports import write_comparison_report, write_run_report, write_sweep_report
    from unweave.runs.run import Run
    from unweave.runs.sweep import MANIFEST, Sweep

    prepare_logging(quiet)
    folders = [run_folder(run) for run in runs]
    if len(folders) == 1 and (folders[0] / MANIFEST).exists():
        print_line(f"report: {write_sweep_report(Sweep(folders[0]), path)}", quiet=quiet)
        return
    opened = [Run(folder) for folder in folders]
    for run in opened:
        if not run.scores:
            score_run(run, device="cpu", quiet=quiet)
    if len(opened) == 1:
        written = write_run_report(opened[0], path)
    else:
        written = write_comparison_report(opened, path or Path("comparison.html"))
    print_line(f"report: {written}", quiet=quiet)
