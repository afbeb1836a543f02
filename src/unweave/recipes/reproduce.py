"""Reproducing: train the runs of recipes, draw and test their conclusions, and write the results to disk."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unweave import atomic
from unweave.errors import UnweaveError
from unweave.plots import save
from unweave.recipes.claims import FindingRecord, Verdict
from unweave.recipes.evidence import EVIDENCE, evidence_of
from unweave.recipes.recipe import SEEDS, Job, Recipe, Scale, changes_text
from unweave.runs.executors import Event, Executor
from unweave.runs.rehearsal import rehearse
from unweave.runs.status import seconds_taken
from unweave.runs.sweep import Member, Sweep, estimate, preview

RESULT = "result.json"
COST = "cost.json"
POOL = "pool"
DPI = 110


@dataclass(frozen=True)
class Result:
    """The result of a recipe at a scale, as it is stored: the same for everybody who runs its command.

    :class:`Cost` is stored apart from it, because it differs from machine to machine.

    Example:
        >>> Result.__annotations__["verdict"] is Verdict
        True
    """

    id: str
    scale: Scale
    changes: str
    title: str
    claim: str
    published: str
    rows: list[list[str]]
    findings: list[FindingRecord]
    verdict: Verdict
    notes: list[str]
    pictures: list[str]
    command: str

    @property
    def name(self) -> str:
        """The name of its files: the id, and the user's changes if there are any."""
        return folder_name(self.id, self.changes)


@dataclass(frozen=True)
class Cost:
    """The cost of a result: runs, seconds on one core to train and score all of them, seconds of the conclusion.

    Example:
        >>> Cost(10, 1200.0, 3.0).text
        '10 runs x 2.0 min'
    """

    runs: int
    seconds: float
    conclusion: float

    @property
    def text(self) -> str:
        """The cost as a phrase."""
        if not self.runs:
            return _duration(self.conclusion)
        return f"{self.runs} runs x {_duration(self.seconds / self.runs)}"


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return f"{minutes:.2f} min"
    if minutes < 120:
        return f"{minutes:.1f} min"
    return f"{minutes / 60:.1f} h" if minutes < 48 * 60 else f"{minutes / 1440:.1f} days"


def folder_name(name: str, changes: str) -> str:
    """The name of the folder of a recipe's results.

    Example:
        >>> folder_name("sbd-fig4", ""), folder_name("sbd-fig4", "prior=ISA")
        ('sbd-fig4', 'sbd-fig4+prior-ISA')
    """
    if not changes:
        return name
    letters = "".join(
        c if c.isalnum() or c in ".-" else "-" for c in changes.replace("--", "").replace(" ", "+")
    )
    return f"{name}+{letters if len(letters) <= 60 else hashlib.sha256(changes.encode()).hexdigest()[:8]}"


def plan(
    recipes: Iterable[Recipe], scale: Scale, root: Path, changes: Mapping[str, Any] | None = None
) -> dict[str, Sweep | None]:
    """The sweeps of recipes in ``root``, created or found there; all their runs are in one pool.

    Args:
        recipes: what to reproduce.
        scale: how large.
        root: folder of everything that is reproduced.
        changes: what the user changed of the papers' protocols, as a config file holds it.

    Example:
        >>> import tempfile
        >>> from unweave.recipes.catalogue import RECIPES
        >>> root = Path(tempfile.mkdtemp())
        >>> sweep = plan([RECIPES["sbd-fig4"]], "smoke", root)["sbd-fig4"]
        >>> sweep.statuses["new"] == len(sweep.members)
        True
    """
    sweeps: dict[str, Sweep | None] = {}
    for recipe in recipes:
        study = recipe.study(scale, changes)
        if changes and study is not None:
            for variant, reason in rehearse(study, root / POOL).refused.items():
                raise UnweaveError(f"{recipe.id} cannot be reproduced with this: {variant}: {reason}")
        words = changes_text(changes or {})
        folder = root / scale / folder_name(recipe.id, words)
        command = command_of(recipe.command_name, scale, words)
        sweeps[recipe.id] = None if study is None else Sweep.create(study, folder, command, pool=root / POOL)
    return sweeps


