"""One self-contained HTML page about all runs of a sweep."""

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from unweave import atomic
from unweave.metrics import Score
from unweave.metrics.statistics import mean_interval
from unweave.plots.score_panels import FEWEST_SEEDS, seed_interval
from unweave.reports.charts import chart
from unweave.reports.explanations import explanation_of
from unweave.reports.figures import KINDS, save_figures
from unweave.reports.page import write_run_report
from unweave.reports.rendering import render, writer
from unweave.reports.run_parts import Sheet, traversal_sheet
from unweave.reports.run_summary import settings, summarise
from unweave.reports.search import Found, found_of, search_answers, search_panels, search_question
from unweave.reports.sweep_figures import Linked, Panel, series_names, sweep_figures
from unweave.reports.sweep_findings import (
    LEVEL,
    PairwiseTest,
    pairwise_tests,
    sweep_findings,
    sweep_question,
)
from unweave.reports.variants import (
    Variant,
    finished_values,
    has_learned,
    main_score,
    page_order,
    score_text,
    variant_scores,
    variants_of,
)
from unweave.runs.sweep import Member, Sweep, duration

_MOST_TRAVERSED_VARIANTS = 6
"""Up to this number of variants, each has its own traversals on the page."""

_ENDED = ("finished", "diverged", "failed")
"""Statuses of runs that need no further training."""


def write_sweep_report(sweep: Sweep, path: str | Path | None = None, *, runs: bool = False) -> Path:
    """Writes one page about a sweep or a search and returns its path (default ``report.html`` in its folder).

    It begins with the question of the study and what answers it: of a search the best trial, the search history and
    the target against each searched value; of a sweep the best variant, and whether it is significantly better. Then
    means over seeds, a small panel for each score with a link from each run to its page, trade-offs, pairwise tests,
    agreement of scores, traversals of the best, the median and the worst run; the command and the versions. The figures
    are also saved as PNG, SVG and PDF in ``pictures/``.

    Args:
        sweep: finished or not; the page lists unfinished runs.
        path: the HTML file.
        runs: whether to write the page of every finished run as well.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Study
        >>> study = Study.of({"base": {"data": "circles"}, "seeds": 2}, name="tiny")
        >>> page = write_sweep_report(Sweep.create(study, Path(tempfile.mkdtemp()))).read_text()
        >>> "2 of 2 runs are not finished" in page
        True
    """
    page_path = Path(path) if path is not None else sweep.folder / "report.html"
    if runs:
        _write_run_pages(sweep.members)
    link = _links_from(page_path.parent)
    variants, found = variants_of(sweep), found_of(sweep)
    scored = variant_scores(variants)
    main = main_score(sweep.target, scored)
    searched = {} if found is None else search_panels(found, sweep.variants, link)
    figures = {**searched, **sweep_figures(variants, scored, main, link, joined=found is None)}
    # Before they are saved: a figure that has been drawn once is arranged a little differently the next time.
    pictures = {name: _chart(name, panel) for name, panel in figures.items()}
    if path is None:
        drawn = {name: panel.figure for name, panel in figures.items()}
        save_figures(drawn, sweep.folder / "pictures", *KINDS)
    tests = pairwise_tests(variants, main) if main and found is None else []
    question, answers = _answered(found, variants, main, tests, scored)
    page = render(
        "sweep.html",
        title=sweep.title,
        question=question,
        findings=answers,
        search=found,
        trials=[] if found is None else _trial_rows(found, variants, scored, sweep, link),
        searched=list(searched),
        sweep=sweep,
        counts=_variants_and_seeds(variants),
        banners=_banners(sweep),
        **_table_of_means(variants, scored, main),
        pictures=pictures,
        lines=series_names(variants),
        curves=[name for name in figures if name.endswith(("-against-reconstruction", "rate-distortion"))],
        panels=[name for name in figures if name.startswith("score-")],
        tests=tests,
        least=_least_rank_sum(max((len(v.values.get(main or "", [])) for v in variants), default=0)),
        level=LEVEL,
        ranked=_ranked_traversals(variants, main) if main else {},
        **_about_runs(sweep.members, page_order(scored), link),
        writer=writer(),
    )
    atomic.write(page_path, page)
    return page_path


def _least_rank_sum(seeds: int) -> str:
    """How small the p of a rank-sum test of two groups of so many values can be."""
    share = 2 / math.comb(2 * seeds, seeds)
    return f"of {seeds} against {seeds} values its p cannot be below {share:.2g}" if seeds > 1 else ""


def _answered(
    found: Found | None,
    variants: Sequence[Variant],
    main: str | None,
    tests: Sequence[PairwiseTest],
    scored: Mapping[str, Score],
) -> tuple[str, list[str]]:
    """The question of a sweep or of a search, and the sentences that answer it."""
    if found is None:
        return sweep_question(variants, main), sweep_findings(variants, main, tests, scored)
    return search_question(found), search_answers(found, {v.name for v in variants if not v.has_learned})


