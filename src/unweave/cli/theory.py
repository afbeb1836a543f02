"""``unweave theory``."""

from pathlib import Path

import click

from unweave.cli.commands import cli
from unweave.cli.flags import out_flag, quiet_flag, threads_flag
from unweave.cli.terminal import first_line, print_line, print_table, print_theory, progress


@cli.command()
@click.argument("name", required=False)
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@out_flag("folder", "Folder of the pictures.", Path("theory"))
@threads_flag
@quiet_flag
def theory(name: str | None, words: tuple[str, ...], folder: Path, threads: int, quiet: bool) -> None:
    """Compute a theoretical result or a toy system of the papers: numbers and pictures.

    Without NAME, list them with their parameters, which KEY=VALUE sets: `unweave theory rotation beta=4 latents=10`.
    """
    from unweave.recipes.theory import STUDIES, named, parameters_of, read_parameters
    from unweave.training import cpu

    if name is None:
        print_table([[known, first_line(study)] for known, study in STUDIES.items()])
        for known, study in STUDIES.items():
            given = " ".join(f"{key}={_word(value)}" for key, value in parameters_of(study).items())
            print_line(f"{known}: {given}")
        return
    study = named(name)
    parameters = read_parameters(study, words)
    cpu.prepare(threads)
    with progress(name, quiet=quiet) as tell:
        result = study(tell, **parameters)
    print_theory(result, folder)


def _word(value: object) -> str:
    """A default as it would be typed."""
    if isinstance(value, tuple):
        return f"[{','.join(f'{each:.4g}' for each in value)}]"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
