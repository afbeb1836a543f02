"""The figures of a sweep's page: a small panel for each score, trade-offs, agreement of scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from unweave.metrics import Score
from unweave.metrics.agreement import agreement
from unweave.plots.score_panels import possible, score_against, score_by_group
from unweave.plots.sweeps import Point, agreement_map, trade_off
from unweave.reports.charts import LivePoint
from unweave.reports.explanations import explanation_of
from unweave.reports.variants import Variant, finished_values, has_learned, page_order, score_text
from unweave.runs.sweep import Member


@dataclass(frozen=True)
class Panel:
    """A figure, and what its points tell.

    Example:
        >>> Panel(Figure(), []).points
        []
    """

    figure: Figure
    points: list[LivePoint]


Linked = Callable[[Member], str]
"""Where the page of a run is."""


def sweep_figures(
    variants: Sequence[Variant],
    scored: Mapping[str, Score],
    main: str | None,
    link: Linked = lambda _: "",
    *,
    joined: bool = True,
) -> dict[str, Panel]:
    """Figures by name, in the order of the page: a panel for each score, two trade-offs, the agreement of scores.

    Args:
        variants: of the sweep.
        scored: name -> a score that some variant has.
        main: name of the main score; None: nothing is scored.
        link: where the page of a run is.
        joined: whether variants form curves; those of a search do not, and have no trade-offs.

    Example:
        >>> pair = [Variant("a", (), {"mig": [0.1, 0.2]}, {}), Variant("b", (), {"mig": [0.3]}, {})]
        >>> list(sweep_figures(pair, {"mig": Score("mig", 0.1)}, "mig"))
        ['score-mig']
    """
    made: dict[str, Panel] = {}
    if main is None:
        return made
    swept, series = _series(variants)
    for name in dict.fromkeys([main, *page_order(scored)]):
        panel = _score_panel(variants, scored[name], swept, series, link, joined)
        if panel is not None:
            made[f"score-{_slug(name)}"] = panel
    pairs = [("kl", "nll", "rate-distortion")] if joined else []
    if joined and main not in ("nll", "elbo", "kl"):
        pairs.insert(0, ("nll", main, f"{_slug(main)}-against-reconstruction"))
    for x, y, name in pairs:
        points = _points(series, x, y) if {x, y} <= set(scored) else {}
        if points:
            made[name] = _trade_off(points, scored[x], scored[y], swept, variants, link)
    table = _complete_scores(variants, page_order(scored))
    if len(table) > 1 and len(next(iter(table.values()))) > 2:
        found = agreement(table, kind="spearman", resamples=1)
        labels = [explanation_of(name).label for name in table]
        made["agreement"] = Panel(agreement_map(labels, found.values), [])
    return made


def series_names(variants: Sequence[Variant]) -> list[str]:
    """The names of the lines of the score panels, in the order of their colours; none if there are no lines.

    Example:
        >>> pair = [Variant("a", (), {}, {"beta": 1}), Variant("b", (), {}, {"beta": 4})]
        >>> series_names(pair)
        ['']
    """
    swept, series = _series(variants)
    return list(series) if swept and _is_line(series) else []


def _is_line(series: Mapping[str, Sequence[tuple[str, Variant]]]) -> bool:
    """Whether every group of variants is a line along a number."""
    return all(label for members in series.values() for label, _ in members)


def _score_panel(
    variants: Sequence[Variant],
    score: Score,
    swept: str,
    series: Mapping[str, Sequence[tuple[str, Variant]]],
    link: Linked,
    joined: bool,
) -> Panel | None:
    name, title = score.name, _with_unit(score.name)
    told = [
        (v, m, finished_values(m)[name]) for v in variants for m in v.members if name in finished_values(m)
    ]
    told = [each for each in told if possible([each[2]], score.range)]
    groups = {v.name: v.values[name] for v in variants if possible(v.values.get(name, []), score.range)}
    if not groups:
        return None
    if swept and _is_line(series):
        lines = {
            line: [(float(label), v.values[name]) for label, v in members if v.values.get(name)]
            for line, members in series.items()
        }
        at = {v.name: float(label) for members in series.values() for label, v in members}
        figure = score_against(
            {line: points for line, points in lines.items() if points},
            x=swept,
            title=title,
            limits=score.range,
            joined=joined,
        )
        return Panel(
            figure, [LivePoint(at[v.name], y, _told(v, m, name, y), None, link(m)) for v, m, y in told]
        )
    rows = {group: row for row, group in enumerate(groups)}
    figure = score_by_group(groups, title=title, limits=score.range)
    return Panel(
        figure, [LivePoint(x, rows[v.name], _told(v, m, name, x), None, link(m)) for v, m, x in told]
    )


def _trade_off(
    points: Mapping[str, Sequence[Point]],
    x: Score,
    y: Score,
    swept: str,
    variants: Sequence[Variant],
    link: Linked,
) -> Panel:
    titles = {"nll": "reconstruction (NLL, nats)", "kl": "rate (KL, nats)"}
    figure = trade_off(
        points,
        x=titles[x.name],
        y="distortion (NLL, nats)" if y.name == "nll" else _with_unit(y.name),
        swept=swept,
        unit_interval=y.range == (0.0, 1.0),
        limits=(x.range, y.range),
    )
    told = []
    for variant in variants:
        for member in variant.members:
            values = finished_values(member)
            if {x.name, y.name} <= set(values) and possible([values[x.name]], x.range):
                label = f"{_told(variant, member, x.name, values[x.name])}, {_of(y.name, values[y.name])}"
                told.append(LivePoint(values[x.name], values[y.name], label, None, link(member)))
    return Panel(figure, told)


def _told(variant: Variant, member: Member, score: str, value: float) -> str:
    return f"{variant.name}, seed {member.run.config.seed}: {_of(score, value)}"


def _of(score: str, value: float) -> str:
    return f"{explanation_of(score).label} {score_text(score, value)}"


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
            groups.setdefault(name, []).append((_short(float(variant.settings[swept])), variant))
    return " or ".join(dict.fromkeys(swept_keys)), groups


def _short(value: float) -> str:
    """Three digits of a value, those before the point in full: 1000 is not 1e+03."""
    return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def _points(series: Mapping[str, Sequence[tuple[str, Variant]]], x: str, y: str) -> dict[str, list[Point]]:
    made = {}
    for name, members in series.items():
        points = []
        for label, variant in members:
            found = map(finished_values, variant.members)
            pairs = [(values[x], values[y]) for values in found if {x, y} <= set(values)]
            if pairs:
                points.append(Point(label, [a for a, _ in pairs], [b for _, b in pairs]))
        if points:
            made[name] = points
    return made


def _complete_scores(variants: Sequence[Variant], names: Sequence[str]) -> dict[str, list[float]]:
    """By score, the values of all runs that have learned and have every score; scores that never vary are omitted.

    Of a run that has collapsed only ELBO, NLL and KL mean something: with others they would rank chance.
    """
    members = [member for variant in variants for member in variant.members if has_learned(member)]
    found = [finished_values(member) for member in members]
    complete = [values for values in found if set(names) <= set(values)]
    columns = {name: [values[name] for values in complete] for name in names}
    return {name: column for name, column in columns.items() if len(set(column)) > 1}


def _with_unit(name: str) -> str:
    explanation = explanation_of(name)
    return f"{explanation.label} ({explanation.unit})" if explanation.unit else explanation.label


def _slug(name: str) -> str:
    return name.replace("_", "-")


def _setting_text(key: str, value: object) -> str:
    return str(value) if isinstance(value, str) and "." not in key else f"{key.split('.')[-1]}={value}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
