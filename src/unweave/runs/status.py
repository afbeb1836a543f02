"""What the files in the folder of a run say about its state: trained, scored, running, how it ended, how long it took.

The weights are the last thing that training writes, so a run is finished if and only if they exist.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unweave import atomic
from unweave.errors import UnweaveError
from unweave.runs import locks

WEIGHTS = "model.safetensors"
STATUS = "status.json"
SCORES = "scores.json"
CODES = "codes.npz"
SCORED = "scored.json"


def is_trained(folder: Path) -> bool:
    """Whether the run in ``folder`` is finished: its final weights exist.

    Example:
        >>> is_trained(Path("nowhere"))
        False
    """
    return (folder / WEIGHTS).exists()


def recorded_status(folder: Path) -> dict[str, Any]:
    """The content of ``status.json`` (status, step, reason, seconds); empty before training begins.

    Example:
        >>> recorded_status(Path("nowhere"))
        {}
    """
    return atomic.read_json(folder / STATUS, default={})


def last_status(folder: Path) -> str:
    """``finished`` if the weights exist, otherwise the status written last; its process may have died since.

    Example:
        >>> last_status(Path("nowhere"))
        'new'
    """
    return "finished" if is_trained(folder) else str(recorded_status(folder).get("status", "new"))


def present_status(folder: Path, last: str | None = None) -> str:
    """``new``, ``running``, ``finished``, ``interrupted``, ``diverged`` or ``failed``.

    Args:
        folder: of the run.
        last: its :func:`last_status`, if that is known already.

    Example:
        >>> present_status(Path("nowhere")), present_status(Path("nowhere"), last="running")
        ('new', 'interrupted')
    """
    last = last_status(folder) if last is None else last
    if last == "running" and not locks.is_locked(folder / locks.TRAINING):
        return "interrupted"
    return last


def is_scored(folder: Path) -> bool:
    """Whether there are scores of the final weights; scores of an earlier state do not count.

    Example:
        >>> is_scored(Path("nowhere"))
        False
    """
    scores, weights = folder / SCORES, folder / WEIGHTS
    if not (scores.exists() and weights.exists()):
        return False
    return scores.stat().st_mtime_ns >= weights.stat().st_mtime_ns


def scored_by(folder: Path) -> list[str]:
    """The metrics, beyond the usual ones, that the final weights were scored by.

    Example:
        >>> scored_by(Path("nowhere"))
        []
    """
    return list(readable(folder / SCORED).get("metrics", [])) if is_scored(folder) else []


def is_done(folder: Path, metrics: Sequence[str] = ()) -> bool:
    """Whether nothing is left to do for a run: it is trained and scored (also by ``metrics``), or it diverged.

    Example:
        >>> is_done(Path("nowhere"))
        False
    """
    if is_trained(folder):
        return is_scored(folder) and set(metrics) <= set(scored_by(folder))
    return is_diverged(folder)


def is_diverged(folder: Path) -> bool:
    """Whether training ended because the loss or the weights exploded.

    Example:
        >>> is_diverged(Path("nowhere"))
        False
    """
    return not is_trained(folder) and readable(folder / STATUS).get("status") == "diverged"


def seconds_taken(folder: Path) -> float:
    """Training time, plus the time from its end until the data were encoded.

    The files of scores do not count: they are written again whenever a metric is added.

    Example:
        >>> seconds_taken(Path("nowhere"))
        0.0
    """
    codes, weights = folder / CODES, folder / WEIGHTS
    both = codes.exists() and weights.exists()
    encoding = codes.stat().st_mtime - weights.stat().st_mtime if both else 0.0
    return float(recorded_status(folder).get("seconds", 0.0)) + max(0.0, encoding)


def readable(path: Path) -> dict[str, Any]:
    """The content of a JSON file; empty if it is missing or damaged.

    Example:
        >>> readable(Path("nowhere.json"))
        {}
    """
    try:
        return atomic.read_json(path, default={})
    except UnweaveError:
        return {}
