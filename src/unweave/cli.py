"""The command line. What makes the experiment is ``key=value``; how it is executed is a ``--flag``. No logic here."""

import contextlib
import difflib
import inspect
import logging
import shlex
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    from unweave.training.data_parallel import launched
    from unweave.training.display import TerminalDisplay
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


metrics_option = click.option(
    "--metrics",
    metavar="NAMES",
    help="Names with commas between them, or all [default: all]. `unweave metrics` lists them.",
)


@cli.command()
@click.argument("run", type=click.Path(path_type=Path))
@metrics_option
@threads_option
@device_option
@quiet_option
def evaluate(run: Path, metrics: str | None, threads: int, device: str, quiet: bool) -> None:
    """Score a run with every metric, or with those of --metrics; its data are encoded once and kept."""
    from unweave.runs.run import Run
    from unweave.training import cpu

    prepare_logging(quiet)
    cpu.prepare(threads)
    opened = Run(run)
    show_scores(evaluated(opened, device, quiet, (metrics or "all").split(","), threads), quiet)
    say(quiet, f"written to {opened.folder / 'scores.json'}")


@cli.command()
@click.argument("codes", type=click.Path(path_type=Path))
@metrics_option
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option(
    "--out", "path", type=click.Path(path_type=Path), help="JSON file [default: CODES with .scores.json]."
)
@threads_option
@quiet_option
def score(codes: Path, metrics: str | None, seed: int, path: Path | None, threads: int, quiet: bool) -> None:
    """Score plain arrays, no model needed: an npz file of codes (n, latents), factors (n, K) and scales.

    Factors and scales (posterior deviations) may be missing; then only what needs none is computed. From Python:

    \b
      np.savez("codes.npz", codes=means, factors=factors, scales=scales)
    """  # noqa: D301
    from unweave import atomic
    from unweave.metrics import Encoded, score_all

    prepare_logging(quiet)
    encoded = Encoded.load(codes)
    with progress("reading", quiet) as tell:
        names = metrics.split(",") if metrics else None
        found = score_all(encoded, names, seed=seed, threads=threads, tell=tell)
    show_scores(found, quiet)
    path = path or codes.with_suffix(".scores.json")
    atomic.write_json(path, {name: value.to_json() for name, value in found.items()})
    say(quiet, f"written to {path}")


@cli.command("metrics")
def list_metrics() -> None:
    """List the metrics, what they need and what they say."""
    from unweave.metrics import METRICS

    rows = [["metric", "needs", "what it says"]]
    rows += [[m.name, ", ".join(sorted(m.needs)), m.sentence] for m in METRICS.values()]
    rows.append(["elbo", "a run", "ELBO, NLL, KL and latents used."])
    rows.append(
        ["geometry", "a run", "How close a grid of two factors stays to a copy of itself in two latents."]
    )
    rows.append(
        ["log_likelihood", "a run", "Importance-weighted bound on log p(x), 5000 particles; takes minutes."]
    )
    show_table(rows)


@cli.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out", "path", type=click.Path(path_type=Path), help="File of the page [default: RUN/report.html]."
)
@quiet_option
def report(runs: tuple[Path, ...], path: Path | None, quiet: bool) -> None:
    """Write one self-contained HTML page about a run, a sweep, or several runs side by side."""
    from unweave.reports import write_comparison_report, write_run_report
    from unweave.runs.run import Run

    prepare_logging(quiet)
    if len(runs) == 1 and (runs[0] / "sweep.json").exists():
        from unweave.reports.sweep import write_sweep_report
        from unweave.runs.sweep import Sweep

        say(quiet, f"report: {write_sweep_report(Sweep(runs[0]), path)}")
        return
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
    from unweave.metrics import Score
    from unweave.recipes.demo import INTRO, TITLE, demo_configs
    from unweave.reports import write_comparison_report
    from unweave.runs.executors import Event, Local
    from unweave.runs.run import Run
    from unweave.training.display import TerminalDisplay

    prepare_logging(quiet)
    runs = {
        name: Run.create(config, folder / config.decoder.name.lower(), command=f"unweave demo --seed {seed}")
        for name, config in demo_configs(seed).items()
    }
    say(quiet, "training two VAEs on circles at random places, one core each; this takes a few minutes")
    display = TerminalDisplay.of({name: run.config.steps for name, run in runs.items()}, quiet)

    def show(_: Event) -> None:
        for name, run in runs.items():
            display.show_last(name, run.history)

    with display:
        Local(workers=len(runs)).execute([run.folder for run in runs.values()], show)
    for name, run in runs.items():
        if run.status != "finished":
            raise UnweaveError(f"{name} {run.status}: {run.reason}; see unweave runs log {run.folder}")
        say(quiet, f"\n[bold]{name}[/], {run.config.steps} steps in {run.seconds:.0f} s")
        show_scores({key: Score.from_json(score) for key, score in run.scores.items()}, quiet)
    written = write_comparison_report(runs, folder / "report.html", title=TITLE, intro=INTRO)
    say(quiet, f"\nreport: {written.resolve()}")


