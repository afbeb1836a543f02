import json
import subprocess
import sys

import numpy as np
import pytest

from unweave.errors import UnweaveError
from unweave.metrics.score import Score, interval_of_mean


def test_json_round_trip_of_numpy_constants() -> None:
    score = Score("x", 1.5, 1.0, 2.0, (None, None), False, "ref", {"a": np.arange(3), "b": np.float32(0.5)})
    stored = json.loads(json.dumps(score.to_json(), allow_nan=False))
    back = Score.from_json(stored)
    assert back.constants == {"a": [0, 1, 2], "b": 0.5}
    assert (back.name, back.value, back.low, back.high) == ("x", 1.5, 1.0, 2.0)
    assert (back.range, back.higher_is_better, back.reference) == ((None, None), False, "ref")


def test_nan_becomes_null_and_comes_back_as_nan() -> None:
    stored = json.loads(
        json.dumps(Score("x", float("nan"), constants={"y": [float("inf")]}).to_json(), allow_nan=False)
    )
    assert stored["value"] is None
    assert stored["constants"] == {"y": [None]}
    assert np.isnan(float(Score.from_json(stored)))


def test_stored_score_without_value_is_an_error() -> None:
    with pytest.raises(UnweaveError, match="value"):
        Score.from_json({"name": "mig"})


def test_interval_is_1_96_standard_errors() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0])
    mean, low, high = interval_of_mean(values)
    se = np.sqrt(np.sum((values - 2.5) ** 2) / 3 / 4)
    assert mean == 2.5
    assert low == pytest.approx(2.5 - 1.96 * se)
    assert high == pytest.approx(2.5 + 1.96 * se)


def test_importing_metrics_needs_neither_torch_nor_matplotlib() -> None:
    heavy = "('torch', 'matplotlib', 'sklearn')"
    code = f"import sys, unweave.metrics; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
