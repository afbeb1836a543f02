"""What the folder of a run says to a tracker: the run itself, the records that were added, the scores."""

import contextlib
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from unweave import artefacts
from unweave.runs import history, status
from unweave.runs.flat import flatten
from unweave.runs.history import Record
from unweave.tracking.tracker import Point, Subject


def subject_of(folder: Path, root: Path) -> Subject:
    """The run in a folder; its name in a tracker is its path from the folder in which the tracker's own is.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config, Run
        >>> runs = Path(tempfile.mkdtemp())
        >>> run = Run.create(Config.read(words=["data=circles"]), runs / "betas" / "a")
        >>> subject_of(run.folder, runs / "tensorboard").name
        'betas/a'
    """
    made = artefacts.read_json(folder / "run.json")
    config = made.get("config")
    place, above = folder.resolve(), root.resolve().parent
    name = place.relative_to(above).as_posix() if place.is_relative_to(above) else place.name
    moment = folder.stat().st_mtime
    with contextlib.suppress(TypeError, ValueError):
        moment = datetime.fromisoformat(str(made.get("created"))).timestamp()
    flat = flatten(config) if isinstance(config, dict) else {}
    try:
        text = (folder / "config.yaml").read_text(errors="replace")
    except OSError:
        text = ""
    return Subject(
        name or place.name, place.parent.name or "runs", str(made.get("identity")), flat, text, moment
    )


class Tail:
    """The records of a history that were added since the last look; all of them if the file was cut or replaced.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / history.FILE
        >>> tail = Tail(path)
        >>> _ = path.write_text('{"step": 1}' + chr(10) + '{"st')
        >>> [record["step"] for record in tail.read()], tail.read()
        ([1], [])
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file, self.place, self.sealed = 0, 0, False

    def read(self) -> list[Record]:
        """The new whole lines; damaged ones are left out."""
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                if found.st_ino != self.file or found.st_size < self.place:
                    self.file, self.place = found.st_ino, 0
                file.seek(self.place)
                content = file.read()
        except OSError:
            return []
        whole = content[: content.rfind(b"\n") + 1]
        self.sealed = self.sealed or artefacts.is_sealed(whole)
        self.place += len(whole)
        opened = (artefacts.opened_line(line, sealed=self.sealed) for line in whole.split(b"\n") if line)
        return [record for record in opened if record is not None and isinstance(record.get("step"), int)]


def points_of(record: Record, created: float) -> Iterator[Point]:
    """The values of a record; a list, such as the KL of each latent, gives one curve for each entry.

    Example:
        >>> record = {"step": 2, "total": 3.0, "kl_per_latent": [1.0, 0.5], "seconds": 4.0}
        >>> [(point.name, point.value, point.moment) for point in points_of(record, 100.0)]
        [('train/total', 3.0, 104.0), ('train/kl_per_latent/0', 1.0, 104.0), ('train/kl_per_latent/1', 0.5, 104.0)]
    """
    moment = created + history.seconds_of(record)
    for key, value in record.items():
        if key in ("step", "seconds"):
            continue
        parts = enumerate(value) if isinstance(value, list) else [("", value)]
        for number, part in parts:
            if isinstance(part, int | float) and not isinstance(part, bool):
                name = f"train/{key}/{number}" if number != "" else f"train/{key}"
                yield Point(name, record["step"], float(part), moment)


def scores_of(folder: Path, subject: Subject) -> list[Point]:
    """The scores of the final weights, at the last step; none before they were computed.

    Example:
        >>> scores_of(Path("nowhere"), Subject("a", "runs", "0f3a", {"steps": 10}, "", 0.0))
        []
    """
    if not status.is_scored(folder):
        return []
    scores: dict[str, Any] = status.readable(folder / status.SCORES)
    moment = subject.created + status.training_seconds(folder)
    return [
        Point(f"score/{name}", int(subject.config["steps"]), float(score["value"]), moment)
        for name, score in scores.items()
        if isinstance(score, dict) and isinstance(score.get("value"), int | float)
    ]