def executor_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flags that say where and how the runs of a sweep are worked off."""
    for option in reversed(
        (
            click.option("--executor", default="local", show_default=True, help="local, inline or ray."),
            click.option("--workers", type=click.IntRange(min=1), help="Runs at once [default: one a core]."),
            click.option("--address", help="Ray cluster: auto, host:6379, ray://host:10001."),
            click.option("--resources", metavar="CPU=1,GPU=0.5", help="What a run takes of a Ray cluster."),
            click.option(
                "--attempts", type=click.IntRange(min=1), help="Processes a run may cost [default: 3]."
            ),
            click.option(
                "--out", "folder", type=click.Path(path_type=Path), help="Folder [default: runs/NAME]."
            ),
            click.option("--track", help="Also hand each run to a tracker: tensorboard or mlflow."),
            click.option("--no-report", is_flag=True, help="No page at the end."),
            quiet_option,
        )
    ):
        command = option(command)
    return command


@cli.command()
@click.argument("study")
@click.option("--seeds", type=click.IntRange(min=1), help="Seeds 0, 1, ... instead of the study's own.")
@click.option("--metrics", help="Scores beyond the usual, with commas between; or all.")
@click.option("--dry-run", is_flag=True, help="Say what there is to do and how long it takes; do nothing.")
@executor_options
def sweep(study: str, seeds: int | None, metrics: str | None, dry_run: bool, **how: Any) -> None:
    """Run every variant of a study over every seed, and write one page about all of them.

    STUDY is a .yaml file with `base`, `grid` and/or `variants`, and `seeds`; a .py file; or module:function.

    \b
      base: {data: circles, steps: 2000, batch_size: 16}
      grid: {objective.beta: [1, 4, 16], decoder: [Deconv, SpatialBroadcast]}
      seeds: 5

    Stop it at any time, kill it, add seeds or values: the same command goes on and repeats nothing.
    """  # noqa: D301
    import dataclasses

    from unweave.runs.study import load, metrics_of
    from unweave.runs.sweep import Sweep, describe, estimate, preview

    prepare_logging(how["quiet"])
    plan = load(study)
    if plan.search:
        raise UnweaveError(f"{study} has a search: use unweave tune {study}")
    plan = plan.with_seeds(seeds) if seeds else plan
    plan = dataclasses.replace(plan, metrics=metrics_of(metrics)) if metrics else plan
    folder = how["folder"] or Path("runs") / plan.name
    executor = chosen_executor(how)
    with preview(plan, folder) as planned:
        expected = estimate(planned, getattr(executor, "workers", None) or 1)
        say(how["quiet"], f"[bold]{plan.name}[/] in {folder}: {describe(planned)}")
        if planned.todo:
            say(how["quiet"], f"{len(planned.todo)} to do, {expected.told} (from {expected.source})")
    if dry_run:
        return
    made = Sweep.create(plan, folder, shlex.join(["unweave", *sys.argv[1:]]))
    execute(made, executor, how)
    conclude(made, how)


@cli.command()
@click.argument("study")
@click.option("--target", help="What to optimise: a score, elbo or udr [default: the study's, or elbo].")
@click.option("--trials", default=20, show_default=True, type=click.IntRange(min=1), help="Trials in all.")
@executor_options
def tune(study: str, target: str | None, trials: int, **how: Any) -> None:
    """Search for the best values instead of trying all: same runs, same store, same page as a sweep.

    STUDY has `search` in the place of `grid`; a trial is one choice, over all seeds of the study:

    \b
      base: {data: circles, steps: 2000}
      search:
        objective.beta: {low: 0.5, high: 32, log: true}
        decoder: [Deconv, SpatialBroadcast]
      seeds: 3

    `elbo` and `udr` (agreement between seeds) need no labels.
    """  # noqa: D301
    from unweave.runs.study import load
    from unweave.runs.tune import Search

    prepare_logging(how["quiet"])
    plan = load(study)
    folder = how["folder"] or Path("runs") / plan.name
    search = Search(plan, folder, target=target, command=shlex.join(["unweave", *sys.argv[1:]]))
    executor = chosen_executor(how)
    say(
        how["quiet"],
        f"[bold]{plan.name}[/] in {folder}: {search.done} of {trials} trials done, target {search.target}",
    )
    made = search.run(trials, executor, around=lambda made, executor: execute(made, executor, how))
    for line in search.summary():
        say(how["quiet"], line)
    conclude(made, how)


@cli.group(cls=Commands)
def runs() -> None:
    """Find, show, compare, export and remove runs."""


root_option = click.option(
    "--root",
    default=Path("runs"),
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where the runs are.",
)


@runs.command("list")
@click.argument("conditions", nargs=-1, metavar="[CONDITION]...")
@root_option
@click.option("--sort", help="Key to order by; -mig: largest first.")
@click.option("--columns", help="Keys to show, with commas between.")
@click.option(
    "--out", "path", type=click.Path(path_type=Path), help="Write all keys to a .csv or .parquet file."
)
def runs_list(
    conditions: tuple[str, ...], root: Path, sort: str | None, columns: str | None, path: Path | None
) -> None:
    """List runs, all or those that meet every CONDITION:

    \b
      unweave runs list objective=FactorVAE data=DSprites 'objective.gamma>10' --sort -mig
      unweave runs list status=diverged --columns seed,reason
    """  # noqa: D301
    from unweave.runs.listing import listing
    from unweave.runs.run_index import RunIndex, export

    prepare_logging(quiet=False)
    store = RunIndex(root)
    found = store.find(conditions, sort=sort)
    if path is not None:
        out.print(f"{len(found)} runs: {export(found, path)}")
        return
    show_table(listing(found, root, columns.split(",") if columns else None))
    bad = len(store.problems())
    out.print(f"{len(found)} runs" + (f"; {bad} folders cannot be read: `unweave runs check`" if bad else ""))


@runs.command("show")
@click.argument("run")
@root_option
def runs_show(run: str, root: Path) -> None:
    """Print a run's status, scores and config."""
    from unweave.runs.run_index import RunIndex, read_facts

    folder = RunIndex(root).locate(run) if root.is_dir() or not Path(run).is_dir() else Path(run)
    show_table([["folder", str(folder)], *([key, shown(value)] for key, value in read_facts(folder).items())])


