"""``unweave report``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from unweave.cli.commands import cli
from unweave.cli.evaluate import score_run
from unweave.cli.flags import out_flag, quiet_flag
from unweave.cli.target import run_folder
from unweave.cli.terminal import prepare_logging, print_line
from unweave.errors import UnweaveError

if TYPE_CHECKING:
    from unweave.runs.run import Run
    from unweave.runs.sweep import Sweep


@cli.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@out_flag("path", "File of the page [default: RUN/report.html].")
@click.option(
    "--figures",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write every figure of the page into a folder, for a paper; the page itself only with --out.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["svg", "pdf", "png"]),
    default="pdf",
    show_default=True,
    help="Of the figures.",
)
@click.option("--runs", "run_pages", is_flag=True, help="Of a sweep: write the page of every run as well.")
@quiet_flag
def report(
    runs: tuple[str, ...], path: Path | None, figures: Path | None, kind: str, run_pages: bool, quiet: bool
) -> None:
    """Write one self-contained HTML page about a run, a sweep, several runs side by side, or a reproduced result.

    \b
      unweave report RUN
      unweave report RUN OTHER --out comparison.html
      unweave report runs/my_sweep --runs
      unweave report RUN --figures paper/figures --format pdf
    """  # noqa: D301
    from unweave.recipes.reproduce import RESULT
    from unweave.reports import write_figures, write_result_report
    from unweave.runs.run import Run
    from unweave.runs.sweep import MANIFEST, Sweep

    prepare_logging(quiet)
    folders = [run_folder(run) for run in runs]
    if len(folders) == 1 and (folders[0] / RESULT).exists():
        if figures is not None:
            raise UnweaveError(f"the figures of a result are in {folders[0]} as PNG, SVG and PDF: copy them")
        print_line(f"report: {write_result_report(folders[0], path)}", quiet=quiet)
        return
    sweep = Sweep(folders[0]) if len(folders) == 1 and (folders[0] / MANIFEST).exists() else None
    if run_pages and sweep is None:
        raise UnweaveError("--runs is for the folder of a sweep: give one, or leave the flag out")
    opened = [] if sweep is not None else [Run(folder) for folder in folders]
    for run in opened:
        if not run.scores:
            score_run(run, device="cpu", quiet=quiet)
    if figures is not None:
        for written in write_figures(sweep or opened, figures, kind):
            print_line(f"figure: {written}", quiet=quiet)
    if figures is None or path is not None:
        print_line(f"report: {_write_page(sweep, opened, path, run_pages)}", quiet=quiet)


def _write_page(sweep: "Sweep | None", runs: "list[Run]", path: Path | None, run_pages: bool) -> Path:
    from unweave.reports import write_comparison_report, write_run_report, write_sweep_report

    if sweep is not None:
        return write_sweep_report(sweep, path, runs=run_pages)
    if len(runs) == 1:
        return write_run_report(runs[0], path)
    return write_comparison_report(runs, path or Path("comparison.html"))
