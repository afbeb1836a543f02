"""What the package says of itself is so: imports are declared, groups agree with extras."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]

MODULES = {
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "tensorboardX": "tensorboardx",
}
"""Modules that are not called as their package."""

BROUGHT = {"mlflow", "wandb", "pandas", "pyarrow"}
"""What is used if a user has it, and then only."""


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=\[ ;]", requirement)[0].lower() for requirement in requirements}


def imported() -> dict[str, set[str]]:
    """Every outside package that the sources import, and from which files."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module or ""]
            for module in {module.split(".")[0] for module in modules}:
                if module not in sys.stdlib_module_names and module != "unweave":
                    package = MODULES.get(module, module).lower()
                    found.setdefault(package, set()).add(str(path.relative_to(ROOT)))
    return found


def test_every_import_is_declared() -> None:
    declared = names(PROJECT["dependencies"]).union(*(names(extra) for extra in EXTRAS.values()))
    undeclared = {name: files for name, files in imported().items() if name not in declared | BROUGHT}
    assert not undeclared


def test_every_dependency_is_imported() -> None:
    assert names(PROJECT["dependencies"]) <= imported().keys()


def test_all_is_all() -> None:
    (everything,) = EXTRAS["all"]
    inside = set(everything.removeprefix("unweave[").removesuffix("]").split(","))
    assert inside == EXTRAS.keys() - {"all", "dev", "docs"}


def test_the_group_for_developers_is_the_extra() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    assert groups["dev"] == EXTRAS["dev"]


def test_every_dependency_is_pinned_and_in_the_table() -> None:
    pinned = {
        line.split("==")[0].lower()
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    table = (ROOT / "docs" / "dependencies.md").read_text().lower()
    wanted = names(PROJECT["dependencies"]).union(*(names(extra) for extra in EXTRAS.values())) - {"unweave"}
    for name in wanted:
        assert name in pinned, name
        assert f"| {name} " in table, name


@pytest.mark.parametrize("file", [".pre-commit-config.yaml", ".github/workflows/test.yml"])
def test_hooks_and_workflow_call_what_exists(file: str) -> None:
    import yaml

    content = yaml.safe_load((ROOT / file).read_text())
    if "repos" in content:
        assert {repo["repo"] for repo in content["repos"]} == {"local"}
    else:
        steps = content["jobs"]["test"]["steps"]
        called = [step["run"] for step in steps if "run" in step]
        assert called == [".ci/run"]
        assert (ROOT / ".ci" / "run").stat().st_mode & 0o100