@runs.command("compare")
@click.argument("names", nargs=-1, required=True, metavar="RUN RUN...")
@root_option
def runs_compare(names: tuple[str, ...], root: Path) -> None:
    """Print in what runs differ: settings and scores."""
    from unweave.runs.listing import differences
    from unweave.runs.run_index import RunIndex

    store = RunIndex(root)
    show_table(differences([store.locate(name) for name in names]))


@runs.command("log")
@click.argument("run")
@root_option
def runs_log(run: str, root: Path) -> None:
    """Print what a run said, the traceback of a failed one included."""
    from unweave.runs.listing import log_of
    from unweave.runs.run_index import RunIndex

    click.echo(
        log_of(RunIndex(root).locate(run) if not (Path(run) / "run.json").exists() else Path(run)), nl=False
    )


@runs.command("rm")
@click.argument("words", nargs=-1, required=True, metavar="RUN|CONDITION...")
@root_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def runs_rm(words: tuple[str, ...], root: Path, yes: bool) -> None:
    """Delete runs: those named, or those that meet every condition."""
    from unweave.runs.run_index import RunIndex

    store = RunIndex(root)
    conditions = [word for word in words if any(sign in word for sign in "=<>")]
    named = [store.locate(word) for word in words if word not in conditions]
    folders = named or [entry.folder for entry in store.find(conditions)]
    if conditions and named:
        raise UnweaveError("give runs or conditions, not both")
    if not folders:
        out.print("no run meets the conditions")
        return
    for folder in folders[:20]:
        out.print(str(folder))
    if not yes:
        click.confirm(f"delete {len(folders)} runs?", abort=True)
    store.remove(folders)
    out.print(f"{len(folders)} runs deleted")


