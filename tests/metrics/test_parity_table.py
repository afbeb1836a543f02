"""The table of parities in docs/metrics.md: one kind of codes for each definition again, and all that is stored."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import parity

ROOT = Path(__file__).parents[2]
STORED = json.loads((ROOT / "benchmarks" / "results" / "parity.json").read_text())
NEIGHBOURS = "disentangle (scikit-learn's neighbours)"  # latents of few values count as classes here
QUICK = [
    (metric, definition, list(parity.KINDS)[i % len(parity.KINDS)])
    for i, (metric, definition) in enumerate(parity.CASES)
    if metric not in ("dci", "beta_vae_score") and definition != NEIGHBOURS
]


@pytest.mark.parametrize(("metric", "definition", "kind"), QUICK)
def test_a_metric_is_its_literal_definition(metric: str, definition: str, kind: str) -> None:
    found = parity.difference(metric, definition, kind)
    assert found["ours"] == pytest.approx(found["literal"], abs=1e-6)
    assert found["ours"] == pytest.approx(STORED[f"{metric}|{definition}|{kind}"]["ours"], abs=1e-6)


def test_what_is_stored_agrees_and_is_what_the_page_shows() -> None:
    for key, found in STORED.items():
        if NEIGHBOURS not in key:
            assert found["ours"] == pytest.approx(found["literal"], abs=1e-6), key
    page = (ROOT / "docs" / "metrics.md").read_text()
    assert "\n".join(parity.table(STORED)) in page
