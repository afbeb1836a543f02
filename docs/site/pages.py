"""The tree of pages that Sphinx reads: the repository's own Markdown where it stands, and the pages that are generated.

Because the tree has the shape of the repository, a link that works on a code host works on the site.
"""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

GUIDE = (
    *("disentanglement", "choosing", "metrics", "failures", "data", "own-pictures", "models", "objectives"),
    *("priors", "learning", "theory", "pages", "explorer", "sweeps", "expect"),
)
BUILT = ("built", "coverage", "releasing")
ELSEWHERE = ("start", "extending", "reliability", "stranger")
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def sources() -> list[Path]:
    """The Markdown of the repository that becomes pages, relative to its root."""
    found = [
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs" / "results").glob("*.md")),
        *sorted((ROOT / "models").rglob("*.md")),
        *sorted((ROOT / "examples").rglob("*.md")),
        *sorted(ROOT.glob("*.md")),
        ROOT / "benchmarks" / "README.md",
    ]
    return [path.relative_to(ROOT) for path in found]


def copy(tree: Path) -> set[Path]:
    """Copy the pages and whatever they show or lead to; what is as it was keeps its date. All files."""
    wanted = set(sources())
    pictures = (ROOT / "docs" / "pictures").glob("*.png")
    wanted |= {path.relative_to(ROOT) for path in pictures}
    for page in sources():
        for target in _LINK.findall(_without_code((ROOT / page).read_text())):
            if "://" in target or target.startswith(("mailto:", "/")):
                continue
            path = (ROOT / page).parent.joinpath(target).resolve()
            if path.is_file() and ROOT in path.parents and "_build" not in path.parts:
                wanted.add(path.relative_to(ROOT))
    for path in sorted(wanted):
        place = tree / path
        if not place.exists() or place.read_bytes() != (ROOT / path).read_bytes():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, place)
    return wanted


def _without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def write(place: Path, text: str) -> None:
    """Write a page, unless it has this text already: an unchanged page is not built again."""
    if not place.exists() or place.read_text() != text:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def _toctree(caption: str, entries: list[str], *, depth: int = 1) -> str:
    options = f":caption: {caption}\n:maxdepth: {depth}\n:hidden:"
    return f"```{{toctree}}\n{options}\n\n" + "\n".join(entries) + "\n```"


def contents(tutorials: list[str], references: list[str]) -> str:
    """The trees of contents of the first page. A page of docs/ that is named nowhere above ends the guide."""
    docs = [path.stem for path in sources() if path.parent == Path("docs")]
    known = {*GUIDE, *BUILT, *ELSEWHERE}
    guide = [*(name for name in GUIDE if name in docs), *sorted(set(docs) - known)]
    top = [path.stem for path in sources() if path.parent == Path()]
    others = sorted(set(top) - {"README", "CHANGELOG", "CONTRIBUTING"})
    cards = [str(path.with_suffix("")) for path in sources() if path.parts[0] == "models"]
    examples = [str(path.with_suffix("")) for path in sources() if path.parts[0] == "examples"]
    results = [f"docs/results/{name}" for name in ("README", "report", "sbd", "fac", "rec", "dec", "isa")]
    built = [f"docs/{name}" for name in BUILT if name in docs]
    return "\n\n".join(
        [
            _toctree("Start", ["docs/start", "README <README>"]),
            _toctree("Tutorials", ["tutorials/index", *tutorials, *examples]),
            _toctree("Guide", [f"docs/{name}" for name in guide]),
            _toctree("Gallery", ["gallery", *cards]),
            _toctree("Results", results),
            _toctree("Reference", ["reference/commands", *references]),
            _toctree("How it is built", [*built, "CONTRIBUTING", *others]),
            _toctree(
                "More",
                ["docs/extending", "docs/reliability", "benchmarks/README", "docs/stranger", "CHANGELOG"],
            ),
        ]
    )
