"""The worked example of docs/data.md is run, and prints what it says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "data.md"


def test_the_worked_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = [
        block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S) if "lamp" in block
    ]
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
        printed = capsys.readouterr().out.splitlines()
        promised = re.findall(r"^print\(.*\)\s+# (.*)$", block, re.M)
        assert printed == promised
        assert len(promised) == block.count("print(")


def test_every_picture_is_there_and_small() -> None:
    shown = re.findall(r"\(pictures/(data-[\w-]+\.png)\)", PAGE.read_text())
    folder = PAGE.parent / "pictures"
    assert sorted(shown) == sorted(path.name for path in folder.glob("data-*.png"))
    for name in shown:
        assert (folder / name).stat().st_size < 100_000
