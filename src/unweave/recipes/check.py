"""Compute every stored verdict, interval and p-value again, from the values of each seed; nothing is trained."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unweave.metrics.statistics import holm
from unweave.recipes.claims import Finding, FindingRecord, computed_again, corrected, worst
from unweave.recipes.recipe import Recipe
from unweave.recipes.reproduce import Result, chance

_NUMBERS = ("value", "low", "high", "p", "corrected", "published", "within", "detectable")


@dataclass(frozen=True)
class Checked:
    """What became of a stored result.

    Args:
        name: of the result.
        wrong: one sentence for each number or verdict that comes out otherwise.
        unproved: findings that hold no values to compute them from.
        stale: why its runs are not those that are planned today; empty: they are.

    Example:
        >>> Checked("sbd-fig4").ok
        True
    """

    name: str
    wrong: list[str] = field(default_factory=list)
    unproved: list[str] = field(default_factory=list)
    stale: str = ""

    @property
    def ok(self) -> bool:
        """Whether everything that can be computed again comes out as it is stored."""
        return not self.wrong


def check(result: Result, recipe: Recipe | None = None, evidence: Mapping[str, Any] | None = None) -> Checked:
    """Compute the findings of a result again and compare; compare its runs with those that are planned.

    Args:
        result: as it is stored.
        recipe: of the result, for the runs that are planned today.
        evidence: of the result, for the runs that it was made from.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from unweave.recipes.catalogue import RECIPES
        >>> from unweave.recipes.reproduce import conclude
        >>> _, result, _ = conclude(RECIPES["isa-b3"], "smoke", Path(tempfile.mkdtemp()), None)
        >>> check(result)
        Checked(name='isa-b3', wrong=[], unproved=[], stale='')
    """
    again = [computed_again(record) for record in result.findings]
    unproved = [record["what"] for record, found in zip(result.findings, again, strict=True) if found is None]
    wrong = []
    if not unproved:
        judged = corrected([found for found in again if found is not None])
        for record, found in zip(result.findings, judged, strict=True):
            wrong += [f"{result.name}: {sentence}" for sentence in _differences(record, found)]
        verdict = worst([finding.verdict for finding in judged])
        if verdict != result.verdict:
            wrong.append(f"{result.name}: the verdict is {verdict}, not {result.verdict}")
    return Checked(result.name, wrong, unproved, _staleness(result, recipe, evidence))


def _differences(record: FindingRecord, found: Finding) -> Iterator[str]:
    new: Mapping[str, Any] = found.to_json()
    old: Mapping[str, Any] = record
    for key in _NUMBERS:
        a, b = old.get(key), new[key]
        same = a is None and b is None
        if not same and (a is None or b is None or not math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)):
            yield f"{record['what']}: {key} is {b}, not {a}"
    if new["verdict"] != record["verdict"]:
        yield f"{record['what']}: the verdict is {new['verdict']}, not {record['verdict']}"


def _staleness(result: Result, recipe: Recipe | None, evidence: Mapping[str, Any] | None) -> str:
    if recipe is None or recipe.runs is None or result.changes:
        return ""
    study = recipe.study(result.scale)
    assert study is not None
    if evidence is None:
        return "no record of its runs"
    planned = {planned.config.identity[:16] for planned in study.runs}
    used = {run["identity"] for run in evidence["runs"]}
    if planned == used:
        return ""
    return (
        f"{len(planned & used)} of its {len(used)} runs are among the {len(planned)} that are planned today"
    )


def table(results: Iterable[Result]) -> list[list[str]]:
    """All findings: verdict, number of values, effect, interval, p, corrected in its result and in its paper, and more.

    Example:
        >>> table([])[0][:4]
        ['id', 'claim as a number', 'verdict', 'n']
    """
    rows = [
        [
            *("id", "claim as a number", "verdict", "n", "ours", "95 % interval", "published"),
            *("p", "p (Holm, result)", "p (Holm, paper)", "detectable (80 %)"),
        ]
    ]
    listed = list(results)
    adjusted = _corrected_by_paper(listed)
    for result in listed:
        for k, found in enumerate(result.findings):
            rows.append(
                [
                    *(result.name, found["what"], found["verdict"], str(_count(found.get("computed")))),
                    *(_number(found["value"]), _interval(found), _number(found["published"])),
                    "exact" if found["p"] is None else chance(found["p"]),
                    _chance(found.get("corrected")),
                    _chance(adjusted.get((result.name, k))),
                    _number(found.get("detectable")),
                ]
            )
    return rows


def _corrected_by_paper(results: Sequence[Result]) -> dict[tuple[str, int], float]:
    """The p of every finding, corrected for the number of all tests of the same paper."""
    papers: dict[str, list[tuple[tuple[str, int], float]]] = {}
    for result in results:
        for k, found in enumerate(result.findings):
            if found["p"] is not None and not result.changes:
                papers.setdefault(result.id.partition("-")[0], []).append(((result.name, k), found["p"]))
    return {
        key: p
        for several in papers.values()
        for (key, _), p in zip(several, holm([value for _, value in several]), strict=True)
    }


def _count(computed: Mapping[str, Any] | None) -> str:
    """How many values a finding rests on, group by group."""
    if computed is None:
        return ""
    if "total" in computed:
        return str(computed["total"])
    if computed["by"] in ("paired", "correlated", "correlation"):
        return str(len(computed.get("a", computed.get("x", []))))
    return " + ".join(str(len(values)) for values in computed.values() if isinstance(values, list))


def _interval(found: FindingRecord) -> str:
    low, high = found["low"], found["high"]
    return f"{_number(low)} to {_number(high)}" if low is not None and high is not None else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _chance(p: float | None) -> str:
    return "" if p is None else chance(p)
