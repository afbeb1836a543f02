"""Progress of a sweep: the runs in progress, how the others ended, the time left."""

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.text import Text

from unweave.errors import visible
from unweave.runs.executors import Event
from unweave.runs.history import FILE, last_record
from unweave.runs.sweep import Member, duration
from unweave.training.display import ProgressBars, main_losses


class SweepDisplay(ProgressBars):
    """A bar for the sweep and one for each run in progress; without a terminal, a line for each run that ends.

    Args:
        members: the runs that are left to do.
        console: where to draw.

    Example:
        >>> with SweepDisplay([], Console(quiet=True)) as display:
        ...     display.tell(Event("beat"))
    """

    def __init__(self, members: Sequence[Member], console: Console) -> None:
        self.members = {member.run.folder: member for member in members}
        self.started = time.monotonic()
        self.ended = 0
        self.bars: dict[Path, TaskID] = {}
        super().__init__(
            console,
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}", style="cyan"),
        )
        self.all = self.progress.add_task("runs", total=len(members), note="")

    def tell(self, event: Event) -> None:
        """Show what an executor reports."""
        if event.kind == "beat" or event.folder is None:
            for folder, bar in self.bars.items():
                record = last_record(folder / FILE)
                self.progress.update(bar, completed=record.get("step", 0), note=main_losses(record))
            return
        title = self._title(event.folder)
        if event.kind == "started" and event.folder not in self.bars:
            steps = self.members[event.folder].run.config.steps
            self.bars[event.folder] = self.progress.add_task(title, total=steps, note="")
            return
        if event.folder in self.bars:
            self.progress.remove_task(self.bars.pop(event.folder))
        if event.kind == "lost":
            text = f"{title}: its process died; it continues from its last saved state"
            self.console.print(Text(text, "yellow"))
        if event.kind == "ended":
            self.ended += 1
            passed = time.monotonic() - self.started
            rest = (len(self.members) - self.ended) * passed / self.ended
            left = f"about {duration(rest)} left" if rest else f"in {duration(passed)}"
            self.progress.update(self.all, completed=self.ended, note=left)
            color = {"diverged": "yellow", "failed": "red"}.get(event.how or "", "")
            if event.how != "finished" or not self.console.is_terminal:
                text = f"{self.ended} of {len(self.members)}: {title} {event.how}, {left}"
                self.console.print(Text(text, color))

    def _title(self, folder: Path) -> str:
        member = self.members[folder]
        return visible(f"{member.variant} seed {member.run.config.seed}")
