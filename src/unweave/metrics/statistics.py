"""Statistics of a few seeds: intervals, differences, ranks."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.metrics.validation import Floats

_MOST_SPLITS = 20_000


@dataclass(frozen=True)
class Interval:
    """A mean over seeds and the interval that covers the true one with the stated confidence.

    Example:
        >>> str(Interval(0.5, 0.4, 0.6, 5))
        '0.500 [0.400, 0.600]'
    """

    mean: float
    low: float | None
    high: float | None
    count: int

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def mean_interval(values: ArrayLike, *, confidence: float = 0.95) -> Interval:
    """Mean of a few independent values with Student's interval; no interval for one value.

    ``mean +- t sd / sqrt(n)``, where ``t`` is the ``(1 + confidence) / 2`` quantile of Student's distribution with
    ``n - 1`` degrees of freedom. It covers exactly as claimed for normal values; 5 values of a score between 0 and 1
    come close to that.

    Args:
        values: (n,) one per seed.
        confidence: how often the interval shall cover the true mean.

    References:
        Student 1908, "The probable error of a mean".

    Example:
        >>> print(mean_interval([1.0, 2.0, 3.0]))
        2.000 [-0.484, 4.484]

    """
    sample = _checked(values)
    if not 0 < confidence < 1:
        raise UnweaveError(f"confidence must be between 0 and 1, got {confidence:g}")
    n, mean = len(sample), float(np.mean(sample))
    if n < 2:
        return Interval(mean, None, None, n)
    half = (
        float(scipy.special.stdtrit(n - 1, (1 + confidence) / 2))
        * float(np.std(sample, ddof=1))
        / math.sqrt(n)
    )
    return Interval(mean, mean - half, mean + half, n)


@dataclass(frozen=True)
class Difference:
    """How two groups differ: the difference of their means with its interval, and how likely it is by chance.

    ``p`` is Welch's, ``p_ranks`` that of the rank-sum test, which assumes nothing of the values' distribution.

    Example:
        >>> Difference(0.2, 0.1, 0.3, 0.01, 0.02).mean
        0.2
    """

    mean: float
    low: float
    high: float
    p: float
    p_ranks: float


def difference(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95) -> Difference:
    """``mean(a) - mean(b)`` of two groups of seeds with different spreads: Welch's interval and test, rank-sum test.

    ``t = (mean a - mean b) / s`` with ``s^2 = var a / n + var b / m`` and
    ``s^4 / (var(a)^2 / (n^2 (n - 1)) + var(b)^2 / (m^2 (m - 1)))`` degrees of freedom.

    Args:
        a: (n,) values, two or more.
        b: (m,) values, two or more.
        confidence: of the interval.

    References:
        Welch 1947, "The generalization of Student's problem when several different population variances are
        involved".

    Example:
        >>> found = difference([5.0, 6.0, 7.0, 6.0], [1.0, 2.0, 1.0, 2.0])
        >>> found.mean, bool(found.p < 0.001), round(found.p_ranks, 3)
        (4.5, True, 0.029)

    """
    one, two = _checked(a), _checked(b)
    if len(one) < 2 or len(two) < 2:
        raise UnweaveError(
            f"a difference needs two values or more in each group, got {len(one)} and {len(two)}"
        )
    parts = np.array([np.var(one, ddof=1) / len(one), np.var(two, ddof=1) / len(two)])
    mean, error = float(np.mean(one) - np.mean(two)), math.sqrt(float(parts.sum()))
    if error == 0.0:
        return Difference(mean, mean, mean, 1.0 if mean == 0 else 0.0, rank_sum(one, two))
    freedom = float(parts.sum() ** 2 / np.sum(parts**2 / (np.array([len(one), len(two)]) - 1)))
    p = float(2 * scipy.special.stdtr(freedom, -abs(mean) / error))
    half = float(scipy.special.stdtrit(freedom, (1 + confidence) / 2)) * error
    return Difference(mean, mean - half, mean + half, p, rank_sum(one, two))


def rank_sum(a: ArrayLike, b: ArrayLike) -> float:
    """Two-sided p of the rank-sum test (Mann-Whitney, Wilcoxon): exact over all splits of a few values, ties included.

    Beyond 20,000 splits the normal approximation with corrections for ties and continuity is used.

    Args:
        a: (n,) values.
        b: (m,) values.

    References:
        Mann and Whitney 1947, "On a test of whether one of two random variables is stochastically larger than the
        other".

    Example:
        >>> round(rank_sum([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]), 5)  # 2 of 252 splits
        0.00794

    """
    one, two = _checked(a), _checked(b)
    n, m = len(one), len(two)
    ranks = _ranks(np.concatenate([one, two]))
    observed, middle = ranks[:n].sum(), n * (n + m + 1) / 2
    if math.comb(n + m, n) <= _MOST_SPLITS:
        splits = np.array(list(itertools.combinations(range(n + m), n)))
        sums = ranks[splits].sum(axis=1)
        return float(np.mean(np.abs(sums - middle) >= abs(observed - middle) - 1e-9))
    counts = np.unique(ranks, return_counts=True)[1]
    ties = float(np.sum(counts**3 - counts)) / ((n + m) * (n + m - 1))
    deviation = math.sqrt(n * m / 12 * (n + m + 1 - ties))
    distance = max(0.0, abs(observed - middle) - 0.5)
    return float(2 * scipy.special.ndtr(-distance / deviation)) if deviation > 0 else 1.0


def holm(p: Sequence[float]) -> list[float]:
    """P-values of several tests, adjusted so that the chance of any false alarm stays below the level.

    The k-th smallest of n is multiplied by ``n - k + 1``; none may be smaller than the one before it.

    References:
        Holm 1979, "A simple sequentially rejective multiple test procedure".

    Example:
        >>> [round(value, 3) for value in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]

    """
    adjusted, running = [0.0] * len(p), 0.0
    for place, index in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        running = max(running, min(1.0, (len(p) - place) * p[index]))
        adjusted[index] = running
    return adjusted


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation of (n,) values; 0 if one of them is constant.

    Example:
        >>> rank_correlation([1, 2, 3], [1, 4, 9]), rank_correlation([1, 2, 3], [5, 5, 5])
        (1.0, 0.0)

    """
    return round(float(standard_ranks(np.asarray(x)) @ standard_ranks(np.asarray(y))), 12)


def standard_ranks(values: NDArray[Any]) -> Floats:
    """Ranks along the first axis, of mean 0 and length 1, so that their products are Spearman's correlations.

    Equal values share the mean of their ranks; where all are equal, ranks are 0.

    Example:
        >>> standard_ranks(np.array([[3.0, 1.0], [9.0, 1.0]])).round(3).tolist()
        [[-0.707, 0.0], [0.707, 0.0]]

    """
    from scipy.stats import rankdata

    if values.size == 0:
        return np.zeros(values.shape)
    ranks = rankdata(values, axis=0)
    ranks -= ranks.mean(axis=0)
    length = np.linalg.norm(ranks, axis=0)
    return np.asarray(ranks / np.where(length > 0, length, 1.0))


def _ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[inverse]


def _checked(values: ArrayLike) -> Floats:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or len(sample) == 0 or not np.isfinite(sample).all():
        raise UnweaveError(f"expected a list of finite numbers, one per run, got shape {sample.shape}")
    return sample
