"""All runs under a folder, found by their config, status and scores. The run folders are the truth.

The index is an SQLite file beside the runs and can be deleted at any time. It is updated before every answer: the time
stamp of a run's folder changes whenever one of its files is replaced, so only folders that changed are read again.
"""

import contextlib
import functools
import json
import logging
import os
import re
import shutil
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unweave import artefacts
from unweave.errors import UnweaveError, plain, unknown
from unweave.runs import history
from unweave.runs.flat import flatten
from unweave.runs.status import (
    SCORES,
    is_trained,
    last_status,
    present_status,
    recorded_status,
    training_seconds,
)

if TYPE_CHECKING:
    from pandas import DataFrame

logger = logging.getLogger("unweave")

INDEX = ".index.sqlite"
_FORMAT = 1
_SCHEMA = f"""
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, folder TEXT UNIQUE, stamp INTEGER, running INTEGER, problem TEXT, facts TEXT
);
CREATE TABLE keys (key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE facts (key TEXT, run INTEGER, number REAL, text TEXT, PRIMARY KEY (key, run)) WITHOUT ROWID;
PRAGMA user_version = {_FORMAT};
"""
_SKIPPED = {"checkpoints", "pictures"}


@dataclass
class RunEntry:
    """What the index knows of a run: its folder, and its config, scores, status and times as flat ``key: value``.

    Example:
        >>> RunEntry(Path("runs/a"), {"objective": "FactorVAE", "objective.gamma": 35.0, "mig": 0.4})["mig"]
        0.4
    """

    folder: Path
    known: Mapping[str, Any] | str = field(default_factory=dict)

    @functools.cached_property
    def facts(self) -> Mapping[str, Any]:
        """All keys with their values; decoded at first use."""
        if not isinstance(self.known, str):
            return self.known
        try:
            known: dict[str, Any] = json.loads(self.known)
        except ValueError:  # a damaged page of the index; the folder is the truth
            known = read_facts(self.folder)
        return known

    def __getitem__(self, key: str) -> Any:
        return self.facts.get(key)


class RunEntries(list[RunEntry]):
    """Runs that were found: a list, and a table for pandas.

    Example:
        >>> len(RunEntries([RunEntry(Path("runs/a"), {"seed": 0})]))
        1
    """

    def to_pandas(self) -> "DataFrame":
        """A row for each run, a column for each key of any of them; see :func:`unweave.runs.tables.to_pandas`."""
        from unweave.runs.tables import to_pandas

        return to_pandas(self)


@dataclass(frozen=True)
class Condition:
    """A condition on runs: ``objective=FactorVAE``, ``objective.gamma>10``, ``status!=finished``.

    Names are compared without regard to case, hyphens and underscores.

    Example:
        >>> Condition.read("objective.gamma>=10")
        Condition(key='objective.gamma', sign='>=', value='10')
    """

    key: str
    sign: str
    value: str

    @classmethod
    def read(cls, word: str) -> "Condition":
        """The condition that a word of the command line states."""
        found = re.fullmatch(r"([\w.\-]+)\s*(<=|>=|!=|=|<|>)\s*(.*)", word.strip())
        if not found or (found[2] in ("<", ">", "<=", ">=") and _number(found[3]) is None):
            raise UnweaveError(
                f"expected a condition such as objective=FactorVAE or 'objective.gamma>10', got {word!r}"
            )
        return cls(*found.groups())


