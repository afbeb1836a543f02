"""``unweave demo``."""

from pathlib import Path
from typing import TYPE_CHECKING

from unweave.cli.commands import cli
from unweave.cli.flags import out_flag, quiet_flag, seed_flag
from unweave.cli.terminal import prepare_logging, print_line, print_scores
from unweave.errors import UnweaveError

if TYPE_CHECKING:
    from unweave.runs.executors import Event
    from unweave.runs.run import Run


@cli.command()
@out_flag("folder", "Folder of the two runs and the pages.", Path("demo"))
@seed_flag
@quiet_flag
def demo(folder: Path, seed: int, quiet: bool) -> None:
    """Train a DeConv VAE and a Spatial Broadcast VAE side by side; write a page about both, and one to touch them."""
    from unweave.explorer import write_explorer
    from unweave.metrics import Score
    from unweave.recipes.demo import INTRO, TITLE, TOUCH, demo_configs
    from unweave.reports import write_comparison_report
    from unweave.runs.run import Run

    prepare_logging(quiet)
    runs = {
        name: Run.create(config, folder / config.decoder.name.lower(), command=f"unweave demo --seed {seed}")
        for name, config in demo_configs(seed).items()
    }
    print_line(
        "training two VAEs on circles at random places, one core each; this takes a few minutes", quiet=quiet
    )
    _train(runs, quiet)
    for name, run in runs.items():
        if run.status != "finished":
            raise UnweaveError(f"{name} {run.status}: {run.reason}; see unweave runs log {run.folder}")
        steps = run.config.steps
        print_line("", quiet=quiet)
        print_line(f", {steps} steps in {run.seconds:.0f} s", title=name, quiet=quiet)
        print_scores({key: Score.from_json(score) for key, score in run.scores.items()}, quiet=quiet)
    written = write_comparison_report(runs, folder / "report.html", title=TITLE, intro=INTRO)
    print_line(f"\nreport: {written.resolve()}", quiet=quiet)
    page = write_explorer(runs, folder / "explore.html", title=TITLE, intro=TOUCH)
    print_line(f"explorer: {page.resolve()}  (drag a point on the planes)", quiet=quiet)


def _train(runs: "dict[str, Run]", quiet: bool) -> None:
    """Train and score the runs at the same time, with a progress bar for each."""
    from unweave.runs.executors import Local
    from unweave.training.display import TerminalDisplay

    display = TerminalDisplay.of({name: run.config.steps for name, run in runs.items()}, quiet)

    def update(_: "Event") -> None:
        for name, run in runs.items():
            display.show_last(name, run.history)

    with display:
        Local(workers=len(runs)).execute([run.folder for run in runs.values()], update)
