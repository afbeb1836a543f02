"""One folder for each paper, one file for each figure; numbers are not parsed out of labels."""

import ast
import re
from pathlib import Path

import pytest

import unweave.recipes

FOLDER = Path(unweave.recipes.__file__).parent
FILES = sorted(path for paper in ("rec", "dec", "isa") for path in (FOLDER / paper).glob("*.py"))
RESULT = re.compile(r"(figures?|table|theorem|corollary|appendix)_")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_figure_does_not_import_another(path: Path) -> None:
    imported = [
        node.module or ""
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and path.stem != "__init__"
    ]
    assert not [name for name in imported if RESULT.match(name.rpartition(".")[2])]
    assert len(path.read_text().splitlines()) <= 300


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_labels_are_not_taken_apart(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"\.(partition|rpartition|split|rsplit|startswith)\(", text)
    assert not re.search(r"float\(row", text)
