"""Help texts: every command has one, it loads nothing heavy, and it ends with the papers it cites."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from unweave import papers
from unweave.cli import cli, commands
from unweave.cli.reproduce import SLOT_NAMES, option_flags_as_words
from unweave.errors import UnweaveError
from unweave.runs.config import SLOTS


def every_command(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from every_command(inner, (*path, name))


def help_of(*path: str) -> str:
    result = CliRunner().invoke(cli, [*path, "--help"], prog_name="unweave", catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_the_commands_are_those_of_the_documentation() -> None:
    assert set(cli.commands) == {
        *("train", "evaluate", "metrics", "score", "report", "demo", "sweep", "tune", "runs", "reproduce"),
        *("data", "prior", "theory", "options", "objectives", "papers", "agreement", "sensitivity", "udr"),
        *(
            "encode",
            "decode",
            "sample",
            "reconstruct",
            "traverse",
            "interpolate",
            "edit",
            "neighbours",
            "name",
        ),
        *("export", "models", "explore"),
    }


@pytest.mark.parametrize("path", list(every_command()), ids=" ".join)
def test_every_command_and_every_flag_has_a_help_text(path: tuple[str, ...]) -> None:
    text = help_of(*path)
    assert text.startswith("Usage: unweave")
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    assert command.help
    for parameter in command.params:
        assert not isinstance(parameter, click.Option) or parameter.help, parameter.name


def test_help_and_the_package_load_neither_torch_nor_sklearn_nor_matplotlib() -> None:
    heavy = "{'torch', 'sklearn', 'matplotlib', 'scipy', 'PIL'}"
    code = (
        "import sys, unweave\n"
        "from unweave.cli import main\n"
        "main(['--help']); main(['reproduce', '--help'])\n"
        f"sys.exit(str({heavy} & set(sys.modules)) if {heavy} & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_help_ends_with_the_papers_it_cites(monkeypatch: pytest.MonkeyPatch) -> None:
    line = (
        "REC: authors 2022, a title that is longer than a terminal is wide, https://example.org/" + "x" * 60
    )
    monkeypatch.setattr(commands, "footnotes", lambda text: [line] if "REC" in text else [])
    assert help_of("data", "distances").endswith(f"\n\n{line}\n")
    assert "https://example.org" not in help_of("train")


def test_a_citation_that_a_line_break_splits_has_its_address_too() -> None:
    assert papers.footnotes("of one factor: REC\n  table A1") == [f"REC: {papers.PAPERS['REC']}"]
    assert help_of("data", "distances").endswith(f"\nREC: {papers.PAPERS['REC']}\n")


def test_papers_are_listed() -> None:
    lines = CliRunner().invoke(cli, ["papers"], catch_exceptions=False).output.splitlines()
    assert lines[0].split() == ["code", "paper", "title", "address"]
    assert lines[2].split() == [
        *("FAC", "Kim", "&", "Mnih", "2018", "Disentangling", "by", "Factorising"),
        papers.PAPERS["FAC"].address,
    ]
    assert len(lines) == 6


def test_there_is_a_flag_for_every_slot() -> None:
    assert set(SLOT_NAMES) == set(SLOTS)
    text = help_of("reproduce")
    assert all(f"--{slot} PART" in text for slot in SLOTS)


def test_flags_of_options_become_words() -> None:
    given = ["sbd-fig4", "--decoder.width", "4", "--scale", "smoke", "--prior.subspaces=[2,2]", "steps=3"]
    wanted = ["sbd-fig4", "decoder.width=4", "--scale", "smoke", "prior.subspaces=[2,2]", "steps=3"]
    assert option_flags_as_words(given) == wanted
    assert option_flags_as_words(["--decodr.width", "4", "--out.x", "1"]) == [
        "--decodr.width",
        "4",
        "--out.x",
        "1",
    ]
    with pytest.raises(UnweaveError, match=r"option --decoder\.width needs a value"):
        option_flags_as_words(["sbd-fig4", "--decoder.width"])
