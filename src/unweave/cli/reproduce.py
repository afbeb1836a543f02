"""``unweave reproduce``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unweave.cli.commands import Command, cli, importing
from unweave.cli.execution import Execution, display_and_stop, execution_flags, tracked_runs
from unweave.cli.terminal import prepare_logging, print_table, progress
from unweave.errors import UnweaveError

if TYPE_CHECKING:
    from unweave.recipes.recipe import Recipe, Scale
    from unweave.recipes.reproduce import Cost, Result
    from unweave.runs.executors.executor import Executor
    from unweave.runs.sweep import Sweep

SLOT_NAMES = (
    *("data", "encoder", "decoder", "posterior", "prior"),
    *("likelihood", "objective", "pairing", "sampling", "model"),
    *("optimizer", "critic_optimizer", "schedule", "critic_schedule"),
)
"""The slots, each of which has a flag; those of ``unweave.runs.config``, which --help must not import."""


class ReproduceCommand(Command):
    """A command that also takes an option of a part as a flag: ``--decoder.width 4``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, after every flag of a part's option has become a key=value word."""
        return super().parse_args(ctx, option_flags_as_words(args))


def option_flags_as_words(arguments: Sequence[str]) -> list[str]:
    """``--decoder.width 4`` and ``--decoder.width=4`` as ``decoder.width=4``; everything else unchanged."""
    words: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        flag, equals, value = argument.partition("=")
        slot, dot, _ = flag.removeprefix("--").partition(".")
        if not (flag.startswith("--") and dot and slot in SLOT_NAMES):
            words.append(argument)
            continue
        if not equals:
            try:
                value = next(remaining)
            except StopIteration:
                raise UnweaveError(f"option {flag} needs a value") from None
        words.append(f"{flag.removeprefix('--')}={value}")
    return words


