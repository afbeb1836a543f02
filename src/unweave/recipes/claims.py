"""Claims as data: a statistic, its published value, our value, and the verdict that follows from the two.

Every finding carries the values that it was computed from, seed by seed, and the name of the function that tested
them, so that anybody can compute it again without training (:func:`computed_again`).
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, unknown
from unweave.metrics.agreement import Kind
from unweave.metrics.score import wilson
from unweave.metrics.statistics import difference, holm, mean_interval, standard_ranks
from unweave.recipes import power

Verdict = Literal["agrees", "same direction", "by construction", "does not show at this scale", "opposite"]
VERDICTS: tuple[Verdict, ...] = (
    "agrees",
    "same direction",
    "by construction",
    "does not show at this scale",
    "opposite",
)
"""Best first."""

LEVEL = 0.05
"""Significance level: a claim shows if p, corrected for the number of tests, lies below it."""

WIDEST = 0.5
"""The widest interval that can agree with a published effect, as a part of that effect."""

_PERMUTATIONS = 20_000


class FindingRecord(TypedDict):
    """A :class:`Finding` as JSON holds it: what is not finite is none. Older files lack what is not required.

    Example:
        >>> sorted(FindingRecord.__annotations__)[:3]
        ['computed', 'corrected', 'detectable']
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
    corrected: NotRequired[float | None]
    detectable: NotRequired[float | None]
    lacks_power: NotRequired[bool | None]
    computed: NotRequired[dict[str, Any] | None]


@dataclass(frozen=True)
class Finding:
    """One claim of a paper as a number: ours and the published one.

    Args:
        what: name of the statistic.
        value: ours.
        published: the paper's, if it gives one.
        within: tolerance around the published value of a number that is not random.
        low: lower end of the 95 % interval of our value.
        high: upper end.
        p: probability under the null hypothesis of a value at least this far from ``null``; none: the number is exact,
            not random.
        test: which test gave ``p``.
        sign: on which side of ``null`` the paper's claim lies.
        null: the value under the null hypothesis.
        detectable: the smallest distance from ``null`` that these values would have shown with 80 % power.
        spread: standard deviation between seeds, for judging ``detectable`` where nothing is published.
        constructed: the number follows from how it is computed (an identity, a value that is solved for): that it comes
            out is a check of the code, not evidence for the claim.
        corrected: p after Holm's correction for the number of tests of the same result (:func:`corrected`).
        computed: the function that made this and its arguments, from which :func:`computed_again` makes it again.

    Example:
        >>> Finding("difference of MIG", 0.3, published=0.25, low=0.25, high=0.35, p=0.01).verdict
        'agrees'
        >>> Finding("difference of MIG", 0.3, published=0.25, low=0.2, high=0.4, p=0.01).verdict  # too wide to agree
        'same direction'
        >>> Finding("difference of MIG", 0.3, p=0.2).verdict, Finding("difference of MIG", -0.3, p=0.01).verdict
        ('does not show at this scale', 'opposite')
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
    detectable: float | None = None
    spread: float | None = None
    constructed: bool = False
    corrected: float | None = None
    computed: Mapping[str, Any] | None = None

    @property
    def verdict(self) -> Verdict:
        """Which side of the null hypothesis it is on, whether that is sure, and whether it is the published number.

        A random number agrees if its interval contains the published one and is at most half as wide as the published
        effect: an interval that is wide enough contains everything.
        """
        if not math.isfinite(self.value):
            return "does not show at this scale"
        if self.p is None:
            return self._verdict_on_exact_number()
        decisive = self.p if self.corrected is None else self.corrected
        if not decisive < LEVEL or self.value == self.null:
            return "does not show at this scale"
        if (self.value - self.null) * self.sign < 0:
            return "opposite"
        if self.published is None or self.low is None or self.high is None:
            return "same direction"
        inside = self.low <= self.published <= self.high
        narrow = self.high - self.low <= WIDEST * abs(self.published - self.null)
        return "agrees" if inside and narrow else "same direction"

    def _verdict_on_exact_number(self) -> Verdict:
        near = self.published is not None and abs(self.value - self.published) <= (self.within or 0.0)
        if self.constructed:
            return "by construction" if near or self.published is None else "does not show at this scale"
        if near:
            return "agrees"
        claimed = self.published if self.published is not None else self.null + self.sign
        side = (self.value - self.null) * (claimed - self.null)
        return "same direction" if side > 0 else "opposite" if side < 0 else "does not show at this scale"

    @property
    def lacks_power(self) -> bool | None:
        """Whether the values are too few to have shown the published effect with 80 % power; none: not known.

        Where no effect is published, two standard deviations between seeds take its place.
        """
        if self.published is not None and self.p is not None:
            effect = abs(self.published - self.null)
        elif self.spread is not None:
            effect = 2 * self.spread
        else:
            return None
        return None if self.detectable is None else self.detectable > effect

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
            "corrected": _finite(self.corrected),
            "test": self.test,
            "detectable": _finite(self.detectable),
            "lacks_power": self.lacks_power,
            "verdict": self.verdict,
            "computed": None if self.computed is None else dict(self.computed),
        }


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on several claims is that on the weakest; what holds by construction says nothing beside others.

    Example:
        >>> worst(["agrees", "same direction"]), worst(["agrees", "by construction"])
        ('same direction', 'agrees')
    """
    evidence = [verdict for verdict in verdicts if verdict != "by construction"]
    return max(evidence or verdicts, key=VERDICTS.index)


