"""``unweave prior list | show``."""

from pathlib import Path

import click

from unweave.cli.commands import CommandGroup
from unweave.cli.flags import out_flag
from unweave.cli.terminal import first_line, print_table, print_theory


@click.group(cls=CommandGroup)
def prior() -> None:
    """Look at the priors."""


@prior.command("list")
def list_priors() -> None:
    """List the priors."""
    from unweave.priors import PRIORS

    print_table([[name, first_line(part)] for name, part in PRIORS.loadable()])


@prior.command("show")
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@out_flag("folder", "Folder of the pictures.", Path())
def show(name: str, words: tuple[str, ...], folder: Path) -> None:
    """Draw a prior and print its moments: `unweave prior show ISA prior.subspaces=[2,2] latents=4`."""
    from unweave.priors import PRIORS
    from unweave.runs.config import Config
    from unweave.theory.prior_pictures import prior_pictures

    config = Config.read(words=["data=circles", "latents=2", *words, f"prior={name}"])
    result = prior_pictures(PRIORS.build(config.prior, latents=config.latents), config.latents)
    print_theory(result, folder, f"{config.prior.label}-")
