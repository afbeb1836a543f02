"""``unweave papers``."""

import click

from unweave.cli.commands import Command
from unweave.cli.terminal import print_table


@click.command(cls=Command)
def papers() -> None:
    """List the papers whose codes, such as FAC, appear in help, errors and docs, with their addresses."""
    from unweave.papers import table

    print_table(table())
