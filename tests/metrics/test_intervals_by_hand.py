"""Intervals and small scores written out with scipy and loops, at few samples, where n and n - 1 differ."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from unweave.errors import UnweaveError
from unweave.metrics import (
    METRICS,
    Encoded,
    choose_metrics,
    hoyer,
    mig,
    sampled_mig,
    score_all,
    subspace_mig,
)
from unweave.metrics.score import (
    Score,
    interval_of_held_out,
    interval_of_mean,
    interval_of_terms,
    wilson,
)
from unweave.metrics.unsupervised import udr
from unweave.metrics.votes import SETTLED, UNSETTLED, VotingProtocol, score_votes, unsettled

RNG = np.random.default_rng(0)
TERMS = RNG.uniform(0.3, 0.7, 11)


def test_an_interval_of_terms() -> None:
    half = 1.96 * TERMS.std(ddof=0) / math.sqrt(11)
    assert interval_of_terms(0.5, TERMS) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-12)
    assert interval_of_terms(0.05, TERMS) == pytest.approx((max(0.0, 0.05 - half), 0.05 + half), rel=1e-12)
    assert interval_of_terms(0.99, TERMS)[1] == 1.0
    even = 1.96**2 / (8 + 1.96**2)
    assert interval_of_terms(1.0, np.ones(8)) == pytest.approx((1 - even, 1.0))
    assert interval_of_terms(0.0, np.zeros(8), (-2.0, 2.0)) == pytest.approx((-4 * even, 4 * even))


@pytest.mark.parametrize("spread", [0.0, 0.1])
@pytest.mark.parametrize("count", [2, 3, 6])
def test_an_interval_of_held_out_codes(spread: float, count: int) -> None:
    """Variance of the terms over n plus that between predictors, with Satterthwaite's degrees of freedom."""
    rng = np.random.default_rng(1)
    of_halves = [TERMS + 0.02 * rng.normal(size=11) + spread * rng.normal() for _ in range(count)]
    own = TERMS.var() / 11
    means = np.array([each.mean() for each in of_halves])
    centred = np.array([each - each.mean() for each in of_halves])
    between = max(0.0, means.var(ddof=1) - centred.var(axis=0, ddof=1).mean() / 10)
    quantile = stats.t.ppf(0.975, (count - 1) * (1 + own / between) ** 2) if between > 0 else 1.96
    half = quantile * math.sqrt(own + between)
    expected = max(0.0, TERMS.mean() - half), min(1.0, TERMS.mean() + half)
    assert interval_of_held_out(TERMS, of_halves) == pytest.approx(expected, rel=1e-9)
    assert interval_of_held_out(TERMS, of_halves[:1]) == interval_of_terms(float(TERMS.mean()), TERMS)


def test_an_interval_of_a_mean_and_of_a_proportion() -> None:
    assert interval_of_mean(TERMS[:1])[1:] == (None, None)
    half = 1.96 * TERMS[:2].std(ddof=1) / math.sqrt(2)
    mean = float(TERMS[:2].mean())
    assert interval_of_mean(TERMS[:2]) == pytest.approx((mean, mean - half, mean + half))
    for right, total in ((3, 10), (0, 7), (7, 7)):
        theirs = stats.binomtest(right, total).proportion_ci(0.95, method="wilson")
        assert wilson(right, total) == pytest.approx((theirs.low, theirs.high), abs=1e-4)


def test_what_further_training_votes_would_gain() -> None:
    """The true lead of a majority is normal around its own; below 0, the other factor is better by that much."""
    table = np.array([[50, 41, 30], [7, 7, 90], [0, 0, 0], [3, 0, 0]])
    expected = 0.0
    for row in np.sort(table, axis=1)[:, ::-1].astype(float):
        gains = [0.0]
        for other in row[1:]:
            lead, total = row[0] - other, table.sum()
            error = math.sqrt(total * ((row[0] + other) / total - (lead / total) ** 2))
            if error > 0:
                true = stats.norm(lead, error)
                gains.append(integrate.quad(lambda g, true=true: -g * true.pdf(g), lead - 12 * error, 0)[0])
        expected += max(gains) / table.sum()
    assert unsettled(table) == pytest.approx(expected, rel=1e-6)
    assert unsettled(table[:, :1]) == 0


def test_votes_that_more_training_would_change_have_no_interval() -> None:
    protocol, right = VotingProtocol(5, 200, 400), np.arange(400) % 4 > 0
    error = math.sqrt(0.75 * 0.25 / 400)
    for table, known in ((np.array([[80, 20], [20, 80]]), True), (np.array([[52, 48], [49, 51]]), False)):
        assert (unsettled(table) < SETTLED * error) == known
        score = score_votes("s", "paper", protocol, 2, right, None, "", {}, table=table)
        assert score.value == 0.75
        assert (score.low is not None) == known
        assert score.no_interval == ("" if known else UNSETTLED)


@pytest.mark.parametrize("normalised", [False, True])
def test_hoyer_by_loops(monkeypatch: pytest.MonkeyPatch, normalised: bool) -> None:
    monkeypatch.setattr("unweave.metrics.interval_limits.COUNTED", {})
    z = np.random.default_rng(2).normal(size=(7, 3)) * [0.2, 1.0, 5.0] - [0, 0, 9]

    def sparsity(weights: np.ndarray) -> float:
        p = weights / weights.sum()
        deviations = np.sqrt(p @ (z - p @ z) ** 2) if normalised else np.ones(3)
        each = [math.sqrt(3) - np.abs(row).sum() / math.sqrt((row**2).sum()) for row in z / deviations]
        return float(p @ each) / (math.sqrt(3) - 1)

    score, even = hoyer(z, normalised=normalised), np.ones(7)
    assert score.value == pytest.approx(sparsity(even), rel=1e-9)
    effect = [(sparsity(even + 1e-6 * (np.arange(7) == i)) - sparsity(even)) / 1e-6 * 7 for i in range(7)]
    half = 1.96 * np.std(effect, ddof=1) / math.sqrt(7)
    assert score.low == pytest.approx(max(0.0, score.value - half), rel=1e-4)
    assert score.high == pytest.approx(min(1.0, score.value + half), rel=1e-4)


