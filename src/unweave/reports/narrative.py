"""The sentences of a page. Every one of them follows from numbers, and says nothing the numbers do not show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unweave.metrics import Score
from unweave.metrics.registry import label_of, sentence_of


@dataclass(frozen=True)
class Explanation:
    """How a score is called on the page, what it says in one sentence, and the unit of its numbers.

    Example:
        >>> EXPLANATIONS["nll"].label
        'NLL'
    """

    label: str
    sentence: str
    unit: str = ""


EXPLANATIONS = {
    "elbo": Explanation(
        "ELBO",
        "Lower bound on the log-probability of an image: minus NLL, minus KL. Higher is better.",
        "nats",
    ),
    "nll": Explanation(
        "NLL", "Cost of rebuilding an image from its code. Lower is a better picture.", "nats"
    ),
    "kl": Explanation("KL", "Information the code carries beyond the prior, over all latents.", "nats"),
    "latents_used": Explanation(
        "latents used", "Latents whose posterior deviation is below 0.5 for an image."
    ),
    "mig": Explanation(
        "MIG",
        "Mutual information gap: 1 if each factor sits in one latent of its own. It punishes a mere rotation of "
        "latent space and overlooks folds along its axes.",
    ),
    "factor_vae_score": Explanation(
        "FactorVAE score",
        "How often the fixed factor is guessed from the latent that varies least.",
    ),
    "geometry": Explanation(
        "geometry",
        "How close a grid of two factors stays to a rotated, scaled copy of itself in latent space: 1 is a "
        "perfect copy, 0 no relation. Rotation does not matter.",
    ),
}

CLEAR = 0.1
"""Scores between 0 and 1 that differ by less are not called different."""

_PARTS = {
    "linear": Explanation("linear fit", "The same if stretching and shearing are allowed too."),
    "unfolded": Explanation("unfolded", "Share of grid cells that are not flipped over: 1 means no folds."),
    "tilt": Explanation("tilt", "Angle between the plane and the latent axes; MIG minds it.", "°"),
    "held_out": Explanation(
        "held-out region", "The fit on factors that training never saw; below 0 is worse than a constant."
    ),
}


@dataclass(frozen=True)
class Row:
    """One line of a table of scores; ``cells`` holds (value, interval, is best) for each run.

    Example:
        >>> Row("MIG", "gap", (("0.200", "0.100 to 0.300", False),)).minor
        False
    """

    label: str
    sentence: str
    cells: tuple[tuple[str, str, bool], ...]
    minor: bool = False


def rows(runs: Sequence[Mapping[str, Score]]) -> list[Row]:
    """The lines of a table of scores, one column per run; the best is marked where intervals are apart.

    Example:
        >>> table = rows([{"mig": Score("mig", 0.2, 0.1, 0.3)}, {"mig": Score("mig", 0.8, 0.7, 0.9)}])
        >>> table[0].label, table[0].cells
        ('MIG', (('0.200', '0.100 to 0.300', False), ('0.800', '0.700 to 0.900', True)))
    """
    names = list(dict.fromkeys(name for scores in runs for name in scores))
    names.sort(key=lambda name: list(EXPLANATIONS).index(name) if name in EXPLANATIONS else len(EXPLANATIONS))
    table = []
    for name in names:
        explained = EXPLANATIONS.get(name, Explanation(label_of(name), sentence_of(name)))
        found = [scores.get(name) for scores in runs]
        best = _best(found)
        sentence = explained.sentence
        chance = next(
            (s.constants["chance"] for s in found if s is not None and "chance" in s.constants), None
        )
        if chance is not None:
            sentence += f" Guessing blindly gets {chance:.2f}."
        cells = tuple(
            ("", "", False) if s is None else (_number(s, explained.unit), _interval(s), i == best)
            for i, s in enumerate(found)
        )
        table.append(Row(explained.label, sentence, cells))
        if name == "geometry":
            table += _geometry_rows(found)
    return table


def verdict(scores: Mapping[str, Score], names: Sequence[str] | None, latents: int) -> str:
    """What the scores of a run say, in a sentence or two.

    Example:
        >>> g = Score("geometry", 0.96, constants={"unfolded": 1.0, "tilt": 33.0})
        >>> print(verdict({"geometry": g, "mig": Score("mig", 0.1)}, ("x", "y"), 10))
        Two latents hold a nearly Euclidean copy of x and y (geometry 0.96). MIG is low (0.10) although the shape is right: the copy is turned by 33° against the latent axes.
    """  # noqa: E501
    said = []
    geometry, gap = scores.get("geometry"), scores.get("mig")
    if geometry is not None and names is not None:
        said.append(f"{shape_of(geometry, names)} (geometry {geometry.value:.2f}).")
    if gap is not None:
        tilt = float(geometry.constants.get("tilt", 0.0)) if geometry is not None else 0.0
        if gap.value < 0.3 and geometry is not None and geometry.value >= 0.9 and tilt >= 10:
            said.append(
                f"MIG is low ({gap.value:.2f}) although the shape is right: "
                f"the copy is turned by {tilt:.0f}° against the latent axes."
            )
        elif (
            gap.value < 0.3 and geometry is not None and geometry.value >= 0.9 and (spread := _spread(scores))
        ):
            said.append(f"MIG is low ({gap.value:.2f}): {spread}.")
        else:
            grade = "have" if gap.value >= 0.5 else "partly have" if gap.value >= 0.2 else "do not have"
            said.append(f"Factors {grade} latents of their own (MIG {gap.value:.2f}).")
    used = scores.get("latents_used")
    if used is not None and len(said) < 2:
        said.append(f"The code uses {used.value:.1f} of {latents} latents.")
    cost = scores.get("nll")
    if cost is not None and len(said) < 2:
        said.append(f"Rebuilding an image costs {cost.value:.1f} nats.")
    return " ".join(said) or "This run has not been scored yet."


def shape_of(geometry: Score, names: Sequence[str]) -> str:
    """The shape of the embedded grid in words.

    Example:
        >>> shape_of(Score("geometry", 0.3, constants={"unfolded": 0.6}), ("x", "y"))
        'Latent space folds the plane of x and y over itself'
    """
    plane = f"{names[0]} and {names[1]}"
    unfolded = geometry.constants.get("unfolded")
    if geometry.value >= 0.9:
        return f"Two latents hold a nearly Euclidean copy of {plane}"
    if unfolded is not None and unfolded < 0.9:
        return f"Latent space folds the plane of {plane} over itself"
    if geometry.value >= 0.6:
        return f"Two latents hold a distorted copy of {plane}"
    return f"No two single latents hold a recognisable copy of {plane}"


@dataclass(frozen=True)
class Subject:
    """A run as the findings see it; ``turned`` is its MIG with the two latents turned back onto the factors.

    Example:
        >>> Subject("A", {}, steps=100).status
        'finished'
    """

    label: str
    scores: Mapping[str, Score]
    steps: int
    turned: float | None = None
    status: str = "finished"


def findings(subjects: Sequence[Subject]) -> list[str]:
    """What a comparison shows, as sentences: shape, folds, MIG, rotation, picture quality, caveats.

    Example:
        >>> a = Subject("A", {"geometry": Score("geometry", 0.95, constants={"unfolded": 1.0})}, 100)
        >>> b = Subject("B", {"geometry": Score("geometry", 0.93, constants={"unfolded": 1.0})}, 100)
        >>> findings([a, b])
        ['By shape the models cannot be told apart: their geometry scores are 0.95 (A) and 0.93 (B).']
    """
    return [
        *_on_geometry([s for s in subjects if "geometry" in s.scores]),
        *_on_mig([s for s in subjects if "mig" in s.scores]),
        *_on_pictures([s for s in subjects if "nll" in s.scores]),
        *_caveats(subjects),
    ]


def _on_geometry(subjects: Sequence[Subject]) -> list[str]:
    if len(subjects) < 2:
        return []
    best, worst = _extremes(subjects, "geometry")
    high, low = best.scores["geometry"].value, worst.scores["geometry"].value
    said = []
    if high - low < CLEAR:
        listed = _listed(subjects, "geometry")
        said.append(f"By shape the models cannot be told apart: their geometry scores are {listed}.")
    elif high >= 0.8:
        said.append(
            f"{best.label} keeps the shape of the data: its latent plane is close to a rotated copy of the factor "
            f"grid (geometry {high:.2f}, where 1 is a perfect copy). {worst.label} does not get there ({low:.2f})."
        )
    else:
        said.append(
            f"{best.label} comes closer to the shape of the data (geometry {high:.2f}) "
            f"than {worst.label} ({low:.2f})."
        )
    if high < 0.6:
        said.append("No model here lays the plane out well; longer training may change the picture.")
    for subject in subjects:
        unfolded = subject.scores["geometry"].constants.get("unfolded")
        if unfolded is not None and unfolded < 0.9:
            said.append(
                f"{subject.label} folds the plane: {1 - unfolded:.0%} of the grid cells are flipped over or flat, so "
                f"places that differ in the data can get the same two codes."
            )
    return said


def _on_mig(subjects: Sequence[Subject]) -> list[str]:
    if len(subjects) < 2:
        return []
    best, worst = _extremes(subjects, "mig")
    high, low = best.scores["mig"], worst.scores["mig"]
    listed = _listed(subjects, "mig")
    said = []
    if high.value - low.value < CLEAR or _overlap(high, low):
        said.append(f"MIG hardly tells them apart: {listed}.")
    else:
        said.append(f"MIG ranks {best.label} first: {listed}.")
    for subject in subjects:
        geometry, gap = subject.scores.get("geometry"), subject.scores["mig"].value
        tilt = float(geometry.constants.get("tilt", 0.0)) if geometry is not None else 0.0
        if geometry is None or geometry.value < 0.8 or gap >= 0.5:
            continue
        if tilt < 5 or subject.turned is None or subject.turned - gap < 0.05:
            if spread := _spread(subject.scores):
                said.append(f"The low MIG of {subject.label} is no matter of shape: {spread}.")
            continue
        said.append(
            f"MIG cannot see through a rotation, and {subject.label} shows it: its plane is turned by {tilt:.0f}° "
            f"against the latent axes. Turn its two latents back by that angle, change nothing else, and MIG goes from "
            f"{gap:.2f} to {subject.turned:.2f}. The map of the data is the same; only its axes differ from ours."
        )
    return said


def _on_pictures(subjects: Sequence[Subject]) -> list[str]:
    if len(subjects) < 2:
        return []
    dearest, cheapest = _extremes(subjects, "nll")
    listed = _listed(subjects, "nll", digits=1)
    text = f"Rebuilding an image costs {listed} nats; less is better."
    shaped = [s for s in subjects if "geometry" in s.scores]
    if len(shaped) == len(subjects) and not _overlap(dearest.scores["nll"], cheapest.scores["nll"]):
        top, bottom = _extremes(shaped, "geometry")
        ahead = top.scores["geometry"].value - bottom.scores["geometry"].value
        if ahead >= CLEAR and top is dearest:
            text += f" {top.label} has the better geometry but the worse pictures: sharper is not tidier."
        elif ahead >= CLEAR and top is cheapest:
            text += f" {top.label} has the better geometry and the better pictures."
    return [text]


def _caveats(subjects: Sequence[Subject]) -> list[str]:
    said = []
    if len({s.steps for s in subjects}) > 1:
        steps = " and ".join(f"{s.steps:,} ({s.label})" for s in subjects)
        said.append(f"The models were not trained for the same number of steps: {steps}.")
    said += [
        f"{s.label} is not finished ({s.status}): its numbers are those of its last good state."
        for s in subjects
        if s.status != "finished"
    ]
    return said


def _spread(scores: Mapping[str, Score]) -> str:
    """Told if more latents are in use than there are factors: MIG then finds a second one that knows as much."""
    gap, used = scores.get("mig"), scores.get("latents_used")
    table = gap.constants.get("mutual_information") if gap is not None else None
    if not table or used is None or len(table) < 2 or used.value < len(table[0]) + 0.5:
        return ""
    ranked = [sorted(column, reverse=True) for column in zip(*table, strict=True)]
    share = sum(column[1] / column[0] for column in ranked if column[0] > 0) / len(ranked)
    return (
        f"{used.value:.1f} latents share what {len(ranked)} factors need, and the second-best latent of a factor knows "
        f"{share:.0%} as much of it as the best, which MIG counts as entangled"
    )


def _extremes(subjects: Sequence[Subject], name: str) -> tuple[Subject, Subject]:
    ordered = sorted(subjects, key=lambda s: s.scores[name].value)
    return ordered[-1], ordered[0]


def _listed(subjects: Sequence[Subject], name: str, digits: int = 2) -> str:
    parts = [f"{s.scores[name].value:.{digits}f} ({s.label})" for s in subjects]
    return ", ".join(parts[:-1]) + " and " + parts[-1]


def _overlap(one: Score, two: Score) -> bool:
    if one.low is None or one.high is None or two.low is None or two.high is None:
        return False
    return one.low <= two.high and two.low <= one.high


def _best(found: Sequence[Score | None]) -> int | None:
    """The run that is best beyond its interval; None for one run, for ties and for what is no contest (KL)."""
    present = [(i, s) for i, s in enumerate(found) if s is not None]
    if len(present) < 2 or present[0][1].name in ("kl", "latents_used"):
        return None
    sign = 1 if present[0][1].higher_is_better else -1
    present.sort(key=lambda pair: sign * pair[1].value)
    (_, second), (first, winner) = present[-2:]
    clear = CLEAR if winner.range == (0.0, 1.0) else 0.0
    return first if abs(winner.value - second.value) > clear and not _overlap(winner, second) else None


def _geometry_rows(found: Sequence[Score | None]) -> list[Row]:
    table = []
    for key, explained in _PARTS.items():
        values: list[Any] = [None if s is None else s.constants.get(key) for s in found]
        if all(value is None for value in values):
            continue
        digits = 0 if key == "tilt" else 3
        texts = [
            "" if value is None else f"{value:.{digits}f}{explained.unit}".replace("-", "−")
            for value in values
        ]
        cells = tuple((text, "", False) for text in texts)
        table.append(Row(explained.label, explained.sentence, cells, minor=True))
    return table


def _digits(score: Score) -> int:
    return 3 if score.range == (0.0, 1.0) else 2 if abs(score.value) < 100 else 1


def _number(score: Score, unit: str) -> str:
    return f"{score.value:.{_digits(score)}f}".replace("-", "−") + (f" {unit}" if unit else "")


def _interval(score: Score) -> str:
    if score.low is None or score.high is None:
        return ""
    return f"{score.low:.{_digits(score)}f} to {score.high:.{_digits(score)}f}".replace("-", "−")
