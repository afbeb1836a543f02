"""The command line. What makes the experiment is ``key=value``; how it is executed is a ``--flag``. No logic here."""

import difflib
import inspect
import logging
import shlex
import sys
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.logging import RichHandler

from unweave.errors import UnweaveError

out = Console(soft_wrap=True, highlight=False)


class Commands(click.Group):
    """A group of commands that says which one was meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest command in the error."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(self.list_commands(ctx))}"
            raise UnweaveError(f"unknown command {args[0]!r}: {hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="unweave")
def cli() -> None:
    """Learn, measure and look at disentangled representations with variational auto-encoders."""


threads_option = click.option(
    "--threads", default=1, show_default=True, type=click.IntRange(min=1), help="CPU threads of this run."
)
device_option = click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1 ...")
quiet_option = click.option("--quiet", is_flag=True, help="Print errors only.")


@cli.command()
@click.argument("target", required=False)
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--out", "folder", type=click.Path(path_type=Path), help="Folder of the run [default: runs/LABEL]."
)
@threads_option
@device_option
@click.option(
    "--checkpoint-seconds",
    default=30.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="Time between saved states.",
)
@click.option("--no-report", is_flag=True, help="Only train; no scores, no page.")
@click.option("--show-config", is_flag=True, help="Print the whole config as a file and stop.")
@quiet_option
def train(
    target: str | None,
    words: tuple[str, ...],
    folder: Path | None,
    threads: int,
    device: str,
    checkpoint_seconds: float,
    no_report: bool,
    show_config: bool,
    quiet: bool,
) -> None:
    """Train a VAE, score it and write its page.

    TARGET is a data set (see `unweave data list`), a folder of images, an npz file or a config file (.yaml).
    KEY=VALUE changes the experiment:

    \b
      unweave train dsprites
      unweave train circles data.hole=center decoder=SpatialBroadcast steps=2000 batch_size=16
      unweave train path/to/images/ latents=12 objective=BetaVAE objective.beta=4
      unweave train study.yaml seed=3

    Run the same command again to go on with a run that was interrupted. `unweave options` lists all keys.
    """  # noqa: D301
    from unweave.runs.config import Config
    from unweave.runs.run import Run, follow
    from unweave.training.display import TerminalDisplay
    from unweave.training.sharing import launched
    from unweave.training.signals import StopOnSignal

    prepare_logging(quiet)
    file, given = split_target(target, words)
    config = Config.read(file, given)
    if show_config:
        click.echo(config.to_yaml(), nl=False)
        return
    with launched(checked_device(device)) as (share, device), StopOnSignal() as stop:
        if share.rank:
            follow(config, share, device=device, threads=threads, stop=stop)
            return
        run = Run.create(config, folder, command=shlex.join(["unweave", *sys.argv[1:]]))
        say(quiet, f"[bold]{config.label}[/] in {run.folder}")
        with TerminalDisplay.of({config.method[-1]: config.steps}, quiet) as display:
            outcome = run.train(
                device=device,
                threads=threads,
                checkpoint_seconds=checkpoint_seconds,
                display=display,
                stop=stop,
                share=share,
            )
    if outcome.status == "interrupted":
        say(
            quiet, f"stopped after step {outcome.step} of {config.steps}; run the same command again to go on"
        )
        sys.exit(130)
    if outcome.status == "diverged":
        raise UnweaveError(
            f"the run diverged: {outcome.reason}; the last good state is in {run.folder / 'checkpoints'}"
        )
    say(quiet, f"trained {config.steps} steps in {run.seconds:.0f} s")
    if not no_report:
        show_scores(evaluated(run, device, quiet), quiet)
        say(quiet, f"report: {reported(run)}")


@cli.command()
@click.argument("run", type=click.Path(path_type=Path))
@threads_option
@device_option
@quiet_option
def evaluate(run: Path, threads: int, device: str, quiet: bool) -> None:
    """Score a run: ELBO, KL, MIG, FactorVAE score, geometry; its data are encoded once and kept."""
    from unweave.runs.run import Run
    from unweave.training import machine

    prepare_logging(quiet)
    machine.prepare(threads)
    opened = Run(run)
    show_scores(evaluated(opened, device, quiet), quiet)
    say(quiet, f"written to {opened.folder / 'scores.json'}")


@cli.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out", "path", type=click.Path(path_type=Path), help="File of the page [default: RUN/report.html]."
)
@quiet_option
def report(runs: tuple[Path, ...], path: Path | None, quiet: bool) -> None:
    """Write one self-contained HTML page about a run, or about several side by side."""
    from unweave.reports import write_comparison_report, write_run_report
    from unweave.runs.run import Run

    prepare_logging(quiet)
    opened = [Run(folder) for folder in runs]
    for run in opened:
        if not run.scores:
            evaluated(run, "cpu", quiet)
    if len(opened) == 1:
        written = write_run_report(opened[0], path)
    else:
        written = write_comparison_report(opened, path or Path("comparison.html"))
    say(quiet, f"report: {written}")


@cli.command()
@click.option("--out", "folder", default=Path("demo"), show_default=True, type=click.Path(path_type=Path))
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@quiet_option
def demo(folder: Path, seed: int, quiet: bool) -> None:
    """Train a DeConv VAE and a Spatial Broadcast VAE side by side and write one page about both."""
    from unweave.recipes.demo import INTRO, TITLE, demo_configs
    from unweave.reports import write_comparison_report
    from unweave.runs.run import Run
    from unweave.runs.together import train_together
    from unweave.training.display import TerminalDisplay

    prepare_logging(quiet)
    runs = {
        name: Run.create(config, folder / config.decoder.name.lower(), command=f"unweave demo --seed {seed}")
        for name, config in demo_configs(seed).items()
    }
    say(quiet, "training two VAEs on circles at random places, one core each; this takes a few minutes")
    display = TerminalDisplay.of({name: run.config.steps for name, run in runs.items()}, quiet)
    names = {run.folder: name for name, run in runs.items()}
    with display:
        train_together(
            list(runs.values()), watch=lambda run: display.show_last(names[run.folder], run.history)
        )
    for name, run in runs.items():
        say(quiet, f"\n[bold]{name}[/], {run.config.steps} steps in {run.seconds:.0f} s")
        show_scores(evaluated(run, "cpu", quiet), quiet)
    written = write_comparison_report(runs, folder / "report.html", title=TITLE, intro=INTRO)
    say(quiet, f"\nreport: {written.resolve()}")


@cli.group(cls=Commands)
def data() -> None:
    """Look at the data sets."""


@data.command("list")
def data_list() -> None:
    """What data sets there are, what is here, what is missing and where to get it."""
    from unweave.data.catalogue import catalogue, where_to_get
    from unweave.data.files import data_folder

    entries = catalogue()
    show_table([["name", "state", "what it is"], *([e.name, e.state, e.description] for e in entries)])
    click.echo(f"\nOriginal files are looked for in {data_folder()} (set UNWEAVE_DATA). Not there:\n")
    for told in where_to_get(entries):
        click.echo(told)


@data.command("check")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def data_check(names: tuple[str, ...]) -> None:
    """Compare the original files with the published sizes and hashes."""
    from unweave.data.catalogue import check

    verdicts = check(names)
    rows = [["data", "file", "result", ""], *([v.dataset, v.file, v.result, v.detail] for v in verdicts)]
    show_table(rows)
    wrong = [v for v in verdicts if v.result == "wrong"]
    if wrong:
        raise UnweaveError(f"{wrong[0].file} is not the published file: {wrong[0].detail}; fetch it again")


@data.command("show")
@click.argument("target")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--out", "path", type=click.Path(path_type=Path), help="PNG file [default: NAME.png].")
def data_show(target: str, words: tuple[str, ...], path: Path | None) -> None:
    """Print a data set's factors and draw a sheet of its images."""
    from unweave.plots import save
    from unweave.reports import dataset_sheet
    from unweave.runs.config import Config

    dataset = Config.read(words=split_target(target, words)[1]).make_dataset()
    count = f"{dataset.count:,} images" if dataset.count is not None else "endless images"
    out.print(f"[bold]{dataset.name}[/]: {dataset.description}")
    out.print(
        f"{count} of {' x '.join(str(side) for side in dataset.image_shape)} (channels x height x width)"
    )
    if dataset.space is not None:
        rows = [["factor", "values"]]
        for name, size in zip(dataset.space.names, dataset.space.sizes, strict=True):
            rows.append([name, f"{size[0]:g} to {size[1]:g}" if isinstance(size, tuple) else str(size)])
        show_table(rows)
    path = path or Path(f"{dataset.name}.png")
    save(dataset_sheet(dataset), path)
    out.print(f"picture: {path}")


