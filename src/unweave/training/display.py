"""Progress of runs on a terminal: losses, speed, time left. Without a terminal, nothing is shown."""

from collections.abc import Mapping, Sequence
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from unweave.console import console
from unweave.errors import visible
from unweave.training.trainer import Record

NARROW = 90
"""Columns of a terminal below which losses and speed are omitted, so that bar, step and time left stay."""


class ProgressBars:
    """Progress bars on a console, drawn as long as the context is open; silent if the console is not a terminal.

    Args:
        console: where to draw.
        columns: of the bars.

    Example:
        >>> with ProgressBars(Console(quiet=True), BarColumn()) as bars:
        ...     task = bars.progress.add_task("demo", total=2)
    """

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        self.console = console
        terminal = console.is_terminal
        self.progress = Progress(*columns, console=console, refresh_per_second=4, disable=not terminal)

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()


def main_losses(record: Record) -> str:
    """The losses that are shown beside a bar, of those that a record has.

    Example:
        >>> main_losses({"step": 1, "total": 3.0, "reconstruction": 2.0, "kl": 1.0})
        'reconstruction 2.0 kl 1.0'
    """
    return " ".join(f"{name} {record[name]:.1f}" for name in ("reconstruction", "kl") if name in record)


class TerminalDisplay(ProgressBars):
    """A progress bar for each run with the latest losses, the speed and the time left.

    Args:
        steps: the runs by title, each with its number of steps.
        console: where to draw; silent if that is not a terminal.

    Example:
        >>> with TerminalDisplay({"demo": 2}, Console(quiet=True)) as display:
        ...     display.show(1, {"step": 1, "total": 3.0, "reconstruction": 2.0, "kl": 1.0})
    """

    def __init__(self, steps: Mapping[str, int], console: Console) -> None:
        numbers = (TextColumn("{task.fields[losses]}"), TextColumn("{task.fields[speed]}", style="cyan"))
        super().__init__(
            console,
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            *(numbers if console.width >= NARROW else ()),
            TimeRemainingColumn(),
        )
        self.tasks = {
            title: self.progress.add_task(visible(title), total=n, losses="", speed="")
            for title, n in steps.items()
        }

    @classmethod
    def of(cls, steps: Mapping[str, int], quiet: bool) -> "TerminalDisplay":
        """A display on standard error, silent if ``quiet``."""
        return cls(steps, console(quiet))

    def show(self, step: int, record: Record | None) -> None:
        """Move the bar of the only run, and update its numbers if the step was logged."""
        self._move(next(iter(self.tasks)), step, record)

    def show_last(self, title: str, history: Sequence[Record]) -> None:
        """Move the bar of one of several runs to the last record of its history."""
        if history:
            self._move(title, history[-1]["step"], history[-1])

    def _move(self, title: str, step: int, record: Record | None) -> None:
        if self.progress.disable:
            return
        number = self.tasks[title]
        task = self.progress.tasks[number]
        if task.completed == 0 and step > 1:  # resumed: earlier steps do not count for the speed
            self.progress.reset(number, completed=step - 1)
        self.progress.update(number, completed=step)
        if record is not None:
            speed = f"{task.speed:.1f} steps/s" if task.speed else ""
            self.progress.update(number, losses=main_losses(record), speed=speed)
