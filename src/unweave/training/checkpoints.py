"""Checkpoints that survive a crash: written completely or not at all, and used only if they are intact."""

import io
import logging
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from unweave import atomic
from unweave.atomic import DamagedError

logger = logging.getLogger("unweave")

State = dict[str, Any]

KEPT = 2
"""How many of the newest are retained. With two, one may be damaged and the run can still be resumed."""

OWNER = "run"
"""Key of a state: the identity of the run that it belongs to."""


class Checkpoints:
    """The newest states of a training run in a folder, ``step-00000100.pt`` and so on.

    Each file is a zip archive with a checksum of every part, and names the run that it belongs to.

    Args:
        folder: of the files; created with the first one.
        owner: identity of the run; none: any state is accepted.
        before: called before a state is written, to have on disk what belongs to it.

    Example:
        >>> import tempfile
        >>> checkpoints = Checkpoints(Path(tempfile.mkdtemp()))
        >>> checkpoints.save({"step": 3, "weights": torch.ones(2)})
        >>> checkpoints.latest()["weights"]
        tensor([1., 1.])
    """

    def __init__(self, folder: Path, owner: str = "", before: Callable[[], None] = lambda: None) -> None:
        self.folder = folder
        self.owner = owner
        self.before = before

    def paths(self) -> list[Path]:
        """The checkpoint files, oldest first."""
        return sorted(self.folder.glob("step-*.pt"))

    def save(self, state: State) -> None:
        """Save a state and delete those that are too old."""
        self.before()
        buffer = io.BytesIO()
        torch.save({**state, OWNER: self.owner} if self.owner else state, buffer)
        atomic.write(self.folder / f"step-{state['step']:08d}.pt", buffer.getvalue())
        for old in self.paths()[:-KEPT]:
            old.unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete all states: the run is finished and its weights are saved elsewhere."""
        for path in self.paths():
            path.unlink(missing_ok=True)

    def latest(
        self,
        device: torch.device | str = "cpu",
        *,
        unfit: Callable[[State], str | None] = lambda _: None,
        set_aside: bool = False,
    ) -> State | None:
        """The newest intact state; a damaged file is told, and one that the system does not hand out is an error.

        Args:
            device: of the tensors.
            unfit: what is wrong with a state that was read, if anything.
            set_aside: give damaged files another name, so that training can go on in their place.
        """
        for path in reversed(self.paths()):
            try:
                state = self.read(path, device)
                if (problem := unfit(state)) is not None:
                    raise DamagedError(f"{path} does not fit: {problem}")
                return state
            except DamagedError as error:
                logger.warning("%s; going back to the one before it", _short(error, path))
                if set_aside:
                    logger.warning("%s is kept as %s", path.name, atomic.set_aside(path).name)
        return None

    def read(self, path: Path, device: torch.device | str = "cpu") -> State:
        """The state in a file of this run, every checksum of which is right."""
        content = atomic.read(path)
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:  # torch.load does not verify checksums
                damaged = archive.testzip()
            if damaged is not None:
                raise zipfile.BadZipFile(f"wrong checksum in {damaged}")
            state = torch.load(io.BytesIO(content), map_location=device, weights_only=True)
        except MemoryError:
            raise
        except Exception as error:  # whatever torch or zipfile raise for a damaged file
            raise DamagedError(f"{path} is damaged ({_first_line(error)})") from error
        if not isinstance(state, dict) or not isinstance(state.get("step"), int):
            raise DamagedError(f"{path} is damaged (it holds no state of a training)")
        if self.owner and state.get(OWNER, self.owner) != self.owner:
            raise DamagedError(f"{path} belongs to another run")
        return state

    def problems(self) -> Iterator[str]:
        """What is wrong with the files, each read in full.

        Example:
            >>> list(Checkpoints(Path("nowhere")).problems())
            []
        """
        for path in self.paths():
            try:
                self.read(path)
            except (DamagedError, atomic.UnreadableError) as error:
                yield str(error)


def _short(error: Exception, path: Path) -> str:
    return str(error).replace(f"{path.parent}{os.sep}", "")


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0][:80] or type(error).__name__
