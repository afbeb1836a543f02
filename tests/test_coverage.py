"""Every item of docs/coverage names files, objects, tests and commands that exist, and the page is up to date."""

import ast
import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from page_commands import unknown_in  # noqa: E402


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_coverage", ROOT / "docs" / "make_coverage.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()
PAPERS = [path.stem for path in sorted((ROOT / "docs" / "coverage").glob("*.toml"))]


@cache
def names_in(path: Path) -> frozenset[str]:
    """The names that a file defines: functions, classes, their members, and assigned names."""
    found: set[str] = set()

    def visit(body: list[ast.stmt], before: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(before + node.name)
                visit(node.body, f"{before}{node.name}.")
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
            for target in targets:
                if isinstance(target, ast.expr):
                    leaves = (leaf for leaf in ast.walk(target) if isinstance(leaf, ast.Name))
                    found.update(before + leaf.id for leaf in leaves)

    visit(ast.parse(path.read_text()).body, "")
    return frozenset(found)


def missing(place: str, separator: str) -> str:
    """What does not exist of ``path`` or ``path<separator>name``; empty if all does."""
    file, _, name = place.partition(separator)
    path = ROOT / file
    if not path.exists():
        return file
    return "" if not name or name in names_in(path) else place


@pytest.mark.parametrize("paper", PAPERS)
def test_items_name_what_exists(paper: str) -> None:
    items = SCRIPT.items_of(paper)
    wrong = []
    for item in items:
        assert item.status in SCRIPT.STATUSES, item
        assert bool(item.why) == (item.status != "done"), item
        assert item.place and item.says.endswith("."), item
        assert item.code or item.status == "not done", item
        wrong += [missing(place, ":") for place in item.code.split()]
        wrong += [missing(place, "::") for place in item.test.split()]
    assert [text for text in wrong if text] == []
    assert len({(item.place, item.says) for item in items}) == len(items)


@pytest.mark.parametrize("paper", PAPERS)
def test_commands_are_understood(paper: str) -> None:
    commands = list(dict.fromkeys(item.command for item in SCRIPT.items_of(paper) if item.command))
    assert len(commands) > 10
    assert {command: unknown_in(command) for command in commands if unknown_in(command)} == {}


def test_the_page_is_up_to_date() -> None:
    assert SCRIPT.PAGE.read_text() == SCRIPT.page()


def test_what_does_not_exist_is_found() -> None:
    assert missing("src/unweave/vae.py:VAE.encode", ":") == ""
    assert missing("src/unweave/vae.py:VAE.entcode", ":") == "src/unweave/vae.py:VAE.entcode"
    assert missing("src/unweave/vea.py", ":") == "src/unweave/vea.py"
    assert "no command" in unknown_in("unweave reprodduce fac-fig4")
    assert "unknown recipe" in unknown_in("unweave reproduce fac-fig99 --scale small")
    assert "large" in unknown_in("unweave reproduce fac-fig4 --scale large")
    assert "unknown metric" in unknown_in("unweave evaluate RUN --metrics mgi")
    assert "beta" in unknown_in("unweave train dsprites objective.betta=3")