class RunIndex:
    """The runs under a folder.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config, Run
        >>> root = Path(tempfile.mkdtemp())
        >>> for beta in (1, 16):
        ...     config = Config.read(words=["data=circles", f"objective.beta={beta}"])
        ...     _ = Run.create(config, root / f"beta{beta}")
        >>> [entry["objective.beta"] for entry in RunIndex(root).find(["data=circles", "objective.beta>10"])]
        [16.0]
    """

    def __init__(self, root: Path | str = "runs", *, index: Path | None = None) -> None:
        self.root = Path(root)
        if not self.root.is_dir():
            raise UnweaveError(f"there is no folder {self.root}; give the folder of the runs with --root")
        self.path = index or self.root / INDEX
        self.connection = self._open()

    def close(self) -> None:
        """Close the file of the index."""
        self.connection.close()

    def find(
        self, conditions: Sequence[str | Condition] = (), *, sort: str | None = None, refresh: bool = True
    ) -> RunEntries:
        """The runs that meet all conditions, ordered by folder or by the key ``sort`` (``-mig``: largest first)."""
        try:
            return RunEntries(self._find(conditions, sort, refresh))
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            pass
        logger.warning("the index %s is damaged: it is made again", self.path)
        self.rebuild()
        return RunEntries(self._find(conditions, sort, refresh=False))

    def _find(self, conditions: Sequence[str | Condition], sort: str | None, refresh: bool) -> list[RunEntry]:
        if refresh:
            self.refresh()
        wanted = [Condition.read(c) if isinstance(c, str) else c for c in conditions]
        known = {row[0] for row in self.connection.execute("SELECT key FROM keys")}
        for key in [*(c.key for c in wanted), *([sort.lstrip("-")] if sort else [])]:
            if known and key not in known:
                raise unknown("key", key, known)
        jobs = self._jobs()
        clauses, values = [], []
        for condition in wanted:
            if jobs and condition.key == "status":
                continue  # SLURM knows it better than the index
            clause, value = _clause(condition)
            clauses.append(clause)
            values += value
        where = " AND ".join(["problem IS NULL", *clauses])
        rows = self.connection.execute(
            f"SELECT folder, facts, running FROM runs WHERE {where} ORDER BY folder", values
        ).fetchall()
        entries = [RunEntry(self.root / folder, facts) for folder, facts, _ in rows]
        for number, (_, _, running) in enumerate(rows):
            if running:
                entries[number] = _with_present_status(entries[number])
        if jobs:
            entries = [_with_state_of_job(entry, jobs) for entry in entries]
            entries = [
                entry for entry in entries if all(c.key != "status" or _has_status(entry, c) for c in wanted)
            ]
        if sort:
            name, down = sort.lstrip("-"), sort.startswith("-")
            having = [entry for entry in entries if entry[name] is not None]
            having.sort(key=lambda entry: _order(entry[name]), reverse=down)
            entries = having + [entry for entry in entries if entry[name] is None]
        return entries

    def _jobs(self) -> dict[Path, str]:
        """The runs that are jobs of SLURM, queued or running; SLURM is asked only if some were submitted."""
        from unweave.runs.executors.slurm_job import PLACE
        from unweave.runs.executors.slurm_queue import states_of_runs

        rows = self.connection.execute("SELECT folder FROM runs")
        places = {folder.rpartition("/")[0] for (folder,) in rows}  # no Path for each of thousands of runs
        return states_of_runs(self.root / place for place in places if (self.root / place / PLACE).is_dir())

    def problems(self) -> dict[Path, str]:
        """The run folders that could not be read, and why."""
        rows = self.connection.execute(
            "SELECT folder, problem FROM runs WHERE problem IS NOT NULL ORDER BY folder"
        )
        return {self.root / folder: problem for folder, problem in rows}

    def refresh(self) -> int:
        """Update the index; returns how many folders were read."""
        indexed = {row[0]: row[1] for row in self.connection.execute("SELECT folder, stamp FROM runs")}
        seen: dict[str, int] = {}
        _walk(str(self.root), "", indexed, seen)
        changed = [name for name, stamp in seen.items() if indexed.get(name) != stamp]
        gone = [name for name in indexed if name not in seen]
        if changed or gone:
            try:
                with self.connection:
                    self._forget([*gone, *(name for name in changed if name in indexed)])
                    self._read(changed, seen)
            except sqlite3.OperationalError as error:
                if self.in_memory:
                    raise UnweaveError(f"cannot make an index in memory: {error}") from error
                self.close()  # the folder is read-only: then in memory
                self.connection = self._open(anew=True)
                return self.refresh()
        return len(changed)

    def rebuild(self) -> int:
        """Delete the index and read every run folder; returns how many there are."""
        self.close()
        with contextlib.suppress(OSError):  # where it cannot be removed, it is made in memory
            self.path.unlink(missing_ok=True)
        self.connection = self._open(anew=True)
        return self.refresh()

    def locate(self, word: str) -> Path:
        """The folder of the one run that a word names: a folder, or the beginning of a label or identity."""
        for place in (Path(word), self.root / word):
            if (place / "run.json").exists():
                return place
        found = [
            entry.folder
            for entry in self.find()
            if entry.folder.name.startswith(word) or str(entry["identity"] or "").startswith(word)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise UnweaveError(
                f"{word} may be any of {len(found)} runs ({found[0]}, {found[1]}, ...): give more of its name"
            )
        raise UnweaveError(f"there is no run {word} in {self.root}; `unweave runs list` shows all runs")

    def remove(self, folders: Iterable[Path]) -> None:
        """Delete run folders with all their content."""
        for folder in folders:
            if not (folder / "run.json").exists():
                raise UnweaveError(f"{folder} is not the folder of a run: it has no run.json")
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise UnweaveError(f"cannot remove {folder}: {error.strerror or error}") from error
        self.refresh()

    def _open(self, anew: bool = False) -> sqlite3.Connection:
        self.in_memory = anew and self.path.exists()
        # The second time after a damaged file was removed.
        for path in (":memory:",) if self.in_memory else (self.path, self.path, ":memory:"):
            self.in_memory = path == ":memory:"
            connection = None
            try:
                connection = sqlite3.connect(path, timeout=30)
                connection.execute("PRAGMA synchronous = OFF")  # the index can always be rebuilt
                if connection.execute("PRAGMA user_version").fetchone()[0] == _FORMAT:
                    return connection
                if not connection.execute("SELECT name FROM sqlite_master").fetchall():
                    connection.executescript(_SCHEMA)
                    return connection
            except sqlite3.OperationalError:
                continue  # the folder is not writable: then in memory
            except sqlite3.DatabaseError:
                pass
            if connection is not None:
                connection.close()
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)  # damaged, or of another version
        raise UnweaveError(f"cannot make the index {self.path}")

    def _forget(self, names: Sequence[str]) -> None:
        for name in names:
            row = self.connection.execute("SELECT id, facts FROM runs WHERE folder = ?", (name,)).fetchone()
            if row:
                keys = json.loads(row[1])
                self.connection.executemany(
                    "DELETE FROM facts WHERE key = ? AND run = ?", [(key, row[0]) for key in keys]
                )
                self.connection.execute("DELETE FROM runs WHERE id = ?", (row[0],))

    def _read(self, names: Sequence[str], stamps: Mapping[str, int]) -> None:
        number = self.connection.execute("SELECT COALESCE(MAX(id), 0) FROM runs").fetchone()[0]
        facts = []
        for name in names:
            number += 1
            problem, known = None, {}
            try:
                known = read_facts(self.root / name)
            except UnweaveError as error:
                problem = str(error)
                logger.warning("%s; the run is omitted", problem)
            self.connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)",
                (number, name, stamps[name], known.get("status") == "running", problem, json.dumps(known)),
            )
            for key, value in known.items():
                text = None if value is None else plain(str(value))
                facts.append((key, number, _number(value), text))
        facts.sort()  # in the order of the table, which SQLite writes fastest
        self.connection.executemany("INSERT INTO facts VALUES (?, ?, ?, ?)", facts)
        self.connection.executemany("INSERT OR IGNORE INTO keys VALUES (?)", {(fact[0],) for fact in facts})


