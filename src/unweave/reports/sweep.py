"""One self-contained HTML page about all runs of a sweep."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from unweave import atomic, plots
from unweave.metrics import Score
from unweave.metrics.agreement import agreement
from unweave.metrics.statistics import Difference, difference, holm, mean_interval
from unweave.plots.sweeps import Point, agreement_map, trade_off, violins
from unweave.reports.narrative import EXPLANATIONS, Explanation
from unweave.reports.rendering import image, png, render, writer
from unweave.reports.run_summary import settings, summarise
from unweave.runs.sweep import Member, Sweep, duration

LEVEL = 0.05
"""Differences with an adjusted p below this are reported as significant."""

_DEFAULT_SCORES = ("mig", "geometry", "factor_vae_score", "elbo")
"""The main score of a sweep without a target: the first of these that its runs have."""

_MOST_TRAVERSED_VARIANTS = 6
"""Up to this number of variants, each has its own traversals on the page."""

_FIGURE_TYPES = ("png", "svg", "pdf")

_ENDED = ("finished", "diverged", "failed")
"""Statuses of runs that need no further training."""


@dataclass(frozen=True)
class Variant:
    """The runs of one variant and the values of their scores.

    Example:
        >>> Variant("beta=4", (), {"mig": [0.1, 0.3]}, {}).mean_text("mig")
        '0.200'
    """

    name: str
    members: tuple[Member, ...]
    values: Mapping[str, list[float]]
    settings: Mapping[str, Any]

    def mean_text(self, score: str) -> str:
        """The mean of a score as the table shows it; empty if no run has the score."""
        return _number(score, mean_interval(self.values[score]).mean) if self.values.get(score) else ""


def write_sweep_report(sweep: Sweep, path: str | Path | None = None) -> Path:
    """Writes one page about a sweep and returns its path (default ``report.html`` in the sweep's folder).

    It contains a table of means over seeds with intervals and counts of diverged, failed and unfinished runs;
    trade-off curves with bands; violins; pairwise tests; agreement of scores; traversals of the best, the median and
    the worst run; the command and the versions. The figures are also saved as PNG, SVG and PDF in ``pictures/``.

    Args:
        sweep: finished or not; the page lists unfinished runs.
        path: the HTML file.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Study
        >>> study = Study.of({"base": {"data": "circles"}, "seeds": 2}, name="tiny")
        >>> page = write_sweep_report(Sweep.create(study, Path(tempfile.mkdtemp()))).read_text()
        >>> "2 of 2 runs are not finished" in page
        True
    """
    variants = [_variant(name, members) for name, members in sweep.variants.items()]
    scored = _scores(variants)
    main = _main_score(sweep.target, scored)
    figures = _figures(variants, scored, main)
    if path is None:
        _save_figures(figures, sweep.folder / "pictures")
    tests = _pairwise_tests(variants, main) if main else []
    page = render(
        "sweep.html",
        title=sweep.title,
        sweep=sweep,
        counts=_variants_and_seeds(variants),
        banners=_banners(sweep),
        findings=_findings(variants, main, tests, scored),
        main=None if main is None else _explained(main),
        columns=[_explained(name) for name in _ordered(scored)],
        rows=_mean_rows(variants, scored),
        pictures={name: image(*png(figure, name.replace("-", " "))) for name, figure in figures.items()},
        curves=[name for name in figures if name != "agreement" and not name.startswith("violins-")],
        shapes=[name for name in figures if name.startswith("violins-")],
        tests=tests,
        level=LEVEL,
        ranked=_ranked_traversals(variants, main) if main else [],
        unfinished=[_unfinished(member) for member in sweep.members if member.run.status != "finished"],
        duration=duration(sum(member.run.seconds for member in sweep.members)),
        shared=_shared_settings(sweep.members),
        runs=[_run_row(member, _ordered(scored)) for member in sweep.members],
        versions=_versions(sweep.members),
        writer=writer(),
    )
    page_path = Path(path) if path is not None else sweep.folder / "report.html"
    atomic.write(page_path, page)
    return page_path


def _save_figures(figures: Mapping[str, Figure], folder: Path) -> None:
    for name, figure in figures.items():
        for kind in _FIGURE_TYPES:
            atomic.write(folder / f"{name}.{kind}", plots.to_bytes(figure, kind, dpi=200))


def _variant(name: str, members: Sequence[Member]) -> Variant:
    values: dict[str, list[float]] = {}
    for member in members:
        if member.run.status != "finished":
            continue
        for score, entry in member.run.scores.items():
            if entry.get("value") is not None:
                values.setdefault(score, []).append(float(entry["value"]))
    return Variant(name, tuple(members), values, members[0].settings)


def _scores(variants: Sequence[Variant]) -> dict[str, Score]:
    """Every score that some finished run has, taken from the first run that has it."""
    found: dict[str, Score] = {}
    for variant in variants:
        for member in variant.members:
            for name, entry in member.run.scores.items():
                if name not in found:
                    found[name] = Score.from_json({"name": name, **entry})
    return {name: score for name, score in found.items() if any(v.values.get(name) for v in variants)}


def _ordered(scored: Mapping[str, Score]) -> list[str]:
    known = list(EXPLANATIONS)
    return sorted(scored, key=lambda name: known.index(name) if name in known else len(known))


def _main_score(target: str, scored: Mapping[str, Score]) -> str | None:
    return next((name for name in (target, *_DEFAULT_SCORES, *scored) if name in scored), None)


def _figures(variants: Sequence[Variant], scored: Mapping[str, Score], main: str | None) -> dict[str, Figure]:
    made: dict[str, Figure] = {}
    if main is None:
        return made
    swept, series = _series(variants)
    unit_scores = [name for name in _ordered(scored) if scored[name].range == (0.0, 1.0)]
    if "nll" in scored:
        for name in dict.fromkeys([*([main] if main not in ("nll", "elbo") else []), *unit_scores]):
            points = _points(series, "nll", name)
            if points:
                made[f"{_slug(name)}-against-reconstruction"] = trade_off(
                    points,
                    x="reconstruction (NLL, nats)",
                    y=_explained(name).label,
                    swept=swept,
                    unit_interval=scored[name].range == (0.0, 1.0),
                )
    if "nll" in scored and "kl" in scored:
        points = _points(series, "kl", "nll")
        if points:
            made["rate-distortion"] = trade_off(
                points, x="rate (KL, nats)", y="distortion (NLL, nats)", swept=swept
            )
    for name in dict.fromkeys([main, *_ordered(scored)]):
        groups = {v.name: v.values[name] for v in variants if v.values.get(name)}
        if groups:
            made[f"violins-{_slug(name)}"] = violins(
                groups, y=_with_unit(name), unit_interval=scored[name].range == (0.0, 1.0)
            )
    table = _complete_scores(variants, _ordered(scored))
    if len(table) > 1 and len(next(iter(table.values()))) > 2:
        found = agreement(table, kind="spearman", resamples=1)
        made["agreement"] = agreement_map([_explained(name).label for name in table], found.values)
    return made


def _series(variants: Sequence[Variant]) -> tuple[str, dict[str, list[tuple[str, Variant]]]]:
    """Variants as curves: variants that differ only in numbers form a curve along the number that varies most."""
    alike: dict[str, list[Variant]] = {}
    for variant in variants:
        words = [
            _setting_text(key, value) for key, value in variant.settings.items() if not _is_number(value)
        ]
        alike.setdefault(" ".join(words), []).append(variant)
    groups: dict[str, list[tuple[str, Variant]]] = {}
    swept_keys = []
    for shared_words, members in alike.items():
        keys = dict.fromkeys(key for v in members for key, value in v.settings.items() if _is_number(value))
        varied = {key: {v.settings.get(key) for v in members} for key in keys}
        swept = max(varied, key=lambda key: len(varied[key]), default=None)
        if swept is None or len(varied[swept]) < 2 or None in varied[swept]:
            groups |= {variant.name: [("", variant)] for variant in members}
            continue
        swept_keys.append(swept.split(".")[-1])
        for variant in sorted(members, key=lambda v: float(v.settings[swept])):
            rest = [
                _setting_text(key, variant.settings[key])
                for key in varied
                if key != swept and len(varied[key]) > 1
            ]
            name = " ".join(word for word in (shared_words, *rest) if word)
            groups.setdefault(name, []).append((f"{variant.settings[swept]:.3g}", variant))
    return " or ".join(dict.fromkeys(swept_keys)), groups


def _points(series: Mapping[str, Sequence[tuple[str, Variant]]], x: str, y: str) -> dict[str, list[Point]]:
    made = {}
    for name, members in series.items():
        points = []
        for label, variant in members:
            pairs = [
                (scores[x]["value"], scores[y]["value"])
                for member in variant.members
                if member.run.status == "finished" and {x, y} <= set(scores := member.run.scores)
            ]
            pairs = [pair for pair in pairs if None not in pair]
            if pairs:
                points.append(Point(label, [a for a, _ in pairs], [b for _, b in pairs]))
        if points:
            made[name] = points
    return made


def _complete_scores(variants: Sequence[Variant], names: Sequence[str]) -> dict[str, list[float]]:
    """By score, the values of all runs that have every score; scores that never vary are omitted."""
    rows = []
    for variant in variants:
        for member in variant.members:
            scores = member.run.scores if member.run.status == "finished" else {}
            row = [scores.get(name, {}).get("value") for name in names]
            if all(value is not None for value in row):
                rows.append(row)
    columns = {name: [float(row[i]) for row in rows] for i, name in enumerate(names)}
    return {name: column for name, column in columns.items() if len(set(column)) > 1}


@dataclass(frozen=True)
class _PairwiseTest:
    one: str
    two: str
    found: Difference
    p: float
    label: str
    interval: str


def _pairwise_tests(variants: Sequence[Variant], main: str) -> list[_PairwiseTest]:
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
        interval = f"{_number(main, each.low, each.mean)} to {_number(main, each.high, each.mean)}"
        made.append(_PairwiseTest(a.name, b.name, each, p, _number(main, each.mean), interval))
    return sorted(made, key=lambda test: (test.p, -test.found.mean))


def _findings(
    variants: Sequence[Variant], main: str | None, tests: Sequence[_PairwiseTest], scored: Mapping[str, Score]
) -> list[str]:
    if main is None:
        return ["No run has been scored yet."]
    label = _explained(main).label
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
                f"Seeds matter more than variants: the standard deviation over seeds ({_number(main, within)}) is "
                f"larger than that of the variants' means ({_number(main, between_variants)}). More seeds would help."
            )
    lost = sum(member.run.status in ("diverged", "failed") for v in variants for member in v.members)
    if lost:
        sentences.append(
            f"{lost} {'run' if lost == 1 else 'runs'} diverged or failed; the means of their variants exclude them, "
            "which can make these variants look better than they are."
        )
    return sentences


def _on_best(best: Variant, second: Variant, main: str, tests: Sequence[_PairwiseTest]) -> str:
    """Which variant is the best, and whether significantly."""
    label, seeds = _explained(main).label, len(best.values[main])
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


def _mean_rows(variants: Sequence[Variant], scored: Mapping[str, Score]) -> list[dict[str, Any]]:
    names = _ordered(scored)
    best = {name: _best_variant(variants, scored[name]) for name in names}
    table = []
    for variant in variants:
        statuses = [member.run.status for member in variant.members]
        table.append(
            {
                "name": variant.name,
                "cells": [_mean_cell(variant, scored[name], best[name]) for name in names],
                "finished": statuses.count("finished"),
                "diverged": statuses.count("diverged"),
                "failed": statuses.count("failed"),
                "open": sum(status not in _ENDED for status in statuses),
            }
        )
    return table


def _best_variant(variants: Sequence[Variant], score: Score) -> str | None:
    """The variant with the best mean; None if there is only one and for scores that are not ranked (KL)."""
    having = [variant for variant in variants if variant.values.get(score.name)]
    if len(having) < 2 or score.name in ("kl", "latents_used"):
        return None
    sign = 1 if score.higher_is_better else -1
    return max(having, key=lambda variant: sign * mean_interval(variant.values[score.name]).mean).name


def _mean_cell(variant: Variant, score: Score, best: str | None) -> tuple[str, str, bool]:
    """Mean, interval and whether it is the best of its column."""
    values = variant.values.get(score.name)
    if not values:
        return "", "", False
    found = mean_interval(values)
    interval = ""
    if found.low is not None and found.high is not None:
        # The true mean lies in the range of the score, even if the interval of a few values does not.
        lowest, highest = score.range
        low = found.low if lowest is None else max(found.low, lowest)
        high = found.high if highest is None else min(found.high, highest)
        interval = f"{_number(score.name, low, found.mean)} to {_number(score.name, high, found.mean)}"
    return _number(score.name, found.mean), interval, best == variant.name


def _ranked_traversals(variants: Sequence[Variant], main: str) -> list[dict[str, Any]]:
    """Best, median and worst run by the main score: of the sweep and, if the variants are few, of each variant."""
    everything = [
        (float(m.run.scores[main]["value"]), m)
        for v in variants
        for m in v.members
        if m.run.status == "finished" and m.run.scores.get(main, {}).get("value") is not None
    ]
    if not everything:
        return []
    higher = bool(everything[0][1].run.scores[main].get("higher_is_better", True))
    shown: dict[Path, Markup] = {}

    def three(pairs: list[tuple[float, Member]]) -> list[dict[str, Any]]:
        pairs = sorted(pairs, key=lambda pair: pair[0], reverse=higher)
        places = {"best": 0, "median": len(pairs) // 2, "worst": len(pairs) - 1}
        chosen: dict[int, str] = {}
        for rank, place in places.items():
            chosen.setdefault(place, rank)
        return [
            {
                "rank": rank,
                "value": _number(main, pairs[place][0]),
                "variant": pairs[place][1].variant,
                "seed": pairs[place][1].run.config.seed,
                "picture": _traversal(pairs[place][1], shown),
            }
            for place, rank in chosen.items()
        ]

    groups = [{"name": "", "runs": three(everything)}]
    if 1 < len(variants) <= _MOST_TRAVERSED_VARIANTS:
        for variant in variants:
            own = [(value, m) for value, m in everything if m.variant == variant.name]
            if own:
                groups.append({"name": variant.name, "runs": three(own)})
    return groups


def _traversal(member: Member, shown: dict[Path, Markup]) -> Markup:
    folder = member.run.folder
    if folder not in shown:
        summary = summarise(member.run)
        most = min(6, len(summary.order))
        figure = plots.traversals(
            summary.traversals[:most], plots.traversal_labels(summary.order[:most], summary.kl)
        )
        shown[folder] = image(*png(figure, f"traversals of {member.variant}, seed {member.run.config.seed}"))
    return shown[folder]


def _banners(sweep: Sweep) -> list[str]:
    statuses = sweep.statuses
    sentences = []
    left = sum(count for status, count in statuses.items() if status not in _ENDED)
    if left:
        sentences.append(
            f"{left} of {len(sweep.members)} runs are not finished: everything below is about the others. "
            "The command at the end resumes them."
        )
    if statuses["failed"]:
        sentences.append(f"{statuses['failed']} of {len(sweep.members)} runs failed; the reasons are below.")
    if statuses["diverged"]:
        sentences.append(
            f"{statuses['diverged']} of {len(sweep.members)} runs diverged; the steps are below."
        )
    return sentences


def _unfinished(member: Member) -> dict[str, Any]:
    history = member.run.history
    return {
        "variant": member.variant,
        "seed": member.run.config.seed,
        "status": member.run.status,
        "step": history[-1]["step"] if history else 0,
        "reason": member.run.reason or "",
        "command": f"unweave runs log {member.run.folder}",
    }


def _variants_and_seeds(variants: Sequence[Variant]) -> str:
    sizes = {len(variant.members) for variant in variants}
    shape = (
        f"{next(iter(sizes))} seeds each" if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)} seeds each"
    )
    return f"{len(variants)} variants, {shape}"


def _shared_settings(members: Sequence[Member]) -> dict[str, str]:
    """The settings that are the same in all runs."""
    tables = [settings(member.run.config) for member in members]
    return {
        key: value for key, value in tables[0].items() if all(table.get(key) == value for table in tables[1:])
    }


def _run_row(member: Member, names: Sequence[str]) -> list[str]:
    scores = member.run.scores
    values = [
        _number(name, scores[name]["value"]) if scores.get(name, {}).get("value") is not None else ""
        for name in names
    ]
    return [member.variant, str(member.run.config.seed), member.run.status, *values, str(member.run.folder)]


def _versions(members: Sequence[Member]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for member in members:
        for package, version in member.run.versions.items():
            found.setdefault(package, set()).add(version)
    return {package: ", ".join(sorted(versions)) for package, versions in found.items()}


def _explained(name: str) -> Explanation:
    return EXPLANATIONS.get(name, Explanation(name.replace("_", " "), ""))


def _with_unit(name: str) -> str:
    explained = _explained(name)
    return f"{explained.label} ({explained.unit})" if explained.unit else explained.label


def _number(name: str, value: float, beside: float | None = None) -> str:
    """A value of a score as text, with as many digits as ``beside``, the value it stands next to."""
    if not math.isfinite(value):
        return "not finite"
    unit = EXPLANATIONS[name].unit if name in EXPLANATIONS else ""
    size = abs(value if beside is None else beside)
    digits = 1 if unit == "nats" and size >= 100 else 2 if unit == "nats" or size > 2 else 3
    return f"{value:.{digits}f}".replace("-", "−")


def _p_text(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else "below 0.001"


def _slug(name: str) -> str:
    return name.replace("_", "-")


def _setting_text(key: str, value: Any) -> str:
    return str(value) if isinstance(value, str) and "." not in key else f"{key.split('.')[-1]}={value}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
