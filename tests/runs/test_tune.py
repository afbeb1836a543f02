import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unweave.atomic import DamagedError
from unweave.errors import UnweaveError
from unweave.runs import Study
from unweave.runs.executors import Event, make, read_resources
from unweave.runs.status import SCORES
from unweave.runs.tune import Search, udr_of
from unweave.runs.worker import work


class InProcess:
    """An executor that works in this process, and can be told to give up after some runs."""

    workers = 1

    def __init__(self, most: int = 1000) -> None:
        self.left = most
        self.worked: list[Path] = []

    def execute(self, folders: Any, tell: Any, stop: Any, metrics: Any = ()) -> None:
        for folder in folders:
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            self.worked.append(folder)
            tell(Event("ended", folder, work(folder, metrics=metrics)))


def study(tmp_path: Path, **changes: Any) -> Study:
    rng = np.random.default_rng(0)
    file = tmp_path / "own.npz"
    if not file.exists():
        np.savez(file, images=rng.random((60, 32, 32)), factors=rng.integers(0, 3, (60, 2)))
    base = {
        **{"data": str(file), "latents": 2, "batch_size": 4, "steps": 3},
        **{"encoder": {"channels": [4, 4], "hidden": [8]}, "decoder": {"channels": [4, 4], "hidden": [8]}},
    }
    search = {
        "objective.beta": {"low": 0.5, "high": 50, "log": True},
        "batch_size": {"low": 2, "high": 6, "whole": True},
        "prior": ["StandardNormal", "StudentT"],
    }
    return Study.of({"base": base, "search": search, "seeds": 2, **changes}, name="search")


def test_a_search_tries_values_of_its_space_and_reports_the_best(tmp_path: Path) -> None:
    search = Search(study(tmp_path), tmp_path / "out", target="elbo")
    made = search.run(4, InProcess())
    results = search.results()
    assert len(results) == 4
    assert made.statuses == {"finished": 8}
    assert made.target == "elbo"
    for trial in results:
        assert 0.5 <= trial.settings["objective.beta"] <= 50
        assert trial.settings["batch_size"] in range(2, 7)
        runs = [m.run for m in made.members if m.variant == trial.label]
        assert trial.value == pytest.approx(np.mean([run.scores["elbo"]["value"] for run in runs]))
    best = max(results, key=lambda trial: trial.value or 0)
    assert search.summary()[0].endswith(best.label)
    higher = [trial.value or 0 for trial in results]
    search.target = "nll"
    lowest = min(search.results(), key=lambda trial: trial.value or 0)
    assert search.summary()[0].endswith(lowest.label), "a cost is minimised"
    assert len(set(higher)) == 4


def test_a_search_that_is_killed_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    whole = Search(study(tmp_path), tmp_path / "whole")
    whole.run(3, InProcess())
    broken = Search(study(tmp_path), tmp_path / "broken")
    with pytest.raises(KeyboardInterrupt):
        broken.run(3, InProcess(most=3))
    again, executor = Search(study(tmp_path), tmp_path / "broken"), InProcess()
    again.run(3, executor)
    assert len(executor.worked) == 3, "only what was left"
    assert again.results() == whole.results()


def test_a_trial_with_a_diverged_seed_has_no_value_and_says_so(tmp_path: Path) -> None:
    wild = study(tmp_path, search={"learning_rate": [1e30]})
    search = Search(wild, tmp_path / "out")
    search.run(1, InProcess())
    assert search.results()[0].value is None
    assert "seed 0 diverged, seed 1 diverged" in search.summary()[0]


def test_targets_may_be_any_metric_or_the_agreement_of_seeds(tmp_path: Path) -> None:
    few = study(tmp_path, search={"objective.beta": [1.0]})
    search = Search(few, tmp_path / "out", target="modularity")
    made = search.run(1, InProcess())
    assert search.results()[0].value == pytest.approx(
        np.mean([m.run.scores["modularity"]["value"] for m in made.members])
    )
    agreement = Search(few, tmp_path / "out", target="udr")
    scored = udr_of([m.run for m in made.members]).value
    assert agreement.results()[0].value == scored
    for member in made.members:  # as after a training without scores
        (member.run.folder / SCORES).unlink()
    assert udr_of([m.run for m in made.members]).value == scored
    assert all("kl" in member.run.scores for member in made.members)


@pytest.mark.parametrize(
    ("changes", "target", "message"),
    [
        ({"search": {"objective.beta": 3}}, None, "objective.beta must be a list of values or"),
        ({"search": {"objective.beta": {"low": 5, "high": 1}}}, None, "search: objective.beta"),
        ({"seeds": 1}, "udr", "udr compares seeds"),
        ({}, "elbow", "unknown target 'elbow': did you mean elbo?"),
        ({"search": {}}, None, "has no search"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, changes: dict[str, Any], target: str | None, message: str) -> None:
    with pytest.raises(UnweaveError) as told:
        Search(study(tmp_path, **changes), tmp_path / "out", target=target)
    assert message in str(told.value)


@pytest.mark.parametrize(
    "content",
    [b"", b"[1]", b"5", b"[" * 6000, b"\xff", b'{"trials": 5}', b'{"trials": [3], "search": {}}', None],
)
def test_damaged_trials_are_one_sentence(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "out" / "trials.json"
    path.parent.mkdir()
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(DamagedError, match=r"trials\.json.*the search proposes its trials again") as told:
        Search(study(tmp_path), path.parent)
    assert "\n" not in str(told.value)
    assert path.exists()


def test_a_changed_digit_in_the_trials_is_noticed(tmp_path: Path) -> None:
    """It is still JSON, and would be another trial."""
    Search(study(tmp_path, seeds=1), tmp_path / "out").run(1, InProcess())
    path = tmp_path / "out" / "trials.json"
    path.write_text(path.read_text().replace('"batch_size": ', '"batch_size": 1'))
    with pytest.raises(DamagedError, match="its content is not what was written"):
        Search(study(tmp_path, seeds=1), tmp_path / "out")


def test_a_trial_that_cannot_be_trained_says_so_and_the_search_goes_on(tmp_path: Path) -> None:
    search = Search(study(tmp_path, seeds=1, search={"objective.beta": [-1.0, 2.0]}), tmp_path / "out")
    made = search.run(6, InProcess())
    bad = [trial for trial in search.results() if trial.value is None]
    assert 0 < len(bad) < 6
    assert {trial.reason for trial in bad} == {"objective.beta must be at least 0, got -1"}
    assert made.statuses == {"finished": 1}
    assert len([path for path in (tmp_path / "out").iterdir() if path.is_dir()]) == 1


def test_another_search_in_the_folder_is_refused(tmp_path: Path) -> None:
    Search(study(tmp_path), tmp_path / "out").run(1, InProcess())
    with pytest.raises(UnweaveError, match="trials of another search"):
        Search(study(tmp_path, search={"latents": [2, 3]}), tmp_path / "out")


def test_executors_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert make("local", workers=3, attempts=None).workers == 3  # type: ignore[attr-defined]
    with pytest.raises(UnweaveError, match="unknown executor 'lokal': did you mean local"):
        make("lokal")
    with pytest.raises(UnweaveError, match="local executor has no option address"):
        make("local", address="auto")
    with pytest.raises(UnweaveError, match="must be like CPU=1"):
        read_resources("one")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UnweaveError, match=r"unweave\[cluster\]"):
        make("ray").execute([], print, lambda: False)
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