@cli.command()
def options() -> None:
    """List every key that `train` takes, with its default."""
    import dataclasses

    from unweave.choices import describe, options_of
    from unweave.runs.config import SLOTS, Config

    rows = [["key", "default", "what it is"]]
    for field in dataclasses.fields(Config):
        if field.name not in SLOTS:
            rows.append([field.name, shown(field.default), describe(field.type)])
            continue
        default = getattr(field.default, "name", "")
        rows.append([field.name, default, f"one of {', '.join(SLOTS[field.name])}"])
        for name, part in SLOTS[field.name].items():
            hints = typing.get_type_hints(part.__init__)  # type: ignore[misc]
            for option, parameter in options_of(part).items():
                told = f"{describe(hints.get(option))} ({name})"
                rows.append([f"  {field.name}.{option}", shown(parameter.default), told])
    show_table(rows)


def split_target(target: str | None, words: Sequence[str]) -> tuple[Path | None, list[str]]:
    """The config file, if TARGET is one, and the key=value words, among them TARGET if it names data."""
    if target is None:
        return None, list(words)
    if target.endswith((".yaml", ".yml")):
        return Path(target), list(words)
    if "=" in target and not Path(target).exists():
        return None, [target, *words]
    return None, [f"data={target}", *words]


def evaluated(run: Any, device: str, quiet: bool) -> dict[str, Any]:
    """Score a run with a spinner that says what is being done."""
    from unweave.runs.evaluation import evaluate as score

    console = Console(stderr=True, quiet=quiet)
    with console.status("encoding") if console.is_terminal else Console(quiet=True).status("") as status:
        return dict(score(run, device=checked_device(device), tell=status.update))


