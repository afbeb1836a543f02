"""The Python and the pictures of docs/models.md; its commands are run by tests/test_transcripts.py."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "models.md"


def test_the_python_of_the_page_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    made: dict[str, object] = {}
    exec(compile(code, "docs/models.md", "exec"), made)
    assert capsys.readouterr().out.splitlines() == re.findall(r"^print\(.*# (.*)$", code, re.MULTILINE)
    assert made["near"][0] == "3.png"  # type: ignore[index]
    assert (tmp_path / "carried" / "README.md").exists()


def test_every_picture_of_the_page_is_there() -> None:
    pictures = re.findall(r"!\[.*\]\((.*)\)", PAGE.read_text())
    assert len(pictures) == 3
    assert all((DOCS / picture).is_file() for picture in pictures)