def find(
    conditions: Sequence[str | Condition] = (), root: Path | str = "runs", *, sort: str | None = None
) -> RunEntries:
    """The runs under a folder that meet all conditions; ``find(...).to_pandas()`` is a table of them.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config, Run
        >>> root = Path(tempfile.mkdtemp())
        >>> _ = Run.create(Config.read(words=["data=circles", "seed=3"]), root / "a")
        >>> [entry["seed"] for entry in find(["data=circles"], root)]
        [3]
    """
    index = RunIndex(root)
    try:
        return index.find(conditions, sort=sort)
    finally:
        index.close()


def read_facts(folder: Path) -> dict[str, Any]:
    """Everything that runs can be found by, with flat keys: status and times, config, scores, last losses.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config, Run
        >>> run = Run.create(Config.read(words=["data=circles", "seed=3"]), Path(tempfile.mkdtemp()) / "run")
        >>> facts = read_facts(run.folder)
        >>> facts["status"], facts["data"], facts["seed"]
        ('new', 'Circles', 3)
    """
    made = artefacts.read_json(folder / "run.json")
    config = made.get("config")
    if not isinstance(config, dict):
        from unweave.runs.config import read_file

        config = read_file(folder / "config.yaml")
    recorded = recorded_status(folder)
    scores = artefacts.read_json(folder / SCORES, default={})
    last = history.last_record(folder / history.FILE)
    step = config.get("steps") if is_trained(folder) else last.get("step", recorded.get("step", 0))
    facts: dict[str, Any] = {
        "label": folder.name,
        "identity": made.get("identity"),
        "created": made.get("created"),
        "status": last_status(folder),
        "reason": recorded.get("reason"),
        "seconds": training_seconds(folder) if recorded else None,
        "step": step,
    }
    facts |= {key: _joined(value) for key, value in flatten(config).items()}
    for name, score in scores.items():
        if not isinstance(score, dict) or "value" not in score:
            raise UnweaveError(f"cannot read {folder / 'scores.json'}: {name} has no value")
        facts[name] = score["value"]
    facts |= {f"last.{key}": value for key, value in last.items() if key not in ("step", "seconds")}
    return {key: value for key, value in facts.items() if not isinstance(value, dict)}


