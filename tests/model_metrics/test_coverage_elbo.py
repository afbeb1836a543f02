"""Intervals of ELBO, NLL and KL: what was counted, and how it is counted."""

import json
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import coverage_elbo

ROOT = Path(__file__).parents[2]


def test_what_was_counted_is_within_92_and_98_percent_and_is_what_the_page_says() -> None:
    stored = json.loads((ROOT / "benchmarks" / "results" / "coverage_elbo.json").read_text())
    shares = [share for cell in stored.values() for share in cell.values()]
    assert len({key.split("|")[0] for key in stored}) >= 6
    assert 0.92 <= min(shares) <= max(shares) <= 0.98
    page = (ROOT / "docs" / "metrics.md").read_text()
    assert f"covered {math.floor(1000 * min(shares)) / 10} to {math.ceil(1000 * max(shares)) / 10} %" in page


def test_normal_losses_are_covered_and_a_narrow_interval_would_not_be() -> None:
    rng = np.random.default_rng(0)
    nll, kl = rng.normal(90, 30, 4_000), rng.exponential(2.0, (4_000, 3))
    scales = np.full((4_000, 3), 0.5)
    found = coverage_elbo.count(nll, kl, scales, 500, np.random.default_rng(1))
    assert all(0.935 <= share <= 0.965 for share in found.values())
    # Losses that a few images decide are covered too seldom: the count can fail.
    heavy = rng.pareto(1.2, 4_000)
    assert coverage_elbo.count(heavy, kl, scales, 500, np.random.default_rng(1))["nll"] < 0.9