@runs.command("check")
@root_option
def runs_check(root: Path) -> None:
    """Read every file of every run, make the index anew, and tell what is damaged."""
    from unweave.runs.run_index import RunIndex, damage

    store = RunIndex(root)
    count = store.rebuild()
    folders = [*(entry.folder for entry in store.find(refresh=False)), *store.problems()]
    told = [sentence for folder in folders for sentence in damage(folder)]
    for sentence in told:
        out.print(sentence)
    out.print(f"{count} runs, {len(told)} damaged files or lines")


@runs.command("track")
@click.argument("names", nargs=-1, required=True, metavar="RUN...")
@root_option
@click.option("--to", "tracker", default="tensorboard", show_default=True, help="tensorboard or mlflow.")
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    help="Folder of TensorBoard [default: ROOT/tensorboard].",
)
def runs_track(names: tuple[str, ...], root: Path, tracker: str, folder: Path | None) -> None:
    """Hand runs to a tracker: config, losses, scores."""
    from unweave.runs.run import Run
    from unweave.runs.run_index import RunIndex
    from unweave.runs.trackers import track

    store = RunIndex(root)
    for name in names:
        place = track(Run(store.locate(name)), tracker, folder or root / "tensorboard")
        out.print(f"{name}: {place}")


@cli.command()
@click.argument("words", nargs=-1, required=True, metavar="ID... [KEY=VALUE]...")
@click.option(
    "--scale",
    type=click.Choice(["smoke", "small", "paper"]),
    default="small",
    show_default=True,
    help="It runs (seconds); what two cores show (minutes); the paper's own protocol (a cluster).",
)
@click.option("--prior", help="Another prior in every run; short for prior=NAME.")
@click.option("--decoder", help="Another decoder in every run.")
@click.option("--encoder", help="Another encoder in every run.")
@click.option("--data", help="Other data in every run.")
@click.option("--dry-run", is_flag=True, help="Say what there is to do and how long it takes; do nothing.")
@click.option("--keep", is_flag=True, help="Keep results and costs in the repository (for its developers).")
@executor_options
def reproduce(words: tuple[str, ...], scale: Any, dry_run: bool, keep: bool, **how: Any) -> None:
    """Make a published figure or table again: train, draw, and print our number beside the published one.

    \b
      unweave reproduce list               every figure and table: claim, published numbers, cost, status
      unweave reproduce sbd-fig4           what two cores show of it, in minutes
      unweave reproduce all --scale smoke  that all of them run
      unweave reproduce rec-fig11 --decoder SpatialBroadcast
                                           your own idea in the place of the paper's

    ID is a figure or table, a paper (sbd, fac, rec, dec, isa) or all. Stop it, kill it: the same command goes on.
    """  # noqa: D301
    from unweave.recipes import catalogue, published_results, result_pages
    from unweave.recipes.recipe import with_full_names
    from unweave.recipes.reproduce import conclude as conclude_recipe
    from unweave.recipes.reproduce import expected_cost, plan, summary
    from unweave.runs.config import read_words

    prepare_logging(how["quiet"])
    root = how["folder"] or Path("runs") / "reproduce"
    ids = [word for word in words if "=" not in word]
    if ids[:1] == ["list"]:
        for line in result_pages.listing(catalogue.find(ids[1:] or ["all"]), root):
            click.echo(line)
        return
    slots = {name: how.pop(name) for name in ("prior", "decoder", "encoder", "data")}
    given = [f"{name}={value}" for name, value in slots.items() if value]
    changes = with_full_names(read_words([*given, *(word for word in words if "=" in word)]))
    recipes = catalogue.find(ids)
    if not recipes:
        raise UnweaveError("which figure or table? unweave reproduce list shows all of them")
    if dry_run:
        for recipe in recipes:
            cost, source = expected_cost(recipe, scale, root, changes)
            say(how["quiet"], f"{recipe.id}: {cost.text if cost.runs else 'nothing to train'} ({source})")
            if keep:
                published_results.publish_cost(recipe.id, scale, cost)
        return
    sweeps = plan(recipes, scale, root, changes)
    train_all(sweeps, chosen_executor(how), how)
    for recipe in recipes:
        with progress(recipe.id, how["quiet"]) as tell:
            folder, result, cost = conclude_recipe(recipe, scale, root, sweeps[recipe.id], changes, tell)
        if keep:
            published_results.publish(result, cost, folder)
        if not how["quiet"]:
            click.echo(f"\n{result.id}: {result.title} ({scale}; {cost.text})\nclaim: {result.claim}\n")
            show_table(result.rows)
            click.echo()
            show_table(summary(result))
            click.echo(f"\nverdict: {result.verdict}  (published: {result.published})")
            for line in (*result.notes, *(f"picture: {folder / name}.png" for name in result.pictures)):
                click.echo(line)


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


