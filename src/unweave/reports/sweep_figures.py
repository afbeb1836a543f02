"""The figures of a sweep's page: trade-offs, rate and distortion, violins, agreement of scores."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from unweave.metrics import Score
from unweave.metrics.agreement import agreement
from unweave.plots.sweeps import Point, agreement_map, trade_off, violins
from unweave.reports.explanations import explanation_of
from unweave.reports.variants import Variant, finished_values, page_order


def sweep_figures(
    variants: Sequence[Variant], scored: Mapping[str, Score], main: str | None
) -> dict[str, Figure]:
    """Figures by name, in the order of the page.

    Args:
        variants: of the sweep.
        scored: name -> a score that some variant has.
        main: name of the main score; None: nothing is scored.

    Example:
        >>> pair = [Variant("a", (), {"mig": [0.1, 0.2]}, {}), Variant("b", (), {"mig": [0.3]}, {})]
        >>> list(sweep_figures(pair, {"mig": Score("mig", 0.1)}, "mig"))
        ['violins-mig']
    """
    made: dict[str, Figure] = {}
    if main is None:
        return made
    swept, series = _series(variants)
    unit_scores = [name for name in page_order(scored) if scored[name].range == (0.0, 1.0)]
    if "nll" in scored:
        for name in dict.fromkeys([*([main] if main not in ("nll", "elbo") else []), *unit_scores]):
            points = _points(series, "nll", name)
            if points:
                made[f"{_slug(name)}-against-reconstruction"] = trade_off(
                    points,
                    x="reconstruction (NLL, nats)",
                    y=explanation_of(name).label,
                    swept=swept,
                    unit_interval=scored[name].range == (0.0, 1.0),
                )
    if "nll" in scored and "kl" in scored:
        points = _points(series, "kl", "nll")
        if points:
            made["rate-distortion"] = trade_off(
                points, x="rate (KL, nats)", y="distortion (NLL, nats)", swept=swept
            )
    for name in dict.fromkeys([main, *page_order(scored)]):
        groups = {v.name: v.values[name] for v in variants if v.values.get(name)}
        if groups:
            made[f"violins-{_slug(name)}"] = violins(
                groups, y=_with_unit(name), unit_interval=scored[name].range == (0.0, 1.0)
            )
    table = _complete_scores(variants, page_order(scored))
    if len(table) > 1 and len(next(iter(table.values()))) > 2:
        found = agreement(table, kind="spearman", resamples=1)
        made["agreement"] = agreement_map([explanation_of(name).label for name in table], found.values)
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
            found = map(finished_values, variant.members)
            pairs = [(values[x], values[y]) for values in found if {x, y} <= set(values)]
            if pairs:
                points.append(Point(label, [a for a, _ in pairs], [b for _, b in pairs]))
        if points:
            made[name] = points
    return made


def _complete_scores(variants: Sequence[Variant], names: Sequence[str]) -> dict[str, list[float]]:
    """By score, the values of all runs that have every score; scores that never vary are omitted."""
    found = [finished_values(member) for variant in variants for member in variant.members]
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
