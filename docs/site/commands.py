"""The page of all commands with their help, written from the command line itself."""

from collections.abc import Iterator

import click

from unweave.cli import cli


def commands(command: click.Command, path: str = "unweave") -> Iterator[tuple[str, str]]:
    """Every command below one, by the words that call it, with its help."""
    context = click.Context(command, info_name=path, max_content_width=100, terminal_width=100)
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from commands(inner, f"{path} {name}")


def page() -> str:
    """The page.

    Example:
        >>> "unweave runs list" in page()
        True
    """
    parts = [
        "# Commands",
        "What makes the experiment is `key=value`; how it is executed is a `--flag`. `unweave COMMAND --help` prints "
        "what stands here, and `unweave options` lists every key. Words are completed by the shell: see "
        "[Start](../docs/start.md#completion).",
    ]
    for path, text in commands(cli):
        parts.append(f"## {path}\n\n```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"
