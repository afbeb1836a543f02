"""docs/extending.md is run as it stands: its files, its commands, its Python."""

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unweave.cli import main
from unweave.recipes.catalogue import RECIPES

pytestmark = pytest.mark.usefixtures("few_images")

PAGE = (Path(__file__).parent.parent / "docs" / "extending.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
FILES = {
    text.split("\n", 1)[0].removeprefix("# "): text
    for kind, text in BLOCKS
    if kind == "python" and re.match(r"# \w+\.py\n", text)
}
SNIPPETS = [text for kind, text in BLOCKS if kind == "python" and not re.match(r"# \w+\.py\n", text)]
COMMANDS = [
    line.removeprefix("$ ")
    for kind, text in BLOCKS
    if kind == "console"
    for line in text.splitlines()
    if line.startswith("$ ")
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the files of the page, where nothing of the outer program is left behind."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in FILES:
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
    recipes = dict(RECIPES)
    yield tmp_path
    RECIPES.clear()
    RECIPES.update(recipes)
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_every_example_is_a_file_of_less_than_30_lines() -> None:
    assert len(FILES) >= 7
    for name, text in FILES.items():
        assert len([line for line in text.splitlines() if line.strip()]) < 30, name


def test_the_python_of_the_page_runs_and_makes_what_it_says(folder: Path) -> None:
    made: dict[str, Any] = {}
    for snippet in SNIPPETS:
        exec(compile(snippet, "docs/extending.md", "exec"), made)
    widths = [made[name].decoder.width for name in ("by_class", "by_options", "by_instance")]
    assert widths == [32, 8, 32]
    assert {type(made[name].decoder) for name in ("by_class", "by_instance")} == {made["TinyDecoder"]}
    assert len(np.load(folder / "codes.npz")["codes"]) == 64
    assert made["score_all"](made["encoded"], ["mig"])["mig"].value == pytest.approx(1.0)


def test_the_commands_of_the_page_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for snippet in SNIPPETS:
        if "np.savez" in snippet:
            exec(compile(snippet, "docs/extending.md", "exec"), {})
    for command in COMMANDS:
        program, *arguments = shlex.split(command.replace("steps=20", "steps=3"))
        assert program == "unweave"
        if arguments[0] == "reproduce":
            arguments += ["--executor", "inline"]  # workers are tested in tests/runs
        try:
            main(arguments)
        except SystemExit as stopped:
            assert stopped.code in (0, None), f"{command}: {capsys.readouterr()}"
    assert (folder / "runs" / "mine" / "report.html").exists()
    scores = (folder / "runs" / "tiny" / "scores.json").read_text()
    assert "best_correlation" in scores
    assert "sharpness" in scores