def slot_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Add one flag for each slot, such as --decoder."""
    for slot in reversed(SLOT_NAMES):
        noun = "Other data" if slot == "data" else f"Another {slot}"
        command = click.option(f"--{slot}", metavar="PART", help=f"{noun} in every run.")(command)
    return command


@cli.command(cls=ReproduceCommand)
@click.argument("words", nargs=-1, required=True, metavar="ID... [KEY=VALUE]...")
@click.option(
    "--scale",
    type=click.Choice(["smoke", "small", "paper"]),
    default="small",
    show_default=True,
    help="smoke: it runs (seconds); small: what two cores can show (minutes); paper: the paper's own protocol "
    "(a cluster).",
)
@slot_flags
@click.option(
    "--dry-run", is_flag=True, help="Print runs, data, stand-ins and cost; read, draw and write nothing."
)
@click.option(
    "--keep", is_flag=True, help="Save results and costs in the repository (for developers of unweave)."
)
@click.option("--seeds", type=click.IntRange(min=2), help="Number of replicas of every model.")
@click.option("--first-seed", type=click.IntRange(min=0), help="Seed of the first replica; others follow it.")
@execution_flags
def reproduce(
    words: tuple[str, ...],
    scale: "Scale",
    dry_run: bool,
    keep: bool,
    seeds: int | None,
    first_seed: int | None,
    execution: Execution,
    **slots: str | None,
) -> None:
    """Reproduce a published figure or table: train, draw, and print our number beside the published one.

    \b
      unweave reproduce list               every figure and table: claim, published numbers, cost, status
      unweave reproduce sbd-fig4           what two cores can show of it, in minutes
      unweave reproduce all --scale smoke  a check that all of them run
      unweave reproduce check              every stored verdict computed again from the values of each seed
      unweave reproduce rec-fig11 --first-seed 100
                                           the same with seeds that nobody has looked at
      unweave reproduce rec-fig11 --decoder SpatialBroadcast
                                           your own idea in place of the paper's
      unweave reproduce sbd-fig4 --decoder my_parts:TinyDecoder --decoder.width 4
                                           a part and an option of your own

    ID is a figure or table, a paper (SBD, FAC, REC, DEC, ISA) or all. PART is a name, package.module:Class or
    path.py:Class. An interrupted command is resumed by running it again.
    """  # noqa: D301
    with importing():
        from unweave.recipes import catalogue, result_pages

    prepare_logging(execution.quiet)
    root = execution.folder or Path("runs") / "reproduce"
    ids = [word for word in words if "=" not in word]
    if ids[:1] == ["list"]:
        for line in result_pages.listing(catalogue.find(ids[1:] or ["all"]), root):
            click.echo(line)
        return
    if ids[:1] == ["check"]:
        _check(ids[1:] or ["all"])
        return
    flags = [f"{slot}={part}" for slot, part in slots.items() if part]
    changes = _read_changes([*flags, *(word for word in words if "=" in word)])
    replicas = {"count": seeds, "first": first_seed}
    if chosen := {key: value for key, value in replicas.items() if value is not None}:
        changes["seeds"] = chosen
    recipes = catalogue.find(ids)
    if not recipes:
        raise UnweaveError("which figure or table? unweave reproduce list shows all of them")
    request = Request(recipes, scale, root, changes, keep)
    if dry_run:
        _print_costs(request, execution)
    else:
        _reproduce(request, execution)


def _check(ids: Sequence[str]) -> None:
    """Compute the published results again; print all findings, and what does not come out as it is stored."""
    from unweave.recipes import catalogue
    from unweave.recipes.check import check, table
    from unweave.recipes.published_results import evidence, published_results

    chosen = {recipe.id: recipe for recipe in catalogue.find(ids)}
    published = [known.result for known in published_results().values() if known.result is not None]
    results = [result for result in published if result.id in chosen]
    print_table(table(results))
    checked = [check(result, chosen[result.id], evidence(result.name)) for result in results]
    for each in checked:
        if each.unproved:
            click.echo(f"{each.name}: {len(each.unproved)} findings hold no values to compute them from")
        if each.stale:
            click.echo(f"{each.name}: stale: {each.stale}")
        for sentence in each.wrong:
            click.echo(sentence)
    wrong = sum(not each.ok for each in checked)
    proved = sum(not each.unproved for each in checked)
    missing = len(chosen) - len({result.id for result in results})
    click.echo(
        f"{len(checked)} results: {proved} computed again, {wrong} of them wrong; {len(checked) - proved} without "
        f"values; {sum(bool(each.stale) for each in checked)} stale; {missing} ids without a result"
    )
    if wrong:
        raise UnweaveError(f"{wrong} results do not come out as they are stored")


@dataclass(frozen=True)
class Request:
    """What is to be reproduced: recipes, scale, folder, changes, and whether to save the results in the repository."""

    recipes: "Sequence[Recipe]"
    scale: "Scale"
    root: Path
    changes: Mapping[str, Any]
    keep: bool


def _read_changes(words: Sequence[str]) -> dict[str, Any]:
    """The changes that key=value words make, with the full name of every part."""
    from unweave.recipes.recipe import with_full_names
    from unweave.runs.config import read_words

    return with_full_names(read_words(words))


def _print_costs(request: Request, execution: Execution) -> None:
    """What the recipes would take; with --keep their cost is timed and recorded."""
    from unweave.recipes import published_results
    from unweave.recipes.dry_run import dry_run
    from unweave.recipes.reproduce import expected_cost

    for recipe in request.recipes:
        if request.keep:
            cost, source = expected_cost(recipe, request.scale, request.root, request.changes)
            execution.print_line(f"{recipe.id}: {cost.text if cost.runs else 'nothing to train'} ({source})")
            published_results.publish_cost(recipe.id, request.scale, cost)
            continue
        for line in dry_run(recipe, request.scale, request.root, request.changes).lines:
            execution.print_line(line)


def _reproduce(request: Request, execution: Execution) -> None:
    from unweave.recipes import published_results
    from unweave.recipes.reproduce import conclude, plan

    scale, root, changes = request.scale, request.root, request.changes
    for recipe in request.recipes:
        for stand_in in recipe.stand_ins(scale, changes):
            execution.print_line(f"{recipe.id}: {stand_in.sentence}")
    executor = execution.make_executor()
    executor.check()
    sweeps = plan(request.recipes, scale, root, changes)
    _train(list(sweeps.values()), executor, execution)
    for recipe in request.recipes:
        with progress(recipe.id, quiet=execution.quiet) as tell:
            kinds = ("png",) if execution.no_report else ("png", "svg", "pdf")
            folder, result, cost = conclude(recipe, scale, root, sweeps[recipe.id], changes, tell, kinds)
        page = None if execution.no_report else _write_page(folder)
        if request.keep:
            published_results.publish(result, cost, folder)
        if not execution.quiet:
            _print_result(result, cost, folder)
            if page is not None:
                click.echo(f"report: {page}")


def _write_page(folder: Path) -> Path:
    from unweave.reports.result import write_result_report

    return write_result_report(folder)


def _train(sweeps: "Sequence[Sweep | None]", executor: "Executor", execution: Execution) -> None:
    """Execute the unfinished runs of several sweeps that share runs, with one display."""
    from unweave.recipes.reproduce import left_to_do, train

    members = [member for group in left_to_do(sweeps).values() for member in group]
    with (
        tracked_runs(Path("runs"), execution) as tracked,
        display_and_stop(members, tracked, execution, executor) as (tell, stop),
    ):
        train(sweeps, executor, tell, stop)


def _print_result(result: "Result", cost: "Cost", folder: Path) -> None:
    from unweave.recipes.reproduce import summary

    click.echo(f"\n{result.id}: {result.title} ({result.scale}; {cost.text})\nclaim: {result.claim}\n")
    print_table(result.rows)
    click.echo()
    print_table(summary(result))
    click.echo(f"\nverdict: {result.verdict}  (published: {result.published})")
    for line in (*result.notes, *(f"picture: {folder / name}.png" for name in result.pictures)):
        click.echo(line)
