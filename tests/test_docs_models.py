"""docs/models.md is run as it stands, with fewer steps of training; what it prints has the form that the page shows."""

import re
import shlex
from pathlib import Path

import pytest

from unweave.cli import main

PAGE = (Path(__file__).parent.parent / "docs" / "models.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
QUICK = {"steps=1500": "steps=2", "-n 1000": "-n 20"}


def form(text: str) -> list[list[str]]:
    """Words of each line, with a sign in place of every number: those depend on the training and on the machine."""
    text = re.sub(r"(?<![\w/])[+-]?\d[\d,.]*(e-?\d+)?(?=[\s),.:]|$)", "#", text)
    text = re.sub(r"\b\d+\.png", "#.png", text)
    return [line.split() for line in text.strip().splitlines()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNWEAVE_MODELS", str(tmp_path))
    return tmp_path


def test_the_page_does_what_it_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = 0
    for kind, text in BLOCKS:
        if kind == "python":
            exec(compile(text, "docs/models.md", "exec"), {})
            if "preparation" in text:
                assert capsys.readouterr().out.splitlines() == re.findall(
                    r"^print.*# (.*?)(?:;.*)?$", text, re.M
                )
        elif kind == "text":
            shown = [line.split(",")[:5] for line in text.splitlines()]
            written = [line.split(",")[:5] for line in Path("codes.csv").read_text().splitlines()]
            assert shown[0] == written[0]
            assert [row[0] for row in shown] == [row[0] for row in written[: len(shown)]]
        elif kind == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                for long, short in QUICK.items():
                    command = command.replace(long, short)
                capsys.readouterr()
                main(shlex.split(command)[1:])
                assert form(capsys.readouterr().out) == form(output), command
                commands += 1
    assert commands >= 14
    for name in (
        "moving.webp",
        "edited.png",
        "neighbours.png",
        "carried/README.md",
        "discs/model.safetensors",
    ):
        assert (folder / name).exists()


def test_every_picture_of_the_page_is_there() -> None:
    pictures = re.findall(r"!\[.*\]\((.*)\)", PAGE)
    assert len(pictures) >= 3
    assert all((Path(__file__).parent.parent / "docs" / picture).is_file() for picture in pictures)
