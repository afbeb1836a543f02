"""95 % intervals cover what they claim to cover in 93 to 97 % of 400 repetitions."""

from collections.abc import Callable

import numpy as np
import pytest

from unweave import metrics
from unweave.metrics import Score

SIZES = np.array([3, 4, 5])
MIX = np.eye(3, 5) + 0.25 * np.random.default_rng(2).normal(size=(3, 5))
REPETITIONS = 400
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Codes that mix three factors, with bounded noise: bins over an unbounded range have no large-sample limit."""
    v = np.stack([rng.integers(0, s, n) for s in SIZES], 1)
    noise = 0.35 * np.sqrt(3) * rng.uniform(-1, 1, size=(n, 5))
    return ((v - (SIZES - 1) / 2) / SIZES * 3.0) @ MIX + noise, v


Measure = Callable[[np.ndarray, np.ndarray, np.random.Generator], Score]

# The value of a large sample, the third entry, is what is covered. Where the definition itself changes with the number
# of training samples (a penalty, trees) or of codes (a maximum), it is the mean over the repetitions.
CASES: dict[str, tuple[Measure, int, int | None]] = {
    "mig": (lambda z, v, r: metrics.mig(z, v), 10_000, 1_000_000),
    "modularity": (lambda z, v, r: metrics.modularity(z, v), 10_000, 1_000_000),
    "infomec_modularity": (lambda z, v, r: metrics.infomec(z, v)["infomec_modularity"], 10_000, 1_000_000),
    "infomec_compactness": (lambda z, v, r: metrics.infomec(z, v)["infomec_compactness"], 10_000, 1_000_000),
    "infomec_explicitness": (lambda z, v, r: metrics.infomec(z, v)["infomec_explicitness"], 3_000, 300_000),
    "explicitness": (lambda z, v, r: metrics.explicitness(z, v, r), 3_000, 100_000),
    "sap_correlations": (lambda z, v, r: metrics.sap(z, v, mode="ubisoft"), 2_000, 400_000),
    "sap": (lambda z, v, r: metrics.sap(z, v, r), 3_000, None),
    "downstream_accuracy": (lambda z, v, r: metrics.downstream_accuracy(z, v, r), 3_000, 100_000),
    "factor_vae_score": (lambda z, v, r: metrics.factor_vae_score(z, v, r, samples=5), 10_000, None),
    "beta_vae_score": (lambda z, v, r: metrics.beta_vae_score(z, v, r, samples=5), 10_000, None),
    "irs": (lambda z, v, r: metrics.irs(z, v), 10_000, None),
    "dci": (lambda z, v, r: metrics.dci(z, v, r)["dci"], 1_500, None),
    "dci_completeness": (lambda z, v, r: metrics.dci(z, v, r)["dci_completeness"], 1_500, None),
    "dci_informativeness": (
        lambda z, v, r: metrics.dci(z, v, r, blocks=0)["dci_informativeness"],
        1_500,
        None,
    ),
    "hoyer": (lambda z, v, r: metrics.hoyer(z), 1_000, 400_000),
    "gaussian_total_correlation": (lambda z, v, r: metrics.gaussian_total_correlation(z), 2_000, 400_000),
}


def covered(found: list[Score], truth: float) -> float:
    return float(np.mean([s.low <= truth <= s.high for s in found]))  # type: ignore[operator]


@pytest.mark.parametrize("name", CASES)
def test_coverage(name: str) -> None:
    measure, n, large = CASES[name]
    found = []
    for seed in range(REPETITIONS):
        rng = np.random.default_rng([17, seed])
        found.append(measure(*draw(n, rng), rng))
    if large is None:
        truth = float(np.mean([score.value for score in found]))
    else:
        rng = np.random.default_rng(5)
        truth = measure(*draw(large, rng), rng).value
    assert 0.93 <= covered(found, truth) <= 0.97


def test_coverage_of_sampled_scores() -> None:
    """The data set is whole and fixed; only the draws from q(z) are random."""
    rng = np.random.default_rng(0)
    means, v = draw(600, rng)
    scales = np.full(means.shape, 0.3)
    truth = metrics.sampled_mig(means, scales, v, rng, samples=100_000).value
    parts = metrics.decomposition(means, scales, rng, samples=200_000)
    gaps, rest = [], {name: [] for name in parts}  # type: ignore[var-annotated]
    for seed in range(REPETITIONS):
        one = np.random.default_rng([3, seed])
        gaps.append(metrics.sampled_mig(means, scales, v, one, samples=400))
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
