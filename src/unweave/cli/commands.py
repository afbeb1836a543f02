"""Commands whose help ends with the addresses of the papers it cites."""

import contextlib
import gc
import sys
from collections.abc import Iterator

import click

from unweave.papers import footnotes


class Command(click.Command):
    """A command whose help ends with the addresses of the papers it cites."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does, with one line for each paper at the end."""
        super().format_help(ctx, formatter)
        lines = footnotes(formatter.getvalue())
        if lines:
            formatter.write_paragraph()
            formatter.write("".join(f"{line}\n" for line in lines))


class CommandGroup(Command, click.Group):
    """A group of such commands."""

    command_class = Command
    group_class = type


@click.group(
    cls=CommandGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="unweave")
@click.option(
    "--debug", is_flag=True, help="Show the traceback of an error; may stand anywhere in a command."
)
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """Learn, measure and look at disentangled representations with variational auto-encoders."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Import the library without looking for garbage among what was imported, neither now nor when the process ends.

    Torch is a few hundred thousand objects that live as long as the process: looking through them takes 0.4 of the
    1.6 s that importing it and leaving takes. If it is imported already, as where a command is called from Python,
    there is nothing to save.
    """
    if "torch" in sys.modules:
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
