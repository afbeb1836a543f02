"""A recipe: a published figure or table as runs to train, a picture to draw, and claims to test."""

import dataclasses
import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from unweave.data.catalogue import LIKENESSES, catalogue
from unweave.errors import UnweaveError
from unweave.recipes.claims import Finding, Verdict, corrected, worst
from unweave.runs.config import SLOTS, Config, merge
from unweave.runs.run import Run
from unweave.runs.study import Study
from unweave.runs.sweep import Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scale = Literal["smoke", "small", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "small", "paper")
"""That it runs (seconds); what two cores show (minutes); the paper's own protocol (a cluster)."""

Plan = Callable[[Scale], Mapping[str, Any]]
"""The content of a study file, for each scale."""

DataRead = Callable[[], Sequence[Mapping[str, Any]]]
"""The data sets that a conclusion reads."""

SEEDS = "seeds"
"""The key of changes that chooses other replicas: a mapping with ``count``, ``first`` or both."""

Tell = Callable[[str], None]
"""Receives short texts on what is being computed."""

T = TypeVar("T")


def at(scale: Scale, *, smoke: T, small: T, paper: T) -> T:
    """The value of a scale.

    Example:
        >>> at("small", smoke=1, small=2, paper=3)
        2
    """
    return {"smoke": smoke, "small": small, "paper": paper}[scale]


@dataclass(frozen=True)
class Conclusion:
    """What a recipe found.

    Args:
        rows: a table; its first row is the header.
        findings: the paper's claims with our numbers; the headline first.
        pictures: by name, in the paper's own form; the headline first.

    Example:
        >>> from unweave.recipes.claims import equal
        >>> Conclusion([["what", "nats"], ["bound", "-17.82"]], [equal("bound", -17.82, -17.82)]).verdict
        'agrees'
    """

    rows: Sequence[Sequence[str]]
    findings: Sequence[Finding]
    pictures: Mapping[str, "Figure"] = field(default_factory=dict)

    @property
    def judged(self) -> list[Finding]:
        """The findings, with p corrected for their number."""
        return corrected(self.findings)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the weakest claim."""
        return worst([finding.verdict for finding in self.judged])


@dataclass(frozen=True)
class Recipe:
    """A published result that can be reproduced.

    Args:
        id: paper and figure or table, as in ``sbd-fig4``; the name of its folder of results.
        title: what the figure or table shows.
        claim: what the paper claims with it.
        published: the published numbers and where the paper gives them.
        runs: the content of a study file, for each scale; none if nothing is trained.
        conclude: computes table, pictures and findings from the finished runs.
        data: what the conclusion reads where nothing is trained, as configs hold it; a function, as files may come.
        reference: ``package.module:NAME`` or ``file.py:NAME`` of a recipe from outside of unweave, by which a command
            names it; empty for those of unweave, which are named by their id.
        unstated: of what the paper gives no number, ``steps`` or ``replicas``: those of the largest scale are ours.

    Example:
        >>> def nothing(job: Job) -> Conclusion:
        ...     return Conclusion([["a"]], [])
        >>> Recipe("sbd-fig4", "Geometry", "It is flat.", "pictures", None, nothing).paper
        'sbd'
    """

    id: str
    title: str
    claim: str
    published: str
    runs: Plan | None
    conclude: "Callable[[Job], Conclusion]"
    data: DataRead | None = None
    reference: str = ""
    unstated: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", self.id):
            raise UnweaveError(
                f"recipe id {self.id!r}: expected lower-case words joined by hyphens, such as mine-fig1"
            )

    @property
    def paper(self) -> str:
        """The code of the paper."""
        return self.id.partition("-")[0]

    @property
    def command_name(self) -> str:
        """How a command names this recipe."""
        return self.reference or self.id

    def check_id_is_free(self) -> None:
        """Refuse an id that a recipe from another place in the code has."""
        other = RECIPES.get(self.id)
        if other is not None and _source(other.conclude) != _source(self.conclude):
            raise UnweaveError(f"recipe id {self.id!r} is already taken by {_source(other.conclude)}")

    def where_changed(self, scale: Scale, changes: Mapping[str, Any]) -> str:
        """Which runs the user's changes are made in, as a phrase: every run, or the place of the paper's own method."""
        plain, study = self.study(scale), self.study(scale, {k: v for k, v in changes.items() if k != SEEDS})
        assert plain is not None and study is not None
        pairs = list(zip(plain.runs, study.runs, strict=True))
        same = {before.variant for before, after in pairs if before.config == after.config}
        other = list(dict.fromkeys(after.variant for _, after in pairs if after.variant not in same))
        return f"in the place of {', '.join(other)}" if same and other else "in every run"

    def study(self, scale: Scale, changes: Mapping[str, Any] | None = None) -> Study | None:
        """The runs of a scale, with the user's changes; :data:`SEEDS` among these chooses other replicas."""
        if self.runs is None:
            if changes:
                raise UnweaveError(f"{self.id} trains nothing: {', '.join(changes)} cannot be changed")
            return None
        study = Study.of(self.runs(scale), name=self.id)
        own = {key: value for key, value in (changes or {}).items() if key != SEEDS}
        if "seed" in own:
            raise UnweaveError(
                f"seed={own['seed']} would make all replicas of {self.id} one run and count it several times: choose "
                f"other replicas with --first-seed {own['seed']}, and their number with --seeds"
            )
        study = _changed(study, own) if own else study
        return _with_replicas(study, changes[SEEDS]) if changes and SEEDS in changes else study

    def stand_ins(self, scale: Scale, changes: Mapping[str, Any] | None = None) -> "list[StandIn]":
        """The data sets that stand in for the paper's at a scale; none where the user chose the data."""
        if "name" in dict((changes or {}).get("data", {})):
            return []
        read = {str(k): each for k, each in enumerate(self.data() if self.data is not None else ())}
        return stand_ins_of({"read": read, "runs": self.runs(scale) if self.runs is not None else {}})