def corrected(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of one result, with p corrected for their number by Holm's method; exact numbers do not count.

    Example:
        >>> found = corrected([Finding("a", 1.0, p=0.03), Finding("b", 1.0, p=0.04), Finding("c", 1.0)])
        >>> [finding.corrected for finding in found], found[0].verdict
        ([0.06, 0.06, None], 'does not show at this scale')
    """
    tested = [k for k, finding in enumerate(findings) if finding.p is not None and math.isfinite(finding.p)]
    adjusted = dict(zip(tested, holm([findings[k].p or 0.0 for k in tested]), strict=True))
    return [dataclasses.replace(each, corrected=adjusted.get(k)) for k, each in enumerate(findings)]


def higher(what: str, a: ArrayLike, b: ArrayLike, *, published: float | None = None) -> Finding:
    """Claim: ``mean(a) > mean(b)``. Welch's t-test, two-sided.

    Args:
        what: name of the statistic, for example "MIG, broadcast minus DeConv".
        a: values of the group that should be higher, one for each seed.
        b: values of the other group.
        published: the published difference.

    Example:
        >>> found = higher("score, new minus old", [5.0, 5.5, 6.0], [1.0, 1.5, 2.0], published=4.5)
        >>> found.value, round(found.p, 4), found.verdict
        (4.0, 0.0006, 'same direction')
    """
    one, two = _values(what, a), _values(what, b)
    found = difference(one, two)
    return Finding(
        *(what, found.mean, published, None, found.low, found.high, found.p, "Welch's t"),
        detectable=power.of_two_means(one, two, LEVEL),
        spread=math.sqrt((float(np.var(one, ddof=1)) + float(np.var(two, ddof=1))) / 2),
        computed=_computed(higher, a=one, b=two, published=published),
    )


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
    found = exceeds(what, one - two, 0.0, published=published)
    return dataclasses.replace(found, computed=_computed(paired, a=one, b=two, published=published))


def permuted(what: str, a: ArrayLike, b: ArrayLike, statistic: str) -> Finding:
    """Claim: a statistic, such as the median, is higher for ``a`` than for ``b``. Permutation test, two-sided.

    p is the share of 20,000 seeded divisions of all values into two groups of these sizes whose difference is at least
    as far from zero; the observed division counts as one of them.

    Args:
        what: name of the statistic.
        a: values of the group that should be higher, one for each seed.
        b: values of the other group.
        statistic: mean, median or max.

    Example:
        >>> found = permuted("median, new minus old", np.arange(6) + 6.0, np.arange(6), "median")
        >>> found.value, found.verdict
        (6.0, 'same direction')
    """
    if statistic not in _STATISTICS:
        raise unknown("statistic", statistic, _STATISTICS)
    one, two, of = _values(what, a), _values(what, b), _STATISTICS[statistic]
    value = float(of(one) - of(two))
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(np.tile(np.concatenate([one, two]), (_PERMUTATIONS, 1)), axis=1)
    differences = of(shuffled[:, : len(one)], axis=1) - of(shuffled[:, len(one) :], axis=1)
    p = (1 + int(np.sum(np.abs(differences) >= abs(value) - 1e-12))) / (1 + _PERMUTATIONS)
    computed = _computed(permuted, a=one, b=two, statistic=statistic)
    return Finding(what, value, p=p, test="permutation of groups", computed=computed)


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
        *(what, found.mean, published, None, found.low, found.high, p, "Student's t", sign, threshold),
        detectable=power.of_one_mean(sample, LEVEL),
        spread=float(np.std(sample, ddof=1)),
        computed=_computed(exceeds, values=sample, threshold=threshold, published=published, sign=sign),
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
    one, two = _pairs(what, x, y)
    a, b = standard_ranks(one), standard_ranks(two)
    value = float(a @ b)
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(np.tile(b, (_PERMUTATIONS, 1)), axis=1) @ a
    p = (1 + int(np.sum(np.abs(shuffled) >= abs(value) - 1e-12))) / (1 + _PERMUTATIONS)
    return Finding(
        *(what, value, None, None, None, None, p, "permutation of ranks", sign),
        detectable=power.of_rank_correlation(len(one), LEVEL),
        computed=_computed(correlated, x=one, y=two, sign=sign),
    )


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
    return Finding(
        *(what, hits / total, published, None, low, high, p, "binomial", sign, chance),
        detectable=power.of_proportion(total, chance, sign, LEVEL),
        computed=_computed(proportion, hits=hits, total=total, chance=chance, published=published, sign=sign),
    )


def equal(
    what: str,
    value: float,
    published: float,
    *,
    within: float = 0.0,
    null: float = 0.0,
    constructed: bool = False,
) -> Finding:
    """Claim: a number that is not random equals the published one to ``within``.

    Outside that tolerance it has the same direction if it lies on the published side of ``null``. ``constructed``: it
    must be so by how it is computed, which checks the code and is no evidence.

    Example:
        >>> equal("distance of two squares", 0.0104, 0.0104, within=1e-4).verdict
        'agrees'
        >>> equal("both sides of a theorem differ by", 1e-12, 0.0, within=1e-9, constructed=True).verdict
        'by construction'
    """
    ours, theirs = float(value), float(published)
    arguments = {
        "value": ours,
        "published": theirs,
        "within": within,
        "null": null,
        "constructed": constructed,
    }
    return Finding(
        *(what, ours, theirs, within),
        null=null,
        constructed=constructed,
        computed=_computed(equal, **arguments),
    )


def above(what: str, value: float, null: float = 0.0, *, constructed: bool = False) -> Finding:
    """Claim: a number that is not random lies above ``null``.

    Example:
        >>> above("parameters, one minus the other", 12).verdict, above("share", 0.9, 1.0).verdict
        ('same direction', 'opposite')
    """
    ours = float(value)
    computed = _computed(above, value=ours, null=null, constructed=constructed)
    return Finding(what, ours, null=null, constructed=constructed, computed=computed)


def correlation(
    what: str, x: ArrayLike, y: ArrayLike, kind: Kind, *, published: float | None = None
) -> Finding:
    """Claim: two scores of the same models are correlated: Pearson's, Kendall's or Spearman's test, two-sided.

    Args:
        what: name of the statistic.
        x: a score of each model.
        y: the other score of each model.
        kind: pearson, kendall or spearman.
        published: the published correlation.

    Example:
        >>> found = correlation("pearson correlation", [1, 2, 3, 4, 5.5], [1, 2, 3.1, 4, 5], "pearson")
        >>> round(found.value, 3), found.verdict
        (0.995, 'same direction')
    """
    from scipy import stats

    from unweave.metrics import agreement

    tests = {"pearson": stats.pearsonr, "kendall": stats.kendalltau, "spearman": stats.spearmanr}
    if kind not in tests:
        raise unknown("kind", kind, tests)
    one, two = _pairs(what, x, y)
    found = agreement({"one": one, "two": two}, kind=kind).score("one", "two")
    p = float(tests[kind](one, two).pvalue)
    return Finding(
        *(what, found.value, published, None, found.low, found.high, p, f"test of {kind}"),
        detectable=power.of_rank_correlation(len(one), LEVEL),
        computed=_computed(correlation, x=one, y=two, kind=kind, published=published),
    )


def computed_again(record: FindingRecord) -> Finding | None:
    """The finding that the stored values give today; none for a finding that holds no values.

    Example:
        >>> found = higher("score", [5.0, 5.5, 6.0], [1.0, 1.5, 2.0])
        >>> computed_again(found.to_json()) == found
        True
    """
    computed = record.get("computed")
    if computed is None:
        return None
    arguments = {key: value for key, value in computed.items() if key != "by"}
    if computed["by"] not in _TESTS:
        raise unknown("test", str(computed["by"]), _TESTS)
    return _TESTS[computed["by"]](record["what"], **arguments)


_STATISTICS: dict[str, Callable[..., Any]] = {"mean": np.mean, "median": np.median, "max": np.max}
_TESTS: dict[str, Callable[..., Finding]] = {
    test.__name__: test
    for test in (higher, paired, permuted, exceeds, correlated, proportion, equal, above, correlation)
}


def _computed(by: Callable[..., Finding], **arguments: Any) -> dict[str, Any]:
    plain = {
        key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in arguments.items()
    }
    return {"by": by.__name__, **{key: value for key, value in plain.items() if value is not None}}


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