def reported(run: Any) -> Path:
    """Write the page of a run."""
    from unweave.reports import write_run_report

    return write_run_report(run)


def show_scores(scores: dict[str, Any], quiet: bool) -> None:
    """Print scores as a table with their 95 % intervals."""
    if quiet:
        return
    rows = [["score", "value", "95 % interval"]]
    for name, score in scores.items():
        interval = f"{score.low:.3f} to {score.high:.3f}" if score.low is not None else ""
        rows.append([name, f"{score.value:.3f}", interval])
    show_table(rows)


def show_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in aligned columns, whole lines whatever the width of the terminal."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def shown(default: Any) -> str:
    """A default as a user would type it."""
    if default is inspect.Parameter.empty:
        return ""
    if default is None:
        return "none"
    if isinstance(default, tuple):
        return "[" + ",".join(map(str, default)) + "]"
    return str(default).lower() if isinstance(default, bool) else str(default)


def checked_device(name: str) -> str:
    """The device if it is there."""
    import torch

    try:
        torch.empty(0, device=name)
    except Exception as error:  # torch raises several kinds for a device that is not there
        raise UnweaveError(f"device {name!r} is not available: {str(error).splitlines()[0][:100]}") from error
    return name


def prepare_logging(quiet: bool) -> None:
    """Warnings and notes of the library on standard error, one line each."""
    handler = RichHandler(console=Console(stderr=True), show_time=False, show_path=False, show_level=False)
    logger = logging.getLogger("unweave")
    logger.handlers = [handler]
    logger.setLevel(logging.ERROR if quiet else logging.INFO)


def say(quiet: bool, text: str) -> None:
    """Print a line unless told to be quiet."""
    if not quiet:
        out.print(text)


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
