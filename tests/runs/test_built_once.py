"""How often a command builds a data set, hashes it and builds a model: a run opens each once and hands it on.

``python tests/runs/test_built_once.py`` prints the counts.
"""

import contextlib
import functools
import gc
import logging
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from unweave import cli
from unweave.data import Dataset
from unweave.gan import GAN
from unweave.runs import Config, Run, opened, sweep
from unweave.runs.study import load
from unweave.vae import VAE

pytestmark = pytest.mark.usefixtures("few_images")

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


def sweep_command(folder: Path, *more: str) -> None:
    """Four runs, their scores and one page."""
    study = folder / "four.yaml"
    study.write_text(STUDY.format(data=own_data(folder)))
    words = ["sweep", str(study), "--executor", "inline", "--out", str(folder / "four"), *more]
    cli.main([*words, "--quiet"])


def dry_run_command(folder: Path) -> None:
    """What there is to do."""
    study = folder / "four.yaml"
    study.write_text(STUDY.format(data=own_data(folder)))
    cli.main(["sweep", str(study), "--executor", "inline", "--out", str(folder / "four"), "--dry-run"])


def reproduce_command(folder: Path) -> None:
    """One figure at its smallest scale: four runs."""
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


BOUNDS: dict[str, dict[str, int]] = {
    "train": {"data set": 1, "fingerprint": 1, "model": 1, "config read": 1, "run folder": 1},
    # Two models are built to see that the two variants can be trained, two to estimate their time; each run reads its
    # config in its worker.
    "sweep": {"data set": 1, "fingerprint": 1, "model": 8, "config read": 4, "run folder": 4},
    "dry run": {"data set": 1, "model": 4},
    "reproduce": {"data set": 1, "fingerprint": 1, "model": 4, "config read": 8, "run folder": 4},
}
"""The most that each command may build; what is not listed, not at all."""


@pytest.fixture(autouse=True)
def nothing_open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What earlier tests have opened or timed does not help these; what these change is restored."""
    opened._DATA.clear()
    opened._LATEST.clear()
    opened._MODELS.clear()
    monkeypatch.setattr(sweep, "_pace", sweep._pace.__wrapped__)
    logger = logging.getLogger("unweave")
    handlers, level = logger.handlers, logger.level
    yield
    logger.handlers = handlers
    logger.setLevel(level)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_builds_things_once(name: str, tmp_path: Path) -> None:
    found = count(COMMANDS[name], tmp_path)
    assert set(found) <= set(BOUNDS[name]), found
    assert all(found[kind] <= most for kind, most in BOUNDS[name].items()), found


def test_a_dry_run_creates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", None)
    dry_run_command(tmp_path)
    assert {path.name for path in tmp_path.rglob("*")} == {"four.yaml", "own.npz", "temporary"}


def test_a_preview_shows_the_runs_that_exist(tmp_path: Path) -> None:
    sweep_command(tmp_path, "--no-report")
    study = load(str(tmp_path / "four.yaml")).with_seeds(3)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    with sweep.preview(study, tmp_path / "four") as planned:
        assert planned.statuses == {"finished": 4, "new": 2}
        assert [member.run.config.seed for member in planned.todo] == [2, 2]
        assert sweep.describe(planned) == "6 runs (2 variants x 3 seeds): 4 finished, 2 new"
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_data_and_models_are_dropped_when_they_are_no_longer_used(tmp_path: Path) -> None:
    words = ["data=circles", "data.size=32", *TINY]
    runs = [Run.create(Config.read(words=[*words, f"seed={i}"]), tmp_path / str(i)) for i in range(6)]
    for run in runs:
        run.train()
    assert len(opened._MODELS) == opened.MODELS
    assert len(opened._DATA) == 1
    squares = opened.open_data(Config.read(words=["data=xysquares"]))
    assert len(opened._DATA) == 2
    del runs, run
    gc.collect()
    assert list(opened._DATA.values()) == [squares]


def test_a_changed_image_of_a_folder_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    for number in range(3):
        Image.new("L", (32, 32), number).save(folder / f"{number}.png")
    config = Config.read(words=[f"data={folder}", *TINY])
    first = opened.open_data(config)
    assert opened.open_data(config) is first
    Image.new("L", (32, 32), 200).save(folder / "1.png")
    second = opened.open_data(config)
    assert second is not first
    assert second.fingerprint != first.fingerprint


if __name__ == "__main__":
    for name, command in COMMANDS.items():
        with tempfile.TemporaryDirectory() as place:
            found = count(command, Path(place))
            made = len(list(Path(place).rglob("run.json")))
            print(f"{name}: {dict(found)}; {made} run folders stay", file=sys.stderr)
