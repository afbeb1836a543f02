"""Runs as lines of a table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unweave.errors import UnweaveError
from unweave.runs.run_index import RunEntry, read_facts
from unweave.runs.worker import LOG

COLUMNS = ("status", "data", "objective", "decoder", "seed", "step", "elbo", "mig", "factor_vae_score")


def listing(entries: Sequence[RunEntry], root: Path, columns: Sequence[str] | None = None) -> list[list[str]]:
    """A header and a line for each run: its folder and some of its keys (by default those that any run has).

    Example:
        >>> listing([RunEntry(Path("runs/a"), {"seed": 3, "mig": 0.51234})], Path("runs"), ["seed", "mig"])
        [['run', 'seed', 'mig'], ['a', '3', '0.5123']]
    """
    if columns is None:
        columns = [key for key in COLUMNS if any(entry[key] is not None for entry in entries)]
    lines = [["run", *columns]]
    for entry in entries:
        place = entry.folder.relative_to(root) if entry.folder.is_relative_to(root) else entry.folder
        lines.append([str(place), *(_text(entry[key]) for key in columns)])
    return lines


def differences(folders: Sequence[Path]) -> list[list[str]]:
    """A header and a line for each key in which runs differ, settings first, then results.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config, Run
        >>> root = Path(tempfile.mkdtemp())
        >>> words = ["data=circles", "objective.beta=1"], ["data=circles", "objective.beta=4"]
        >>> runs = [Run.create(Config.read(words=w), root / str(i)) for i, w in enumerate(words)]
        >>> differences([run.folder for run in runs])
        [['key', '0', '1'], ['objective.beta', '1', '4']]
    """
    if len(folders) < 2:
        raise UnweaveError(f"a comparison needs two runs or more, got {len(folders)}")
    facts = [read_facts(folder) for folder in folders]
    keys = dict.fromkeys(key for each in facts for key in each)
    skipped = {"label", "identity", "created"}
    lines = [["key", *(folder.name for folder in folders)]]
    for key in keys:
        values = [each.get(key) for each in facts]
        if key not in skipped and len({str(value) for value in values}) > 1:
            lines.append([key, *(_text(value) for value in values)])
    return lines


def log_of(folder: Path) -> str:
    """The log of a run that an executor executed.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "log.txt").write_text("out of memory")
        >>> log_of(folder)
        'out of memory'
    """
    try:
        return (folder / LOG).read_text(errors="replace")
    except FileNotFoundError:
        raise UnweaveError(f"{folder} has no log: only runs of a sweep write one") from None


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1 or value == int(value) else f"{value:.2f}"
    return str(value)
