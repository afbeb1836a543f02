"""Metrics from outside the package: classes, instances, functions, references and installed ones."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from unweave import references
from unweave.errors import UnweaveError
from unweave.metrics import (
    METRICS,
    AnyMetric,
    Encoded,
    FunctionMetric,
    Metric,
    Score,
    choose_metrics,
    label_of,
    metric_of,
    metric_spelling,
    resolve_metric,
    score_all,
    sentence_of,
)

ENCODED = Encoded.of([[0.0, 1.0], [2.0, 5.0]] * 20, [[0], [1]] * 20)

SOURCE = """
import numpy as np
from unweave.metrics import Encoded, Metric, Score

class Reach(Metric):
    name = "reach_of_codes"
    labels = {"reach_of_codes": "Reach", "reach_low": "Reach, low"}
    needs = frozenset({"codes"})
    sentence = "How far codes reach."

    def compute(self, encoded: Encoded, rng: np.random.Generator) -> dict[str, Score]:
        return {
            "reach_of_codes": Score("reach_of_codes", float(np.ptp(encoded.codes))),
            "reach_low": Score("reach_low", float(rng.random())),
        }

reach = Reach()

def width(codes, factors):
    return np.ptp(codes) / len(factors)
"""


class Spread(Metric):
    name = "spread"
    needs = frozenset({"codes"})

    def compute(self, encoded: Encoded, rng: np.random.Generator) -> Score:
        return Score(self.name, float(np.ptp(encoded.codes)), range=(0.0, None))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "outside_metrics.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "outside_metrics.py"
    sys.modules.pop("outside_metrics", None)


def test_a_class_an_instance_and_both_kinds_of_references_are_one_metric(file: Path) -> None:
    from outside_metrics import Reach, reach  # type: ignore[import-not-found]

    ways = [Reach, reach, "outside_metrics:Reach", "outside_metrics:reach", f"{file}:Reach", f"{file}:reach"]
    found = [score_all(ENCODED, [way], seed=3) for way in ways]
    assert found[0]["reach_of_codes"].value == 5.0
    assert all(scores == found[0] for scores in found), "the stream of a metric is seeded by its name"
    assert label_of("reach_low") == "Reach, low"
    assert sentence_of("reach_of_codes") == "How far codes reach."
    assert metric_spelling("outside_metrics:Reach") == "outside_metrics:Reach"


def test_a_function_by_reference_needs_what_its_parameters_name(file: Path) -> None:
    assert score_all(ENCODED, ["outside_metrics:width"])["width"] == Score("width", 0.125, range=(None, None))
    with pytest.raises(UnweaveError, match="width needs factors, which are not given; there are codes"):
        score_all(Encoded.of([[1.0]]), ["outside_metrics:width"])


def test_metrics_from_outside_stand_beside_built_in_ones(file: Path) -> None:
    scores = score_all(ENCODED, ["MIG", Spread, "outside_metrics:width"], threads=2)
    assert list(scores) == ["mig", "spread", "width"]
    assert scores["mig"] == score_all(ENCODED, ["mig"])["mig"]
    assert label_of("spread") == "spread"
    assert sentence_of("spread") == ""


def test_labels_fall_back_to_the_name_of_the_score() -> None:
    assert metric_of("never_seen") is None
    assert label_of("never_seen") == "never seen"
    assert sentence_of("never_seen") == ""


def test_optional_arrays_are_passed_where_they_are_known() -> None:
    def known(codes: object, scales: object = None) -> float:
        return 0.0 if scales is None else 1.0

    metric = FunctionMetric(known)
    assert metric.needs == {"codes"}
    with_scales = Encoded.of([[1.0]], scales=[[1.0]])
    assert [score_all(e, [metric])["known"].value for e in (Encoded.of([[1.0]]), with_scales)] == [0.0, 1.0]


def test_installed_metrics_are_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = dict.fromkeys(("spread", "mig"), SimpleNamespace(load=lambda: Spread))
    monkeypatch.setattr(
        references, "entry_points_of", lambda group: installed if group == "unweave.metrics" else {}
    )
    assert isinstance(resolve_metric("Spread"), Spread)
    assert resolve_metric("mig") is METRICS["mig"], "a built-in name stays what it is"
    assert metric_spelling("SPREAD") == "spread"
    with pytest.raises(UnweaveError, match="did you mean spread"):
        resolve_metric("spraed")
    assert "spread" not in {metric.name for metric in choose_metrics(None)}


def test_a_metric_that_needs_a_model_is_named() -> None:
    class OfModel(AnyMetric):
        name = "of_model"

    more = {"of_model": OfModel()}
    assert [m.name for m in choose_metrics(["of-model", "mig"], more=more)] == ["of_model", "mig"]
    with pytest.raises(UnweaveError, match="of_model needs a model"):
        score_all(ENCODED, [OfModel])
    with pytest.raises(UnweaveError, match="unknown metric 'of_model'"):
        choose_metrics(["of_model"])


def test_one_metric_named_twice_is_computed_once_and_two_of_one_name_are_refused(file: Path) -> None:
    assert len(choose_metrics([Spread, Spread, Spread()])) == 1
    with pytest.raises(UnweaveError, match="two different metrics are called mig"):
        choose_metrics(["mig", type("Other", (Spread,), {"name": "mig"})])


class Nameless(Metric):
    needs = frozenset({"codes"})

    def compute(self, encoded: Encoded, rng: np.random.Generator) -> Score:
        return Score("x", 0.0)


def test_what_is_wrong_with_a_metric_is_said_in_one_sentence(file: Path) -> None:
    def other(codes: object, images: object) -> float:
        return 0.0

    class Unfinished(Metric):
        name = "unfinished"
        needs = frozenset({"codes"})

    class Greedy(Spread):
        needs = frozenset({"codes", "images"})

    class WithArguments(Spread):
        def __init__(self, power: float) -> None:
            self.power = power

    for given, problem in [
        (Unfinished, "is abstract: it must define compute"),
        (Nameless, "has no name"),
        (Greedy, "needs of the metric spread must be a set of codes, factors, scales"),
        (WithArguments, "cannot be made without arguments .*: pass an instance"),
        (other, "its parameter images has no default"),
        ("outside_metrics:np", "outside_metrics:np is not a metric"),
        ("outside_metrics:absent", "outside_metrics:absent"),
        ("absent_package:Metric", "absent_package"),
    ]:
        with pytest.raises(UnweaveError, match=problem):
            choose_metrics([given])  # type: ignore[list-item]
    for answer in ("text", None, {"a": 1.0}):
        with pytest.raises(UnweaveError, match="must answer with a Score"):
            score_all(ENCODED, [FunctionMetric(lambda codes, answer=answer: answer, "lambda")])
    assert score_all(ENCODED, [WithArguments(2.0)])["spread"].value == 5.0


def test_metrics_need_no_torch() -> None:
    code = "import sys, unweave.metrics; assert 'torch' not in sys.modules, 'torch was imported'"
    lazy = "import sys; sys.modules['torch'] = None; import unweave.metrics"
    for program in (code, lazy):
        subprocess.run([sys.executable, "-c", program], check=True, env=os.environ.copy())
