"""docs/models.md is run as it stands: what its commands print is what the page shows, but for the numbers.

``python tests/test_docs_models.py`` writes the page anew, with what they print now.
"""

import contextlib
import io
import os
import re
import shlex
import tempfile
from pathlib import Path

import pytest

from unweave.cli import main

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "models.md"
SHELL = re.compile(r"```shell\n(.*?)```", re.DOTALL)
TABLE = re.compile(r"```text\n(.*?)```", re.DOTALL)
NUMBER = re.compile(r"(?<![\w/])[+-]?\d[\d,.]*(?:e-?\d+)?(?=[\s),.:]|$)|\b\d+(?=\.png)")


def with_outputs(page: str) -> str:
    """The page with what its commands print in the present folder, and the beginning of the table that they wrote."""

    def block(found: re.Match[str]) -> str:
        lines = ["```shell"]
        for command in re.findall(r"^\$ unweave (.*)$", found[1], re.MULTILINE):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                main(shlex.split(command))
            lines += [f"$ unweave {command}", *printed.getvalue().splitlines()]
        return "\n".join([*lines, "```"])

    page = SHELL.sub(block, page)
    rows = [line[:110] + " ..." for line in Path("codes.csv").read_text().splitlines()[:3]]
    return TABLE.sub("\n".join(["```text", *rows, "```"]), page)


def without_numbers(page: str) -> list[str]:
    lines = "\n".join(
        [*SHELL.findall(page), *(row.split(",")[0] for row in TABLE.findall(page))]
    ).splitlines()
    return [" ".join(NUMBER.sub("N", line).split()) for line in lines]


def test_commands_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text()
    assert without_numbers(with_outputs(page)) == without_numbers(page)
    assert len(re.findall(r"^\$ ", page, re.MULTILINE)) >= 14
    assert (tmp_path / "codes.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    assert (tmp_path / "moving.webp").read_bytes()[8:12] == b"WEBP"


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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        PAGE.write_text(with_outputs(PAGE.read_text()))
