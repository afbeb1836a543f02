"""``unweave runs list | show | compare | log | rm | check | track``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unweave.cli.commands import cli
from unweave.cli.flags import out_flag
from unweave.cli.target import run_folder
from unweave.cli.terminal import as_typed, prepare_logging, print_line, print_table
from unweave.errors import UnweaveError, visible

if TYPE_CHECKING:
    from unweave.runs.run_index import RunIndex

root_flag = click.option(
    "--root",
    default=Path("runs"),
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder that contains the runs.",
)


@cli.group()
def runs() -> None:
    """Find, show, compare, export and remove runs."""


@runs.command("list")
@click.argument("conditions", nargs=-1, metavar="[CONDITION]...")
@root_flag
@click.option("--sort", help="Key to sort by; -mig sorts by MIG, largest first.")
@click.option("--columns", help="Comma-separated keys to show.")
@out_flag("path", "Write all keys to a .csv or .parquet file.")
def list_runs(
    conditions: tuple[str, ...], root: Path, sort: str | None, columns: str | None, path: Path | None
) -> None:
    """List all runs, or those that meet every CONDITION:

    \b
      unweave runs list objective=FactorVAE data=DSprites 'objective.gamma>10' --sort -mig
      unweave runs list status=diverged --columns seed,reason
    """  # noqa: D301
    from unweave.runs.listing import listing
    from unweave.runs.run_index import RunIndex
    from unweave.runs.tables import export

    prepare_logging(quiet=False)
    index = RunIndex(root)
    entries = index.find(conditions, sort=sort)
    if path is not None:
        print_line(f"{len(entries)} runs: {export(entries, path)}")
        return
    print_table(listing(entries, root, columns.split(",") if columns else None))
    unreadable = len(index.problems())
    note = f"; {unreadable} folders cannot be read: `unweave runs check`" if unreadable else ""
    print_line(f"{len(entries)} runs{note}")


@runs.command("show")
@click.argument("run")
@root_flag
def show(run: str, root: Path) -> None:
    """Print a run's status, scores and config."""
    from unweave.runs.run_index import read_facts

    folder = run_folder(run, root)
    facts = [[key, as_typed(value)] for key, value in read_facts(folder).items()]
    print_table([["folder", str(folder)], *facts])


@runs.command("compare")
@click.argument("names", nargs=-1, required=True, metavar="RUN RUN...")
@root_flag
def compare(names: tuple[str, ...], root: Path) -> None:
    """Print the settings and scores in which runs differ."""
    from unweave.runs.listing import differences
    from unweave.runs.run_index import RunIndex

    index = RunIndex(root)
    print_table(differences([index.locate(name) for name in names]))


@runs.command("log")
@click.argument("run")
@root_flag
def log(run: str, root: Path) -> None:
    """Print the log of a run; for a failed run it includes the traceback."""
    from unweave.runs.listing import log_of

    click.echo(visible(log_of(run_folder(run, root)), lines=True), nl=False)


@runs.command("rm")
@click.argument("words", nargs=-1, required=True, metavar="RUN|CONDITION...")
@root_flag
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def remove(words: tuple[str, ...], root: Path, yes: bool) -> None:
    """Delete the named runs, or the runs that meet every condition."""
    from unweave.runs.run_index import RunIndex

    index = RunIndex(root)
    folders = _selected(index, words)
    if not folders:
        print_line("no run meets the conditions")
        return
    for folder in folders[:20]:
        print_line(str(folder))
    if not yes:
        click.confirm(f"delete {len(folders)} runs?", abort=True)
    index.remove(folders)
    print_line(f"{len(folders)} runs deleted")


@runs.command("check")
@root_flag
@click.option("--repair", is_flag=True, help="Rebuild what can be rebuilt; damaged files get another name.")
def check(root: Path, repair: bool) -> None:
    """Open and verify every file of every run, rebuild the index and list what is damaged."""
    from unweave.runs.check import damage
    from unweave.runs.check import repair as rebuild
    from unweave.runs.run_index import RunIndex

    prepare_logging(quiet=False)
    index = RunIndex(root)
    count = index.rebuild()
    folders = [*(entry.folder for entry in index.find(refresh=False)), *index.problems()]
    problems = {folder: found for folder in folders if (found := list(damage(folder)))}
    for found in problems.values():
        for sentence in found:
            print_line(sentence)
    if repair:
        for folder in problems:
            for sentence in rebuild(folder):
                print_line(sentence)
        index.rebuild()
    elif problems:
        print_line("`unweave runs check --repair` rebuilds what can be rebuilt")
    print_line(f"{count} runs, {sum(map(len, problems.values()))} damaged files or lines")


@runs.command("track")
@click.argument("names", nargs=-1, required=True, metavar="RUN...")
@root_flag
@click.option(
    "--to", "tracker", default="tensorboard", show_default=True, help="tensorboard, mlflow or wandb."
)
@out_flag("folder", "Folder of the tracker's files [default: ROOT/TRACKER].")
def send_to_tracker(names: tuple[str, ...], root: Path, tracker: str, folder: Path | None) -> None:
    """Send runs to a tracker: config, losses, pictures and scores, as far as it lacks them."""
    from unweave.runs.run_index import RunIndex
    from unweave.tracking import track

    index = RunIndex(root)
    for name in names:
        look = track(index.locate(name), tracker, folder or root / tracker)
        print_line(f"{name}: {look}")


def _selected(index: "RunIndex", words: Sequence[str]) -> list[Path]:
    """The folders of the runs that words name, or that meet all conditions."""
    conditions = [word for word in words if any(sign in word for sign in "=<>")]
    named = [index.locate(word) for word in words if word not in conditions]
    if conditions and named:
        raise UnweaveError("give runs or conditions, not both")
    return named or [entry.folder for entry in index.find(conditions)]
