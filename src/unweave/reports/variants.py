"""The variants of a sweep and the values of their scores, as its page shows them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unweave.metrics import Score
from unweave.metrics.statistics import mean_interval
from unweave.reports.explanations import EXPLANATIONS
from unweave.reports.health import Evidence, judge
from unweave.runs.sweep import Member, Sweep

_DEFAULT_SCORES = ("mig", "geometry", "factor_vae_score", "elbo")
"""The main score of a sweep without a target: the first of these that its runs have."""


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

    @property
    def has_learned(self) -> bool:
        """Whether half of its finished runs or more have learned anything; what has not is best at nothing."""
        ended = [member for member in self.members if member.run.status == "finished"]
        return not ended or 2 * sum(map(has_learned, ended)) >= len(ended)

    def mean_text(self, score: str) -> str:
        """The mean of a score as the table shows it; empty if no run has the score."""
        return score_text(score, mean_interval(self.values[score]).mean) if self.values.get(score) else ""


def variants_of(sweep: Sweep) -> list[Variant]:
    """The variants of a sweep with the scores of their finished runs.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Study
        >>> study = Study.of({"base": {"data": "circles"}, "grid": {"objective.beta": [1, 4]}}, name="tiny")
        >>> [variant.name for variant in variants_of(Sweep.create(study, tempfile.mkdtemp()))]
        ['beta=1', 'beta=4']
    """
    return [_variant(name, members) for name, members in sweep.variants.items()]


def _variant(name: str, members: Sequence[Member]) -> Variant:
    values: dict[str, list[float]] = {}
    for member in members:
        for score, value in finished_values(member).items():
            values.setdefault(score, []).append(value)
    return Variant(name, tuple(members), values, members[0].settings)


def finished_values(member: Member) -> dict[str, float]:
    """The scores of a finished run that have a value; of another run, none.

    Example:
        >>> from types import SimpleNamespace as N
        >>> finished_values(N(run=N(status="finished", scores={"mig": {"value": 0.3}, "dci": {"value": None}})))
        {'mig': 0.3}
    """
    scores = member.run.scores if member.run.status == "finished" else {}
    return {name: float(entry["value"]) for name, entry in scores.items() if entry.get("value") is not None}


def has_learned(member: Member) -> bool:
    """Whether a run has neither diverged nor collapsed, by its KL and the number of latents that it uses.

    Example:
        >>> from types import SimpleNamespace as N
        >>> scores = {"kl": {"value": 0.02}, "latents_used": {"value": 0.0}}
        >>> has_learned(N(run=N(status="finished", scores=scores)))
        False
    """
    scores = member.run.scores
    kl, used = (scores.get(name, {}).get("value") for name in ("kl", "latents_used"))
    return judge(Evidence(member.run.status, kl, used)).has_learned


def variant_scores(variants: Sequence[Variant]) -> dict[str, Score]:
    """Every score that some finished run has, taken from the first run that has it.

    Example:
        >>> variant_scores([Variant("base", (), {}, {})])
        {}
    """
    found: dict[str, Score] = {}
    for variant in variants:
        for member in variant.members:
            for name, entry in member.run.scores.items():
                if name not in found:
                    found[name] = Score.from_json({"name": name, **entry})
    return {name: score for name, score in found.items() if any(v.values.get(name) for v in variants)}


def main_score(target: str, scored: Mapping[str, Score]) -> str | None:
    """The score that a sweep's page is about: its target, else the first of a few that its runs have.

    Example:
        >>> main_score("", {"elbo": Score("elbo", -9.0), "mig": Score("mig", 0.2)})
        'mig'
    """
    return next((name for name in (target, *_DEFAULT_SCORES, *scored) if name in scored), None)


def page_order(scored: Mapping[str, Score]) -> list[str]:
    """The names of scores in the order in which pages show them.

    Example:
        >>> page_order({"dci": Score("dci", 0.1), "mig": Score("mig", 0.2), "elbo": Score("elbo", -9.0)})
        ['elbo', 'mig', 'dci']
    """
    known = list(EXPLANATIONS)
    return sorted(scored, key=lambda name: known.index(name) if name in known else len(known))


def score_text(name: str, value: float, beside: float | None = None) -> str:
    """A value of a score as text, with as many digits as ``beside``, the value it stands next to.

    Example:
        >>> score_text("mig", 0.25), score_text("nll", 123.456), score_text("elbo", -2.0)
        ('0.250', '123.5', '−2.00')
    """
    if not math.isfinite(value):
        return "not finite"
    unit = EXPLANATIONS[name].unit if name in EXPLANATIONS else ""
    size = abs(value if beside is None else beside)
    digits = 1 if unit == "nats" and size >= 100 else 2 if unit == "nats" or size > 2 else 3
    return f"{value:.{digits}f}".replace("-", "−")