def _table_of_means(
    variants: Sequence[Variant], scored: Mapping[str, Score], main: str | None
) -> dict[str, Any]:
    """The table of means over seeds, its columns, and whether there are seeds enough for an interval."""
    return {
        "main": None if main is None else explanation_of(main),
        "columns": [explanation_of(name) for name in page_order(scored)],
        "rows": _mean_rows(variants, scored),
        "enough_seeds": any(len(v.members) >= FEWEST_SEEDS for v in variants),
    }


def _about_runs(members: Sequence[Member], names: Sequence[str], link: Linked) -> dict[str, Any]:
    """What a page says of single runs: which did not finish, how long all took, what they share, where they are."""
    return {
        "unfinished": [member for member in members if member.run.status != "finished"],
        "duration": duration(sum(member.run.seconds for member in members)),
        "shared": _shared_settings(members),
        "runs": [(link(member), _run_row(member, names)) for member in members],
        "pages": sum(link(member).endswith(".html") for member in members),
        "versions": _versions(members),
    }


def _write_run_pages(members: Sequence[Member]) -> None:
    for member in members:
        if member.run.status == "finished":
            write_run_report(member.run)


def _chart(name: str, panel: Panel) -> Markup:
    return chart(
        panel.figure, name.replace("-", " "), points=panel.points, widest=1.0 if name == "agreement" else 1.4
    )


def _links_from(folder: Path) -> Linked:
    """Where the page of a run is, seen from a folder: its report, or its folder if it has none."""

    def link(member: Member) -> str:
        place = member.run.folder
        target = place / "report.html" if (place / "report.html").is_file() else place
        return quote(os.path.relpath(target.resolve(), folder.resolve()).replace(os.sep, "/"))

    return link


class _TrialRow(NamedTuple):
    """A trial in the table of a search: its number, values, target, scores, links to its runs."""

    number: int
    settings: str
    value: str
    is_best: bool
    cells: list[str]
    links: list[tuple[str, str]]


def _trial_rows(
    found: Found, variants: Sequence[Variant], scored: Mapping[str, Score], sweep: Sweep, link: Linked
) -> list[_TrialRow]:
    """All trials, the best first and those without a value last."""
    by_name = {variant.name: variant for variant in variants}
    lost = [trial for trial in found.trials if trial.value is None]
    table = []
    for trial in [*(trial for trial, _ in found.ranked), *lost]:
        variant = by_name.get(trial.label)
        cells = ["" if variant is None else variant.mean_text(name) for name in page_order(scored)]
        links = [(f"seed {m.run.config.seed}", link(m)) for m in (variant.members if variant else ())]
        value = trial.reason if trial.value is None else f"{trial.value:.4g}".replace("-", "−")
        # A model that says nothing about the image is best at nothing, whatever its target.
        is_best = trial is found.best and not (variant and not variant.has_learned)
        table.append(_TrialRow(trial.number, trial.label.partition(": ")[2], value, is_best, cells, links))
    return table


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
    """The variant with the best mean among those that have learned; None for fewer than two and for the KL."""
    having = [variant for variant in variants if variant.values.get(score.name) and variant.has_learned]
    if len(having) < 2 or score.name in ("kl", "latents_used"):
        return None
    sign = 1 if score.higher_is_better else -1
    return max(having, key=lambda variant: sign * mean_interval(variant.values[score.name]).mean).name


def _mean_cell(variant: Variant, score: Score, best: str | None) -> tuple[str, str, bool]:
    """Mean, interval and whether it is the best of its column."""
    values = variant.values.get(score.name)
    if not values:
        return "", "", False
    found = seed_interval(values, score.range)
    interval = ""
    if found.low is not None and found.high is not None:
        low, high = (score_text(score.name, end, found.mean) for end in (found.low, found.high))
        interval = f"{low} to {high}"
    return score_text(score.name, found.mean), interval, best == variant.name


class _RankedRun(NamedTuple):
    """The best, median or worst run of a group: rank, score, run, and a picture of its traversals."""

    rank: str
    value: str
    member: Member
    sheet: Sheet


def _ranked_traversals(variants: Sequence[Variant], main: str) -> dict[str, list[_RankedRun]]:
    """Best, median and worst run by the main score: of the sweep and, if the variants are few, of each variant.

    The group of the whole sweep has an empty name.
    """
    members = [member for variant in variants for member in variant.members]
    everything = [(values[main], m) for m in members if main in (values := finished_values(m))]
    learned = [(value, m) for value, m in everything if has_learned(m)]
    everything = learned or everything
    if not everything:
        return {}
    higher = bool(everything[0][1].run.scores[main].get("higher_is_better", True))
    shown: dict[Path, Sheet] = {}

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


def _traversal(member: Member, shown: dict[Path, Sheet]) -> Sheet:
    folder = member.run.folder
    if folder not in shown:
        shown[folder] = traversal_sheet(summarise(member.run), most=6)
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
    least, most = min(sizes, default=0), max(sizes, default=0)
    shape = (
        f"{most} {'seed' if most == 1 else 'seeds'} each"
        if least == most
        else f"{least} to {most} seeds each"
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
    return [member.variant, str(member.run.config.seed), member.run.status, *values]


def _versions(members: Sequence[Member]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for member in members:
        for package, version in member.run.versions.items():
            found.setdefault(package, set()).add(version)
    return {package: ", ".join(sorted(versions)) for package, versions in found.items()}
