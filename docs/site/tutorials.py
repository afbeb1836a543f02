"""Tutorials: one source, from which the site's page with what it prints, and the notebook, are made.

A tutorial is a script of examples/tutorials in the percent format: a line ``# %% [markdown]`` begins text, which
follows as comments, and ``# %%`` begins code. `python docs/site/tutorials.py` writes the notebooks anew.
"""

import base64
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "examples" / "tutorials"
RUNNER = Path(__file__).resolve().parent / "run_tutorial.py"
INTRODUCTION = """\
# Tutorials

Each is a script of `examples/tutorials`, and a notebook beside it; what you see here was printed when this site was
built. The times are those of that execution, on one core.

| tutorial | took |
|---|---|
"""
_HTML = re.compile(r"\[([^\]]+)\]\((?!https?:)([\w-]+\.html)\)")


@dataclass(frozen=True)
class Cell:
    """A piece of a tutorial: Markdown, or code."""

    kind: str
    text: str


def cells(source: str) -> list[Cell]:
    r"""The pieces of a script in the percent format.

    Example:
        >>> cells("# %% [markdown]\n# # Title\n#\n# Text\n\n# %%\nprint(1)\n")
        [Cell(kind='markdown', text='# Title\n\nText'), Cell(kind='code', text='print(1)')]
    """
    found = []
    for piece in re.split(r"^# %%", source, flags=re.MULTILINE)[1:]:
        head, _, body = piece.partition("\n")
        if "[markdown]" in head:
            lines = [re.sub(r"^# ?", "", line) for line in body.strip().splitlines()]
            found.append(Cell("markdown", "\n".join(lines)))
        else:
            found.append(Cell("code", body.strip()))
    return found


def scripts() -> list[Path]:
    """The tutorials, in their order."""
    return sorted(FOLDER.glob("[0-9]*.py"))


def title(script: Path) -> str:
    """The first heading."""
    first = cells(script.read_text())[0].text
    return first.splitlines()[0].removeprefix("# ")


def notebook(source: str) -> str:
    """The notebook of a script, without outputs."""
    made: list[dict[str, Any]] = []
    for number, cell in enumerate(cells(source)):
        entry: dict[str, Any] = {"cell_type": cell.kind, "id": f"cell-{number}", "metadata": {}}
        entry["source"] = cell.text.splitlines(keepends=True)
        made.append(entry | ({"execution_count": None, "outputs": []} if cell.kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def write_notebooks() -> None:
    """Write the notebook of every tutorial beside it."""
    for script in scripts():
        script.with_suffix(".ipynb").write_text(notebook(script.read_text()))


@functools.cache
def identity(script: Path) -> str:
    """Changes with the tutorial and with the library: the name under which what it printed is kept."""
    made = hashlib.sha256(script.read_bytes() + RUNNER.read_bytes())
    for path in sorted((ROOT / "src" / "unweave").rglob("*.py")):
        made.update(path.read_bytes())
    return made.hexdigest()[:16]


def outputs(script: Path, kept: Path) -> list[dict[str, Any]]:
    """What the code cells print and show, from an earlier execution if there was one of the same."""
    place = kept / f"{script.stem}-{identity(script)}"
    if not (place / "outputs.json").exists():
        execute(script, place)
        for old in kept.glob(f"{script.stem}-*"):
            if old != place:
                shutil.rmtree(old)
    return json.loads((place / "outputs.json").read_text())


def execute(script: Path, place: Path) -> None:
    """Run a tutorial in an empty folder; keep its outputs and the pages that it wrote. Stops at an error."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        (work / "examples").symlink_to(ROOT / "examples")
        environment = os.environ | {
            "MPLBACKEND": "Agg",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "OMP_NUM_THREADS": "1",
        }
        environment |= {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [sys.executable, str(RUNNER), str(script), "outputs.json"],
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{script.name} fails:\n{done.stdout}\n{done.stderr}")
        place.mkdir(parents=True, exist_ok=True)
        for page in work.glob("*.html"):
            shutil.copy(page, place / page.name)
        shutil.copy(work / "outputs.json", place / "outputs.json")


def pages(kept: Path, tree: Path, extra: Path, *, execute: bool) -> dict[str, str]:
    """File name -> text of the page of every tutorial, and of the list of them."""
    made = {}
    rows = []
    told: dict[Path, list[dict[str, Any]]] = {}
    if execute:
        for script in scripts():
            identity(script)  # before several threads ask for it
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # each is a process of one thread
            told = dict(
                zip(scripts(), pool.map(lambda script: outputs(script, kept), scripts()), strict=True)
            )
    for script in scripts():
        shown = told.get(script, [])
        made[f"{script.stem}.md"] = _page(script, shown, tree)
        for page in kept.glob(f"{script.stem}-{identity(script)}/*.html"):
            (extra / "tutorials").mkdir(parents=True, exist_ok=True)
            shutil.copy(page, extra / "tutorials" / page.name)
        for form in (".py", ".ipynb"):
            tree.mkdir(parents=True, exist_ok=True)
            shutil.copy2(script.with_suffix(form), tree / f"{script.stem}{form}")
        seconds = f"{sum(cell['seconds'] for cell in shown):.0f} s" if shown else ""
        rows.append(f"| [{title(script)}]({script.stem}.md) | {seconds} |")
    made["index.md"] = INTRODUCTION + "\n".join(rows) + "\n"
    return made


def _page(script: Path, shown: list[dict[str, Any]], tree: Path) -> str:
    parts = []
    results = iter(shown)
    for cell in cells(script.read_text()):
        if cell.kind == "markdown":
            parts.append(_HTML.sub(r'<a href="\2">\1</a>', cell.text))
        else:
            parts.append(f"```python\n{cell.text}\n```")
            parts += _shown(script, next(results, None), tree)
    name = script.stem
    own = f"This page is the script [{name}.py]({name}.py), and the notebook [{name}.ipynb]({name}.ipynb)."
    return "\n\n".join([parts[0], own, *parts[1:]]) + "\n"


def _shown(script: Path, result: dict[str, Any] | None, tree: Path) -> list[str]:
    if result is None:
        return []
    made = [f"```text\n{result['text'].rstrip()}\n```"] if result["text"].strip() else []
    for picture in result["pictures"]:
        data = base64.b64decode(picture)
        file = tree / f"{script.stem}-{hashlib.sha256(data).hexdigest()[:10]}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        made.append(f"![what the code above shows]({file.name})")
    return made


if __name__ == "__main__":
    write_notebooks()
