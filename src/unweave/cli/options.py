"""``unweave options`` and ``unweave objectives``: what the config can choose."""

from collections.abc import Iterator
from pathlib import Path

import click

from unweave.cli.commands import cli
from unweave.cli.flags import out_flag
from unweave.cli.terminal import as_typed, print_table


@cli.command()
@click.argument("names", nargs=-1, metavar="[KEY|PART]...")
def options(names: tuple[str, ...]) -> None:
    """List every key that `train` accepts, with its default; or those of the named keys or parts.

    \b
      unweave options decoder
      unweave options SpatialBroadcast steps
    """  # noqa: D301
    import dataclasses

    from unweave.runs.config import SLOTS, Config
    from unweave.runs.recommended import TRAININGS
    from unweave.slots import describe

    rows = [["key", "default", "description"]]
    for field in dataclasses.fields(Config):
        if field.name in SLOTS:
            default = getattr(field.default, "name", "")
            rows.append([field.name, default, f"one of {', '.join(SLOTS[field.name])}"])
            for name, part in SLOTS[field.name].loadable():
                rows += _option_rows(field.name, name, part)
        else:
            rows.append([field.name, as_typed(field.default), describe(field.type)])
    rows.append(
        ["training", "recommended", f"stands for other keys: one of {', '.join(TRAININGS)} (in files: plain)"]
    )
    print_table(_named(rows, names) if names else rows)


def _named(rows: list[list[str]], names: tuple[str, ...]) -> list[list[str]]:
    """The rows of the named keys or parts."""
    from unweave.errors import plain, unknown

    parts = {part for row in rows for part in [row[0].split(".")[0].strip(), *_part_of(row)]}
    wanted = {plain(name) for name in names}
    for name in names:
        if plain(name) not in map(plain, parts):
            raise unknown("key or part", name, parts - {"key"})
    shown = [row for row in rows[1:] if wanted & {plain(row[0].split(".")[0]), *map(plain, _part_of(row))}]
    return [rows[0], *shown]


def _part_of(row: list[str]) -> list[str]:
    """The part that an option belongs to."""
    return [row[2].rpartition("(")[2].removesuffix(")")] if row[0].startswith(" ") else []


def _option_rows(slot: str, name: str, part: type) -> Iterator[list[str]]:
    """One row for each option of a part."""
    from unweave.slots import describe, options_of, type_hints

    types = type_hints(part)
    for option, parameter in options_of(part).items():
        description = f"{describe(types.get(option))} ({name})"
        yield [f"  {slot}.{option}", as_typed(parameter.default), description]


@cli.command()
@out_flag("path", "Write the table to this file.")
def objectives(path: Path | None) -> None:
    """Print the table of objectives as Markdown: equation, paper and command of each."""
    from unweave import atomic
    from unweave.reports.objectives import objectives_page

    if path is None:
        click.echo(objectives_page(), nl=False)
    else:
        atomic.write(path, objectives_page())
