"""Claims as data: a statistic, its published value, our value, and the verdict that follows from the two."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.metrics.score import wilson
from unweave.metrics.statistics import difference, mean_interval, standard_ranks

Verdict = Literal["agrees", "same direction", "does not show at this scale"]
VERDICTS: tuple[Verdict, ...] = ("agrees", "same direction", "does not show at this scale")
"""Best first."""

LEVEL = 0.05
"""Significance level: a claim shows if p lies below it."""

_PERMUTATIONS = 20_000


class FindingRecord(TypedDict):
    """A :class:`Finding` as JSON holds it: what is not finite is none.

    Example:
        >>> sorted(FindingRecord.__annotations__)[:3]
        ['high', 'low', 'p']
    """

    what: str
    value: float | None
    published: float | None
    within: float | None
    low: float | None
    high: float | None
    p: float | None
    test: str
    verdict: Verdict


@dataclass(frozen=True)
class Finding:
    """One claim of a paper as a number: ours and the published one.

    Args:
        what: name of the statistic.
        value: ours.
        published: the paper's, if it gives one.
        within: tolerance around the published value; none: our interval must contain it.
        low: lower end of the 95 % interval of our value.
        high: upper end.
        p: probability under the null hypothesis of a value at least this far from ``null``; none: the number is exact,
            not random.
        test: which test gave ``p``.
        sign: on which side of ``null`` the paper's claim lies.
        null: the value under the null hypothesis.

    Example:
        >>> Finding("difference of MIG", 0.3, published=0.25, low=0.2, high=0.4, p=0.01).verdict
        'agrees'
        >>> Finding("difference of MIG", 0.3, p=0.2).verdict
        'does not show at this scale'
    """

    what: str
    value: float
    published: float | None = None
    within: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    test: str = "exact"
    sign: int = 1
    null: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """Computed from two questions: is p below 0.05 with the right sign, and is it the published number?"""
        if not math.isfinite(self.value):
            return "does not show at this scale"
        if self.p is None:
            near = self.published is not None and abs(self.value - self.published) <= (self.within or 0.0)
            if near:
                return "agrees"
            claimed = self.published if self.published is not None else self.null + self.sign
            return "same direction" if (self.value - self.null) * (claimed - self.null) > 0 else VERDICTS[2]
        if not self.p < LEVEL or (self.value - self.null) * self.sign <= 0:
            return "does not show at this scale"
        if self.published is None:
            return "same direction"
        if self.within is not None:
            return "agrees" if abs(self.value - self.published) <= self.within else "same direction"
        inside = self.low is not None and self.high is not None and self.low <= self.published <= self.high
        return "agrees" if inside else "same direction"

    def to_json(self) -> FindingRecord:
        """Plain values, the verdict among them.

        Example:
            >>> equal("states", 4, 4).to_json()["verdict"]
            'agrees'
        """
        return {
            "what": self.what,
            "value": _finite(self.value),
            "published": _finite(self.published),
            "within": _finite(self.within),
            "low": _finite(self.low),
            "high": _finite(self.high),
            "p": _finite(self.p),
            "test": self.test,
            "verdict": self.verdict,
        }


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on several claims is the verdict on the weakest.

    Example:
        >>> worst(["agrees", "same direction"])
        'same direction'
    """
    return max(verdicts, key=VERDICTS.index)


def higher(
    what: str, a: ArrayLike, b: ArrayLike, *, published: float | None = None, within: float | None = None
) -> Finding:
    """Claim: ``mean(a) > mean(b)``. Welch's t-test, two-sided.

    Args:
        what: name of the statistic, for example "MIG, broadcast minus DeConv".
        a: values of the group that should be higher, one for each seed.
        b: values of the other group.
        published: the published difference.
        within: tolerance around it.

    Example:
        >>> found = higher("score, new minus old", [5.0, 6.0, 7.0], [1.0, 2.0, 3.0], published=4.5)
        >>> found.value, round(found.p, 4), found.verdict
        (4.0, 0.008, 'agrees')
    """
    one, two = _values(what, a), _values(what, b)
    found = difference(one, two)
    return Finding(what, found.mean, published, within, found.low, found.high, found.p, "Welch's t")


def similar(what: str, a: ArrayLike, b: ArrayLike, *, margin: float = 0.05) -> list[Finding]:
    """Claim: two means differ by less than ``margin``, as two one-sided claims: neither is higher by that much.

    Example:
        >>> found = similar("score", [0.50, 0.51, 0.52], [0.51, 0.50, 0.52], margin=0.1)
        >>> [finding.verdict for finding in found]
        ['same direction', 'same direction']
    """
    one, two = _values(what, a), _values(what, b)
    return [
        higher(f"{what}: first plus {margin:g} minus second (similar)", one + margin, two),
        higher(f"{what}: second plus {margin:g} minus first (similar)", two + margin, one),
    ]


