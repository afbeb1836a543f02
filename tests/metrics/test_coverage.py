"""95 % intervals cover the value of a large sample in 93 to 97 % of 400 repetitions, for two representations each.

The value that is to be covered never comes from the 400 repetitions: it has a sample, or samples, of its own.
``python tests/metrics/test_coverage.py 17,2026 [NAME ...]`` prints the shares for these seeds; with 400 repetitions the
share of a perfect interval has a standard deviation of 1.1 %, so one in fifteen lies outside of 93 to 97 %.

Seeds tried: these two; docs/metrics.md has a table of what was counted.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from unweave import metrics
from unweave.metrics import Score

SIZES = np.array([3, 4, 5])
REPRESENTATIONS = {
    "aligned": np.eye(3) + 0.15 * np.roll(np.eye(3), 1, axis=1),
    "mixed": np.eye(3, 5) + 0.25 * np.random.default_rng(2).normal(size=(3, 5)),
}
REPETITIONS = 400
SEED = 17
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

Codes = tuple[np.ndarray, np.ndarray]
Measure = Callable[[np.ndarray, np.ndarray, np.random.Generator], dict[str, Score]]


def draw(name: str, n: int, rng: np.random.Generator, noise: float = 0.35) -> Codes:
    """Codes of three factors with bounded noise: bins over an unbounded range have no large-sample limit."""
    mix = REPRESENTATIONS[name]
    v = np.stack([rng.integers(0, s, n) for s in SIZES], 1)
    clean = (v - (SIZES - 1) / 2) / SIZES * 3.0
    return clean @ mix + noise * np.sqrt(3) * rng.uniform(-1, 1, size=(n, mix.shape[1])), v


@dataclass(frozen=True)
class Case:
    """Scores of ``n`` codes; the truth is the value of ``large`` codes by ``measure`` or ``truth``."""

    measure: Measure
    n: int
    large: int
    noise: float = 0.35
    truth: Measure | None = None
    draws: int = 1
    """The truth is the mean over so many samples of ``large`` codes."""


def one(score: Score) -> dict[str, Score]:
    return {score.name: score}


CASES = {
    "mig": Case(lambda z, v, r: one(metrics.mig(z, v)), 10_000, 1_000_000),
    "modularity": Case(lambda z, v, r: one(metrics.modularity(z, v)), 10_000, 1_000_000),
    "infomec": Case(lambda z, v, r: metrics.infomec(z, v), 5_000, 500_000),
    "explicitness": Case(lambda z, v, r: one(metrics.explicitness(z, v, r)), 3_000, 300_000),
    "sap_correlations": Case(lambda z, v, r: one(metrics.sap(z, v, mode="ubisoft")), 2_000, 400_000),
    "sap": Case(lambda z, v, r: one(metrics.sap(z, v, r)), 6_000, 1_000_000),
    "downstream_accuracy": Case(lambda z, v, r: one(metrics.downstream_accuracy(z, v, r)), 3_000, 300_000),
    "factor_vae_score": Case(
        lambda z, v, r: one(metrics.factor_vae_score(z, v, r)),
        10_000,
        1_000_000,
        1.5,
        lambda z, v, r: one(metrics.factor_vae_score(z, v, r, votes=50_000, evaluation_votes=150_000)),
    ),
    "beta_vae_score": Case(
        lambda z, v, r: one(metrics.beta_vae_score(z, v, r, samples=50)),
        10_000,
        1_000_000,
        1.0,
        lambda z, v, r: one(
            metrics.beta_vae_score(z, v, r, samples=50, votes=50_000, evaluation_votes=150_000)
        ),
    ),
    # A maximum grows with the number of codes: the mean at this number.
    "irs": Case(
        lambda z, v, r: one(metrics.irs(z, v)),
        10_000,
        10_000,
        truth=lambda z, v, r: one(metrics.irs(z, v, interval=False)),
        draws=1_000,
    ),
    # Trees change with the number of codes they are trained on, without a limit within reach: the mean at this number,
    # which is that of `unweave evaluate`.
    "dci": Case(
        lambda z, v, r: metrics.dci(z, v, r),
        10_000,
        10_000,
        truth=lambda z, v, r: metrics.dci(z, v, r, half_samples=0),
        draws=600,
    ),
    "hoyer": Case(lambda z, v, r: one(metrics.hoyer(z)), 1_000, 400_000),
    "gaussian_total_correlation": Case(
        lambda z, v, r: one(metrics.gaussian_total_correlation(z)), 10_000, 2_000_000
    ),
}


def covered(found: list[Score], truth: float) -> float:
    return float(np.mean([s.low <= truth <= s.high for s in found]))  # type: ignore[operator]


def truths(name: str, representation: str) -> dict[str, float]:
    """What the intervals of a case have to cover."""
    case = CASES[name]
    values: dict[str, list[float]] = {}
    for k in range(case.draws):
        rng = np.random.default_rng([5, k])
        large = (case.truth or case.measure)(*draw(representation, case.large, rng, case.noise), rng)
        for key, score in large.items():
            values.setdefault(key, []).append(score.value)
    return {key: float(np.mean(found)) for key, found in values.items()}


def shares(name: str, representation: str, truth: dict[str, float], seed: int) -> dict[str, float]:
    """How often they cover it."""
    case = CASES[name]
    found: dict[str, list[Score]] = {key: [] for key in truth}
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng([seed, repetition])
        for key, score in case.measure(*draw(representation, case.n, rng, case.noise), rng).items():
            found[key].append(score)
    return {key: covered(scores, truth[key]) for key, scores in found.items()}


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("name", CASES)
def test_coverage(name: str, representation: str) -> None:
    for key, share in shares(name, representation, truths(name, representation), SEED).items():
        assert 0.93 <= share <= 0.97, key


def test_coverage_of_sampled_scores() -> None:
    """The data set is whole and fixed; only the draws from q(z) are random.

    Of few draws the second-best latent seems better than it is, where others come close to it: MIG has the number of
    draws that it has by default.
    """
    rng = np.random.default_rng(0)
    means, v = draw("aligned", 600, rng)
    scales = np.full(means.shape, 0.3)
    truth = metrics.sampled_mig(means, scales, v, rng, samples=1_000_000).value
    parts = metrics.decomposition(means, scales, rng, samples=200_000)
    gaps, rest = [], {name: [] for name in parts}  # type: ignore[var-annotated]
    for seed in range(REPETITIONS):
        one = np.random.default_rng([3, seed])
        gaps.append(metrics.sampled_mig(means, scales, v, one))
        for name, score in metrics.decomposition(means, scales, one, samples=400).items():
            rest[name].append(score)
    assert 0.93 <= covered(gaps, truth) <= 0.97
    for name, scores in rest.items():
        assert 0.93 <= covered(scores, parts[name].value) <= 0.97, name


def test_coverage_of_means() -> None:
    """ELBO, NLL and KL: means over images."""
    found: dict[str, list[Score]] = {}
    for seed in range(REPETITIONS):
        rng = np.random.default_rng([9, seed])
        kl = rng.gamma(2.0, 1.0, size=(500, 3))
        scores = metrics.elbo_scores(10 + rng.normal(size=500), kl, np.full(kl.shape, 0.3))
        for name in ("elbo", "nll", "kl"):
            found.setdefault(name, []).append(scores[name])
    for name, truth in (("nll", 10.0), ("kl", 6.0), ("elbo", -16.0)):
        assert 0.93 <= covered(found[name], truth) <= 0.97, name


if __name__ == "__main__":
    for case in sys.argv[2:] or CASES:
        for representation in REPRESENTATIONS:
            truth = truths(case, representation)
            for seed in map(int, sys.argv[1].split(",")):
                for key, share in shares(case, representation, truth, seed).items():
                    print(f"{seed:>6} {representation:8} {key:28} {truth[key]:.5f} {share:.4f}", flush=True)
