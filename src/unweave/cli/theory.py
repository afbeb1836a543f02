"""``unweave theory``."""

from pathlib import Path

import click

from unweave.cli.commands import Command
from unweave.cli.flags import out_flag, quiet_flag, threads_flag
from unweave.cli.terminal import first_line, print_table, print_theory, progress


@click.command(cls=Command)
@click.argument("name", required=False)
@out_flag("folder", "Folder of the pictures.", Path("theory"))
@threads_flag
@quiet_flag
def theory(name: str | None, folder: Path, threads: int, quiet: bool) -> None:
    """Compute a theoretical result or a toy system of the papers: numbers and pictures. Without NAME, list them."""
    from unweave.recipes.theory import STUDIES, named
    from unweave.training import cpu

    if name is None:
        print_table([[known, first_line(study)] for known, study in STUDIES.items()])
        return
    study = named(name)
    cpu.prepare(threads)
    with progress(name, quiet=quiet) as tell:
        result = study(tell)
    print_theory(result, folder)
