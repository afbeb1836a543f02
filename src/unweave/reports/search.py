"""What a search found, for its page: the trials, the best so far, and the target against each searched value."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unweave import artefacts
from unweave.errors import UnweaveError
from unweave.plots.score_panels import score_against, score_by_group, search_history
from unweave.reports.charts import LivePoint
from unweave.reports.explanations import explanation_of
from unweave.reports.sweep_figures import Linked, Panel
from unweave.reports.variants import finished_values, score_text
from unweave.runs.sweep import Member, Sweep
from unweave.runs.tune import TRIALS, Trial, udr_of


@dataclass(frozen=True)
class Found:
    """The trials of a search and its target.

    Example:
        >>> found = Found("mig", True, {"objective.beta": {"low": 1, "high": 9}}, (Trial(0, {"objective.beta": 4.0}, 0.3),))
        >>> found.best.label
        '0: beta=4'
    """  # noqa: E501

    target: str
    higher: bool
    space: Mapping[str, Any]
    trials: tuple[Trial, ...]

    @property
    def label(self) -> str:
        """What the target is called."""
        return "UDR" if self.target == "udr" else explanation_of(self.target).label

    @property
    def ranked(self) -> list[tuple[Trial, float]]:
        """Trials with a value, the best first."""
        good = [(trial, trial.value) for trial in self.trials if trial.value is not None]
        return sorted(good, key=lambda pair: pair[1], reverse=self.higher)

    @property
    def best(self) -> Trial | None:
        """The best trial; none if none has a value."""
        return self.ranked[0][0] if self.ranked else None


def found_of(sweep: Sweep) -> Found | None:
    """What the search of a folder found; none if the folder is that of a plain sweep.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Study
        >>> found_of(Sweep.create(Study.of({"base": {"data": "circles"}}, name="s"), tempfile.mkdtemp())) is None
        True
    """
    space = sweep.manifest.get("search")
    path = sweep.folder / TRIALS
    if not space or not path.exists():
        return None
    stored = artefacts.read_json(path)
    with artefacts.structure_of(path, KeyError, AttributeError, TypeError):
        settings = [dict(trial) for trial in stored["trials"]]
        results = [(each["value"], str(each["reason"])) for each in stored.get("results", [])]
    members = sweep.variants
    trials = []
    for number, values in enumerate(settings):
        planned = Trial(number, values)
        if number < len(results) and results[number][0] is not None:
            trials.append(Trial(number, values, float(results[number][0])))
        else:
            reason = results[number][1] if number < len(results) else ""
            trials.append(_computed(planned, members.get(planned.label, []), sweep.target, reason))
    scores = [m.run.scores[sweep.target] for m in sweep.members if sweep.target in m.run.scores]
    higher = bool(scores[0].get("higher_is_better", True)) if scores else True
    return Found(sweep.target, higher, dict(space), tuple(trials))


def _computed(trial: Trial, members: Sequence[Member], target: str, reason: str) -> Trial:
    """A trial whose result was not stored, as of a search that was stopped."""
    ended = [member.run for member in members if member.run.status == "finished"]
    if not ended or len(ended) < len(members):
        return Trial(trial.number, trial.settings, None, reason or "not finished")
    if target == "udr":
        try:
            return Trial(trial.number, trial.settings, udr_of(ended).value)
        except UnweaveError as error:
            return Trial(trial.number, trial.settings, None, str(error))
    values = [finished_values(member).get(target) for member in members]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return Trial(trial.number, trial.settings, None, f"not scored by {target}")
    return Trial(trial.number, trial.settings, float(np.mean(known)))


def search_question(found: Found) -> str:
    """What a search asked.

    Example:
        >>> search_question(Found("udr", True, {"objective.beta": {"low": 1, "high": 9, "log": True}, "decoder": ["A", "B"]}, ()))
        'Which beta (1 to 9, logarithmic) and decoder (A or B) give the highest UDR?'
    """  # noqa: E501
    parts = [f"{key.split('.')[-1]} ({_space_text(space)})" for key, space in found.space.items()]
    verb = "gives" if len(parts) == 1 else "give"
    return f"Which {' and '.join(parts)} {verb} the {'highest' if found.higher else 'lowest'} {found.label}?"


def search_answers(found: Found, collapsed: Collection[str] = ()) -> list[str]:
    """What a search answers: the best trial, how far ahead it is, and whether later trials still improved on it.

    Args:
        found: the trials.
        collapsed: labels of trials most of whose runs have learned nothing.

    Example:
        >>> trials = [Trial(k, {"objective.beta": b}, v) for k, (b, v) in enumerate([(1.0, 0.1), (4.0, 0.3), (9.0, 0.2)])]
        >>> for line in search_answers(Found("mig", True, {}, tuple(trials))):
        ...     print(line)
        Best of 3 trials: beta=4, with MIG 0.300; next is beta=9 with 0.200.
        It was found in trial 1; the 1 trial after it did not improve on it.
    """  # noqa: E501
    ranked = found.ranked
    if not ranked:
        return [f"No trial has a value of {found.label} yet."]
    (best, value), rest = ranked[0], ranked[1:]
    text = f"Best of {len(ranked)} trials: {_settings(best)}, with {found.label} {_number(found, value)}"
    lines = [
        f"{text}; next is {_settings(rest[0][0])} with {_number(found, rest[0][1])}." if rest else f"{text}."
    ]
    after = sum(
        trial.number > best.number for trial, _ in rest
    )  # those without a value did not fail to improve
    lines.append(
        f"It was found in trial {best.number}; the {after} {'trial' if after == 1 else 'trials'} after it did not "
        f"improve on it."
        if after
        else f"It was found in trial {best.number}, the last: more trials may find better."
    )
    if best.label in collapsed:
        lines.insert(1, "But most of its runs have collapsed: their codes say nothing about the images.")
    lost = sum(trial.value is None for trial in found.trials)
    if lost:
        lines.append(f"{lost} {'trial has' if lost == 1 else 'trials have'} no value; the table says why.")
    if found.target == "udr":
        lines.append("UDR is the agreement of the latents of different seeds; it needs no labels.")
    return lines


def search_panels(found: Found, members: Mapping[str, Sequence[Member]], link: Linked) -> dict[str, Panel]:
    """The history of a search, and the target against each searched value.

    Example:
        >>> trials = (Trial(0, {"objective.beta": 4.0}, 0.3), Trial(1, {"objective.beta": 1.0}, 0.1))
        >>> list(search_panels(Found("mig", True, {"objective.beta": {"low": 1, "high": 9}}, trials), {}, lambda _: ""))
        ['search-history', 'mig-against-beta']
    """
    links = {name: link(each[0]) for name, each in members.items() if each}
    good = [(trial, trial.value) for trial in found.trials if trial.value is not None]
    if not good:
        return {}
    told = {t.number: f"{t.label}: {found.label} {_number(found, v)}" for t, v in good}
    figure = search_history([t.value for t in found.trials], target=found.label, higher=found.higher)
    points = [LivePoint(t.number, v, told[t.number], None, links.get(t.label, "")) for t, v in good]
    made = {"search-history": Panel(figure, points)}
    for key, space in found.space.items():
        short = key.split(".")[-1]
        title = f"{found.label} against {short}"
        if isinstance(space, Mapping):
            lines = {"": sorted((float(t.settings[key]), [v]) for t, v in good)}
            figure = score_against(lines, x=short, title=title, joined=False)
            place = {t.number: (float(t.settings[key]), v) for t, v in good}
        else:
            groups: dict[str, list[float]] = {_choice(value): [] for value in space}
            for t, v in good:
                groups[_choice(t.settings[key])].append(v)
            figure = score_by_group(groups, title=title, means=False)
            rows = list(groups)
            place = {t.number: (v, rows.index(_choice(t.settings[key]))) for t, v in good}
        points = [LivePoint(*place[t.number], told[t.number], None, links.get(t.label, "")) for t, _ in good]
        made[f"{found.target.replace('_', '-')}-against-{short.replace('_', '-')}"] = Panel(figure, points)
    return made


def _choice(value: Any) -> str:
    return str(value.get("name", value)) if isinstance(value, Mapping) else str(value)


def _settings(trial: Trial) -> str:
    return trial.label.partition(": ")[2]


def _number(found: Found, value: float) -> str:
    return f"{value:.3f}" if found.target == "udr" else score_text(found.target, value)


def _space_text(space: Any) -> str:
    if isinstance(space, Mapping):
        return f"{space['low']:g} to {space['high']:g}{', logarithmic' if space.get('log') else ''}"
    return " or ".join(_choice(value) for value in space)
