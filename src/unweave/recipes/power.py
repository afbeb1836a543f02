"""The smallest effect that a test would have seen with 80 % power, from the values that it was given."""

import math

import numpy as np
from numpy.typing import NDArray

POWER = 0.8


def of_two_means(a: NDArray[np.float64], b: NDArray[np.float64], level: float) -> float | None:
    """Welch's test: the difference of means at which it finds one, with the spreads and numbers of these values.

    Example:
        >>> group = np.array([-1.0, 1.0] * 8)
        >>> round(of_two_means(group, group + 5, 0.05) / float(np.std(group, ddof=1)), 2)  # in deviations, 16 a group
        1.02
    """
    parts = np.array([np.var(a, ddof=1) / len(a), np.var(b, ddof=1) / len(b)])
    error = math.sqrt(float(parts.sum()))
    if error == 0:
        return None
    freedom = float(parts.sum() ** 2 / np.sum(parts**2 / (np.array([len(a), len(b)]) - 1)))
    return error * _shift(freedom, level)


def of_one_mean(values: NDArray[np.float64], level: float) -> float | None:
    """Student's test: the distance of the mean from the threshold at which it finds one.

    Example:
        >>> round(of_one_mean(np.array([-1.0, 1.0] * 5), 0.05), 3)
        1.05
    """
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return error * _shift(len(values) - 1, level) if error > 0 else None


def of_proportion(total: int, chance: float, sign: int, level: float) -> float | None:
    """Exact binomial test: the distance from chance at which it finds one; none if not even all hits would do.

    Example:
        >>> round(of_proportion(10, 0.5, 1, 0.05), 2), of_proportion(4, 0.5, 1, 0.05)
        (0.42, None)
    """
    from scipy.stats import binom, binomtest

    hits = np.arange(total + 1)
    seen = np.array([binomtest(int(h), total, chance).pvalue < level for h in hits])
    seen &= (hits / total - chance) * sign > 0
    end = 1.0 if sign > 0 else 0.0
    for true in np.linspace(chance, end, 501)[1:]:
        if float(binom.pmf(hits[seen], total, true).sum()) >= POWER:
            return float(abs(true - chance))
    return None


def of_rank_correlation(count: int, level: float) -> float | None:
    """The correlation at which a test of none finds one, by Fisher's z: ``tanh((z1 + z2) sqrt(1.06 / (n - 3)))``.

    An approximation, which a test compares with simulated samples.

    Example:
        >>> round(of_rank_correlation(30, 0.05), 2), of_rank_correlation(3, 0.05)
        (0.5, None)
    """
    from scipy.special import ndtri

    if count <= 3:
        return None
    return math.tanh(float(ndtri(1 - level / 2) + ndtri(POWER)) * math.sqrt(1.06 / (count - 3)))


def _shift(freedom: float, level: float) -> float:
    """The effect, in standard errors, that a two-sided t-test finds with 80 % power (non-central t distribution)."""
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    bound = float(t.ppf(1 - level / 2, freedom))

    def missing(shift: float) -> float:
        found = float(nct.sf(bound, freedom, shift)) + float(nct.cdf(-bound, freedom, shift))
        return (found if math.isfinite(found) else 1.0) - POWER

    high = bound + 2.0
    while missing(high) < 0:
        high *= 1.5
    return float(brentq(missing, 0.0, high))
