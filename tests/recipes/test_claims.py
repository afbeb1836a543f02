import json
import math

import numpy as np
import pytest
from scipy import stats

from unweave.errors import UnweaveError
from unweave.recipes.claims import (
    Finding,
    above,
    computed_again,
    corrected,
    correlated,
    correlation,
    equal,
    exceeds,
    higher,
    paired,
    permuted,
    proportion,
    worst,
)

SURE, OLD_AND_SURE = [0.84, 0.85, 0.86, 0.85], [0.49, 0.5, 0.51, 0.5]
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
    assert correlated("x", x, [-v for v in y]).verdict == "opposite"
    assert correlated("x", x, [-v for v in y], sign=-1).verdict == "same direction"
    assert correlated("constant", x, [1.0] * 7).value == 0.0


def test_proportion_is_the_binomial_test() -> None:
    found = proportion("x", 9, 10, 0.5)
    assert found.p == pytest.approx(22 / 1024)  # 0, 1, 9 or 10 of 10
    assert proportion("x", 1, 10, 0.5).verdict == "opposite"
    assert proportion("x", 1, 10, 0.5, sign=-1).verdict == "same direction"


@pytest.mark.parametrize(
    ("finding", "verdict"),
    [
        (higher("x", NEW, OLD), "same direction"),  # nothing published
        (higher("x", OLD, NEW), "opposite"),  # the other way round, and sure
        (
            higher("x", NEW, OLD, published=0.35),
            "same direction",
        ),  # inside our interval, which is too wide to agree
        (higher("x", SURE, OLD_AND_SURE, published=0.36), "agrees"),  # 0.35 +- 0.02, narrower than 0.18
        (higher("x", SURE, OLD_AND_SURE, published=0.4), "same direction"),  # outside
        (higher("x", SURE, OLD_AND_SURE, published=0.34), "agrees"),
        (
            Finding("x", 0.3, published=0.2, low=0.25, high=0.35, p=0.01),
            "same direction",
        ),  # below the interval
        (
            Finding("x", 0.3, published=0.3, low=0.22, high=0.37, p=0.01),
            "agrees",
        ),  # as wide as half the effect
        (Finding("x", 0.3, published=0.3, low=0.22, high=0.38, p=0.01), "same direction"),  # wider
        (
            Finding("x", 1.3, published=1.3, low=1.22, high=1.38, p=0.01, null=1.0),
            "same direction",
        ),  # effect 0.3
        (Finding("x", 0.3, p=0.01, corrected=0.06), "does not show at this scale"),
        (Finding("x", -0.3, p=0.01, corrected=0.06), "does not show at this scale"),
        (
            higher("x", [0.1, 0.9], [0.2, 0.3], published=0.25),
            "does not show at this scale",
        ),  # not sure enough
        (exceeds("x", NEW, 0.5, sign=-1), "opposite"),
        (exceeds("x", OLD, 0.9, sign=-1), "same direction"),
        (equal("x", 1.02, 1.0, within=0.05), "agrees"),
        (equal("x", 1.2, 1.0, within=0.05), "same direction"),
        (equal("x", -1.2, 1.0, within=0.05), "opposite"),
        (equal("x", 0.9, 1.2, null=1.0), "opposite"),
        (equal("x", 0.0, 1.0), "does not show at this scale"),
        (equal("x", 1e-12, 0.0, within=1e-9, constructed=True), "by construction"),
        (equal("x", 1e-3, 0.0, within=1e-9, constructed=True), "does not show at this scale"),
        (above("x", 2.0, 1.0), "same direction"),
        (above("x", 0.5, 1.0), "opposite"),
        (Finding("x", math.nan, p=0.0), "does not show at this scale"),
        (Finding("x", 1.0, p=math.nan), "does not show at this scale"),
        (Finding("x", 0.5, p=0.05), "does not show at this scale"),
    ],
)
def test_verdicts(finding: Finding, verdict: str) -> None:
    assert finding.verdict == verdict


def test_p_is_corrected_for_the_number_of_tests() -> None:
    """Holm: the smallest p times their number, the next times one less, and never below one before it."""
    made = [Finding("a", 1.0, p=0.02), Finding("b", 1.0), Finding("c", 1.0, p=0.01), Finding("d", 1.0, p=0.5)]
    found = corrected(made)
    assert [each.corrected for each in found] == [pytest.approx(0.04), None, pytest.approx(0.03), 0.5]
    assert [each.p for each in found] == [0.02, None, 0.01, 0.5]
    assert found[0].verdict == "same direction" and corrected([*made, *made])[0].verdict != "same direction"


