"""A paper has a folder, a figure or table has a module in it, and what several of them need has a module of its own."""

import ast
import re
from pathlib import Path

import pytest

import unweave.recipes
from unweave.recipes.catalogue import PAPERS

FOLDERS = [folder for name in PAPERS if (folder := Path(unweave.recipes.__file__).with_name(name)).is_dir()]


def registers(path: Path) -> bool:
    """Whether a module is that of a figure or table: it calls ``recipe``."""
    calls = (node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return any(isinstance(function, ast.Name) and function.id == "recipe" for function in calls)


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_figure_needs_another_figure(folder: Path) -> None:
    package = f"unweave.recipes.{folder.name}"
    figures = {f"{package}.{path.stem}" for path in folder.glob("*.py") if registers(path)}
    assert figures
    assert imported(folder / "__init__.py") >= figures
    for path in folder.glob("*.py"):
        if path.name != "__init__.py":
            assert not imported(path) & figures, path


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_modules_are_short(folder: Path) -> None:
    long = {path.name for path in folder.glob("*.py") if len(path.read_text().splitlines()) > 300}
    assert not long


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_labels_are_not_taken_apart(folder: Path) -> None:
    """Numbers come from the settings of runs."""
    takes_apart = re.compile(
        r"\.(r?partition|r?split|startswith|endswith|removeprefix|removesuffix)\(|float\(row"
    )
    found = {path.name for path in folder.glob("*.py") if takes_apart.search(path.read_text())}
    assert not found
