"""``--minutes``: steps from a timing, recorded, and found again by the same command."""

from pathlib import Path

import pytest

from unweave import cli
from unweave.errors import UnweaveError
from unweave.runs import Config, Run, timing

TINY = [
    *("data.size=32", "latents=2", "batch_size=4"),
    *("encoder.channels=[4,4]", "encoder.hidden=[8]", "decoder.channels=[4,4]", "decoder.hidden=[8]"),
]


@pytest.fixture
def step_times(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
    """Seconds of a step that the next timings find; each timing takes one."""
    times = [1.0, 2.0, 4.0]
    monkeypatch.setattr(timing, "seconds_per_step", lambda config, **_: times.pop(0))
    monkeypatch.chdir(tmp_path)
    return times


def train(*words: str) -> int:
    try:
        cli.main(["train", "circles", *TINY, *words, "--no-report", "--quiet"])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_steps_fit_into_the_minutes_and_the_same_command_finds_them_again(step_times: list[float]) -> None:
    assert train("--minutes", "0.1") == 0
    [folder] = Path("runs").iterdir()
    assert Run(folder).config.steps == 6  # 6 seconds at 1 second a step
    assert train("--minutes", "0.1") == 0  # 2 seconds a step by now; nothing is timed
    assert step_times == [2.0, 4.0]
    assert list(Path("runs").iterdir()) == [folder]


def test_other_minutes_and_other_keys_are_other_runs(step_times: list[float]) -> None:
    assert train("--minutes", "0.1") == 0
    assert train("--minutes", "0.2", "seed=1") == 0
    steps = {Run(folder).config.seed: Run(folder).config.steps for folder in Path("runs").iterdir()}
    assert steps == {0: 6, 1: 6}  # 12 seconds at 2 seconds a step
    assert (
        train("--minutes", "0.2", "seed=1", "--out", "elsewhere") == 0
    )  # a folder of its own is timed for itself
    assert Run("elsewhere").config.steps == 3


def test_a_folder_of_ones_own_is_resumed(step_times: list[float]) -> None:
    assert train("--minutes", "0.1", "--out", "mine") == 0
    assert train("--minutes", "0.1", "--out", "mine") == 0
    assert step_times == [2.0, 4.0]


def test_steps_and_minutes_contradict_each_other(
    step_times: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--minutes", "1", "steps=5") == 2
    assert "omit steps=..., or --minutes" in capsys.readouterr().err


@pytest.mark.parametrize("minutes", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_minutes_are_refused(minutes: float) -> None:
    with pytest.raises(UnweaveError, match="--minutes must be greater than 0"):
        timing.config_for(minutes, lambda steps: Config.read(words=["data=circles"]))


def test_a_timing_leaves_no_trace_in_what_is_trained_afterwards(tmp_path: Path) -> None:
    config = Config.read(words=["data=circles", *TINY, "steps=3", "training=recommended"])
    weights = []
    for name, timed in (("a", False), ("b", True)):
        if timed:
            timing.seconds_per_step(config)
        run = Run.create(config, tmp_path / name)
        run.train()
        weights.append((run.folder / "model.safetensors").read_bytes())
    assert weights[0] == weights[1]
