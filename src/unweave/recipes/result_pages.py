"""What is told of the recipes: the list on the terminal, and one page for each paper."""

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
        root: where the reader's own results are.

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
    """The measured cost of a scale, or the number of runs if it was not measured.

    Example:
        >>> from unweave.recipes.catalogue import RECIPES
        >>> cost_of(RECIPES["isa-b3"], PublishedResult(None, {}), "paper")
        'paper not measured'
    """
    if scale in known.costs:
        return f"{scale} {known.costs[scale].told}"
    study = recipe.study(scale)
    return f"{scale} {len(study.runs)} runs, not measured" if study is not None else f"{scale} not measured"


def status_of(recipe: Recipe, known: PublishedResult, root: Path) -> str:
    """The verdicts on a recipe: the reader's own results, and the one that comes with unweave.

    Example:
        >>> from unweave.recipes.catalogue import RECIPES
        >>> status_of(RECIPES["isa-b3"], PublishedResult(None, {}), Path("nowhere"))
        'not run'
    """
    own = [(scale, root / scale / recipe.id / RESULT) for scale in SCALES]
    told = [f"{scale}: {read_result(path).verdict} (yours)" for scale, path in own if path.exists()]
    if known.result is not None:
        told.append(f"{known.result.scale}: {known.result.verdict} (comes with unweave)")
    return "; ".join(told) or "not run"


def paper_page(name: str, title: str, recipes: Sequence[Recipe], folder: Path) -> str:
    """The page of a paper in Markdown: each kept result with figure, claim, numbers, verdict, command and time.

    Args:
        name: letters of the paper.
        title: of the paper.
        recipes: of the paper.
        folder: of the page, from which its pictures are reached.

    Example:
        >>> from unweave.recipes.catalogue import find
        >>> paper_page("isa", "Subspaces", find(["isa-b3"]), Path("docs/results")).splitlines()[0]
        '# ISA: Subspaces'
    """
    everything = published_results()
    shown = {each: known for each, known in everything.items() if known.result is not None}
    lines = [
        f"# {name.upper()}: {title}",
        "",
        "Made by `python docs/make_results.py` from `src/unweave/recipes/results`; do not edit. How the verdicts are "
        "computed is told in [the index](README.md).",
        "",
        "| id | what | verdict |",
        "|---|---|---|",
    ]
    ids = [recipe.id for recipe in recipes]
    for recipe in recipes:
        known = everything.get(recipe.id, PublishedResult(None, {}))
        verdict = known.result.verdict if known.result is not None else "not run beyond the smoke test"
        link = f"[{recipe.id}](#{recipe.id})" if known.result is not None else recipe.id
        lines.append(f"| {link} | {cell(recipe.title)} | {verdict} |")
    own = [
        (ids.index(known.result.id), each, known)
        for each, known in shown.items()
        if known.result is not None and known.result.id in ids
    ]
    for _, each, known in sorted(own, key=lambda entry: entry[:2]):
        assert known.result is not None
        lines += ["", *_section(each, known.result, known, folder)]
    missing = [recipe for recipe in recipes if recipe.id not in shown]
    if missing:
        lines += ["", "## Not run beyond the smoke test", ""]
    for recipe in missing:
        known = everything.get(recipe.id, PublishedResult(None, {}))
        cost = "; ".join(cost_of(recipe, known, scale) for scale in SCALES)
        lines += [
            f"- **{recipe.id}**, {recipe.title}. {recipe.claim} Published: {recipe.published}. Cost: {cost}. "
            f"`{command_of(recipe.id, 'small')}`"
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
    yield f"Verdict: **{result.verdict}**. Published: {result.published}."
    if result.notes:
        yield ""
        yield " ".join(result.notes)
    yield ""
    cost = known.costs.get(result.scale)
    yield f"`{result.command}`" + (f": {cost.told} on one core." if cost is not None else "")


def _markdown(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for k, row in enumerate(rows):
        yield "| " + " | ".join(map(cell, row)) + " |"
        if k == 0:
            yield "|" + "---|" * len(row)


def cell(text: str) -> str:
    r"""Text for a table's cell.

    Example:
        >>> cell("|a| < 1")
        '\\|a\\| < 1'
    """
    return text.replace("|", "\\|").replace("\n", " ")