def command_of(name: str, scale: Scale, changes: str = "") -> str:
    """The command that reproduces a recipe.

    Example:
        >>> command_of("fac-fig5", "small", "prior=ISA")
        'unweave reproduce fac-fig5 prior=ISA --scale small'
    """
    return " ".join(word for word in ("unweave reproduce", name, changes, f"--scale {scale}") if word)


def expected_cost(
    recipe: Recipe, scale: Scale, root: Path, changes: Mapping[str, Any] | None = None
) -> tuple[Cost, str]:
    """The expected cost of all runs of a recipe on one core, and the source of the estimate; nothing is created.

    Finished runs count with the time that they took.

    Example:
        >>> from unweave.recipes.catalogue import RECIPES
        >>> expected_cost(RECIPES["isa-fig2"], "paper", Path("nowhere"))[1]
        'the conclusion alone'
    """
    study = recipe.study(scale, changes)
    if study is None:
        return Cost(0, 0.0, 0.0), "the conclusion alone"
    with preview(study, root / POOL) as sweep:
        expected = estimate(sweep, 1)
        done = sum(seconds_taken(member.run.folder) for member in sweep.members if member.done)
        return Cost(len(sweep.members), expected.seconds + done, 0.0), expected.source


def left_to_do(sweeps: Iterable[Sweep | None]) -> dict[tuple[str, ...], list[Member]]:
    """The runs that are not done, by the scores that they need; each once, however many sweeps share it.

    Example:
        >>> left_to_do([None])
        {}
    """
    groups: dict[tuple[str, ...], dict[Path, Member]] = {}
    for sweep in sweeps:
        for member in sweep.todo if sweep is not None else ():
            groups.setdefault(sweep.metrics if sweep else (), {})[member.run.folder.resolve()] = member
    return {metrics: list(members.values()) for metrics, members in groups.items()}


