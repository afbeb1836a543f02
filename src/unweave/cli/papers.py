"""``unweave papers``."""

from unweave.cli.commands import cli
from unweave.cli.terminal import print_table


@cli.command()
def papers() -> None:
    """List the papers whose codes, such as FAC, appear in help, errors and docs, with their addresses."""
    from unweave.papers import table

    print_table(table())