@data.command("distances")
@click.argument("target")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--loss", default="mse", show_default=True, help="mse, bce, blurred_mse or blurred_bce.")
@click.option(
    "--pairs", default=50_000, show_default=True, type=click.IntRange(min=2), help="Pairs a factor."
)
@click.option(
    "--run", "folder", type=click.Path(path_type=Path), help="Also measure in this run's latent space."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option(
    "--out", "path", type=click.Path(path_type=Path), help="PNG file [default: NAME-distances.png]."
)
@quiet_option
def data_distances(
    target: str,
    words: tuple[str, ...],
    loss: str,
    pairs: int,
    folder: Path | None,
    seed: int,
    path: Path | None,
    quiet: bool,
) -> None:
    """How far apart a loss finds images that differ in one factor: REC table A1 and figures A1, 3, 4, 8, 10."""
    from unweave.reports.distances import distance_pictures
    from unweave.runs.config import Config

    dataset = Config.read(words=split_target(target, words)[1]).make_dataset()
    path = path or Path(f"{dataset.name}-distances.png")
    with progress("distances", quiet) as tell:
        table, written = distance_pictures(
            dataset, path, loss=loss, pairs=pairs, run=folder, seed=seed, tell=tell
        )
    if not quiet:
        show_table(table)
    for picture in written:
        say(quiet, f"picture: {picture}")


@cli.group(cls=Commands)
def prior() -> None:
    """Look at the priors."""


@prior.command("list")
def prior_list() -> None:
    """What priors there are."""
    from unweave.priors import PRIORS

    show_table([[name, inspect.getdoc(part).splitlines()[0]] for name, part in PRIORS.items()])  # type: ignore[union-attr]


@prior.command("show")
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--out", "folder", default=Path(), show_default=True, type=click.Path(path_type=Path))
def prior_show(name: str, words: tuple[str, ...], folder: Path) -> None:
    """Draw a prior and print its moments: `unweave prior show ISA prior.subspaces=[2,2] latents=4`."""
    from unweave.priors import PRIORS
    from unweave.runs.config import Config
    from unweave.slots import build
    from unweave.theory.prior_pictures import prior_pictures

    config = Config.read(words=["data=circles", "latents=2", *words, f"prior={name}"])
    made = prior_pictures(build("prior", PRIORS, config.prior, config.latents), config.latents)
    show_study(made, folder, f"{config.prior.name}-")


@cli.command()
@click.argument("name", required=False)
@click.option("--out", "folder", default=Path("theory"), show_default=True, type=click.Path(path_type=Path))
@threads_option
@quiet_option
def theory(name: str | None, folder: Path, threads: int, quiet: bool) -> None:
    """Compute what the papers prove, or a toy system of theirs: numbers and pictures; without NAME, list them."""
    from unweave.recipes.theory import STUDIES, named
    from unweave.training import cpu

    if name is None:
        show_table([[known, inspect.getdoc(study).splitlines()[0]] for known, study in STUDIES.items()])  # type: ignore[union-attr]
        return
    study = named(name)
    cpu.prepare(threads)
    console = Console(stderr=True, quiet=quiet)
    with console.status(name) if console.is_terminal else Console(quiet=True).status("") as status:
        made = study(status.update)
    show_study(made, folder)


@cli.command()
def options() -> None:
    """List every key that `train` takes, with its default."""
    import dataclasses

    from unweave.runs.config import SLOTS, Config
    from unweave.slots import describe, options_of

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


@cli.command()
@click.option("--out", "path", type=click.Path(path_type=Path), help="Write the table to this file.")
def objectives(path: Path | None) -> None:
    """Print the table of objectives: equation, paper and command of each, as Markdown."""
    from unweave import atomic
    from unweave.reports.objectives import objectives_page

    if path is None:
        click.echo(objectives_page(), nl=False)
    else:
        atomic.write(path, objectives_page())


def split_target(target: str | None, words: Sequence[str]) -> tuple[Path | None, list[str]]:
    """The config file, if TARGET is one, and the key=value words, among them TARGET if it names data."""
    if target is None:
        return None, list(words)
    if target.endswith((".yaml", ".yml")):
        return Path(target), list(words)
    if "=" in target and not Path(target).exists():
        return None, [target, *words]
    return None, [f"data={target}", *words]


def chosen_executor(how: Mapping[str, Any]) -> Any:
    """The executor that the flags name."""
    from unweave.runs.executors import make, read_resources

    return make(
        how["executor"],
        workers=how["workers"],
        attempts=how["attempts"],
        address=how["address"],
        resources=read_resources(how["resources"]) if how["resources"] else None,
    )


def execute(made: Any, executor: Any, how: Mapping[str, Any]) -> None:
    """Work off what is left of a sweep, with a display; Ctrl-C saves the runs under way."""
    from unweave.runs.display import SweepDisplay
    from unweave.runs.trackers import tracking
    from unweave.training.signals import StopOnSignal

    console = Console(stderr=True, quiet=how["quiet"], soft_wrap=True, highlight=False)
    with StopOnSignal() as stop, SweepDisplay(made.todo, console) as display:
        made.execute(executor, tracking(display.tell, how["track"], made.folder), stop)
    if stop():
        say(how["quiet"], "stopped; run the same command again to go on")
        sys.exit(130)


def train_all(sweeps: Mapping[str, Any], executor: Any, how: Mapping[str, Any]) -> None:
    """Work off what is left of several sweeps that share runs, with one display."""
    from unweave.recipes.reproduce import left_to_do, train
    from unweave.runs.display import SweepDisplay
    from unweave.runs.trackers import tracking
    from unweave.training.signals import StopOnSignal

    left = [member for members in left_to_do(sweeps.values()).values() for member in members]
    console = Console(stderr=True, quiet=how["quiet"], soft_wrap=True, highlight=False)
    with StopOnSignal() as stop, SweepDisplay(left, console) as display:
        train(sweeps.values(), executor, tracking(display.tell, how["track"], Path("runs")), stop)
    if stop():
        say(how["quiet"], "stopped; run the same command again to go on")
        sys.exit(130)


def conclude(made: Any, how: Mapping[str, Any]) -> None:
    """Say how the runs of a sweep ended and write its page."""
    from unweave.runs.sweep import describe

    say(how["quiet"], describe(made))
    for member in made.members:
        if member.run.status == "failed":
            say(how["quiet"], f"failed: {member.run.reason}; see: unweave runs log {member.run.folder}")
    if not how["no_report"]:
        from unweave.reports.sweep import write_sweep_report

        say(how["quiet"], f"report: {write_sweep_report(made)}")
    if made.statuses["failed"]:
        sys.exit(1)


def evaluated(
    run: Any, device: str, quiet: bool, metrics: Sequence[str] | None = None, threads: int = 1
) -> dict[str, Any]:
    """Score a run with a spinner that says what is being done."""
    from unweave.runs.evaluation import evaluate as score_run

    with progress("encoding", quiet) as tell:
        return dict(
            score_run(run, metrics=metrics, threads=threads, device=checked_device(device), tell=tell)
        )


@contextlib.contextmanager
def progress(first: str, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A function that says on the terminal what is being done."""
    console = Console(stderr=True, quiet=quiet)
    with console.status(first) if console.is_terminal else Console(quiet=True).status("") as status:
        yield status.update


def reported(run: Any) -> Path:
    """Write the page of a run."""
    from unweave.reports import write_run_report

    return write_run_report(run)


def show_scores(scores: dict[str, Any], quiet: bool) -> None:
    """Print scores as a table with their 95 % intervals, their range and which end of it is good."""
    if quiet:
        return
    rows = [["score", "value", "95 % interval", "range", "better"]]
    for name, score in scores.items():
        interval = f"{score.low:.3f} to {score.high:.3f}" if score.low is not None else ""
        low, high = (f"{end:g}" if end is not None else "..." for end in score.range)
        better = "higher" if score.higher_is_better else "lower"
        rows.append([name, f"{score.value:.3f}", interval, f"{low} to {high}", better])
    show_table(rows)


def show_study(study: Any, folder: Path, prefix: str = "") -> None:
    """Print the table of a study and write its pictures."""
    from unweave.plots import save

    show_table(study.rows)
    for name, figure in study.pictures.items():
        out.print(f"picture: {save(figure, folder / f'{prefix}{name}.png', dpi=150)}")


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
