"""What every tracker offers: a run that is opened or found again, and gets each point once."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Point(NamedTuple):
    """One value of a curve: its name, the training step, the value, and when it was made (seconds since 1970).

    Example:
        >>> Point("train/total", 10, 3.5, 0.0).step
        10
    """

    name: str
    step: int
    value: float
    moment: float = 0.0


@dataclass(frozen=True)
class Subject:
    """The run that is tracked, as its folder describes it.

    Args:
        name: what it is called in the tracker.
        group: the sweep or folder that it belongs to.
        identity: the hash of its config.
        config: with flat keys.
        text: the config as YAML.
        created: when it was created (seconds since 1970).

    Example:
        >>> Subject("betas/a", "betas", "0f3a", {"seed": 0}, "seed: 0", 0.0).config["seed"]
        0
    """

    name: str
    group: str
    identity: str
    config: Mapping[str, Any]
    text: str
    created: float


class Tracker(ABC):
    """One run in a tracker. Opened again, it knows which points it has, and takes only those that it lacks.

    The losses of a step depend on the config and the step alone, so a step that is taken again after a kill has the
    value that the tracker has already.

    Args:
        root: the folder that holds the tracker's files.
        subject: the run.
    """

    def __init__(self, root: Path, subject: Subject) -> None:
        self.root, self.subject = root, subject
        self.known: set[tuple[str, int]] = set()
        self._open()

    def log(self, points: Sequence[Point]) -> None:
        """Take the points that it does not have yet."""
        fresh = [point for point in points if (point.name, point.step) not in self.known]
        if fresh:
            self._log(fresh)
            self.known |= {(point.name, point.step) for point in fresh}

    def show(self, name: str, step: int, image: NDArray[np.uint8]) -> None:
        """Take a picture (height, width, 3), unless it has the one of this step."""
        if (name, step) not in self.known:
            self._show(name, step, image)
            self.known.add((name, step))

    @abstractmethod
    def _open(self) -> None:
        """Begin the run in the tracker, with its config, or find it again and fill ``known``."""

    @abstractmethod
    def _log(self, points: Sequence[Point]) -> None: ...

    @abstractmethod
    def _show(self, name: str, step: int, image: NDArray[np.uint8]) -> None: ...

    @abstractmethod
    def close(self, status: str) -> None:
        """Write what is buffered, and how the run ended if it has: finished, diverged or failed."""
