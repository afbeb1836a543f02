"""The sentences of a page. Each is derived from scores and claims nothing that the scores do not show."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unweave.metrics import Score
from unweave.reports.explanations import EXPLANATIONS, Explanation, explanation_of
from unweave.reports.health import Health

_ALWAYS_MEANT = ("elbo", "nll", "kl", "latents_used", "log_likelihood")
"""Scores that describe a model which has not learned as well as any other."""

CLEAR_DIFFERENCE = 0.1
"""Scores between 0 and 1 that differ by less than this are not reported as different."""

_GEOMETRY_PARTS = {
    "linear": Explanation("linear fit", "The same score if stretching and shearing are allowed as well."),
    "unfolded": Explanation("unfolded", "Share of grid cells that are not flipped: 1 means no folds."),
    "tilt": Explanation("tilt", "Angle between the plane and the latent axes; MIG depends on it.", "°"),
    "held_out": Explanation(
        "held-out region",
        "The fit on factor values held out from training; below 0 is worse than a constant.",
    ),
}


@dataclass(frozen=True)
class ScoreRow:
    """One row of a table of scores; ``cells`` holds (value, interval, is best) for each run.

    ``void`` says of which runs the number means nothing, because they have not learned.

    Example:
        >>> ScoreRow("MIG", "gap", (("0.200", "0.100 to 0.300", False),)).minor
        False
    """

    label: str
    sentence: str
    cells: tuple[tuple[str, str, bool], ...]
    minor: bool = False
    void: tuple[bool, ...] = ()


def score_rows(
    runs: Sequence[Mapping[str, Score]], healths: Sequence[Health] | None = None
) -> list[ScoreRow]:
    """The rows of a table of scores, one column per run; the best run is marked if the intervals do not overlap.

    A run that has diverged or collapsed is never the best one.

    Example:
        >>> table = score_rows([{"mig": Score("mig", 0.2, 0.1, 0.3)}, {"mig": Score("mig", 0.8, 0.7, 0.9)}])
        >>> table[0].label, table[0].cells
        ('MIG', (('0.200', '0.100 to 0.300', False), ('0.800', '0.700 to 0.900', True)))
    """
    able = [health.has_learned for health in healths] if healths else [True] * len(runs)
    names = list(dict.fromkeys(name for scores in runs for name in scores))
    names.sort(key=lambda name: list(EXPLANATIONS).index(name) if name in EXPLANATIONS else len(EXPLANATIONS))
    table = []
    for name in names:
        explanation = explanation_of(name)
        found = [scores.get(name) for scores in runs]
        best = _best([s if learned else None for s, learned in zip(found, able, strict=True)])
        sentence = explanation.sentence
        chance = next(
            (s.constants["chance"] for s in found if s is not None and "chance" in s.constants), None
        )
        if chance is not None:
            sentence += f" Random guessing scores {chance:.2f}."
        cells = tuple(
            ("", "", False) if s is None else (_number(s, explanation.unit), _interval(s), i == best)
            for i, s in enumerate(found)
        )
        void = tuple(not learned and name not in _ALWAYS_MEANT for learned in able)
        table.append(ScoreRow(explanation.label, sentence, cells, void=void))
        if name == "geometry":
            table += [dataclasses.replace(row, void=void) for row in _geometry_rows(found)]
    return table


def headline(
    scores: Mapping[str, Score], names: Sequence[str] | None, latents: int, health: Health | None = None
) -> str:
    """What the scores of a run show, in one or two sentences; if it has not learned, that alone.

    Example:
        >>> g = Score("geometry", 0.96, constants={"unfolded": 1.0, "tilt": 33.0})
        >>> print(headline({"geometry": g, "mig": Score("mig", 0.1)}, ("x", "y"), 10))
        Two latents hold a nearly Euclidean copy of x and y (geometry 0.96). MIG is low (0.10) although the shape is preserved: the copy is rotated by 33° relative to the latent axes.
    """  # noqa: E501
    if health is not None and not health.has_learned:
        return health.sentence
    sentences = []
    geometry, gap = scores.get("geometry"), scores.get("mig")
    if geometry is not None and names is not None:
        sentences.append(f"{shape_of(geometry, names)} (geometry {geometry.value:.2f}).")
    if gap is not None:
        sentences.append(_on_one_mig(gap, scores))
    used = scores.get("latents_used")
    if used is not None and len(sentences) < 2:
        sentences.append(f"The code uses {used.value:.1f} of {latents} latents.")
    cost = scores.get("nll")
    if cost is not None and len(sentences) < 2:
        sentences.append(f"Reconstructing an image costs {cost.value:.1f} nats.")
    return " ".join(sentences) or "This run has not been scored yet."


def _on_one_mig(gap: Score, scores: Mapping[str, Score]) -> str:
    """The MIG of one run, and why it is low if the shape is preserved nevertheless."""
    geometry = scores.get("geometry")
    if gap.value < 0.3 and geometry is not None and geometry.value >= 0.9:
        tilt = float(geometry.constants.get("tilt", 0.0))
        # Two latents that are rotated back would still share with the others.
        shared, low = _shared_latents(scores), f"MIG is low ({gap.value:.2f}) although the shape is preserved"
        if shared:
            return f"{low}: {shared}."
        if tilt >= 10:
            return f"{low}: the copy is rotated by {tilt:.0f}° relative to the latent axes."
    extent = "are" if gap.value >= 0.5 else "are partly" if gap.value >= 0.2 else "are not"
    return f"Factors {extent} encoded in latents of their own (MIG {gap.value:.2f})."


def shape_of(geometry: Score, names: Sequence[str]) -> str:
    """A description of the shape of the embedded grid.

    Example:
        >>> shape_of(Score("geometry", 0.3, constants={"unfolded": 0.6}), ("x", "y"))
        'Latent space folds the plane of x and y'
    """
    plane = f"{names[0]} and {names[1]}"
    unfolded = geometry.constants.get("unfolded")
    if geometry.value >= 0.9:
        return f"Two latents hold a nearly Euclidean copy of {plane}"
    if unfolded is not None and unfolded < 0.9:
        return f"Latent space folds the plane of {plane}"
    if geometry.value >= 0.6:
        return f"Two latents hold a distorted copy of {plane}"
    return f"No pair of latents holds a recognisable copy of {plane}"


@dataclass(frozen=True)
class ComparedRun:
    """What :func:`findings` reads of a run.

    ``rotated_mig`` is its MIG after the two latents of its grid are rotated onto the axes of the factors.

    Example:
        >>> ComparedRun("A", {}, steps=100).status
        'finished'
    """

    label: str
    scores: Mapping[str, Score]
    steps: int
    rotated_mig: float | None = None
    status: str = "finished"
    health: Health = Health("unknown", "")


def findings(runs: Sequence[ComparedRun]) -> list[str]:
    """What a comparison shows, as sentences: health, shape, folds, MIG, rotation, reconstructions, caveats.

    Runs that have diverged or collapsed are named as such and compared in their reconstructions alone.

    Example:
        >>> a = ComparedRun("A", {"geometry": Score("geometry", 0.95, constants={"unfolded": 1.0})}, 100)
        >>> b = ComparedRun("B", {"geometry": Score("geometry", 0.93, constants={"unfolded": 1.0})}, 100)
        >>> findings([a, b])
        ['The geometry scores do not distinguish the models: 0.95 (A) and 0.93 (B).']
    """
    able = [run for run in runs if run.health.has_learned]
    return [
        *_on_health(runs),
        *_on_geometry([run for run in able if "geometry" in run.scores]),
        *_on_mig([run for run in able if "mig" in run.scores]),
        *_on_reconstructions([run for run in runs if "nll" in run.scores]),
        *_caveats(runs),
    ]


def _on_health(runs: Sequence[ComparedRun]) -> list[str]:
    """What keeps runs from being compared, or their numbers from being final."""
    return [
        f"{run.label}: {run.health.sentence}" for run in runs if run.health.verdict not in ("fine", "unknown")
    ]


def _on_geometry(runs: Sequence[ComparedRun]) -> list[str]:
    if len(runs) < 2:
        return []
    best, worst = _extremes(runs, "geometry")
    high, low = best.scores["geometry"].value, worst.scores["geometry"].value
    sentences = []
    if high - low < CLEAR_DIFFERENCE:
        listed = _listed(runs, "geometry")
        sentences.append(f"The geometry scores do not distinguish the models: {listed}.")
    elif high >= 0.8:
        sentences.append(
            f"{best.label} preserves the shape of the data: its latent plane is close to a rotated copy of the factor "
            f"grid (geometry {high:.2f}, where 1 is a perfect copy). {worst.label} does not ({low:.2f})."
        )
    else:
        sentences.append(
            f"{best.label} comes closer to the shape of the data (geometry {high:.2f}) "
            f"than {worst.label} ({low:.2f})."
        )
    if high < 0.6:
        sentences.append("No model represents the plane well; longer training may change this.")
    for run in runs:
        unfolded = run.scores["geometry"].constants.get("unfolded")
        if unfolded is not None and unfolded < 0.9:
            sentences.append(
                f"{run.label} folds the plane: {1 - unfolded:.0%} of the grid cells are flipped or flat, so "
                f"different positions in the data can have the same two codes."
            )
    return sentences


def _on_mig(runs: Sequence[ComparedRun]) -> list[str]:
    if len(runs) < 2:
        return []
    best, worst = _extremes(runs, "mig")
    high, low = best.scores["mig"], worst.scores["mig"]
    listed = _listed(runs, "mig")
    sentences = []
    if high.value - low.value < CLEAR_DIFFERENCE or _overlap(high, low):
        sentences.append(f"MIG hardly distinguishes the models: {listed}.")
    else:
        sentences.append(f"MIG ranks {best.label} first: {listed}.")
    for run in runs:
        geometry, gap = run.scores.get("geometry"), run.scores["mig"].value
        tilt = float(geometry.constants.get("tilt", 0.0)) if geometry is not None else 0.0
        if geometry is None or geometry.value < 0.8 or gap >= 0.5:
            continue
        if tilt < 5 or run.rotated_mig is None or run.rotated_mig - gap < 0.05:
            if shared := _shared_latents(run.scores):
                sentences.append(f"The low MIG of {run.label} is not caused by the shape: {shared}.")
            continue
        sentences.append(
            f"MIG is sensitive to rotation: the plane of {run.label} is rotated by {tilt:.0f}° relative to the latent "
            f"axes. Rotating its two latents back by that angle, with nothing else changed, raises MIG from "
            f"{gap:.2f} to {run.rotated_mig:.2f}. The map of the data is the same; only its axes differ."
        )
    return sentences


def _on_reconstructions(runs: Sequence[ComparedRun]) -> list[str]:
    if len(runs) < 2:
        return []
    highest, lowest = _extremes(runs, "nll")
    listed = _listed(runs, "nll", digits=1)
    text = f"Reconstructing an image costs {listed} nats; lower is better."
    shaped = [run for run in runs if "geometry" in run.scores and run.health.has_learned]
    if len(shaped) == len(runs) and not _overlap(highest.scores["nll"], lowest.scores["nll"]):
        top, bottom = _extremes(shaped, "geometry")
        ahead = top.scores["geometry"].value - bottom.scores["geometry"].value
        if ahead >= CLEAR_DIFFERENCE and top is highest:
            text += f" {top.label} has the better geometry but the worse reconstructions."
        elif ahead >= CLEAR_DIFFERENCE and top is lowest:
            text += f" {top.label} has the better geometry and the better reconstructions."
    return [text]


def _caveats(runs: Sequence[ComparedRun]) -> list[str]:
    sentences = []
    if len({run.steps for run in runs}) > 1:
        steps = " and ".join(f"{run.steps:,} ({run.label})" for run in runs)
        sentences.append(f"The models were not trained for the same number of steps: {steps}.")
    sentences += [
        f"{run.label} is not finished ({run.status}): its numbers are from its last checkpoint."
        for run in runs
        if run.status != "finished"
    ]
    return sentences


def _shared_latents(scores: Mapping[str, Score]) -> str:
    """Why MIG is low if more latents are used than there are factors; empty otherwise."""
    gap, used = scores.get("mig"), scores.get("latents_used")
    table = gap.constants.get("mutual_information") if gap is not None else None
    if not table or used is None or len(table) < 2 or used.value < len(table[0]) + 0.5:
        return ""
    ranked = [sorted(column, reverse=True) for column in zip(*table, strict=True)]
    share = sum(column[1] / column[0] for column in ranked if column[0] > 0) / len(ranked)
    return (
        f"{used.value:.1f} latents encode {len(ranked)} factors, and the second-best latent of a factor holds "
        f"{share:.0%} as much information about it as the best, which MIG counts as entangled"
    )


def _extremes(runs: Sequence[ComparedRun], name: str) -> tuple[ComparedRun, ComparedRun]:
    ordered = sorted(runs, key=lambda run: run.scores[name].value)
    return ordered[-1], ordered[0]


def _listed(runs: Sequence[ComparedRun], name: str, digits: int = 2) -> str:
    parts = [f"{run.scores[name].value:.{digits}f} ({run.label})" for run in runs]
    return ", ".join(parts[:-1]) + " and " + parts[-1]


def _overlap(one: Score, two: Score) -> bool:
    if one.low is None or one.high is None or two.low is None or two.high is None:
        return False
    return one.low <= two.high and two.low <= one.high


def _best(found: Sequence[Score | None]) -> int | None:
    """The run that is best beyond its interval; None for one run, for ties and for scores that are not ranked (KL)."""
    present = [(i, s) for i, s in enumerate(found) if s is not None]
    if len(present) < 2 or present[0][1].name in ("kl", "latents_used"):
        return None
    sign = 1 if present[0][1].higher_is_better else -1
    present.sort(key=lambda pair: sign * pair[1].value)
    (_, second), (first, winner) = present[-2:]
    margin = CLEAR_DIFFERENCE if winner.range == (0.0, 1.0) else 0.0
    return first if abs(winner.value - second.value) > margin and not _overlap(winner, second) else None


def _geometry_rows(found: Sequence[Score | None]) -> list[ScoreRow]:
    table = []
    for key, explanation in _GEOMETRY_PARTS.items():
        values: list[float | None] = [None if s is None else s.constants.get(key) for s in found]
        if all(value is None for value in values):
            continue
        digits = 0 if key == "tilt" else 3
        texts = [
            "" if value is None else f"{value:.{digits}f}{explanation.unit}".replace("-", "−")
            for value in values
        ]
        cells = tuple((text, "", False) for text in texts)
        table.append(ScoreRow(explanation.label, explanation.sentence, cells, minor=True))
    return table


def _digits(score: Score) -> int:
    return 3 if score.range == (0.0, 1.0) else 2 if abs(score.value) < 100 else 1


def _number(score: Score, unit: str) -> str:
    return f"{score.value:.{_digits(score)}f}".replace("-", "−") + (f" {unit}" if unit else "")


def _interval(score: Score) -> str:
    if score.low is None or score.high is None:
        return ""
    return f"{score.low:.{_digits(score)}f} to {score.high:.{_digits(score)}f}".replace("-", "−")
