import math

import numpy as np
import pytest
from scipy import stats

from unweave.errors import UnweaveError
from unweave.recipes.claims import (
    Finding,
    correlated,
    equal,
    exceeds,
    higher,
    paired,
    permuted,
    proportion,
    worst,
)

NEW, OLD = [0.9, 0.7, 0.8, 0.95, 0.85], [0.5, 0.6, 0.4, 0.65, 0.3]


def test_higher_is_welchs_test() -> None:
    found = higher("x", NEW, OLD)
    theirs = stats.ttest_ind(NEW, OLD, equal_var=False)
    assert found.value == pytest.approx(np.mean(NEW) - np.mean(OLD), abs=1e-12)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9)
    interval = theirs.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_paired_and_exceeds_are_students_test() -> None:
    assert paired("x", NEW, OLD).p == pytest.approx(stats.ttest_rel(NEW, OLD).pvalue, rel=1e-9)
    assert exceeds("x", NEW, 0.8).p == pytest.approx(stats.ttest_1samp(NEW, 0.8).pvalue, rel=1e-9)


def test_correlated_is_spearmans_with_the_share_of_permutations() -> None:
    x, y = [1.0, 2, 3, 4, 5, 6, 7], [2.0, 1, 4, 3, 7, 5, 6]
    found = correlated("x", x, y)
    assert found.value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    exact = stats.permutation_test(
        (np.array(x),),
        lambda z: stats.spearmanr(z, y).statistic,
        permutation_type="pairings",
        n_resamples=5040,
    )
    assert found.p == pytest.approx(exact.pvalue, abs=0.005)
    assert correlated("x", x, [-v for v in y]).verdict == "does not show at this scale"
    assert correlated("x", x, [-v for v in y], sign=-1).verdict == "same direction"
    assert correlated("constant", x, [1.0] * 7).value == 0.0


def test_proportion_is_the_binomial_test() -> None:
    found = proportion("x", 9, 10, 0.5)
    assert found.p == pytest.approx(22 / 1024)  # 0, 1, 9 or 10 of 10
    assert proportion("x", 1, 10, 0.5).verdict == "does not show at this scale"
    assert proportion("x", 1, 10, 0.5, sign=-1).verdict == "same direction"


@pytest.mark.parametrize(
    ("finding", "verdict"),
    [
        (higher("x", NEW, OLD), "same direction"),  # nothing published
        (higher("x", OLD, NEW), "does not show at this scale"),  # the other way round, however sure
        (higher("x", NEW, OLD, published=0.35), "agrees"),  # inside our interval
        (higher("x", NEW, OLD, published=0.9), "same direction"),
        (higher("x", NEW, OLD, published=0.36, within=0.005), "same direction"),  # ours is 0.35
        (higher("x", NEW, OLD, published=0.36, within=0.02), "agrees"),
        (
            higher("x", [0.1, 0.9], [0.2, 0.3], published=0.25),
            "does not show at this scale",
        ),  # not sure enough
        (exceeds("x", NEW, 0.5, sign=-1), "does not show at this scale"),
        (exceeds("x", OLD, 0.9, sign=-1), "same direction"),
        (equal("x", 1.02, 1.0, within=0.05), "agrees"),
        (equal("x", 1.2, 1.0, within=0.05), "same direction"),
        (equal("x", -1.2, 1.0, within=0.05), "does not show at this scale"),
        (equal("x", 0.9, 1.2, null=1.0), "does not show at this scale"),
        (Finding("x", math.nan, p=0.0), "does not show at this scale"),
        (Finding("x", 1.0, p=math.nan), "does not show at this scale"),
        (Finding("x", 0.5, p=0.05), "does not show at this scale"),
    ],
)
def test_verdicts(finding: Finding, verdict: str) -> None:
    assert finding.verdict == verdict


def test_the_weakest_claim_decides() -> None:
    assert worst(["agrees", "does not show at this scale", "same direction"]) == "does not show at this scale"


def test_too_few_values_are_refused() -> None:
    with pytest.raises(UnweaveError, match="two values or more"):
        higher("x", [1.0], [2.0, 3.0])
    with pytest.raises(UnweaveError, match="pairs"):
        paired("x", [1.0, 2.0], [2.0, 3.0, 4.0])


def test_a_permuted_statistic_is_tested_on_divisions_of_all_values() -> None:
    """Of 70 divisions of eight values into fours two are as far apart: p = 2/70 up to the number of permutations."""
    found = permuted("mean", [5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], np.mean)
    assert found.value == 4.0 and found.p == pytest.approx(2 / 70, abs=0.005)
    assert found.verdict == "same direction"
    median = permuted("median", [5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], np.median)
    assert median.p == pytest.approx(4 / 70, abs=0.005)  # 4 and 5 may change places
    assert permuted("maximum", [1.0, 9.0], [1.0, 9.0], np.max).verdict == "does not show at this scale"
    lower = permuted("mean", [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], np.mean)
    assert lower.verdict == "does not show at this scale"
