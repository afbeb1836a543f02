"""What the files in the folder of a run say about its state: trained, scored, running, how it ended, how long it took.

The weights are the last result that training writes, so a run is finished if and only if they exist as a whole.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unweave import artefacts
from unweave.errors import UnweaveError
from unweave.runs import history, locks

WEIGHTS = "model.safetensors"
STATUS = "status.json"
SCORES = "scores.json"
CODES = "codes.npz"
SCORED = "scored.json"


def is_trained(folder: Path) -> bool:
    """Whether the run in ``folder`` is finished: its final weights exist, and no part of the file is missing.

    Example:
        >>> is_trained(Path("nowhere"))
        False
    """
    return weights_problem(folder / WEIGHTS) is None


def weights_problem(path: Path) -> str | None:
    """What is wrong with the structure of a file of weights, by its header and its size; ``None`` if nothing is.

    Example:
        >>> weights_problem(Path("nowhere.safetensors"))
        'there is no such file'
    """
    try:
        if not path.is_file():
            return "it is not a file" if os.path.lexists(path) else "there is no such file"
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or not 2 <= length <= size - 8:
                return f"it ends after {size:,} bytes or is no file of weights"
            header = json.loads(file.read(length))
        ends = [value["data_offsets"][1] for key, value in header.items() if key != "__metadata__"]
    except PermissionError:
        return None  # it is there; whoever reads it is told
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        return f"its header is damaged ({type(error).__name__})"
    whole = 8 + length + max(ends, default=0)
    return None if size == whole else f"it has {size:,} bytes instead of {whole:,}"


def recorded_status(folder: Path) -> dict[str, Any]:
    """The content of ``status.json`` (status, step, reason, seconds); empty before training begins.

    Example:
        >>> recorded_status(Path("nowhere"))
        {}
    """
    return artefacts.read_json(folder / STATUS, default={})


def write_status(folder: Path, name: str, step: int, reason: str | None, seconds: float) -> None:
    """Record the status of a run.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> write_status(folder, "interrupted", 3, "stopped by the user", 1.5)
        >>> last_status(folder)
        'interrupted'
    """
    content = {"status": name, "step": step, "reason": reason, "seconds": round(seconds, 3)}
    # That a run is running need not survive a loss of power.
    artefacts.write_json(folder / STATUS, content, sync=name != "running")


def last_status(folder: Path) -> str:
    """``finished`` if the weights exist, otherwise the status written last; its process may have died since.

    A damaged status counts as ``running``: whether its process lives tells the lock.

    Example:
        >>> last_status(Path("nowhere"))
        'new'
    """
    if is_trained(folder):
        return "finished"
    found = str(readable(folder / STATUS).get("status", "new"))
    if found in ("finished", "new") and os.path.lexists(folder / STATUS):
        return "running"
    return found


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
    if not (scores.is_file() and is_trained(folder) and readable(scores)):
        return False
    return scores.stat().st_mtime_ns >= weights.stat().st_mtime_ns


def scored_by(folder: Path) -> list[str]:
    """The metrics, beyond the usual ones, that the final weights were scored by.

    Example:
        >>> scored_by(Path("nowhere"))
        []
    """
    metrics = readable(folder / SCORED).get("metrics", []) if is_scored(folder) else []
    return list(map(str, metrics)) if isinstance(metrics, list) else []


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
    return training_seconds(folder) + max(0.0, encoding)


def training_seconds(folder: Path) -> float:
    """Training time so far, over all sessions: by the status, or by the history if that was killed before it.

    Example:
        >>> training_seconds(Path("nowhere"))
        0.0
    """
    recorded = history.seconds_of(readable(folder / STATUS))
    return max(recorded, history.seconds_of(history.last_record(folder / history.FILE)))


def readable(path: Path) -> dict[str, Any]:
    """The content of a JSON file; empty if it is missing or damaged.

    Example:
        >>> readable(Path("nowhere.json"))
        {}
    """
    try:
        return artefacts.read_json(path, default={})
    except UnweaveError:
        return {}