def _with_replicas(study: Study, seeds: Mapping[str, int]) -> Study:
    """The study with other seeds: ``count`` of them from ``first`` on; what is not given is as it was."""
    count = seeds.get("count", max(len(runs) for runs in study.variants.values()))
    first = seeds.get("first", min(run.config.seed for run in study.runs))
    return study.with_seeds(list(range(first, first + count)))


def _changed(study: Study, changes: Mapping[str, Any]) -> Study:
    """The study with the changes in every run.

    Where they would make variants the same, because these differ in just what is changed, the last of them, the
    paper's own method, is changed and the others stay: the user's part is compared with the paper's baselines.
    """
    full = with_full_names(changes)
    # The recipe's options belong to the recipe's parts: another part starts from its own defaults.
    changed = [Config.of(merge(planned.config.to_mapping(), full)) for planned in study.runs]
    last = {config.identity: planned.variant for planned, config in zip(study.runs, changed, strict=True)}
    runs = tuple(
        dataclasses.replace(planned, config=config) if last[config.identity] == planned.variant else planned
        for planned, config in zip(study.runs, changed, strict=True)
    )
    if len({run.config.identity for run in runs}) < len(runs):
        raise UnweaveError(
            f"with {changes_text(changes)} two models that {study.name} compares are the same: change something else"
        )
    return dataclasses.replace(study, runs=runs)


