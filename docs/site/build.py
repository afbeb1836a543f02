"""Build the site: `make docs`, or `python docs/site/build.py`. Nothing is fetched; only docs/_build changes.

1. The repository's pages are copied, in their places; 2. the reference, the commands, the picture of imports are
written from the code; 3. the tutorials are executed, unless what they printed is kept for the same source and the same
library; 4. the gallery's explorers are made; 5. Sphinx, with every warning an error; 6. all links are followed.
"""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

SITE = Path(__file__).resolve().parent
ROOT = SITE.parent.parent
BUILD = ROOT / "docs" / "_build"
sys.path[:0] = [str(SITE), str(ROOT / "src")]
os.environ["PYTHONPATH"] = str(ROOT / "src")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import commands  # noqa: E402
import gallery  # noqa: E402
import imports  # noqa: E402
import links  # noqa: E402
import pages  # noqa: E402
import reference  # noqa: E402
import tutorials  # noqa: E402


def assemble(tree: Path, extra: Path, *, execute: bool) -> None:
    """Everything that Sphinx reads."""
    wanted = {tree / path for path in pages.copy(tree)}
    made = {f"reference/{name}": text for name, text in reference.pages().items()}
    references = [name.removesuffix(".md") for name in made]
    made["reference/commands.md"] = commands.page()
    made["docs/imports.svg"] = imports.picture()
    told = tutorials.pages(BUILD / "tutorials", tree / "tutorials", extra, execute=execute)
    made |= {f"tutorials/{name}": text for name, text in told.items()}
    made["gallery.md"] = gallery.page(BUILD / "gallery", extra)
    named = [f"tutorials/{name.removesuffix('.md')}" for name in told if name != "index.md"]
    made["index.md"] = (SITE / "index.md").read_text() + "\n" + pages.contents(sorted(named), references)
    for name, text in made.items():
        pages.write(tree / name, text)
        wanted.add(tree / name)
    for path in tree.rglob("*.md"):
        if path not in wanted:
            path.unlink()


def main() -> int:
    """Build all; 0 if there was no warning and no dead link."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fresh", action="store_true", help="forget everything that was built before")
    parser.add_argument("--without-outputs", action="store_true", help="do not execute tutorials")
    asked = parser.parse_args()
    if asked.fresh:
        shutil.rmtree(BUILD, ignore_errors=True)
    start = time.monotonic()
    tree, extra, out = BUILD / "source", BUILD / "extra", BUILD / "html"
    for folder in (out, BUILD / "doctrees"):  # a page that moved would leave links to where it was
        shutil.rmtree(folder, ignore_errors=True)
    for folder in (tree, extra):
        folder.mkdir(parents=True, exist_ok=True)
    assemble(tree, extra, execute=not asked.without_outputs)
    print(f"assembled in {time.monotonic() - start:.0f} s", flush=True)

    from sphinx.cmd.build import main as sphinx

    failed = sphinx(
        [
            "-W",
            "--keep-going",
            "-q",
            "-j",
            "1",
            "-c",
            str(SITE),
            "-d",
            str(BUILD / "doctrees"),
            str(tree),
            str(out),
        ]
    )
    if failed:
        return failed
    dead = links.dead(out)
    print("\n".join(dead))
    count = len(list(out.rglob("*.html")))
    print(f"{count} pages in {time.monotonic() - start:.0f} s, {len(dead)} dead links: {out / 'index.html'}")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
