"""What a sweep shows: pairwise tests of its variants and the sentences at the top of its page."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unweave.metrics import Score
from unweave.metrics.statistics import Difference, difference, holm, mean_interval
from unweave.reports.explanations import explanation_of
from unweave.reports.variants import Variant, score_text

LEVEL = 0.05
"""Differences with an adjusted p below this are reported as significant."""


@dataclass(frozen=True)
class PairwiseTest:
    """The difference between two variants; ``one`` has the higher mean, ``p`` is adjusted for all pairs.

    Example:
        >>> PairwiseTest("a", "b", Difference(0.1, 0.0, 0.2, 0.04, 0.05), 0.04, "0.100", "0.000 to 0.200").p
        0.04
    """

    one: str
    two: str
    found: Difference
    p: float
    label: str
    interval: str


def pairwise_tests(variants: Sequence[Variant], main: str) -> list[PairwiseTest]:
    """Every two variants with at least two runs each compared by the main score, the smallest p first.

    Example:
        >>> a, b = (Variant(name, (), {"mig": values}, {}) for name, values in (("a", [0.1, 0.2]), ("b", [0.8, 0.9])))
        >>> [(test.one, test.two, test.label) for test in pairwise_tests([a, b], "mig")]
        [('b', 'a', '0.700')]
    """
    pairs = [
        (a, b)
        for a, b in itertools.combinations(variants, 2)
        if len(a.values.get(main, [])) > 1 and len(b.values.get(main, [])) > 1
    ]
    found = [difference(a.values[main], b.values[main]) for a, b in pairs]
    adjusted = holm([each.p for each in found])
    made = []
    for (a, b), each, p in zip(pairs, found, adjusted, strict=True):
        if each.mean < 0:
            a, b = b, a
            each = Difference(-each.mean, -each.high, -each.low, each.p, each.p_ranks)
        interval = f"{score_text(main, each.low, each.mean)} to {score_text(main, each.high, each.mean)}"
        made.append(PairwiseTest(a.name, b.name, each, p, score_text(main, each.mean), interval))
    return sorted(made, key=lambda test: (test.p, -test.found.mean))


def sweep_findings(
    variants: Sequence[Variant], main: str | None, tests: Sequence[PairwiseTest], scored: Mapping[str, Score]
) -> list[str]:
    """The sentences at the top of the page: the best variant, significance, spread over seeds, lost runs.

    Example:
        >>> one = Variant("base", (), {"mig": [0.1, 0.3]}, {})
        >>> sweep_findings([one], "mig", [], {"mig": Score("mig", 0.1)})
        ['MIG is 0.200 on average over 2 seeds.']
    """
    if main is None:
        return ["No run has been scored yet."]
    label = explanation_of(main).label
    having = [variant for variant in variants if variant.values.get(main)]
    sign = 1 if scored[main].higher_is_better else -1
    ranked = sorted(having, key=lambda variant: -sign * mean_interval(variant.values[main]).mean)
    sentences = []
    if len(ranked) > 1:
        sentences.append(_on_best(ranked[0], ranked[1], main, tests))
    elif ranked:
        mean, seeds = ranked[0].mean_text(main), len(ranked[0].values[main])
        sentences.append(f"{label} is {mean} on average over {seeds} seeds.")
    if len(tests) > 1:
        clear = sum(test.p < LEVEL for test in tests)
        sentences.append(
            f"Of {len(tests)} pairs of variants, {clear} differ significantly in {label} "
            f"(Welch's test, adjusted for {len(tests)} comparisons)."
        )
    spreads = [np.std(v.values[main], ddof=1) for v in having if len(v.values[main]) > 1]
    means = [mean_interval(v.values[main]).mean for v in having]
    if len(spreads) > 1 and len(means) > 1:
        within, between_variants = float(np.mean(spreads)), float(np.std(means, ddof=1))
        if within > between_variants:
            sentences.append(
                f"Seeds matter more than variants: the standard deviation over seeds ({score_text(main, within)}) is "
                f"larger than that of the variants' means ({score_text(main, between_variants)}). "
                "More seeds would help."
            )
    lost = sum(member.run.status in ("diverged", "failed") for v in variants for member in v.members)
    if lost:
        sentences.append(
            f"{lost} {'run' if lost == 1 else 'runs'} diverged or failed; the means of their variants exclude them, "
            "which can make these variants look better than they are."
        )
    return sentences


def _on_best(best: Variant, second: Variant, main: str, tests: Sequence[PairwiseTest]) -> str:
    """Which variant is the best, and whether significantly."""
    label, seeds = explanation_of(main).label, len(best.values[main])
    text = f"{best.name} has the best {label}: {best.mean_text(main)} on average over {seeds} seeds"
    own = [test for test in tests if best.name in (test.one, test.two)]
    between = next((test for test in own if second.name in (test.one, test.two)), None)
    if between is None:
        return f"{text}; with one seed each, significance cannot be tested."
    next_best = f"{second.name} ({second.mean_text(main)}; p = {_p_text(between.p)})"
    if all(test.p < LEVEL for test in own):
        return f"{text}, significantly better than all others; next is {next_best}."
    if between.p < LEVEL:
        return f"{text}, significantly better than {next_best}."
    return f"{text}, but not significantly better than {next_best}."


def _p_text(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else "below 0.001"
