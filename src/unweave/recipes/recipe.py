"""A recipe: a published figure or table as runs to make, a picture to draw, and claims to test."""

import dataclasses
import functools
import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from unweave.data.catalogue import catalogue
from unweave.errors import UnweaveError
from unweave.recipes.claims import Finding, Verdict, worst
from unweave.runs.config import Config, merge
from unweave.runs.run import Run
from unweave.runs.study import Study
from unweave.runs.sweep import Sweep

Scale = Literal["smoke", "small", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "small", "paper")
"""It runs (seconds); what two cores show (minutes); the paper's own protocol (a cluster)."""

Plan = Callable[[Scale], Mapping[str, Any]]


def at(scale: Scale, *, smoke: Any, small: Any, paper: Any) -> Any:
    """What belongs to a scale.

    Example:
        >>> at("small", smoke=1, small=2, paper=3)
        2
    """
    return {"smoke": smoke, "small": small, "paper": paper}[scale]


Tell = Callable[[str], None]


@dataclass(frozen=True)
class Conclusion:
    """What a recipe found.

    Args:
        rows: a table, its head first.
        findings: the paper's claims with our numbers; the headline first.
        pictures: by name, in the paper's own form; the headline first.

    Example:
        >>> from unweave.recipes.claims import equal
        >>> Conclusion([["what", "nats"], ["bound", "-17.82"]], [equal("bound", -17.82, -17.82)]).verdict
        'agrees'
    """

    rows: Sequence[Sequence[str]]
    findings: Sequence[Finding]
    pictures: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """On the whole: that on the weakest claim."""
        return worst([finding.verdict for finding in self.findings])


@dataclass(frozen=True)
class Recipe:
    """A published result that can be made again.

    Args:
        id: paper and figure or table, as in ``sbd-fig4``.
        title: what it shows.
        claim: what the paper says it shows.
        published: the published numbers and where they stand, in words.
        runs: what a study file holds, for each scale; none if nothing is trained.
        conclude: table, pictures and findings from the finished runs.

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

    @property
    def paper(self) -> str:
        """The paper's letters."""
        return self.id.partition("-")[0]

    def study(self, scale: Scale, changes: Mapping[str, Any] | None = None) -> Study | None:
        """The runs of a scale, each changed by what the reader wants otherwise."""
        if self.runs is None:
            if changes:
                raise UnweaveError(
                    f"{self.id} trains nothing, so that {', '.join(changes)} cannot be changed"
                )
            return None
        study = Study.of(self.runs(scale), name=self.id)
        return study if not changes else _changed(study, changes)


def _changed(study: Study, changes: Mapping[str, Any]) -> Study:
    runs = []
    for planned in study.runs:
        # The recipe's options belong to the recipe's parts: another part starts from its own defaults.
        config = Config.of(merge(planned.config.to_mapping(), named(changes)))
        runs.append(dataclasses.replace(planned, config=config))
    made: dict[str, str] = {}
    for planned in runs:
        other = made.setdefault(planned.config.identity, planned.variant)
        if other != planned.variant:
            raise UnweaveError(
                f"{study.name} compares {other!r} with {planned.variant!r}; with {told(changes)} they are the same, "
                "change something else"
            )
    return dataclasses.replace(study, runs=tuple(runs))


