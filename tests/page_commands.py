"""The commands that the pages name, and what the command line knows of them; nothing is run here."""

import re
import shlex
from pathlib import Path
from typing import Any

import click

from unweave.cli import cli
from unweave.cli.target import split_target
from unweave.errors import UnweaveError
from unweave.metrics import choose_metrics
from unweave.model_metrics import model_metrics
from unweave.recipes import catalogue
from unweave.runs.config import Config, read_words

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
PLACEHOLDER = re.compile(
    r"RUN(/config\.yaml)?|OTHER|DATA|STUDY|SWEEP|FOLDER|NAME|ID|KEY=VALUE|package\.module:\w+|runs/reproduce/SCALE/ID"
)


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


def words_of(command: str) -> list[str]:
    """The words after the name of the program."""
    return shlex.split(command.partition("unweave ")[2], posix=True)


def unknown_in(command: str) -> str:
    """What the command line says of words that it does not know; empty if it knows all.

    Where arguments are left out, or stand in capitals for others, only the flags are read.
    """
    words, part, path = words_of(command), cli, ""
    while isinstance(part, click.Group) and words and not words[0].startswith("-"):
        known = part.commands.get(words[0])
        if known is None:
            return f"no command {path}{words[0]}"
        part, path, words = known, f"{path}{words[0]} ", words[1:]
    try:
        unsaid = not words or (path in ("train ", "reproduce ") and any(map(PLACEHOLDER.fullmatch, words)))
        if part is cli or unsaid:
            part.make_parser(click.Context(part)).parse_args(list(words))
            return ""
        return _unknown_values(path.strip(), part.make_context(path.strip(), list(words)).params)
    except (UnweaveError, click.ClickException) as error:
        return str(error)


def _unknown_values(name: str, given: dict[str, Any]) -> str:
    """Reads recipes, keys of the config and metrics; raises what the command would say."""
    if name == "reproduce":
        read_words([word for word in given["words"] if "=" in word])
        ids = [word for word in given["words"] if "=" not in word]
        if ids[:1] not in (["list"], ["check"]) and not catalogue.find(ids):
            return "nothing to reproduce"
    elif name == "train":
        Config.read(*split_target(given["target"], given["words"]))
    if given.get("metrics"):
        choose_metrics(given["metrics"].split(","), more=model_metrics())
    return ""
