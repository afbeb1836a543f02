"""The report on the papers' claims: what holds, what holds in part, what does not, each with its number."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from unweave.errors import UnweaveError
from unweave.recipes.claims import FindingRecord
from unweave.recipes.recipe import Recipe
from unweave.recipes.reproduce import Result, chance
from unweave.recipes.result_pages import is_older

Standing = Literal[
    "Holds",
    "Holds in part",
    "Does not show",
    "Opposite",
    "Computed, not trained",
    "By construction",
    "Not run",
]

MEANINGS: Mapping[Standing, str] = {
    "Holds": "Every tested part of the claim shows, on trained models or random draws.",
    "Holds in part": "Some tested parts show, others do not.",
    "Does not show": "No tested part shows; whether the runs could have seen it stands beside the number.",
    "Opposite": "At least one part shows a significant effect against the claim.",
    "Computed, not trained": "Exact numbers and published tables: they agree, and no training was needed to see it.",
    "By construction": "Identities and solved-for values: they check our code, not the claim.",
    "Not run": "No result beyond the smoke test.",
}
_SHOWS = ("agrees", "same direction")
_REFERENCE = re.compile(r"\{([a-z0-9+.=A-Z-]+)#(\d+)\}")


def standing(result: Result | None) -> Standing:
    """Where a result leaves its claim, from the verdicts on its findings alone.

    Example:
        >>> standing(None)
        'Not run'
    """
    if result is None:
        return "Not run"
    told = [found for found in result.findings if found["verdict"] != "by construction"]
    if not told:
        return "By construction"
    if any(found["verdict"] == "opposite" for found in told):
        return "Opposite"
    shows = [found["verdict"] in _SHOWS for found in told]
    if all(shows):
        random = any(found["p"] is not None for found in told)
        return "Holds" if random else "Computed, not trained"
    return "Holds in part" if any(shows) else "Does not show"


def sentence(found: FindingRecord) -> str:
    """A finding in one line: the number, its interval, p, the published number, and the power where it is missing.

    Example:
        >>> from unweave.recipes.claims import equal
        >>> sentence(equal("layers that differ", 0.0, 0.0).to_json())
        'layers that differ: 0 (published: 0)'
    """
    p = found.get("corrected") if found.get("corrected") is not None else found["p"]
    details = [
        *([f"95 % interval {found['low']:.3g} to {found['high']:.3g}"] if _bounded(found) else []),
        *([f"p {_chance(p)}"] if p is not None else []),
        *([f"published: {found['published']:.4g}"] if found["published"] is not None else []),
    ]
    value = "not a number" if found["value"] is None else f"{found['value']:.4g}"
    line = f"{found['what']}: {value}" + (f" ({'; '.join(details)})" if details else "")
    if found["verdict"] not in _SHOWS and found["p"] is not None:
        line += f". {_power(found)}"
    return line


def filled(text: str, results: Mapping[str, Result]) -> str:
    """A text whose ``{ID#K}`` become the K-th number of a result, with its interval and a link to it.

    A number that was withdrawn or renumbered is an error, so no sentence outlives its evidence.

    Example:
        >>> filled("nothing to fill", {})
        'nothing to fill'
    """

    def number(match: re.Match[str]) -> str:
        name, k = match[1], int(match[2])
        if name not in results or k >= len(results[name].findings):
            raise UnweaveError(
                f"the report speaks of finding {k} of {name}, which is not among the published results"
            )
        found = results[name].findings[k]
        interval = f", {found['low']:.3g} to {found['high']:.3g}" if _bounded(found) else ""
        value = "not a number" if found["value"] is None else f"{found['value']:.3g}"
        return f"{value} ([{name}]({name.split('-')[0]}.md#{name}){interval})"

    return _REFERENCE.sub(number, text)


def report_page(
    papers: Mapping[str, str],
    recipes: Sequence[Recipe],
    results: Mapping[str, Result],
    opinions: Mapping[str, str],
) -> str:
    """The report in Markdown.

    Args:
        papers: titles by code.
        recipes: all of them.
        results: the published ones, by name; without changes of a user's own.
        opinions: by paper, with references such as ``{sbd-fig4#0}``; ``all`` comes first.

    Example:
        >>> report_page({}, [], {}, {"all": "Little."}).splitlines()[0]
        '# What we think of the claims now'
    """
    of = {recipe.id: standing(results.get(recipe.id)) for recipe in recipes}
    lines = [
        "# What we think of the claims now",
        "",
        "Written by `python docs/make_results.py`. Opinions are ours, from `opinions.toml`; every number, and "
        "the heading that a claim stands under, is read from the published results. [The index](README.md) "
        "says how verdicts are computed.",
        "",
        filled(opinions.get("all", ""), results),
        "",
        "| | " + " | ".join(paper.upper() for paper in papers) + " |",
        "|---" * (len(papers) + 1) + "|",
    ]
    for name, meaning in MEANINGS.items():
        counts = [sum(of[r.id] == name for r in recipes if r.paper == paper) for paper in papers]
        lines.append(f"| **{name}**: {meaning} | " + " | ".join(map(str, counts)) + " |")
    for paper, title in papers.items():
        mine = [recipe for recipe in recipes if recipe.paper == paper]
        lines += ["", f"## {paper.upper()}: {title}", "", filled(opinions.get(paper, ""), results)]
        for name in MEANINGS:
            lines += _group(name, [recipe for recipe in mine if of[recipe.id] == name], results)
    return "\n".join(lines) + "\n"


def _group(name: Standing, recipes: Sequence[Recipe], results: Mapping[str, Result]) -> Iterator[str]:
    if not recipes:
        return
    yield from ("", f"### {name}", "")
    if name in ("Computed, not trained", "By construction", "Not run"):
        links = (f"[{r.id}]({r.paper}.md#{r.id})" if r.id in results else r.id for r in recipes)
        yield ", ".join(links) + "."
        return
    for recipe in recipes:
        result = results[recipe.id]
        older = " *(older rule)*" if is_older(result) else ""
        yield f"* **[{recipe.id}]({recipe.paper}.md#{recipe.id})**{older} {recipe.claim}"
        for found in result.findings:
            if found["verdict"] != "by construction":
                mark = {"agrees": "agrees", "same direction": "shows"}.get(found["verdict"], found["verdict"])
                yield f"    * {mark}: {sentence(found)}"


def _bounded(found: FindingRecord) -> bool:
    return found["low"] is not None and found["high"] is not None


def _chance(p: float) -> str:
    text = chance(p)
    return text if text.startswith("<") else f"= {text}"


def _power(found: FindingRecord) -> str:
    if found.get("detectable") is None:
        return (
            "Its power was not computed (older rule)"
            if found.get("computed") is None
            else "Its power is not known"
        )
    verdict = "too few runs to tell" if found.get("lacks_power") else "runs enough to tell"
    return f"An effect of {found['detectable']:.3g} would have shown with 80 % power: {verdict}"
