"""Weights & Biases, offline: files on this machine, which ``wandb sync`` uploads if the user wants that."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.tracking.tracker import Point, Tracker

os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
os.environ.setdefault("WANDB_SILENT", "true")

_BLOCK, _FILE_HEADER, _HEADER = 32768, 7, 7
_LAST = {1, 4}
"""Kinds of pieces that end a record: the whole of it, or its last."""


class InWandb(Tracker):
    """A run as one folder ``offline-run-*`` for each time that it was opened, all with the same run id.

    An offline run cannot be resumed by its package. What its earlier folders hold is read back, and only the rest goes
    into the new one, at later steps: `wandb sync --append` then makes one curve of them.

    Example:
        >>> issubclass(InWandb, Tracker)
        True
    """

    def _open(self) -> None:
        import wandb

        subject = self.subject
        run_id = hashlib.sha256(f"{subject.identity} {subject.name}".encode()).hexdigest()[:12]
        self.row, self.at = -1, -1  # number and training step of the last row; numbers rise over all folders
        for path in sorted(self.root.glob(f"offline-run-*-{run_id}*/run-{run_id}.wandb")):
            for number, names in rows(path):
                self.known |= names
                self.row = max(self.row, number)
        self.image = wandb.Image
        self.root.parent.mkdir(parents=True, exist_ok=True)
        self.run: Any = wandb.init(
            project=f"unweave-{subject.group}",
            id=run_id,
            name=subject.name,
            dir=str(self.root.parent),  # it makes the folder wandb there
            mode="offline",
            reinit="create_new",
            config={**subject.config, "identity": subject.identity},
            settings=wandb.Settings(
                console="off",
                silent=True,
                disable_git=True,
                save_code=False,
                x_disable_stats=True,
                x_disable_meta=True,
                x_transaction_log_flush_interval=1.0,
            ),
        )
        self.run.define_metric("*", step_metric="step")

    def _log(self, points: Sequence[Point]) -> None:
        by_step: dict[int, dict[str, float]] = {}
        for point in points:
            by_step.setdefault(point.step, {})[point.name] = point.value
        for step, values in sorted(by_step.items()):
            if step != self.at:
                self.row, self.at = max(step, self.row + 1), step
            self.run.log({**values, "step": step}, step=self.row)

    def _show(self, name: str, step: int, image: NDArray[np.uint8]) -> None:
        """Into the present row, which may be some steps later: a picture takes a while, and rows do not go back."""
        if self.at < 0:
            self.row, self.at = max(step, self.row + 1), step
        values = {name: self.image(image, caption=f"step {step}"), f"{name}/step": step}
        self.run.log(values, step=self.row)

    def close(self, status: str) -> None:
        """Write the last row, and whether the run failed."""
        self.run.finish(exit_code=1 if status in ("diverged", "failed") else 0)


def rows(path: Path) -> Iterator[tuple[int, set[tuple[str, int]]]]:
    """The rows of an offline file: the number of each, and the names in it with their training steps.

    Example:
        >>> list(rows(Path("offline.wandb")))  # doctest: +SKIP
        [(1, {('train/total', 1)})]
    """
    from wandb.proto.wandb_internal_pb2 import Record

    for content in records(path.read_bytes()):
        record = Record.FromString(content)
        if record.WhichOneof("record_type") != "history":
            continue
        values = {item.key or "/".join(item.nested_key): item.value_json for item in record.history.item}
        step = int(float(values.get("step", "0")))
        shown = {
            (key.removesuffix("/step"), int(float(values[key]))) for key in values if key.endswith("/step")
        }
        yield int(record.history.step.num), shown | {(key, step) for key in values}


def records(data: bytes) -> Iterator[bytes]:
    """The records of a file in the log format of LevelDB, up to one that a kill has torn.

    Blocks of 32 KiB hold pieces: checksum (4 bytes), length (2), kind (1), content; the file begins with 7 bytes of
    its own.

    Example:
        >>> piece = bytes(4) + (3).to_bytes(2, "little") + bytes([1]) + b"abc"
        >>> list(records(bytes(7) + piece + piece[:8]))
        [b'abc']
    """
    place, parts = _FILE_HEADER, b""
    while place + _HEADER <= len(data):
        left = _BLOCK - place % _BLOCK
        if left < _HEADER:  # the rest of a block that is too short for a piece
            place += left
            continue
        length, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        end = place + _HEADER + length
        if end > len(data) or kind not in (1, 2, 3, 4):
            return
        parts += data[place + _HEADER : end]
        if kind in _LAST:
            yield parts
            parts = b""
        place = end
