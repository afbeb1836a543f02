"""What a sweep shows: pairwise tests of its variants and the sentences at the top of its page."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unweave.metrics import Score
from unweave.metrics.statistics import Difference, difference, holm, mean_interval
from unweave.plots.score_panels import FEWEST_SEEDS
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
    """Every two variants with at least three runs each compared by the main score, the smallest p first.

    Example:
        >>> seeds = {"a": [0.1, 0.2, 0.3], "b": [0.8, 0.9, 1.0]}
        >>> a, b = (Variant(name, (), {"mig": values}, {}) for name, values in seeds.items())
        >>> [(test.one, test.two, test.label) for test in pairwise_tests([a, b], "mig")]
        [('b', 'a', '0.700')]
    """
    pairs = [
        (a, b)
        for a, b in itertools.combinations(variants, 2)
        if min(len(a.values.get(main, [])), len(b.values.get(main, []))) >= FEWEST_SEEDS
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


def sweep_question(variants: Sequence[Variant], main: str | None) -> str:
    """What a sweep asks: how the settings that it varies change its main score.

    Example:
        >>> pair = [Variant("a", (), {}, {"objective.beta": 1}), Variant("b", (), {}, {"objective.beta": 4})]
        >>> sweep_question(pair, "mig")
        'How does beta (1, 4) change MIG?'
    """
    label = "the models" if main is None else explanation_of(main).label
    keys = list(dict.fromkeys(key for variant in variants for key in variant.settings))
    varied = []
    for key in keys:
        values = list(dict.fromkeys(_value_text(variant.settings.get(key)) for variant in variants))
        if len(values) > 1:
            shown = ", ".join(values[:6]) + (" ..." if len(values) > 6 else "")
            varied.append(f"{key.split('.')[-1]} ({shown})")
    if not varied:
        return f"How much does {label} vary between seeds?"
    return f"How {'does' if len(varied) == 1 else 'do'} {' and '.join(varied)} change {label}?"


def _value_text(value: object) -> str:
    if isinstance(value, Mapping):
        return str(value.get("name", value))
    return "the default" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


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
    scored_variants = [variant for variant in variants if variant.values.get(main)]
    # A model that has learned nothing is best at nothing.
    having = [variant for variant in scored_variants if variant.has_learned] or scored_variants
    sign = 1 if scored[main].higher_is_better else -1
    ranked = sorted(having, key=lambda variant: -sign * mean_interval(variant.values[main]).mean)
    sentences = _on_collapse(variants)
    if len(ranked) > 1:
        sentences.append(_on_best(ranked[0], ranked[1], main, tests))
    elif ranked:
        mean, seeds = ranked[0].mean_text(main), len(ranked[0].values[main])
        word = "seed" if seeds == 1 else "seeds"
        sentences.append(f"{label} is {mean} on average over {seeds} {word}.")
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


def _on_collapse(variants: Sequence[Variant]) -> list[str]:
    """Which variants have learned nothing."""
    dead = [variant.name for variant in variants if not variant.has_learned]
    if not dead:
        return []
    shown = ", ".join(dead[:6]) + (f" and {len(dead) - 6} more" if len(dead) > 6 else "")
    return [
        f"Most runs of {shown} have collapsed: their codes say nothing about the images, their scores mean nothing, "
        f"and they are best at nothing."
    ]


def _on_best(best: Variant, second: Variant, main: str, tests: Sequence[PairwiseTest]) -> str:
    """Which variant is the best, and whether significantly."""
    label, seeds = explanation_of(main).label, len(best.values[main])
    over = "1 seed" if seeds == 1 else f"{seeds} seeds"
    text = f"{best.name} has the best {label}: {best.mean_text(main)} on average over {over}"
    own = [test for test in tests if best.name in (test.one, test.two)]
    between = next((test for test in own if second.name in (test.one, test.two)), None)
    if between is None:
        return f"{text}; with fewer than three seeds each, significance is not tested."
    next_best = f"{second.name} ({second.mean_text(main)}; p = {_p_text(between.p)})"
    if all(test.p < LEVEL for test in own):
        return f"{text}, significantly better than all others; next is {next_best}."
    if between.p < LEVEL:
        return f"{text}, significantly better than {next_best}."
    return f"{text}, but not significantly better than {next_best}."


def _p_text(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else "below 0.001"