FINDINGS = [
    higher("higher", NEW, OLD, published=0.3),
    paired("paired", NEW, OLD, published=0.3),
    permuted("permuted", NEW, OLD, "median"),
    exceeds("exceeds", NEW, 0.7, published=0.8, sign=-1),
    correlated("correlated", NEW, OLD, sign=-1),
    proportion("proportion", 7, 9, 0.4, published=0.6),
    equal("equal", 0.52, 0.5, within=0.05, null=1.0),
    equal("identity", 1e-12, 0.0, within=1e-9, constructed=True),
    above("above", 2.0, 1.0),
    *(correlation(kind, NEW, OLD, kind, published=0.4) for kind in ("pearson", "kendall", "spearman")),
]


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.what)
def test_every_finding_can_be_computed_again_from_what_its_file_holds(finding: Finding) -> None:
    stored = json.loads(json.dumps(finding.to_json()))
    assert computed_again(stored) == finding


@pytest.mark.parametrize("kind", ["pearson", "kendall", "spearman"])
def test_correlations_are_scipys(kind: str) -> None:
    theirs = {"pearson": stats.pearsonr, "kendall": stats.kendalltau, "spearman": stats.spearmanr}[kind](
        NEW, OLD
    )
    found = correlation("x", NEW, OLD, kind)
    assert (found.value, found.p) == (pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue))


def test_the_smallest_effect_is_found_in_four_of_five_repetitions() -> None:
    """An independent estimate: draw groups that differ by just that much, and count how often the test finds it."""
    rng = np.random.default_rng(5)
    a, b = rng.normal(0, 1, 6), rng.normal(0, 2, 9)
    a, b = (values / np.std(values, ddof=1) * spread for values, spread in ((a, 1.0), (b, 2.0)))
    least = higher("x", a, b).detectable
    assert least is not None
    n = 20_000
    ones, twos = rng.normal(least, 1, (n, 6)), rng.normal(0, 2, (n, 9))
    found = stats.ttest_ind(ones, twos, axis=1, equal_var=False).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.012)
    one = exceeds("x", b, 3.0).detectable
    assert one is not None
    found = stats.ttest_1samp(rng.normal(3.0 + one, 2, (n, 9)), 3.0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.01)
    part = proportion("x", 8, 12, 0.25).detectable
    assert part is not None
    hits = rng.binomial(12, 0.25 + part, n)
    p = np.array([stats.binomtest(k, 12, 0.25).pvalue for k in range(13)])
    assert np.mean((p[hits] < 0.05) & (hits > 3)) == pytest.approx(0.8, abs=0.012)
    assert proportion("x", 2, 3, 0.5).detectable is None  # not even three of three would be significant


def test_the_smallest_rank_correlation_is_about_right() -> None:
    rho = correlated("x", np.arange(20.0), np.arange(20.0)).detectable
    assert rho is not None
    rng = np.random.default_rng(6)
    x = rng.normal(size=(2000, 20))
    r = 2 * np.sin(np.pi * rho / 6)  # the Gaussian correlation that has this rank correlation
    y = r * x + np.sqrt(1 - r * r) * rng.normal(size=x.shape)
    found = [stats.spearmanr(*pair).pvalue < 0.05 for pair in zip(x, y, strict=True)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.04)


def test_too_few_runs_are_said_to_be_too_few() -> None:
    few = higher("x", [0.1, 0.9], [0.2, 0.3], published=0.25)
    assert few.verdict == "does not show at this scale" and few.lacks_power is True
    many = higher("x", [0.5, 0.51] * 20, [0.51, 0.5] * 20, published=0.25)
    assert many.verdict == "does not show at this scale" and many.lacks_power is False
    assert higher("x", [0.1, 0.9, 0.4] * 30, [0.2, 0.3, 0.9] * 30).lacks_power is False  # two deviations
    assert higher("x", [0.1, 0.9], [0.2, 0.3]).lacks_power is True
    assert above("x", 1.0).lacks_power is None


def test_the_weakest_claim_decides() -> None:
    assert worst(["agrees", "opposite", "does not show at this scale"]) == "opposite"
    assert worst(["by construction", "same direction"]) == "same direction"
    assert worst(["by construction", "by construction"]) == "by construction"
    assert worst(["agrees", "does not show at this scale", "same direction"]) == "does not show at this scale"


def test_too_few_values_are_refused() -> None:
    with pytest.raises(UnweaveError, match="two values or more"):
        higher("x", [1.0], [2.0, 3.0])
    with pytest.raises(UnweaveError, match="pairs"):
        paired("x", [1.0, 2.0], [2.0, 3.0, 4.0])


def test_a_permuted_statistic_is_tested_on_divisions_of_all_values() -> None:
    """Of 70 divisions of eight values into fours two are as far apart: p = 2/70 up to the number of permutations."""
    found = permuted("mean", [5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], "mean")
    assert found.value == 4.0 and found.p == pytest.approx(2 / 70, abs=0.005)
    assert found.verdict == "same direction"
    median = permuted("median", [5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], "median")
    assert median.p == pytest.approx(4 / 70, abs=0.005)  # 4 and 5 may change places
    assert permuted("maximum", [1.0, 9.0], [1.0, 9.0], "max").verdict == "does not show at this scale"
    lower = permuted("mean", [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], "mean")
    assert lower.verdict == "opposite"
    with pytest.raises(UnweaveError, match="statistic"):
        permuted("x", NEW, OLD, "medium")
