"""One self-contained HTML page about all runs of a sweep."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure

from unweave import atomic, plots
from unweave.metrics import Score
from unweave.metrics.statistics import mean_interval
from unweave.reports.explanations import explanation_of
from unweave.reports.rendering import image, png, render, writer
from unweave.reports.run_summary import settings, summarise
from unweave.reports.sweep_figures import sweep_figures
from unweave.reports.sweep_findings import LEVEL, pairwise_tests, sweep_findings
from unweave.reports.variants import (
    Variant,
    finished_values,
    page_order,
    score_text,
    variant_scores,
    variants_of,
)
from unweave.runs.sweep import Member, Sweep, duration

_DEFAULT_SCORES = ("mig", "geometry", "factor_vae_score", "elbo")
"""The main score of a sweep without a target: the first of these that its runs have."""

_MOST_TRAVERSED_VARIANTS = 6
"""Up to this number of variants, each has its own traversals on the page."""

_FIGURE_TYPES = ("png", "svg", "pdf")

_ENDED = ("finished", "diverged", "failed")
"""Statuses of runs that need no further training."""


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
    variants = variants_of(sweep)
    scored = variant_scores(variants)
    main = _main_score(sweep.target, scored)
    figures = sweep_figures(variants, scored, main)
    if path is None:
        _save_figures(figures, sweep.folder / "pictures")
    tests = pairwise_tests(variants, main) if main else []
    page = render(
        "sweep.html",
        title=sweep.title,
        sweep=sweep,
        counts=_variants_and_seeds(variants),
        banners=_banners(sweep),
        findings=sweep_findings(variants, main, tests, scored),
        main=None if main is None else explanation_of(main),
        columns=[explanation_of(name) for name in page_order(scored)],
        rows=_mean_rows(variants, scored),
        pictures={name: image(*png(figure, name.replace("-", " "))) for name, figure in figures.items()},
        curves=[name for name in figures if name != "agreement" and not name.startswith("violins-")],
        shapes=[name for name in figures if name.startswith("violins-")],
        tests=tests,
        level=LEVEL,
        ranked=_ranked_traversals(variants, main) if main else {},
        unfinished=[member for member in sweep.members if member.run.status != "finished"],
        duration=duration(sum(member.run.seconds for member in sweep.members)),
        shared=_shared_settings(sweep.members),
        runs=[_run_row(member, page_order(scored)) for member in sweep.members],
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


def _main_score(target: str, scored: Mapping[str, Score]) -> str | None:
    return next((name for name in (target, *_DEFAULT_SCORES, *scored) if name in scored), None)


class _MeanRow(NamedTuple):
    """A variant in the table of means: a cell for each score and the number of runs by status."""

    name: str
    cells: list[tuple[str, str, bool]]
    runs: Counter[str]


def _mean_rows(variants: Sequence[Variant], scored: Mapping[str, Score]) -> list[_MeanRow]:
    names = page_order(scored)
    best = {name: _best_variant(variants, scored[name]) for name in names}
    table = []
    for variant in variants:
        statuses = (member.run.status for member in variant.members)
        counts = Counter(status if status in _ENDED else "unfinished" for status in statuses)
        cells = [_mean_cell(variant, scored[name], best[name]) for name in names]
        table.append(_MeanRow(variant.name, cells, counts))
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
        interval = f"{score_text(score.name, low, found.mean)} to {score_text(score.name, high, found.mean)}"
    return score_text(score.name, found.mean), interval, best == variant.name


class _RankedRun(NamedTuple):
    """The best, median or worst run of a group: rank, score, run, and a picture of its traversals."""

    rank: str
    value: str
    member: Member
    picture: Markup


def _ranked_traversals(variants: Sequence[Variant], main: str) -> dict[str, list[_RankedRun]]:
    """Best, median and worst run by the main score: of the sweep and, if the variants are few, of each variant.

    The group of the whole sweep has an empty name.
    """
    members = [member for variant in variants for member in variant.members]
    everything = [(values[main], m) for m in members if main in (values := finished_values(m))]
    if not everything:
        return {}
    higher = bool(everything[0][1].run.scores[main].get("higher_is_better", True))
    shown: dict[Path, Markup] = {}

    def three(pairs: list[tuple[float, Member]]) -> list[_RankedRun]:
        pairs = sorted(pairs, key=lambda pair: pair[0], reverse=higher)
        places = {"best": 0, "median": len(pairs) // 2, "worst": len(pairs) - 1}
        chosen: dict[int, str] = {}
        for rank, place in places.items():
            chosen.setdefault(place, rank)
        ranked = [(rank, *pairs[place]) for place, rank in chosen.items()]
        return [
            _RankedRun(rank, score_text(main, value), m, _traversal(m, shown)) for rank, value, m in ranked
        ]

    groups = {"": three(everything)}
    if 1 < len(variants) <= _MOST_TRAVERSED_VARIANTS:
        for variant in variants:
            own = [(value, m) for value, m in everything if m.variant == variant.name]
            if own:
                groups[variant.name] = three(own)
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
        score_text(name, scores[name]["value"]) if scores.get(name, {}).get("value") is not None else ""
        for name in names
    ]
    return [member.variant, str(member.run.config.seed), member.run.status, *values, str(member.run.folder)]


def _versions(members: Sequence[Member]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for member in members:
        for package, version in member.run.versions.items():
            found.setdefault(package, set()).add(version)
    return {package: ", ".join(sorted(versions)) for package, versions in found.items()}
