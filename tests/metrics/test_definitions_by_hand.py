"""Definitions of metrics against computations of their own, at numbers where weights and normalisers differ."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import norm

from unweave.metrics import dci, sampled_mig, subspace_mig
from unweave.metrics.dci import completeness, disentanglement

R = np.array([[8.0, 0.2, 0.1], [2.0, 1.0, 0.0], [0.0, 2.0, 0.5], [1.0, 0.0, 0.25]])


def entropy(p: NDArray[np.float64], base: int) -> float:
    p = p[p > 0] / p.sum()
    return float(-(p * np.log(p)).sum() / np.log(base))


def test_disentanglement_weighs_latents_by_their_importance() -> None:
    each = [1 - entropy(row, 3) for row in R]
    expected = sum(weight * value for weight, value in zip(R.sum(1) / R.sum(), each, strict=True))
    assert disentanglement(R) == pytest.approx(expected, abs=1e-9)
    assert abs(expected - np.mean(each)) > 0.01


def test_completeness_weighs_factors_by_their_importance() -> None:
    each = [1 - entropy(column, 4) for column in R.T]
    expected = sum(weight * value for weight, value in zip(R.sum(0) / R.sum(), each, strict=True))
    assert completeness(R) == pytest.approx(expected, abs=1e-9)
    assert completeness(R, weighted=False) == pytest.approx(float(np.mean(each)), abs=1e-9)
    assert abs(expected - np.mean(each)) > 0.01


@pytest.mark.parametrize(("mode", "weighted"), [("disentanglement_lib", True), ("ubisoft", False)])
def test_dci_uses_the_weighting_of_its_mode(mode: str, weighted: bool) -> None:
    """One factor is in the codes, one only by half, so that their importances differ."""
    rng = np.random.default_rng(0)
    v = np.stack([rng.integers(0, 4, 400), rng.integers(0, 3, 400)], 1)
    codes = np.stack([v[:, 0] + 0.1 * rng.normal(size=400), v @ [0.5, 1.0] + rng.normal(size=400)], 1)
    scores = dci(codes, v, mode=mode, backend="lasso")  # type: ignore[arg-type]
    importance = np.array(scores["dci"].constants["importance"])
    assert scores["dci"].value == pytest.approx(disentanglement(importance), abs=1e-12)
    assert scores["dci_completeness"].value == pytest.approx(
        completeness(importance, weighted=weighted), abs=1e-12
    )
    assert abs(completeness(importance) - completeness(importance, weighted=False)) > 1e-3


def unequal(n: int = 60) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Codes of a factor with unequal shares, 2/3, 1/6, 1/6, and one with even ones."""
    first = np.repeat([0, 1, 2], [2 * n // 3, n // 6, n // 6])
    second = np.arange(n) % 2
    factors = np.stack([first, second], 1)
    rng = np.random.default_rng(0)
    means = np.stack([first + 0.3 * second, second - 0.5 * first, 0.2 * first, 0.1 * second], 1)
    return means + 0.1 * rng.normal(size=means.shape), np.full(means.shape, 0.4), factors


def entropies(factors: NDArray[np.int64]) -> NDArray[np.float64]:
    shares = [np.bincount(column) / len(column) for column in factors.T]
    return np.array([-(p * np.log(p)).sum() for p in shares])


def test_subspace_mig_by_loops() -> None:
    """E log q(z_s|v)/q(z_s) over the same draws, divided by the factor's entropy, not by the log of its values."""
    means, scales, factors = unequal()
    score = subspace_mig(means, scales, factors, np.random.default_rng(3), subspaces=(2, 1, 1), samples=400)
    rng = np.random.default_rng(3)
    rows = rng.integers(0, len(means), 400)
    z = means[rows] + scales[rows] * rng.normal(size=(400, 4))
    information = np.zeros((3, 2))
    for s, own in enumerate((slice(0, 2), slice(2, 3), slice(3, 4))):
        logs = norm(means[:, own], scales[:, own]).logpdf(z[:, None, own]).sum(-1)  # (draws, images)
        for k in range(2):
            same = factors[rows, k][:, None] == factors[:, k]
            within = logsumexp(np.where(same, logs, -np.inf), axis=1) - np.log(same.sum(1))
            information[s, k] = np.mean(within - logsumexp(logs, axis=1) + np.log(len(means)))
    information = np.maximum(information, 0)
    shares = np.sort(information / entropies(factors), axis=0)
    np.testing.assert_allclose(score.constants["mutual_information"], information, atol=1e-5)
    assert score.value == pytest.approx(float(np.mean(shares[-1] - shares[-2])), abs=1e-5)
    wrong = np.sort(information / np.log([3, 2]), axis=0)
    assert abs(score.value - np.mean(wrong[-1] - wrong[-2])) > 0.01


def test_sampled_mig_normalises_by_the_mode() -> None:
    means, scales, factors = unequal()
    paper = sampled_mig(means, scales, factors, np.random.default_rng(0), samples=500)
    logs = sampled_mig(means, scales, factors, np.random.default_rng(0), samples=500, mode="beta_tcvae")
    np.testing.assert_allclose(paper.constants["entropies"], entropies(factors))
    np.testing.assert_allclose(logs.constants["entropies"], np.log([3, 2]))
    for score, normalisers in ((paper, entropies(factors)), (logs, np.log([3, 2]))):
        shares = np.sort(np.array(score.constants["mutual_information"]) / normalisers, axis=0)
        assert score.value == pytest.approx(float(np.mean(shares[-1] - shares[-2])))
    # Values of the uneven factor count by their share, or all alike; the other factor is even.
    one, two = (np.array(score.constants["mutual_information"]) for score in (paper, logs))
    np.testing.assert_allclose(one[:, 1], two[:, 1])
    assert np.abs(one[:, 0] - two[:, 0]).max() > 0.005
