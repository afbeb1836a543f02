"""Make every place in one of the five papers ("FAC Eq. 2") a link, in all pages of the docs. Changes nothing twice."""

from pathlib import Path

from unweave.papers import linked

ROOT = Path(__file__).parent.parent

if __name__ == "__main__":
    for page in [
        *sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts),
        *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG")),
    ]:
        before = page.read_text()
        after = linked(before)
        if after != before:
            page.write_text(after)
            print(f"linked {page.relative_to(ROOT)}")
