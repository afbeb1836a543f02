"""The site: its formulas are complete and can be set, its tutorials name what exists, its pages ask for no address."""

import ast
import doctest
import importlib
import inspect
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import unweave
from unweave.cli import cli
from unweave.metrics import METRICS

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "site"))

import commands  # noqa: E402
import imports  # noqa: E402
import pages  # noqa: E402
import reference  # noqa: E402
import tutorials  # noqa: E402

BASES_AND_RESULTS = {
    *("Objective", "Prior", "Posterior", "Likelihood", "OverlapLikelihood", "ImageDistribution", "Unpaired"),
    *("Loss", "CriticLoss", "Progress", "Ramp", "Ramped", "example_posteriors"),
}
SCRIPTS = tutorials.scripts()


def named(module: str) -> set[str]:
    """The public classes and functions of a module."""
    made = importlib.import_module(f"unweave.{module}")
    return {
        n
        for n in reference.public(made)
        if inspect.isclass(getattr(made, n)) or inspect.isfunction(getattr(made, n))
    }


@pytest.mark.parametrize("module", reference.CORE)
def test_every_object_of_the_mathematical_core_has_a_formula(module: str) -> None:
    assert named(module) - set(reference.FORMULAS[f"unweave.{module}"]) <= BASES_AND_RESULTS


def test_every_metric_has_a_formula() -> None:
    functions = {name for name in METRICS if inspect.isfunction(getattr(unweave.metrics, name, None))}
    assert len(functions) > 15
    assert functions <= set(reference.FORMULAS["unweave.metrics"])


def test_every_formula_belongs_to_a_public_object_and_can_be_set() -> None:
    mathematics = pytest.importorskip("mathematics", reason="needs the extra docs")
    for module, formulas in reference.FORMULAS.items():
        made = importlib.import_module(module)
        for name, formula in formulas.items():
            assert name in reference.public(made), f"{module}.{name}"
            assert mathematics.mathml(formula, display=True).startswith("<math")


def test_a_formula_that_cannot_be_set_is_refused() -> None:
    mathematics = pytest.importorskip("mathematics", reason="needs the extra docs")
    with pytest.raises(ValueError, match=r"\\nonsense"):
        mathematics.mathml(r"\nonsense{x}")


def test_the_reference_describes_every_public_object_once() -> None:
    text = "\n".join(reference.pages().values())
    described = re.findall(r"^:{6}\{py:(?:class|function|data)\} (\w+).*\n:module: (\S+)", text, re.MULTILINE)
    assert len(described) == len(set(described))
    objects = {name for name, _ in described}
    for module in reference.MODULES:
        made = importlib.import_module(module)
        assert set(reference.public(made)) <= objects, module


def test_an_example_in_the_text_of_a_docstring_is_code_and_no_quotation() -> None:
    shown = "\n\n".join(reference.pages().values())
    rest = re.sub(r"^ *```pycon\n.*?^ *```", "", shown, flags=re.MULTILINE | re.DOTALL)
    assert rest != shown
    assert not re.findall(r"^ *>>> .*", rest, re.MULTILINE)


def test_every_command_is_on_its_page() -> None:
    page = commands.page()
    for name in cli.commands:
        assert f"\n## unweave {name}\n" in page
    assert "unweave runs list" in page


def test_the_picture_of_imports_has_every_room_above_those_it_imports_from() -> None:
    graph = imports.rooms()
    level = imports.levels(graph)
    assert all(level[room] > level[below] for room, into in graph.items() for below in into)
    assert level["functional"] == 0
    assert level["cli"] == max(level.values())


def test_every_page_of_the_docs_is_in_the_contents() -> None:
    contents = pages.contents([], [])
    for path in pages.sources():
        name = re.escape(str(path.with_suffix("")))
        assert re.search(rf"^({name}|[\w ]+ <{name}>)$", contents, re.MULTILINE), path


