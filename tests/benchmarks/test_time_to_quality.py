"""When a curve reaches a level, and for how long a way of training may go on."""

import importlib.util
import itertools
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Found = dict[str, float]
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "time_to_quality.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("time_to_quality", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["time_to_quality"] = module  # where dataclasses look for their annotations
    spec.loader.exec_module(module)
    return module


def curve(points: list[tuple[float, float]]) -> list[dict[str, float]]:
    return [{"cpu": seconds, "reconstruction": nats} for seconds, nats in points]


def test_a_level_between_two_points_is_interpolated_in_the_logarithm_of_time(script: ModuleType) -> None:
    seconds, seen = script.arrival(curve([(10, 80.0), (40, 60.0), (160, 40.0)]), 50.0)
    assert seen
    assert seconds == pytest.approx(80.0)  # halfway from 40 to 160


def test_a_level_that_is_not_reached_is_extrapolated_from_the_last_half_alone(script: ModuleType) -> None:
    # 100 - 10 log2 t in the last half of the time; before it the curve falls ten times as fast.
    late = [(t, 100 - 10 * math.log2(t)) for t in (64.0, 80.0, 96.0, 112.0, 128.0)]
    early = [(t, 40 + 100 * math.log2(64 / t)) for t in (8.0, 16.0, 32.0)]
    seconds, seen = script.arrival(curve(early + late), 20.0)
    assert not seen
    assert seconds == pytest.approx(256.0)
    assert script.arrival(curve([(1.0, 50.0), (2.0, 50.0), (3.0, 51.0)]), 45.0) == (math.inf, False)


def test_a_batch_grows_at_its_steps_and_after_a_resumption(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "TURN", 2)
    small = (
        "encoder.channels=[4,4,4]",
        "encoder.hidden=[8]",
        "decoder.channels=[4,4,4]",
        "decoder.hidden=[8]",
    )
    words = ("data=circles", "data.size=32", "latents=2", "steps=6", *small)
    sizes = []
    for turns in (2, 1):
        trial = script.Trial(tmp_path, words, 0, math.inf, None, ((0, 2), (2, 3), (4, 5)))
        trial.open()
        batch = trial.trainer._batch
        monkeypatch.setattr(
            trial.trainer, "_batch", lambda batch=batch: [sizes.append(len(b := batch())), b][1]
        )
        monkeypatch.setattr(trial, "finish", lambda: None)
        for _ in range(turns):
            trial.turn()
        trial.save()
    assert sizes == [2, 2, 3, 3, 5, 5]


def test_the_page_has_the_tables_of_what_is_stored(script: ModuleType) -> None:
    page = (SCRIPT.parents[1] / "docs" / "learning.md").read_text()
    stored = list(script.read(script.RESULTS).values())
    assert script.filled(page, stored) == page
    assert all(f"<!-- time to quality: {name} -->" in page for name in script.tables(stored))


def test_a_table_has_means_ranges_and_how_many_times_as_long(script: ModuleType) -> None:
    def row(way: str, seed: int, points: list[tuple[float, float]], mig: float) -> dict[str, Any]:
        scores = {"mig": mig, "factor_vae_score": 0.5, "dci": 0.25}
        measured = [{**point, "latents": 10} for point in curve(points)]
        return {"group": "speed", "way": way, "seed": seed, "curve": measured, "scores": scores}

    rows = [row("Muon", 1, [(10, 60.0), (20, 40.0)], 0.1), row("Muon", 2, [(10, 45.0)], 0.2)]
    rows += [row("Adam 5e-4", 2, [(20, 50.0), (40, 45.0)], 0.4)]
    found = script.tables(rows)["speed"]
    times = "0.500 | 0.250 |"
    # Seed 1 arrives three quarters of the way from 10 to 20 on a logarithmic axis: 10 * 2 ** 0.75 = 16.8.
    assert found[2:] == [
        f"| Muon | 1, 2 | 17, 10 | 42.5 (40.0 to 45.0) | 10.0 | 0.150 (0.100 to 0.200) | {times}",
        f"| Adam 5e-4 | 2 | 40 (4x) | 45.0 | 10.0 | 0.400 | {times}",
    ]
    mark = "<!-- time to quality: speed -->\n"
    new = f"a\n{mark}" + "\n".join(found) + "\n\nb\n\nc\n"
    assert script.filled(f"a\n{mark}| old |\n|---|\n\nb\n\nc\n", rows) == new
    assert script.filled(f"a\n{mark}\nb\n\nc\n", rows) == new
    assert script.filled(new, rows) == new


SMALL = ("data=circles", "data.size=32", "encoder.channels=[4,4]", "decoder.channels=[4,4]", "batch_size=4")


@pytest.fixture
def seconds_of(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Found]:
    """Trains two ways, every turn of which takes a second, and tells how long each trained."""
    group = script.Group(
        "?", {"usual": (*SMALL, "steps=100000"), "ours": (*SMALL, "steps=75")}, {"usual": "ours"}
    )
    monkeypatch.setitem(script.GROUPS, "tiny", group)
    ticks = itertools.count()
    monkeypatch.setattr(script.time, "process_time", lambda: float(next(ticks)))
    found: Found = {}

    def finish(trial: Any) -> None:
        trial.state["scores"] = {}
        found[trial.folder.name] = trial.state["cpu"]

    monkeypatch.setattr(script.Trial, "finish", finish)

    def train(ended: dict[Any, Any]) -> Found:
        for _ in script.run("tiny", ["usual", "ours"], tmp_path, [5], ended):
            pass
        return found

    return train


def test_a_way_trains_as_long_as_the_one_that_it_is_compared_with(seconds_of: Callable[..., Found]) -> None:
    # Turns of 25 steps alternate and the usual way goes first, so it has three seconds when ours ends after its third,
    # and ends with the turn in which it is told so.
    assert seconds_of({}) == {"ours-5": 3.0, "usual-5": 4.0}


def test_the_time_that_another_session_took_counts_too(seconds_of: Callable[..., Found]) -> None:
    settings = " ".join((*SMALL, "steps=75"))
    assert seconds_of({("tiny", "ours", 5, settings): {"curve": [{"cpu": 1.0}, {"cpu": 6.0}]}}) == {
        "usual-5": 6.0
    }
