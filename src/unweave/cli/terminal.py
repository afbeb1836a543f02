"""Output on the terminal: lines, tables, scores, pictures, progress and log messages."""

import contextlib
import inspect
import logging
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from unweave.console import console, error_console
from unweave.errors import visible

if TYPE_CHECKING:
    from unweave.metrics import Relations, Score
    from unweave.theory.prior_pictures import TableAndPictures

_output = Console(soft_wrap=True, highlight=False)


def print_line(text: str, *, title: str = "", quiet: bool = False) -> None:
    """Print a title in bold and the text after it, unless ``quiet``.

    A terminal gets lines that end between words, never within a number or a path; a file or a pipe gets one line.
    """
    if quiet:
        return
    bold, line = visible(title), visible(title) + visible(text, lines=True)
    if _output.is_terminal:
        line = "\n".join(_between_words(each, _output.width) for each in line.split("\n"))
    shown = Text(line)  # not as markup: a path may contain brackets
    shown.stylize("bold", 0, len(bold))
    _output.print(shown)


def _between_words(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    lines = textwrap.wrap(
        line, width, break_long_words=False, break_on_hyphens=False, replace_whitespace=False
    )
    return "\n".join(lines)


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in aligned columns; lines are not wrapped, whatever the width of the terminal."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _width(rows: Sequence[Sequence[str]]) -> int:
    """How many columns of a terminal the table takes."""
    return sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True)) - 2


def print_scores(scores: "Mapping[str, Score]", *, quiet: bool) -> None:
    """Print scores as a table with their 95 % intervals, their range and which end of the range is better.

    Values that are biased have a corrected one beside them, to which the interval belongs. Below the table it says
    which intervals are not of the value of infinitely many codes, and why one is missing. On a terminal that is too
    narrow for the table, the range is left out, and then which end is better.
    """
    if quiet:
        return
    biased = any(score.corrected is not None for score in scores.values())
    rows = [["score", "value", *(["corrected"] if biased else []), "95 % interval", "range", "better"]]
    missing: dict[str, list[str]] = {}
    covered: dict[str, list[str]] = {}
    for name, score in scores.items():
        middle, low, high = score.corrected or (None, score.low, score.high)
        interval = f"{low:.3f} to {high:.3f}" if low is not None else ""
        least, most = (f"{end:g}" if end is not None else "..." for end in score.range)
        better = "higher" if score.higher_is_better else "lower"
        corrected = ["" if middle is None else f"{middle:.3f}"] if biased else []
        rows.append([name, f"{score.value:.3f}", *corrected, interval, f"{least} to {most}", better])
        if low is None and score.no_interval:
            missing.setdefault(score.no_interval, []).append(name)
        elif low is not None and score.covers:
            covered.setdefault(score.covers, []).append(name)
    for column in (-2, -1):
        if _output.is_terminal and _width(rows) > _output.width:
            for row in rows:
                del row[column]
    print_table(rows)
    for what, names in covered.items():
        print_line(f"the interval of {', '.join(names)} covers {what}")
    for why, names in missing.items():
        print_line(f"no interval for {', '.join(names)}: {why}")


def print_relations(relations: "Relations | None", *, quiet: bool) -> None:
    """Print which factor sits in which latent, as a table of latents against factors for each measure."""
    if quiet or relations is None:
        return
    for title, rows in relations.tables().items():
        print_line("", title=title)
        print_table(rows)


def print_theory(result: "TableAndPictures", folder: Path, prefix: str = "") -> None:
    """Print the table of a result of theory and save its pictures."""
    from unweave.plots import save

    print_table(result.rows)
    for name, figure in result.pictures.items():
        print_line(f"picture: {save(figure, folder / f'{prefix}{name}.png', dpi=150)}")


@contextlib.contextmanager
def progress(first: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A spinner on a terminal; yields the function that changes its text."""
    shown = console(quiet)
    with shown.status(first) if shown.is_terminal else console(quiet=True).status("") as status:
        yield lambda text: status.update(Text(visible(text)))


@contextlib.contextmanager
def counting(title: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left on a terminal; yields a function of how many are done, and of how many."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    shown = console(quiet)  # that of log messages, which then appear above the bar
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
    )
    with Progress(*columns, TimeRemainingColumn(), console=shown, disable=not shown.is_terminal) as bars:
        task = bars.add_task(title, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def prepare_logging(quiet: bool) -> None:
    """Log messages of the library on standard error, one line each; only errors if ``quiet``."""
    handler = _Messages()
    handler.addFilter(_make_visible)
    logger = logging.getLogger("unweave")
    logger.handlers = [handler]
    logger.setLevel(logging.ERROR if quiet else logging.INFO)


class _Messages(logging.Handler):
    """Messages on standard error, above bars that are drawn there; wrapped between words on a terminal only."""

    def __init__(self) -> None:
        super().__init__()
        self.console = error_console()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.console.print(Text(self.format(record)), soft_wrap=not self.console.is_terminal)
        except Exception:
            self.handleError(record)


def _make_visible(record: logging.LogRecord) -> bool:
    record.msg, record.args = visible(record.getMessage()), ()
    return True


def typed_command() -> str:
    """The command as the user typed it."""
    return shlex.join(["unweave", *sys.argv[1:]])


def as_typed(value: object) -> str:
    """A value as a user would type it."""
    if value is inspect.Parameter.empty:
        return ""
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return "[" + ",".join(map(str, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def first_line(documented: object) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(documented) or "").partition("\n")[0]
