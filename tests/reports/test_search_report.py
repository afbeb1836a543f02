"""The page of a search is led by its target, with the values that the search itself found."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reports.test_sweep_report import BASE, finish, live_points

from unweave import artefacts
from unweave.plots.score_panels import search_history
from unweave.reports import write_sweep_report
from unweave.reports.search import Found, Trial, found_of, search_answers
from unweave.reports.variants import Variant
from unweave.runs import Study
from unweave.runs.executors import Inline
from unweave.runs.sweep import Member, Sweep
from unweave.runs.tune import TRIALS, Search

pytest.importorskip("optuna")

SPACE = {"objective.beta": {"low": 0.5, "high": 32.0, "log": True}, "latents": [2, 3]}


def value_of(member: Member) -> float:
    """The score that a run gets: highest near beta = 4, a little more with three latents."""
    beta, latents = member.run.config.objective.options["beta"], member.run.config.latents
    return 0.8 - 0.1 * abs(np.log(beta / 4)) + 0.02 * (latents - 2) + 0.001 * member.run.config.seed


def finish_all(sweep: Sweep, _: Any) -> None:
    for member in sweep.todo:
        finish(member, value_of(member))


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Search:
    study = Study.of({"base": BASE, "search": SPACE, "seeds": 2}, name="found")
    search = Search(study, tmp_path_factory.mktemp("search"), target="mig", command="unweave tune found.yaml")
    search.run(6, Inline(), finish_all)
    return search


@pytest.fixture(scope="module")
def written(searched: Search) -> Path:
    return write_sweep_report(Sweep(searched.folder), searched.folder / "page.html")


def test_the_page_of_a_search_answers_its_question(
    searched: Search, written: Path, read: Callable[[Path], Any]
) -> None:
    page = read(written)
    results = searched.results()
    best = max(results, key=lambda trial: trial.value or 0)
    assert "Which beta (0.5 to 32, logarithmic) and latents (2 or 3) give the highest MIG?" in page.text
    assert f"Best of 6 trials: {best.label.partition(': ')[2]}, with MIG {best.value:.3f}" in page.text
    assert page.pictures[:3] == ["search history", "mig against beta", "mig against latents"]
    assert not any("reconstruction" in alt or "rate" in alt for alt in page.pictures), "trials are no curve"
    assert "Which differences are significant" not in page.text
    rows = [
        page.text.index(f" {trial.label.partition(': ')[2]} {trial.number} ")
        for trial in sorted(results, key=lambda trial: -(trial.value or 0))
    ]
    assert rows == sorted(rows), "the best trial is the first row"


def test_points_are_where_the_search_was(searched: Search, written: Path) -> None:
    values = {trial.label: trial for trial in searched.results()}
    for alt, key in (("search history", None), ("mig against beta", "objective.beta")):
        points = live_points(written, alt)
        assert len(points) == 6
        told = {label.rsplit(":", 1)[0]: (x, y) for x, y, label, *_ in points}
        xs = [told[label][0] for label in values]
        places = [t.number if key is None else np.log(t.settings[key]) for t in values.values()]
        slope, start = np.polyfit(places, xs, 1)
        np.testing.assert_allclose(xs, slope * np.array(places) + start, atol=0.2)
        ys = [told[label][1] for label in values]
        slope, start = np.polyfit([t.value for t in values.values()], ys, 1)
        assert slope < 0
        np.testing.assert_allclose(ys, slope * np.array([t.value for t in values.values()]) + start, atol=0.2)


def test_a_search_that_was_stopped_has_its_values_computed(searched: Search) -> None:
    sweep = Sweep(searched.folder)
    complete = found_of(sweep)
    path = searched.folder / TRIALS
    stored = json.loads(path.read_text())
    assert [each["value"] for each in stored["results"]] == [t.value for t in searched.results()]
    del stored["results"]
    assert complete is not None
    artefacts.write_json(path, stored)
    again = found_of(sweep)
    assert again is not None
    np.testing.assert_allclose(
        [t.value for t in again.trials], [t.value for t in complete.trials], rtol=1e-12
    )


def test_a_collapsed_best_trial_is_said_to_be_one(
    searched: Search, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = found_of(Sweep(searched.folder))
    assert found is not None and found.best is not None
    assert "But most of its runs have collapsed" in search_answers(found, {found.best.label})[1]
    assert not any("collapsed" in line for line in search_answers(found))
    tinted = '<td class="number best">'
    assert written.read_text().count(tinted) == 1
    monkeypatch.setattr(Variant, "has_learned", False)
    assert write_sweep_report(Sweep(searched.folder), tmp_path / "page.html").read_text().count(tinted) == 0


def test_axes_say_whole_numbers() -> None:
    """Bounds of -539.061 and -539.064 were ticks of -0.001 and -0.004 below a -5.3906e2 in small print."""
    figure = search_history([-539.0612, -539.0641, -539.0638], target="ELBO", higher=True)
    figure.canvas.draw()
    [axes] = figure.axes
    assert axes.yaxis.get_offset_text().get_text() == ""
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert all(label.startswith("−539.06") for label in labels), labels


def test_trials_without_a_value_are_not_said_to_have_been_beaten() -> None:
    values = [0.1, 0.3, None, 0.2, None]
    trials = tuple(Trial(k, {"objective.beta": k + 1.0}, value) for k, value in enumerate(values))
    told = search_answers(Found("mig", True, {}, trials))
    assert told[0].startswith("Best of 3 trials: beta=2, with MIG 0.300")
    assert told[1] == "It was found in trial 1; the 1 trial after it did not improve on it."
    assert told[2] == "2 trials have no value; the table says why."
    last = search_answers(Found("mig", True, {}, trials[:3]))
    assert last[1] == "It was found in trial 1, the last: more trials may find better."
