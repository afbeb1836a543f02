"""The recipes and their results as text: the list on the terminal, and one page for each paper."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from unweave.recipes.published_results import PublishedResult, published_result, published_results
from unweave.recipes.recipe import SCALES, Recipe, Scale
from unweave.recipes.reproduce import RESULT, Result, command_of, read_result, summary


def listing(recipes: Iterable[Recipe], root: Path) -> Iterator[str]:
    """Every recipe with its claim, the published numbers, its cost at each scale and its status, line by line.

    Args:
        recipes: what to list.
        root: folder of the user's own results.

    Example:
        >>> from unweave.recipes.catalogue import find
        >>> next(listing(find(["isa-b3"]), Path("nowhere"))).split(":")[0]
        'isa-b3'
    """
    for recipe in recipes:
        known = published_result(recipe.id)
        yield f"{recipe.id}: {recipe.title}"
        yield f"    claims     {recipe.claim}"
        yield f"    published  {recipe.published}"
        yield f"    cost       {'; '.join(cost_of(recipe, known, scale) for scale in SCALES)}"
        yield f"    status     {status_of(recipe, known, root)}"


def cost_of(recipe: Recipe, known: PublishedResult, scale: Scale) -> str:
    """The measured cost of a scale, or the number of runs if it was not measured; how many are planned if others.

    Example:
        >>> from unweave.recipes.catalogue import RECIPES
        >>> cost_of(RECIPES["isa-b3"], PublishedResult(None, {}), "paper")
        'paper not measured'
    """
    study = recipe.study(scale)
    if scale in known.costs:
        planned = len(study.runs) if study is not None else 0
        now = f" ({planned} are planned now)" if known.costs[scale].runs != planned else ""
        return f"{scale} {known.costs[scale].text}{now}"
    return f"{scale} {len(study.runs)} runs, not measured" if study is not None else f"{scale} not measured"


def status_of(recipe: Recipe, known: PublishedResult, root: Path) -> str:
    """The verdicts on a recipe: of the user's own results, and of the one that comes with unweave.

    Example:
        >>> from unweave.recipes.catalogue import RECIPES
        >>> status_of(RECIPES["isa-b3"], PublishedResult(None, {}), Path("nowhere"))
        'not run'
    """
    own = [(scale, root / scale / recipe.id / RESULT) for scale in SCALES]
    verdicts = [f"{scale}: {read_result(path).verdict} (yours)" for scale, path in own if path.exists()]
    if known.result is not None:
        verdicts.append(f"{known.result.scale}: {known.result.verdict} (comes with unweave)")
    return "; ".join(verdicts) or "not run"


def paper_page(name: str, title: str, recipes: Sequence[Recipe], folder: Path) -> str:
    """The page of a paper in Markdown: each result with figure, claim, numbers, verdict, command and time.

    Args:
        name: code of the paper.
        title: of the paper.
        recipes: of the paper.
        folder: of the page, to which the paths of its pictures are relative.

    Example:
        >>> from unweave.recipes.catalogue import find
        >>> paper_page("isa", "Subspaces", find(["isa-b3"]), Path("docs/results")).splitlines()[0]
        '# ISA: Subspaces'
    """
    published = published_results()
    lines = [
        f"# {name.upper()}: {title}",
        "",
        "Written by `python docs/make_results.py` from `src/unweave/published`; do not edit. [The index](README.md) "
        "explains how the verdicts are computed.",
        "",
        "| id | what | verdict |",
        "|---|---|---|",
    ]
    own = {recipe.id: published.get(recipe.id, PublishedResult(None, {})) for recipe in recipes}
    for recipe in recipes:
        result = own[recipe.id].result
        verdict = "not run beyond the smoke test" if result is None else _verdict(result)
        link = f"[{recipe.id}](#{recipe.id})" if result is not None else recipe.id
        lines.append(f"| {link} | {cell(recipe.title)} | {verdict} |")
    for recipe in recipes:
        for each, known in published.items():
            if known.result is not None and known.result.id == recipe.id:
                lines += ["", *_section(each, known.result, known, folder), *_older_plan(recipe, known)]
    missing = [recipe for recipe in recipes if own[recipe.id].result is None]
    if missing:
        lines += ["", "## Not run beyond the smoke test", ""]
    for recipe in missing:
        cost = "; ".join(cost_of(recipe, own[recipe.id], scale) for scale in SCALES)
        lines += [
            f"- **{recipe.id}**, {recipe.title}. {recipe.claim} Published: {recipe.published}. Cost: {cost}. "
            f"`{command_of(recipe.command_name, 'small')}`"
        ]
    return "\n".join(lines) + "\n"


def _section(name: str, result: Result, known: PublishedResult, folder: Path) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    yield f"**{result.title}.** {result.claim}"
    yield ""
    for picture in result.pictures:
        path = os.path.relpath(folder / "pictures" / f"{name}-{picture}.png", folder)
        yield f"![{result.title}: {picture}]({path})"
        yield ""
    yield from _markdown(result.rows)
    yield ""
    yield from _markdown(summary(result))
    yield ""
    yield f"Verdict: **{_verdict(result)}**. Published: {result.published}."
    if result.notes:
        yield ""
        yield " ".join(result.notes)
    yield ""
    cost = known.costs.get(result.scale)
    yield f"`{result.command}`" + (f": {cost.text} on one core." if cost is not None else "")


def is_older(result: Result) -> bool:
    """Whether a result was made before results held the values of every seed.

    Example:
        >>> from unweave.recipes.claims import equal
        >>> found = [equal("x", 1.0, 1.0).to_json()]
        >>> is_older(Result("a", "small", "", "", "", "", [], found, "agrees", [], [], ""))
        False
    """
    return any(found.get("computed") is None for found in result.findings)


def _verdict(result: Result) -> str:
    return f"{result.verdict} (older rule)" if is_older(result) else result.verdict


def _older_plan(recipe: Recipe, known: PublishedResult) -> Iterator[str]:
    """A sentence if a result was made from other runs than are planned now."""
    assert known.result is not None
    cost, study = known.costs.get(known.result.scale), recipe.study(known.result.scale)
    if cost is not None and study is not None and cost.runs != len(study.runs) and not known.result.changes:
        yield ""
        yield f"This result was made from {cost.runs} runs, {len(study.runs)} are planned now."


def _markdown(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for k, row in enumerate(rows):
        yield "| " + " | ".join(map(cell, row)) + " |"
        if k == 0:
            yield "|" + "---|" * len(row)


def cell(text: str) -> str:
    r"""Text for a cell of a Markdown table.

    Example:
        >>> cell("|a| < 1")
        '\\|a\\| < 1'
    """
    return text.replace("|", "\\|").replace("\n", " ")
