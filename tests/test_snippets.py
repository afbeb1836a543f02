"""Every command in README and docs is one that the command line accepts; those of README and Start are executed."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from unweave.cli import cli, main
from unweave.errors import UnweaveError

ROOT = Path(__file__).parent.parent
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md", "models/README.md")),
]
PAGES = [page for page in PAGES if "_build" not in page.parts]
INLINE = re.compile(r"`((?:torchrun [^`]*?-m )?unweave [^`]+)`")
LINE = re.compile(r"^(?:    |\$ )?((?:torchrun .*-m )?unweave [^\n]+)$", re.MULTILINE)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[str]:
    """The commands of a page: lines of shell blocks and of indented blocks, and inline code, without comments."""
    found = [
        line
        for kind, block in BLOCK.findall(text)
        if kind in ("sh", "console")
        for line in LINE.findall(block)
    ]
    rest = BLOCK.sub("", text)
    found += [line for line in LINE.findall(rest) if f"    {line}" in rest]
    found += INLINE.findall(rest)
    return [
        re.split(r"\s{2,}|\s+#|\s[|&;>]|\s\.\.\.|\s\[", line.replace("\\|", "|"))[0].rstrip("\\ ")
        for line in found
    ]


def accepted(command: str) -> None:
    """Fails if the command line does not know a command, a flag, or (where all is given) a key of `train`."""
    words = shlex.split(command.partition("unweave ")[2], posix=True)
    part: Any = cli
    while hasattr(part, "commands") and words and not words[0].startswith("-"):
        if words[0].isupper() or words[0] == "|":  # a placeholder
            return
        assert words[0] in part.commands, f"{command}: no command {words[0]}"
        part, words = part.commands[words[0]], words[1:]
    part.make_parser(click.Context(part, resilient_parsing=False)).parse_args(
        ["--help", *words] if part is cli else list(words)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_is_accepted(page: Path) -> None:
    for command in dict.fromkeys(commands(page.read_text())):
        try:
            accepted(command)
        except (click.UsageError, UnweaveError, ValueError) as error:
            raise AssertionError(f"{command}: {error}") from None


def test_the_check_finds_commands_and_refuses_wrong_ones() -> None:
    text = "`unweave train circles steps=3`\n\n    unweave score codes.npz   # all\n\n```sh\nunweave runs lst\n```\n"
    assert commands(text) == ["unweave runs lst", "unweave score codes.npz", "unweave train circles steps=3"]
    with pytest.raises(AssertionError, match="no command lst"):
        accepted("unweave runs lst")
    with pytest.raises(click.UsageError):
        accepted("unweave train circles --stepz 3")


@pytest.mark.slow
def test_what_a_newcomer_types_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of README's first block, of its table and of Start, in their order, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNWEAVE_MODELS", str(ROOT / "models"))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    subprocess.run([sys.executable, "examples/make_photos.py", "photos"], check=True)
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(600, 2))
    np.savez("codes.npz", codes=factors + rng.normal(0, 0.1, factors.shape), factors=factors)
    source = (ROOT / "examples" / "tutorials" / "04_own_parts.py").read_text()
    Path("my_parts.py").write_text(source.split("write_text('''\\\n")[1].split("\n'''")[0])
    readme = (ROOT / "README.md").read_text().partition("## Install")[0]
    start = (ROOT / "docs" / "start.md").read_text().partition("## Completion")[0]
    shrunk = {
        "latents=12": "latents=3 data.size=32 steps=5",
        "decoder=./my_parts.py:TinyDecoder": "decoder=./my_parts.py:TinyDecoder data.size=16 steps=5 encoder=MLP",
        "sweep examples/betas.yaml": "sweep examples/betas.yaml --dry-run",
    }
    done = []
    for command in dict.fromkeys([*commands(readme), *commands(start)]):
        if re.search(r"\b[A-Z]{3,}\b", command.replace("DATA", "")) and "steps" not in command:
            continue
        for whole, short in shrunk.items():
            command = command.replace(whole, short)
        if command == "unweave train circles":  # six minutes, as recommended
            command += " data.size=32 steps=5"
        try:
            main(shlex.split(command)[1:])
        except SystemExit as stopped:
            assert stopped.code in (0, None), command
        done.append(command)
    assert len(done) >= 10
    assert (tmp_path / "runs" / "first" / "report.html").exists()
    assert (tmp_path / "first.html").stat().st_size > 100_000
    assert len((tmp_path / "codes.csv").read_text().splitlines()) == 61