@pytest.mark.parametrize(
    "module", [commands, imports, pages, reference, tutorials], ids=lambda made: made.__name__
)
def test_examples_in_docstrings_of_the_builder(module: Any) -> None:
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_tutorial_begins_with_its_title(script: Path) -> None:
    first = tutorials.cells(script.read_text())[0]
    headings = re.findall(r"^#+ ", first.text, re.MULTILINE)
    assert first.kind == "markdown"
    assert headings[0] == "# "


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_tutorial_and_notebook_are_one(script: Path) -> None:
    source = script.read_text()
    told = script.with_suffix(".ipynb").read_text()
    assert told == tutorials.notebook(source), "run python docs/site/tutorials.py"
    made = json.loads(told)
    code = "\n".join("".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "code")
    assert [ast.dump(node) for node in ast.parse(code).body] == [
        ast.dump(node) for node in ast.parse(source).body
    ]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_tutorial_names_what_exists(script: Path) -> None:
    tree = ast.parse(script.read_text())
    known: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {
                a.asname or a.name: importlib.import_module(a.name) for a in node.names if "unweave" in a.name
            }
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unweave"):
            module = importlib.import_module(str(node.module))
            known |= {a.asname or a.name: getattr(module, a.name) for a in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in known:
            assert hasattr(known[node.value.id], node.attr), f"{node.value.id}.{node.attr}"
    for text in re.findall(r'(?:terminal|main)\(\s*((?:"[^"]*"\s*)+)\)', script.read_text()):
        words = shlex.split("".join(re.findall(r'"([^"]*)"', text)))
        accepted(words[1:] if words[0] == "unweave" else words)


def accepted(words: list[str]) -> None:
    """Fails if the command line does not know a command or a flag."""
    command: Any = cli
    while hasattr(command, "commands"):
        assert words[0] in command.commands, words
        command, words = command.commands[words[0]], words[1:]
    command.make_parser(click.Context(command)).parse_args(list(words))


def test_a_misspelt_flag_in_a_tutorial_would_be_seen() -> None:
    accepted(["train", "circles", "--quiet"])
    with pytest.raises(Exception, match="No such option"):
        accepted(["train", "circles", "--quite"])


def test_the_cluster_files_are_what_their_programs_read() -> None:
    schema = pytest.importorskip("ray.autoscaler._private.util", reason="needs the extra cluster")
    config = yaml.safe_load((ROOT / "examples" / "cluster" / "ray.yaml").read_text())
    schema.validate_config(schema.prepare_config(config))
    script = ROOT / "examples" / "cluster" / "study.sbatch"
    assert script.read_text().startswith("#!/bin/bash\n")
    subprocess.run(["bash", "-n", script], check=True)


def test_the_version_stands_in_one_place() -> None:
    assert f"\nversion: {unweave.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"version = {{{unweave.__version__}}}" in (ROOT / "README.md").read_text()
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_tutorial_runs(script: Path, tmp_path: Path) -> None:
    tutorials.execute(script, tmp_path)
    results = json.loads((tmp_path / "outputs.json").read_text())
    assert len(results) == sum(cell.kind == "code" for cell in tutorials.cells(script.read_text()))
    assert any(result["text"].strip() for result in results)


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_asks_for_nothing() -> None:
    """The pages are opened from files; whatever they ask for is a file, and the search finds an object."""
    pytest.importorskip("sphinx", reason="needs the extra docs")
    playwright = pytest.importorskip("playwright.sync_api")
    subprocess.run([sys.executable, ROOT / "docs" / "site" / "build.py"], check=True)
    site = ROOT / "docs" / "_build" / "html"
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for name in ("index", "docs/start", "docs/disentanglement", "gallery", "reference/unweave-metrics"):
            page.goto((site / f"{name}.html").as_uri())
        assert page.locator("math").count() > 20
        page.goto((site / "search.html").as_uri() + "?q=geometry_score")
        page.wait_for_selector("#search-results li", timeout=30_000)
        assert "geometry_score" in page.locator("#search-results").inner_text()
        browser.close()
    assert asked
    assert all(url.startswith(("file:", "data:")) for url in asked)
