"""Progress of a run on a terminal: losses, speed, time left. Where there is no terminal, nothing."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from unweave.training.loop import Record


class TerminalDisplay:
    """A progress bar with the latest losses, the speed and the time left.

    Args:
        title: what is being trained.
        steps: number of steps in all.
        console: where to draw; by default standard error, silent if that is not a terminal.

    Example:
        >>> with TerminalDisplay("demo", steps=2) as display:
        ...     display.show(1, {"step": 1, "total": 3.0, "reconstruction": 2.0, "kl": 1.0})
    """

    def __init__(self, title: str, steps: int, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self.progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[losses]}"),
            TextColumn("{task.fields[speed]}", style="cyan"),
            TimeRemainingColumn(),
            console=console,
            refresh_per_second=4,
            disable=not console.is_terminal,
            transient=False,
        )
        self.task = self.progress.add_task(title, total=steps, losses="", speed="")

    def show(self, step: int, record: Record | None) -> None:
        """Move the bar; change the numbers when there are new ones."""
        if self.progress.disable:
            return
        if self.progress.tasks[self.task].completed == 0 and step > 1:  # resumed: do not count the past as speed
            self.progress.reset(self.task, completed=step - 1)
        self.progress.update(self.task, completed=step)
        if record is not None:
            speed = self.progress.tasks[self.task].speed
            losses = " ".join(f"{name} {record[name]:.1f}" for name in ("reconstruction", "kl") if name in record)
            self.progress.update(self.task, losses=losses, speed=f"{speed:.1f} steps/s" if speed else "")

    def __enter__(self) -> "TerminalDisplay":
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()