def _walk(root: str, prefix: str, indexed: Mapping[str, int], seen: dict[str, int]) -> None:
    """Every run folder under ``root`` with its time stamp; folders inside a run are not searched."""
    try:
        with os.scandir(os.path.join(root, prefix) if prefix else root) as entries:  # noqa: PTH118  thousands of them
            inner = [e for e in entries if e.name[0] != "." and e.name not in _SKIPPED and e.is_dir()]
    except OSError:
        return
    for entry in inner:
        name = f"{prefix}/{entry.name}" if prefix else entry.name
        if name in indexed or os.path.exists(f"{entry.path}/run.json"):  # noqa: PTH110  ten times as fast as a Path
            seen[name] = entry.stat().st_mtime_ns
        else:
            _walk(root, name, indexed, seen)


def _clause(condition: Condition) -> tuple[str, list[Any]]:
    number = _number(condition.value)
    exists = "id IN (SELECT run FROM facts WHERE key = ? AND {})"
    if condition.sign in ("=", "!="):
        match = "(text = ? OR number = ?)" if number is not None else "text = ?"
        values: list[Any] = [condition.key, plain(condition.value), *([number] if number is not None else [])]
        return ("NOT " if condition.sign == "!=" else "") + exists.format(match), values
    return exists.format(f"number {condition.sign} ?"), [condition.key, number]


def _with_present_status(entry: RunEntry) -> RunEntry:
    """A run that was running when the index read it may be interrupted now: its process may be gone."""
    now = present_status(entry.folder, entry["status"])
    return entry if now == entry["status"] else RunEntry(entry.folder, {**entry.facts, "status": now})


def _with_state_of_job(entry: RunEntry, jobs: Mapping[Path, str]) -> RunEntry:
    """A run whose job waits or runs, unless its own files say that it has ended."""
    state = jobs.get(entry.folder.resolve())
    if state is None or entry["status"] in ("finished", "diverged"):
        return entry
    return RunEntry(entry.folder, {**entry.facts, "status": state})


def _has_status(entry: RunEntry, condition: Condition) -> bool:
    return (plain(str(entry["status"])) == plain(condition.value)) == (condition.sign == "=")


def _joined(value: Any) -> Any:
    """A list as words, since a fact is a number or a text."""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _order(value: Any) -> tuple[int, Any]:
    number = _number(value)
    return (1, str(value)) if number is None else (0, number)