def paired(what: str, a: ArrayLike, b: ArrayLike, *, published: float | None = None) -> Finding:
    """Claim: ``a > b`` in the mean, pair by pair (same seed, same item). Student's t-test on the differences.

    Example:
        >>> found = paired("score, new minus old", [1.0, 2.0, 3.0, 4.0], [0.5, 1.4, 2.6, 3.5])
        >>> found.value, found.verdict
        (0.5, 'same direction')
    """
    one, two = _pairs(what, a, b)
    return exceeds(what, one - two, 0.0, published=published)


def permuted(what: str, a: ArrayLike, b: ArrayLike, statistic: Callable[..., NDArray[np.float64]]) -> Finding:
    """Claim: a statistic, such as the median, is higher for ``a`` than for ``b``. Permutation test, two-sided.

    p is the share of 20,000 seeded divisions of all values into two groups of these sizes whose difference is at least
    as far from zero; the observed division counts as one of them.

    Args:
        what: name of the statistic.
        a: values of the group that should be higher, one for each seed.
        b: values of the other group.
        statistic: of an array along an axis, such as ``np.median`` or ``np.max``.

    Example:
        >>> found = permuted("median, new minus old", np.arange(6) + 6.0, np.arange(6), np.median)
        >>> found.value, found.verdict
        (6.0, 'same direction')
    """
    one, two = _values(what, a), _values(what, b)
    value = float(statistic(one) - statistic(two))
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(np.tile(np.concatenate([one, two]), (_PERMUTATIONS, 1)), axis=1)
    differences = statistic(shuffled[:, : len(one)], axis=1) - statistic(shuffled[:, len(one) :], axis=1)
    p = (1 + int(np.sum(np.abs(differences) >= abs(value) - 1e-12))) / (1 + _PERMUTATIONS)
    return Finding(what, value, p=p, test="permutation of groups")


def exceeds(
    what: str, values: ArrayLike, threshold: float, *, published: float | None = None, sign: int = 1
) -> Finding:
    """Claim: the mean of ``values`` lies above ``threshold`` (below it with ``sign=-1``). Student's t-test, two-sided.

    Example:
        >>> exceeds("accuracy", [0.9, 0.8, 0.85], 0.5).verdict
        'same direction'
    """
    from scipy.special import stdtr

    sample = _values(what, values)
    found = mean_interval(sample)
    error = float(np.std(sample, ddof=1)) / math.sqrt(len(sample))
    shift = found.mean - threshold
    if error > 0:
        p = float(2 * stdtr(len(sample) - 1, -abs(shift) / error))
    else:
        p = 0.0 if shift else 1.0
    return Finding(
        what, found.mean, published, None, found.low, found.high, p, "Student's t", sign, threshold
    )


def correlated(what: str, x: ArrayLike, y: ArrayLike, *, sign: int = 1) -> Finding:
    """Claim: ``y`` rises with ``x`` (falls with ``sign=-1``). Spearman's rank correlation, permutation test, two-sided.

    p is the share of 20,000 seeded permutations of ``y`` whose correlation is at least as far from zero; the observed
    order counts as one of them.

    Example:
        >>> found = correlated("MIG against spacing", [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5])
        >>> round(found.value, 3), found.verdict
        (0.943, 'same direction')
    """
    a, b = map(standard_ranks, _pairs(what, x, y))
    value = float(a @ b)
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(np.tile(b, (_PERMUTATIONS, 1)), axis=1) @ a
    p = (1 + int(np.sum(np.abs(shuffled) >= abs(value) - 1e-12))) / (1 + _PERMUTATIONS)
    return Finding(what, value, p=p, test="permutation of ranks", sign=sign)


def proportion(
    what: str, hits: int, total: int, chance: float, *, published: float | None = None, sign: int = 1
) -> Finding:
    """Claim: more hits (fewer with ``sign=-1``) than expected by chance. Exact binomial test, two-sided.

    Example:
        >>> found = proportion("runs where the order is the paper's", 9, 10, 0.5)
        >>> found.value, round(found.p, 4)
        (0.9, 0.0215)
    """
    from scipy.stats import binomtest

    p = float(binomtest(hits, total, chance).pvalue)
    low, high = wilson(hits, total)
    return Finding(what, hits / total, published, None, low, high, p, "binomial", sign, chance)


def equal(what: str, value: float, published: float, *, within: float = 0.0, null: float = 0.0) -> Finding:
    """Claim: a number that is not random equals the published one to ``within``.

    Outside that tolerance it has the same direction if it lies on the published side of ``null``.

    Example:
        >>> equal("distance of two squares", 0.0104, 0.0104, within=1e-4).verdict
        'agrees'
    """
    return Finding(what, float(value), float(published), within, null=null)


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _pairs(what: str, a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    one, two = _values(what, a), _values(what, b)
    if len(one) != len(two):
        raise UnweaveError(f"{what}: pairs are needed, got {len(one)} and {len(two)} values")
    return one, two


def _values(what: str, values: ArrayLike) -> NDArray[np.float64]:
    sample = np.asarray(values, float).ravel()
    if len(sample) < 2:
        raise UnweaveError(f"{what}: two values or more are needed for a test, got {len(sample)}")
    return sample
