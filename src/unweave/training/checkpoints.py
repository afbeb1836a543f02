"""Checkpoints that survive a crash: written completely or not at all, and used only if they are intact."""

import io
import logging
import zipfile
from pathlib import Path
from typing import Any

import torch

from unweave import atomic

logger = logging.getLogger("unweave")

State = dict[str, Any]


class Checkpoints:
    """The newest states of a training run in a folder, ``step-00000100.pt`` and so on.

    Args:
        folder: of the files; created with the first one.
        keep: how many of the newest are retained. With two, one may be damaged and the run can still be resumed.

    Example:
        >>> import tempfile
        >>> checkpoints = Checkpoints(Path(tempfile.mkdtemp()))
        >>> checkpoints.save({"step": 3, "weights": torch.ones(2)})
        >>> checkpoints.latest()["weights"]
        tensor([1., 1.])
    """

    def __init__(self, folder: Path, keep: int = 2) -> None:
        self.folder = folder
        self.keep = keep

    def paths(self) -> list[Path]:
        """The checkpoint files, oldest first."""
        return sorted(self.folder.glob("step-*.pt"))

    def save(self, state: State) -> None:
        """Save a state and delete those that are too old."""
        buffer = io.BytesIO()
        torch.save(state, buffer)
        atomic.write(self.folder / f"step-{state['step']:08d}.pt", buffer.getvalue())
        for old in self.paths()[: -self.keep]:
            old.unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete all states: the run is finished and its weights are saved elsewhere."""
        for path in self.paths():
            path.unlink(missing_ok=True)

    def latest(self, device: torch.device | str = "cpu") -> State | None:
        """The newest intact state; a damaged file is reported and deleted."""
        for path in reversed(self.paths()):
            try:
                return _read(path, device)
            except Exception as error:  # whatever torch or zipfile raise for a damaged file
                logger.warning(
                    "%s is damaged (%s); going back to the one before it", path.name, _short(error)
                )
                path.unlink(missing_ok=True)
        return None


def _read(path: Path, device: torch.device | str) -> State:
    with zipfile.ZipFile(path) as archive:  # torch.load does not verify checksums, zipfile does
        damaged = archive.testzip()
    if damaged is not None:
        raise zipfile.BadZipFile(f"wrong checksum in {damaged}")
    state: State = torch.load(path, map_location=device, weights_only=True)
    return state


def _short(error: Exception) -> str:
    return str(error).split("\n")[0][:80] or type(error).__name__
