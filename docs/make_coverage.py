# ruff: noqa: E501
"""Write docs/coverage.md: what the papers say, item by item, and where unweave has it.

python docs/make_coverage.py
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from unweave.recipes.catalogue import PAPERS

DOCS = Path(__file__).parent
PAGE = DOCS / "coverage.md"
STATUSES = ("done", "differs", "not done")

INTRODUCTION = """\
# What the papers say, item by item

Algorithms, layers, constants, protocols, figures, numbers and claims of the papers, each with its place in the code, its test and its command.
`python docs/make_coverage.py` writes this page from `docs/coverage/*.toml`; `tests/test_coverage.py` checks that every file, object, test and
command that is named exists. *Differs* is done otherwise than printed, *not done* is missing; both say why. Done: **{share}** of {count} items.

| paper | items | done | differs | not done |
|---|---|---|---|---|
{totals}
"""


@dataclass(frozen=True)
class Item:
    """One thing that a paper says.

    Args:
        place: where it is printed: "Eq. 7", "Table 1a", "Fig. 2", "Sec. 3.1", "App. C".
        says: what it says, in one sentence of our own.
        code: where it is: ``path`` or ``path:object``, several separated by spaces.
        test: ``path::test``, several separated by spaces; empty if there is none.
        command: that shows it; empty if there is none.
        status: "done", "differs" or "not done".
        why: the reason, unless it is done.
    """

    place: str
    says: str
    code: str = ""
    test: str = ""
    command: str = ""
    status: str = "done"
    why: str = ""


def items_of(paper: str) -> list[Item]:
    """The items of a paper by its code; none if it has no file."""
    path = DOCS / "coverage" / f"{paper}.toml"
    if not path.exists():
        return []
    return [Item(**entry) for entry in tomllib.loads(path.read_text())["item"]]


def page() -> str:
    """The whole page."""
    found = {paper: items_of(paper) for paper in PAPERS}
    found = {paper: items for paper, items in found.items() if items}
    everything = [item for items in found.values() for item in items]
    done = sum(item.status == "done" for item in everything)
    rows = [_totals(paper.upper(), items) for paper, items in found.items()]
    head = INTRODUCTION.format(
        share=f"{100 * done / len(everything):.1f} %", count=len(everything), totals="\n".join(rows)
    )
    return "\n".join([head, *(_section(paper, items) for paper, items in found.items())])


def _totals(name: str, items: list[Item]) -> str:
    counts = [sum(item.status == status for item in items) for status in STATUSES]
    return f"| {name} | {len(items)} | {' | '.join(map(str, counts))} |"


def _section(paper: str, items: list[Item]) -> str:
    lines = [f"## {paper.upper()}: {PAPERS[paper]}", "", "| place | says | code | test | command | status |"]
    lines.append("|---|---|---|---|---|---|")
    for item in items:
        status = item.status if item.status == "done" else f"**{item.status}**: {item.why}"
        code, test = (" ".join(f"`{word}`" for word in text.split()) for text in (item.code, item.test))
        command = f"`{item.command}`" if item.command else ""
        cells = (item.place, item.says, code, test, command, status)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"{PAGE.name}: {page().split('Done: **')[1].split('**')[0]} done")
