import math

import numpy as np
import pytest
from scipy import stats

from unweave.errors import UnweaveError
from unweave.metrics.statistics import difference, holm, mean_interval, rank_sum

CASES = [(5, 5), (2, 7), (3, 4), (10, 6)]


@pytest.mark.parametrize("n", [2, 3, 5, 50])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_intervals_are_those_of_scipy(n: int, confidence: float) -> None:
    values = np.random.default_rng(n).normal(3.0, 2.0, n)
    low, high = stats.t.interval(confidence, n - 1, values.mean(), stats.sem(values))
    found = mean_interval(values, confidence=confidence)
    assert (found.mean, found.low, found.high) == pytest.approx((values.mean(), low, high), rel=1e-12)
    assert found.count == n


def test_one_value_has_no_interval() -> None:
    found = mean_interval([0.3])
    assert (found.mean, found.low, found.high) == (0.3, None, None)
    assert str(found) == "0.300"


@pytest.mark.parametrize(("n", "m"), CASES)
def test_differences_are_those_of_scipy(n: int, m: int) -> None:
    rng = np.random.default_rng(10 * n + m)
    a, b = rng.normal(0.5, 0.1, n), rng.normal(0.4, 0.3, m)
    theirs = stats.ttest_ind(a, b, equal_var=False)
    interval = theirs.confidence_interval(0.95)
    found = difference(a, b)
    assert (found.mean, found.p) == pytest.approx((a.mean() - b.mean(), theirs.pvalue), rel=1e-10)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-10)


@pytest.mark.parametrize(("n", "m"), CASES)
def test_rank_sums_without_ties_are_those_of_scipy(n: int, m: int) -> None:
    rng = np.random.default_rng(n + m)
    a, b = rng.normal(0.6, 1.0, n), rng.normal(0.0, 1.0, m)
    assert rank_sum(a, b) == pytest.approx(stats.mannwhitneyu(a, b, method="exact").pvalue, rel=1e-12)


def test_rank_sums_with_ties_are_those_of_all_permutations() -> None:
    a, b = [1, 1, 2, 3, 5], [2, 2, 3, 3, 1, 4]
    ranks = stats.rankdata(a + b)

    def statistic(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return np.abs(x.sum(axis=axis) - 5 * 12 / 2)

    theirs = stats.permutation_test(
        (ranks[:5], ranks[5:]), statistic, vectorized=True, n_resamples=np.inf, alternative="greater"
    )
    assert rank_sum(a, b) == pytest.approx(theirs.pvalue, rel=1e-12)


def test_rank_sums_of_many_values_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, 40), rng.integers(1, 10, 30)
    theirs = stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=True).pvalue
    assert rank_sum(a, b) == pytest.approx(theirs, rel=1e-10)


def test_holm_is_its_definition() -> None:
    p = [0.01, 0.02, 0.03, 0.005, 0.9]
    ordered = sorted(p)
    literal = {v: max(min(1.0, (5 - k) * ordered[k]) for k in range(i + 1)) for i, v in enumerate(ordered)}
    assert holm(p) == pytest.approx([literal[v] for v in p])
    assert holm([]) == []


def coverage(draw: object, truth: float, n: int, rounds: int = 4000) -> float:
    hits = 0
    for values in draw(rounds, n):  # type: ignore[operator]
        found = mean_interval(values)
        hits += found.low <= truth <= found.high  # type: ignore[operator]
    return hits / rounds


def test_intervals_of_a_few_seeds_cover_as_claimed() -> None:
    """0.95 for normal values, within 3.5 standard errors of the count; close to it for scores between 0 and 1."""
    rng = np.random.default_rng(0)
    error = 3.5 * math.sqrt(0.95 * 0.05 / 4000)
    for n in (2, 5, 10):
        assert abs(coverage(lambda r, k: rng.normal(1.0, 3.0, (r, k)), 1.0, n) - 0.95) < error
    assert coverage(lambda r, k: rng.beta(4, 8, (r, k)), 1 / 3, 5) > 0.94
    assert coverage(lambda r, k: rng.beta(2, 8, (r, k)), 0.2, 5) > 0.92


def test_intervals_of_differences_cover_as_claimed() -> None:
    rng = np.random.default_rng(1)
    hits = alarms = 0
    for _ in range(3000):
        a, b = rng.normal(0.5, 0.1, 5), rng.normal(0.5, 0.2, 5)
        found = difference(a, b)
        hits += found.low <= 0.0 <= found.high
        alarms += found.p_ranks < 0.05
        assert (found.p < 0.05) == (not found.low <= 0.0 <= found.high)
    assert 0.94 < hits / 3000 < 0.97, "Welch is a little careful with five values"
    assert alarms / 3000 < 0.06


def test_mistakes_are_named() -> None:
    for wrong in ([], [[1.0]], [1.0, math.nan]):
        with pytest.raises(UnweaveError, match="finite numbers"):
            mean_interval(wrong)
    with pytest.raises(UnweaveError, match="two values or more"):
        difference([1.0], [1.0, 2.0])