def named(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes with every part's name spelt out, so that ``isa`` is known to be ``ISA``.

    Example:
        >>> named({"decoder": {"name": "spatial-broadcast"}, "steps": 5})
        {'decoder': {'name': 'SpatialBroadcast'}, 'steps': 5}
    """
    from unweave.runs.config import SLOTS

    spelt: dict[str, Any] = {}
    for key, value in changes.items():
        if key in SLOTS and isinstance(value, Mapping) and "name" in value and key != "data":
            value = {**value, "name": SLOTS[key].choose(value["name"]).name}
        spelt[key] = value
    return spelt


def told(changes: Mapping[str, Any]) -> str:
    """Changes as they are typed.

    Example:
        >>> told({"decoder": {"name": "SpatialBroadcast", "depth": 3}, "steps": 5})
        'decoder=SpatialBroadcast decoder.depth=3 steps=5'
    """
    words = []
    for key, value in changes.items():
        for option, given in value.items() if isinstance(value, Mapping) else [("", value)]:
            name = key if option in ("", "name") else f"{key}.{option}"
            words.append(
                shlex.quote(f"{name}={given}" if isinstance(given, str) else f"{name}={json.dumps(given)}")
            )
    return " ".join(words)


RECIPES: dict[str, Recipe] = {}
"""Filled by the modules of the papers; :mod:`unweave.recipes.catalogue` has them all."""


def recipe(
    *ids: str, title: str, claim: str, published: str, runs: Plan | None = None
) -> "Callable[[Callable[[Job], Conclusion]], Callable[[Job], Conclusion]]":
    """Register the function below as the recipe of one or more figures or tables; see :class:`Recipe`.

    Example:
        >>> @recipe("test-fig0", title="Nothing", claim="Nothing is shown.", published="nothing")
        ... def figure_0(job: Job) -> Conclusion:
        ...     return Conclusion([["a"]], [])
        >>> RECIPES.pop("test-fig0").title
        'Nothing'
    """

    def register(function: "Callable[[Job], Conclusion]") -> "Callable[[Job], Conclusion]":
        for each in ids:
            if not re.fullmatch(r"[a-z]+-[a-z0-9-]+", each) or each in RECIPES:
                raise ValueError(f"not a new id of a recipe: {each}")
            RECIPES[each] = Recipe(each, title, claim, published, runs, function)
        return function

    return register


class Job:
    """A recipe at work: what its conclusion is made from.

    Args:
        recipe: what is reproduced.
        scale: how large.
        sweep: its finished runs, if it has any.
        changes: what the reader wants otherwise than the paper.
        tell: told what is being done.

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
        for variant, members in self._members.items():
            lost = [m for m in members if m.run.status != "finished"]
            if lost:
                how = ", ".join(sorted({m.run.status for m in lost}))
                self.note(f"{len(lost)} of {len(members)} runs of {variant} are left out: {how}.")

    def pick(self, *, smoke: Any, small: Any, paper: Any) -> Any:
        """What belongs to the scale of this job."""
        return at(self.scale, smoke=smoke, small=small, paper=paper)

    @property
    def variants(self) -> list[str]:
        """Of the study, in its order."""
        return list(self._members)

    def runs(self, variant: str) -> list[Run]:
        """The finished runs of a variant, by seed."""
        if variant not in self._members:
            raise UnweaveError(
                f"{self.recipe.id} has no variant {variant!r}; it has {', '.join(self._members)}"
            )
        members = sorted(self._members[variant], key=lambda member: member.run.config.seed)
        finished = [member.run for member in members if member.run.status == "finished"]
        if not finished:
            run = members[0].run
            raise UnweaveError(f"no run of {variant} finished ({run.status}: {run.reason}); see {run.folder}")
        return finished

    @functools.cache  # noqa: B019  a job lives for one conclusion
    def _scores_of(self, folder: Path) -> dict[str, Any]:
        return Run(folder).scores

    def scores(self, variant: str, name: str) -> NDArray[np.float64]:
        """A score of the finished runs of a variant, by seed."""
        found = []
        for run in self.runs(variant):
            scores = self._scores_of(run.folder)
            if name not in scores:
                raise UnweaveError(f"{run.folder} has no score {name!r}; it has {', '.join(scores)}")
            found.append(float(scores[name]["value"]))
        return np.array(found)

    def note(self, text: str) -> None:
        """Add a sentence that belongs beside the result; the same sentence twice is said once."""
        if text and text not in self.notes:
            self.notes.append(text)

    def admit(self, text: str) -> None:
        """Note what was known or changed while the small result that is kept here was made."""
        if self.scale == "small" and not self.changes:
            self.note(text)


def data_or_stand_in(name: str, stand_in: str, **options: Any) -> tuple[dict[str, Any], str]:
    """The data set of the paper if its files are here, otherwise its stand-in with the sentence that says so.

    Args:
        name: of the data set.
        stand_in: of the one to use meanwhile.
        options: of the stand-in.

    Example:
        >>> data_or_stand_in("DSprites", "XYSquares")
        ({'name': 'DSprites'}, '')
    """
    state = next(entry.state for entry in catalogue() if entry.name == name)
    if state in ("here", "made here"):
        return {"name": name}, ""
    return {"name": stand_in, **options}, f"{name} is not here: {stand_in} stands in for it."
