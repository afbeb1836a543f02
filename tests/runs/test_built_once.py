"""How often a command builds a data set, hashes it and builds a model: a run opens each once and hands it on.

``python tests/runs/test_built_once.py`` prints the counts.
"""

import contextlib
import functools
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unweave import cli
from unweave.data import Dataset
from unweave.gan import GAN
from unweave.runs import Config
from unweave.vae import VAE

TINY = [
    *("latents=2", "batch_size=4", "steps=2", "encoder.channels=[4,4]", "encoder.hidden=[8]"),
    *("decoder.channels=[4,4]", "decoder.hidden=[8]"),
]

STUDY = """
base:
  data: {data}
  latents: 2
  batch_size: 4
  steps: 2
  encoder: {{channels: [4, 4], hidden: [8]}}
  decoder: {{channels: [4, 4], hidden: [8]}}
grid:
  objective.beta: [1, 4]
seeds: 2
"""


@contextlib.contextmanager
def counted() -> Iterator[Counter[str]]:
    """Counts data sets, fingerprints, models and run folders that are made while active."""
    counts: Counter[str] = Counter()
    with contextlib.ExitStack() as stack:
        for kind, owner, name in (
            ("model", VAE, "__init__"),
            ("model", GAN, "__init__"),
            ("data set", Config, "make_dataset"),
            ("config read", Config, "read"),
        ):
            stack.enter_context(_counting(counts, kind, owner, name))
        for owner in {Dataset, *_subclasses(Dataset)}:
            if "fingerprint" in vars(owner):
                stack.enter_context(_counting(counts, "fingerprint", owner, "fingerprint"))
        stack.enter_context(_counting_folders(counts))
        yield counts


@contextlib.contextmanager
def _counting(counts: Counter[str], kind: str, owner: type, name: str) -> Iterator[None]:
    original = vars(owner)[name]
    plain = original.__func__ if isinstance(original, classmethod) else original

    @functools.wraps(plain)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        counts[kind] += 1
        return plain(*arguments, **options)

    setattr(owner, name, classmethod(wrapped) if isinstance(original, classmethod) else wrapped)
    try:
        yield
    finally:
        setattr(owner, name, original)


@contextlib.contextmanager
def _counting_folders(counts: Counter[str]) -> Iterator[None]:
    """Counts the run.json files that are written, wherever they are."""
    from unweave import atomic

    original = atomic.write_json

    def wrapped(path: Path, value: Any) -> None:
        counts["run folder"] += path.name == "run.json"
        original(path, value)

    atomic.write_json = wrapped
    try:
        yield
    finally:
        atomic.write_json = original


def _subclasses(of: type) -> Iterator[type]:
    for child in of.__subclasses__():
        yield child
        yield from _subclasses(child)


def own_data(folder: Path) -> Path:
    """Sixty tiny images with two factors."""
    rng = np.random.default_rng(0)
    path = folder / "own.npz"
    np.savez(path, images=rng.random((60, 32, 32)), factors=rng.integers(0, 3, (60, 2)))
    return path


def train_command(folder: Path) -> None:
    """One run, its scores and its page."""
    cli.main(["train", "circles", "data.size=32", *TINY, "--out", str(folder / "run"), "--quiet"])


def sweep_command(folder: Path) -> None:
    """Four runs, their scores and one page."""
    study = folder / "four.yaml"
    study.write_text(STUDY.format(data=own_data(folder)))
    cli.main(["sweep", str(study), "--executor", "inline", "--out", str(folder / "four"), "--quiet"])


def dry_run_command(folder: Path) -> None:
    """What there is to do."""
    study = folder / "four.yaml"
    study.write_text(STUDY.format(data=own_data(folder)))
    cli.main(["sweep", str(study), "--executor", "inline", "--out", str(folder / "four"), "--dry-run"])


def reproduce_command(folder: Path) -> None:
    """One figure at its smallest scale: six runs."""
    words = ["reproduce", "sbd-fig4", "--scale", "smoke", "--executor", "inline", "--quiet"]
    cli.main([*words, "--out", str(folder / "reproduce")])


COMMANDS = {
    "train": train_command,
    "sweep": sweep_command,
    "dry run": dry_run_command,
    "reproduce": reproduce_command,
}


def count(command: Callable[[Path], None], folder: Path) -> Counter[str]:
    """What a command builds."""
    with counted() as counts:
        command(folder)
    return counts


if __name__ == "__main__":
    for name, command in COMMANDS.items():
        with tempfile.TemporaryDirectory() as place:
            found = count(command, Path(place))
            made = len(list(Path(place).rglob("run.json")))
            print(f"{name}: {dict(found)}; {made} run folders stay", file=sys.stderr)