def with_full_names(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes with the full name of every part, so that ``isa`` becomes ``ISA``.

    Example:
        >>> with_full_names({"decoder": {"name": "spatial-broadcast"}, "steps": 5})
        {'decoder': {'name': 'SpatialBroadcast'}, 'steps': 5}
    """
    full: dict[str, Any] = {}
    for key, value in changes.items():
        if key in SLOTS and isinstance(value, Mapping) and "name" in value and key != "data":
            value = {**value, "name": SLOTS[key].choose(value["name"]).name}
        full[key] = value
    return full


def changes_text(changes: Mapping[str, Any]) -> str:
    """Changes as they are typed on the command line.

    Example:
        >>> changes_text({"decoder": {"name": "SpatialBroadcast", "depth": 3}, "steps": 5})
        'decoder=SpatialBroadcast decoder.depth=3 steps=5'
        >>> changes_text({"steps": 5, "seeds": {"count": 5, "first": 100}})
        'steps=5 --seeds 5 --first-seed 100'
    """
    words = []
    seeds = changes.get(SEEDS, {})
    flags = [
        f"--{flag} {seeds[key]}"
        for key, flag in (("count", "seeds"), ("first", "first-seed"))
        if key in seeds
    ]
    for key, value in changes.items():
        if key == SEEDS:
            continue
        for option, given in value.items() if isinstance(value, Mapping) else [("", value)]:
            name = key if option in ("", "name") else f"{key}.{option}"
            text = given if isinstance(given, str) else json.dumps(given)
            words.append(shlex.quote(f"{name}={text}"))
    return " ".join([*words, *flags])


RECIPES: dict[str, Recipe] = {}
"""Filled by the folders of the papers; :mod:`unweave.recipes.catalogue` imports all of them."""


def recipe(
    *ids: str,
    title: str,
    claim: str,
    published: str,
    runs: Plan | None = None,
    data: DataRead | None = None,
    unstated: tuple[str, ...] = (),
) -> "Callable[[Callable[[Job], Conclusion]], Callable[[Job], Conclusion]]":
    """Register the decorated function as the recipe of one or more figures or tables; see :class:`Recipe`.

    The same function may be registered again, as happens when its file is imported twice.

    Example:
        >>> @recipe("test-fig0", title="Nothing", claim="Nothing is shown.", published="nothing")
        ... def figure_0(job: Job) -> Conclusion:
        ...     return Conclusion([["a"]], [])
        >>> RECIPES.pop("test-fig0").title
        'Nothing'
    """

    def register(function: "Callable[[Job], Conclusion]") -> "Callable[[Job], Conclusion]":
        for each in ids:
            made = Recipe(each, title, claim, published, runs, function, data, unstated=unstated)
            made.check_id_is_free()
            RECIPES[each] = made
        return function

    return register


def _source(function: "Callable[[Job], Conclusion]") -> str:
    """File and name of a function."""
    code = getattr(function, "__code__", None)
    return f"{getattr(code, 'co_filename', '')}:{getattr(function, '__qualname__', repr(function))}"


class Job:
    """A recipe at a scale with its finished runs: what its conclusion is computed from.

    Args:
        recipe: what is reproduced.
        scale: how large.
        sweep: its finished runs, if it has any.
        changes: what the user changed of the paper's protocol.
        tell: receives short texts on what is being computed.

    Example:
        >>> from unweave.recipes.catalogue import RECIPES
        >>> job = Job(next(iter(RECIPES.values())), "smoke")
        >>> job.pick(smoke=2, small=5, paper=10)
        2
    """

    def __init__(
        self,
        recipe: Recipe,
        scale: Scale,
        sweep: Sweep | None = None,
        changes: Mapping[str, Any] | None = None,
        tell: Tell = lambda _: None,
    ) -> None:
        self.recipe = recipe
        self.scale = scale
        self.changes = dict(changes or {})
        self.tell = tell
        self.notes: list[str] = []
        self._members = sweep.variants if sweep is not None else {}
        self._finished: dict[str, list[Run]] = {}
        self._scores: dict[Path, dict[str, Any]] = {}
        for variant, members in self._members.items():
            statuses = {member.run.folder: member.run.status for member in members}
            by_seed = sorted(members, key=lambda member: member.run.config.seed)
            self._finished[variant] = [m.run for m in by_seed if statuses[m.run.folder] == "finished"]
            lost = [status for status in statuses.values() if status != "finished"]
            if lost:
                how = ", ".join(sorted(set(lost)))
                self.note(f"{len(lost)} of {len(members)} runs of {variant} are left out: {how}.")

    def pick(self, *, smoke: T, small: T, paper: T) -> T:
        """The value of this job's scale."""
        return at(self.scale, smoke=smoke, small=small, paper=paper)

    @property
    def variants(self) -> list[str]:
        """The variants of the study, in its order."""
        return list(self._members)

    def runs(self, variant: str) -> list[Run]:
        """The finished runs of a variant, by seed."""
        if variant not in self._members:
            raise UnweaveError(
                f"{self.recipe.id} has no variant {variant!r}; it has {', '.join(self._members)}"
            )
        finished = self._finished[variant]
        if not finished:
            run = self._members[variant][0].run
            raise UnweaveError(f"no run of {variant} finished ({run.status}: {run.reason}); see {run.folder}")
        return list(finished)

    def diverged(self, variant: str) -> tuple[int, int]:
        """How many runs of a variant diverged, and how many there are."""
        statuses = [member.run.status for member in self._members[variant]]
        return statuses.count("diverged"), len(statuses)

    def scores(self, variant: str, name: str) -> NDArray[np.float64]:
        """A score of the finished runs of a variant, by seed."""
        found = []
        for run in self.runs(variant):
            if run.folder not in self._scores:
                self._scores[run.folder] = run.scores
            scores = self._scores[run.folder]
            if name not in scores:
                raise UnweaveError(f"{run.folder} has no score {name!r}; it has {', '.join(scores)}")
            found.append(float(scores[name]["value"]))
        return np.array(found)

    def note(self, text: str) -> None:
        """Add a sentence that is shown with the result; a sentence is added only once."""
        if text and text not in self.notes:
            self.notes.append(text)

    def admit(self, text: str) -> None:
        """Add a sentence on how the published small result was obtained; only at that scale and without changes."""
        if self.scale == "small" and not self.changes:
            self.note(text)


class StandIn(dict[str, Any]):
    """The data set that a config holds in the place of the paper's, whose files are not here.

    Args:
        name: of the data set of the paper.
        chosen: what the config holds.

    Example:
        >>> made = StandIn("Cars3D", {"name": "Objects3D"})
        >>> made["name"], made.label
        ('Objects3D', 'Objects3D for Cars3D')
    """

    def __init__(self, name: str, chosen: Mapping[str, Any]) -> None:
        super().__init__(chosen)
        self.stands_for = name

    @property
    def label(self) -> str:
        """What rows and pictures call it."""
        same = self["name"] == self.stands_for
        return f"{self.stands_for}, rendered" if same else f"{self['name']} for {self.stands_for}"

    @property
    def sentence(self) -> str:
        """What a result says of it."""
        if self["name"] == self.stands_for:
            return f"The original file of {self.stands_for} is not here: it is rendered, which is a likeness."
        return f"{self.stands_for} is not here: {self['name']} stands in for it."


def data_or_stand_in(name: str, stand_in: str = "", **options: Any) -> tuple[dict[str, Any], str]:
    """The data set of the paper from its files if they are here, otherwise its stand-in, and a sentence that says so.

    dSprites is drawn pixel for pixel as its file has it. 3D Shapes is a likeness, so that its file is read if it is
    here, and the rendering is a stand-in if not.

    Args:
        name: of the data set.
        stand_in: of the data set to use instead; none: the same, rendered.
        options: of the stand-in.

    Example:
        >>> data_or_stand_in("DSprites", "XYSquares")
        ({'name': 'DSprites'}, '')
    """
    entry = next(entry for entry in catalogue() if entry.name == name)
    if name in LIKENESSES:
        if entry.here:
            return {"name": name, "source": "file"}, ""
    elif entry.state in ("here", "made here"):
        return {"name": name}, ""
    made = StandIn(name, {"name": stand_in or name, **options})
    return made, made.sentence


def label_of_data(data: Mapping[str, Any], label: str) -> str:
    """What rows call a data set: ``label``, or, of a stand-in, what stands for what.

    Example:
        >>> label_of_data({"name": "DSprites"}, "dSprites")
        'dSprites'
        >>> label_of_data(StandIn("Cars3D", {"name": "Objects3D"}), "Cars")
        'Objects3D for Cars3D'
    """
    return data.label if isinstance(data, StandIn) else label


def stand_ins_of(content: Any) -> list[StandIn]:
    """The stand-ins in the content of a study file, each once.

    Example:
        >>> made = StandIn("Cars3D", {"name": "Objects3D"})
        >>> [found.label for found in stand_ins_of({"base": {"data": made}, "variants": {"a": {"data": made}}})]
        ['Objects3D for Cars3D']
    """
    if isinstance(content, StandIn):
        return [content]
    several = content.values() if isinstance(content, Mapping) else ()
    found = [stand_in for each in several for stand_in in stand_ins_of(each)]
    return list({stand_in.label: stand_in for stand_in in found}.values())