def test_the_error_of_mig_is_that_of_its_influence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The influence of a code, by weighing it a little more; half the interval is 1.96 sd / sqrt(n) of it."""
    monkeypatch.setattr("unweave.metrics.counted.FEWEST", 90)
    rng = np.random.default_rng(3)
    v = rng.integers(0, 3, (90, 1))
    z = np.hstack([v + 0.4 * rng.normal(size=(90, 1)), v % 2 + 0.5 * rng.normal(size=(90, 1))])
    z = np.clip(z, [-0.2, -0.4], [2.2, 1.4])  # the codes end at edges, so that their bins stay where they are
    score = mig(z, v, bins=4)
    low, high = (z.min(axis=0), z.max(axis=0))
    binned = np.minimum(((z - low) / (high - low) * 4).astype(int), 3)

    def gap(weights: np.ndarray) -> float:
        p = weights / weights.sum()
        entropy = -sum(q * math.log(q) for q in np.bincount(v[:, 0], p))
        shares = []
        for j in range(2):
            joint = np.zeros((4, 3))
            np.add.at(joint, (binned[:, j], v[:, 0]), p)
            outer = joint.sum(1, keepdims=True) * joint.sum(0)
            held = joint > 0
            shares.append(float((joint[held] * np.log(joint[held] / outer[held])).sum()) / entropy)
        return max(shares) - min(shares)

    even = np.ones(90)
    assert score.value == pytest.approx(gap(even), rel=1e-9)
    influence = np.array(
        [(gap(even + 1e-5 * (np.arange(90) == i)) - gap(even)) / 1e-5 * 90 for i in range(90)]
    )
    first_order = influence.var() / 90
    second = 0.0
    entropy = -sum(q * math.log(q) for q in np.bincount(v[:, 0]) / 90)
    for j in range(2):
        table = np.zeros((4, 3))
        np.add.at(table, (binned[:, j], v[:, 0]), 1)
        free = (table > 0).sum() - (table.sum(1) > 0).sum() - (table.sum(0) > 0).sum() + 1
        second += max(free, 0) / (2 * 90**2) / entropy**2
    assert score.corrected is not None
    _, least, most = score.corrected
    assert (most - least) / 2 == pytest.approx(1.96 * math.sqrt(first_order + second), rel=2e-3)


@pytest.mark.parametrize("measure", [sampled_mig, subspace_mig])
def test_intervals_of_sampled_scores_stay_in_their_range(
    monkeypatch: pytest.MonkeyPatch, measure: object
) -> None:
    monkeypatch.setattr("unweave.metrics.interval_limits.COUNTED", {})
    v = np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2)
    noise = np.random.default_rng(0).normal(size=(36, 2))
    options = {"subspaces": (1, 1)} if measure is subspace_mig else {}
    for codes in (v * 1.0, noise):
        score = measure(codes, 0 * v + 0.05, v, np.random.default_rng(0), samples=60, **options)  # type: ignore[operator]
        assert 0 <= score.low <= score.value <= score.high <= 1
    with pytest.raises(UnweaveError, match="samples must be"):
        measure(v * 1.0, 0 * v + 0.1, v, np.random.default_rng(0), samples=1, **options)  # type: ignore[operator]
    measure(v * 1.0, 0 * v + 0.1, v, np.random.default_rng(0), samples=2, **options)  # type: ignore[operator]


def test_two_models_are_enough_to_agree() -> None:
    z = RNG.normal(size=(40, 2))
    assert udr([z, z], [[1, 1], [1, 1]]).value == pytest.approx(1.0, abs=0.3)
    with pytest.raises(UnweaveError, match="two or more"):
        udr([z], [[1, 1]])
    with pytest.raises(UnweaveError, match="same images"):
        udr([z, z[:-1]], [[1, 1], [1, 1]])


def test_which_metrics_are_chosen() -> None:
    standard = [name for name, metric in METRICS.items() if metric.standard]
    for given, names in ((None, standard), (["all"], standard), (["MIG", "hoyer", "mig"], ["mig", "hoyer"])):
        assert [metric.name for metric in choose_metrics(given)] == names
    v = np.stack(np.meshgrid(range(5), range(5)), -1).reshape(-1, 2)
    assert set(score_all(Encoded.of(v * 1.0, v), ["mig"])) == {"mig"}
    with pytest.raises(UnweaveError, match="a single value"):
        Encoded.of(v * 1.0, 0 * v)
    kept = Encoded.of(v * 1.0, np.hstack([v, 0 * v[:, :1]])).factors
    assert kept is not None
    assert kept.shape == (25, 2)


def test_defaults_of_a_score() -> None:
    score = Score.from_json({"name": "x", "value": 0.5})
    assert (score.range, score.higher_is_better, score.low, score.high) == ((0.0, 1.0), True, None, None)
    assert str(Score("x", 0.5)) == "0.500"
    assert str(Score("x", 0.5, 0.4, None)) == "0.500"
