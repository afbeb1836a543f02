"""``unweave train``."""

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unweave.cli.commands import cli
from unweave.cli.completion import targets, words_of_train
from unweave.cli.evaluate import score_run
from unweave.cli.execution import tell_where_tracked
from unweave.cli.flags import checked_device, device_flag, out_flag, quiet_flag, threads_flag, track_flag
from unweave.cli.target import split_target, tell_same_name
from unweave.cli.terminal import prepare_logging, print_line, print_scores, typed_command
from unweave.errors import UnweaveError

if TYPE_CHECKING:
    from unweave.runs.config import Config
    from unweave.runs.run import Run
    from unweave.training.trainer import Outcome


@cli.command()
@click.argument("target", required=False, shell_complete=targets)
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...", shell_complete=words_of_train)
@out_flag("folder", "Folder of the run [default: runs/LABEL].")
@threads_flag
@device_flag
@click.option(
    "--checkpoint-seconds",
    default=30.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="Seconds between checkpoints.",
)
@click.option(
    "--minutes",
    type=float,
    help="Train for about this long: steps are set by a short timing at the start and recorded in the config.",
)
@click.option("--skip-bad", is_flag=True, help="Go on without images of a folder that cannot be read.")
@click.option("--no-report", is_flag=True, help="Train only: compute no scores and write no page.")
@track_flag
@click.option("--show-config", is_flag=True, help="Print the complete config file and exit.")
@quiet_flag
def train(
    target: str | None,
    words: tuple[str, ...],
    folder: Path | None,
    threads: int,
    device: str,
    checkpoint_seconds: float,
    minutes: float | None,
    skip_bad: bool,
    no_report: bool,
    track: str | None,
    show_config: bool,
    quiet: bool,
) -> None:
    """Train a VAE, score it and write its page.

    TARGET is a data set (see `unweave data list`), a folder of images, an npz file or a config file (.yaml).
    KEY=VALUE changes the experiment:

    \b
      unweave train dsprites
      unweave train dsprites --minutes 5
      unweave train circles data.hole=center decoder=SpatialBroadcast steps=2000 batch_size=16
      unweave train path/to/images/ latents=12 objective=BetaVAE objective.beta=4
      unweave train examples/circles.yaml seed=3

    Optimiser, learning rate, schedule and steps are those recommended for the data set (docs/learning.md says what was
    measured), unless you name one of the first three; training=plain stands for Adam at 1e-4 and 5,000 steps.

    To resume an interrupted run, run the same command again. `unweave options` lists all keys.
    """  # noqa: D301
    from unweave.runs.run import Run, follow
    from unweave.tracking import tracking
    from unweave.training.data_parallel import launched
    from unweave.training.display import TerminalDisplay
    from unweave.training.signals import StopOnSignal

    prepare_logging(quiet)
    device = checked_device(device)
    tell_same_name(target)
    words = (*words, "data.skip_bad=true") if skip_bad else words
    config = _config(target, words, folder, minutes, device, threads)
    if show_config:
        click.echo(config.to_yaml(), nl=False)
        return
    with contextlib.ExitStack() as stack:
        with launched(device) as (share, device), StopOnSignal() as stop:
            if share.rank:
                follow(config, share, device=device, threads=threads, stop=stop)
                return
            run = Run.requested(config, folder, typed_command(), minutes)
            print_line(f" in {run.folder}: {config.training}", title=config.label, quiet=quiet)
            tracked = stack.enter_context(tracking(track, run.folder.parent))
            tracked.begin(run.folder)
            with TerminalDisplay.of({config.method[-1]: config.steps}, quiet) as display:
                outcome = run.train(
                    device=device,
                    threads=threads,
                    checkpoint_seconds=checkpoint_seconds,
                    display=display,
                    stop=stop,
                    share=share,
                )
        _print_outcome(run, outcome, quiet)
        if not no_report:
            _score_and_report(run, device, quiet)
    tell_where_tracked(tracked, quiet=quiet)


def _config(
    target: str | None,
    words: tuple[str, ...],
    folder: Path | None,
    minutes: float | None,
    device: str,
    threads: int,
) -> "Config":
    """What the command asks for, with the steps that fit into the minutes if any are given."""
    from unweave.runs.config import Config
    from unweave.runs.fitting import fitted
    from unweave.runs.timing import config_for

    file, pairs = split_target(target, words)
    if file is None:
        pairs = ["training=recommended", *pairs]
    if minutes is None:
        return fitted(Config.read(file, pairs))
    if any(word.startswith("steps=") for word in pairs):
        raise UnweaveError("--minutes sets the number of steps: omit steps=..., or --minutes")
    return config_for(
        minutes,
        lambda steps: fitted(Config.read(file, pairs if steps is None else [*pairs, f"steps={steps}"])),
        folder,
        device=device,
        threads=threads,
    )


def _print_outcome(run: "Run", outcome: "Outcome", quiet: bool) -> None:
    """Print how training ended; exit if it did not reach the last step."""
    steps = run.config.steps
    if outcome.status == "interrupted":
        print_line(
            f"stopped after step {outcome.step} of {steps}; run the same command again to resume", quiet=quiet
        )
        sys.exit(130)
    if outcome.status == "diverged":
        raise UnweaveError(
            f"the run diverged: {outcome.reason}; the last checkpoint before that is in {run.folder / 'checkpoints'}"
        )
    print_line(f"trained {steps} steps in {run.seconds:.0f} s", quiet=quiet)


def _score_and_report(run: "Run", device: str, quiet: bool) -> None:
    from unweave.reports import write_run_report

    print_scores(score_run(run, device=device, quiet=quiet), quiet=quiet)
    print_line(f"report: {write_run_report(run)}", quiet=quiet)
