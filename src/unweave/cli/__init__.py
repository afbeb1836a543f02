"""The command line. What defines the experiment is ``key=value``; how it is executed is a ``--flag``.

One module for each group of commands, without logic: every command reads its arguments, calls the library and prints
what it returns. The library is imported inside the commands, so that ``unweave --help`` does not load torch.
"""

import sys
from collections.abc import Sequence

import click

# Every module adds its commands to the group.
from unweave.cli import (  # noqa: F401
    agreement,
    data,
    demo,
    evaluate,
    options,
    papers,
    prior,
    report,
    reproduce,
    runs,
    score,
    sweep,
    theory,
    train,
    tune,
)
from unweave.cli.commands import cli
from unweave.errors import UnweaveError

__all__ = ["cli", "main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """The `unweave` command: a user's mistake becomes one sentence and exit code 2, never a traceback."""
    try:
        cli.main(args=list(arguments) if arguments is not None else None, standalone_mode=False)
    except UnweaveError as error:
        click.echo(f"unweave: {error}", err=True)
        sys.exit(2)
    except click.ClickException as error:
        click.echo(f"unweave: {error.format_message()}", err=True)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("unweave: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