def train(
    sweeps: Iterable[Sweep | None],
    executor: Executor,
    tell: Callable[[Event], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Train and score the remaining runs of several sweeps; a run that several share is trained once.

    Example:
        >>> from unweave.runs.executors import Inline
        >>> train([None], Inline())
    """
    for metrics, members in left_to_do(sweeps).items():
        if not stop():
            executor.execute([member.run.folder for member in members], tell, stop, metrics)


def conclude(
    recipe: Recipe,
    scale: Scale,
    root: Path,
    sweep: Sweep | None,
    changes: Mapping[str, Any] | None = None,
    tell: Callable[[str], None] = lambda _: None,
    kinds: Sequence[str] = ("png",),
) -> tuple[Path, Result, Cost]:
    """Draw and test what the finished runs show, and write it to disk.

    In ``root/SCALE/ID``: ``result.json`` (the same on every machine that computes the same numbers), ``cost.json`` and
    the pictures, in each of some ``kinds`` of files.

    Example:
        >>> import tempfile
        >>> from unweave.recipes.catalogue import RECIPES
        >>> root = Path(tempfile.mkdtemp())
        >>> folder, result, cost = conclude(RECIPES["isa-b3"], "smoke", root, None)
        >>> result.verdict, (folder / "result.json").exists()
        ('agrees', True)
    """
    words = changes_text(changes or {})
    folder = root / scale / folder_name(recipe.id, words)
    started = time.perf_counter()
    job = Job(recipe, scale, sweep, changes, tell)
    conclusion = recipe.conclude(job)
    for name, figure in conclusion.pictures.items():
        for kind in kinds:
            save(figure, folder / f"{name}.{kind}", dpi=DPI)
    _note_departures(job, changes or {}, sweep)
    result = Result(
        id=recipe.id,
        scale=scale,
        changes=words,
        title=recipe.title,
        claim=recipe.claim,
        published=recipe.published,
        rows=[[str(cell) for cell in row] for row in conclusion.rows],
        findings=[finding.to_json() for finding in conclusion.judged],
        verdict=conclusion.verdict,
        notes=job.notes,
        pictures=list(conclusion.pictures),
        command=command_of(recipe.command_name, scale, words),
    )
    runs = {member.run.folder.resolve() for member in sweep.members} if sweep is not None else set()
    cost = Cost(len(runs), sum(map(seconds_taken, runs)), time.perf_counter() - started)
    atomic.write_json(folder / RESULT, dict(vars(result)))
    atomic.write_json(folder / COST, dict(vars(cost)))
    atomic.write_json(folder / EVIDENCE, evidence_of(sweep))
    return folder, result, cost


def _note_departures(job: Job, changes: Mapping[str, Any], sweep: Sweep | None) -> None:
    """Note what of the paper's protocol was replaced, changed or repeated with other seeds."""
    for stand_in in job.recipe.stand_ins(job.scale, changes):
        job.note(stand_in.sentence)
    if deviates(changes):
        own = changes_text({key: value for key, value in changes.items() if key != SEEDS})
        job.note(f"Not the paper's protocol: {own} {job.recipe.where_changed(job.scale, changes)}.")
    if SEEDS in changes and sweep is not None:
        seeds = sorted({member.run.config.seed for member in sweep.members})
        job.note(f"An independent replication: {len(seeds)} seeds, {seeds[0]} to {seeds[-1]}.")


def deviates(changes: Mapping[str, Any]) -> bool:
    """Whether changes depart from the paper's protocol; the original file of its data and other seeds do not.

    Example:
        >>> deviates({"data": {"source": "file"}}), deviates({"data": {"source": "file"}, "steps": 5})
        (False, True)
    """
    return any(value != {"source": "file"} for key, value in changes.items() if key != SEEDS)


def read_result(path: Path) -> Result:
    """A result from its file.

    Example:
        >>> import tempfile
        >>> from unweave.recipes.catalogue import RECIPES
        >>> root = Path(tempfile.mkdtemp())
        >>> folder, result, _ = conclude(RECIPES["isa-b3"], "smoke", root, None)
        >>> read_result(folder / RESULT) == result
        True
    """
    return Result(**json.loads(path.read_text()))


def summary(result: Result) -> list[list[str]]:
    """The findings as a table, our numbers beside the published ones.

    Example:
        >>> from unweave.recipes.claims import equal
        >>> found = [equal("x", 1.0, 1.0).to_json()]
        >>> summary(Result("a", "small", "", "", "", "", [], found, "agrees", [], [], ""))[1]
        ['x', '1', '', '1', 'exact', '', '', 'agrees']
    """
    head = [
        "claim as a number",
        "ours",
        "95 % interval",
        "published",
        "p",
        "p (Holm)",
        "detectable",
        "verdict",
    ]
    rows = [head]
    for found in result.findings:
        low, high = found["low"], found["high"]
        rows.append(
            [
                found["what"],
                _number(found["value"]),
                f"{_number(low)} to {_number(high)}" if low is not None and high is not None else "",
                _number(found["published"]) if found["published"] is not None else "not given",
                "exact" if found["p"] is None else chance(found["p"]),
                "" if (adjusted := found.get("corrected")) is None else chance(adjusted),
                "" if (least := found.get("detectable")) is None else _number(least),
                found["verdict"] + (", too few runs" if _is_powerless(found) else ""),
            ]
        )
    return rows


def _is_powerless(found: FindingRecord) -> bool:
    """Whether a claim that does not show could not have shown: the runs are too few for the published effect."""
    return found["verdict"] == "does not show at this scale" and found.get("lacks_power") is True


def chance(p: float) -> str:
    """A p-value in two digits.

    Example:
        >>> chance(0.0312), chance(1e-9), chance(0.4)
        ('0.031', '< 0.001', '0.40')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"
