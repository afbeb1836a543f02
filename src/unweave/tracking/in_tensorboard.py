"""TensorBoard's event files, by tensorboardX: curves, pictures, the config as text and as HParams."""

import struct
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tensorboardX import summary
from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import masked_crc32c

from unweave.tracking.tracker import Point, Tracker

_START, _END = "_hparams_/session_start_info", "_hparams_/session_end_info"
_ENDS = {"finished": 1, "diverged": 2, "failed": 2}
"""How HParams names the end of a run: success, failure."""


class InTensorBoard(Tracker):
    """A run as a folder of event files, one for each time that it was opened.

    The writer is the synchronous one of tensorboardX: a full disk is an error here, not one in a thread of its own.

    Example:
        >>> import tempfile
        >>> from unweave.tracking import Subject
        >>> root, subject = Path(tempfile.mkdtemp()), Subject("a", "runs", "0f3a", {"seed": 0}, "seed: 0", 0.0)
        >>> board = InTensorBoard(root, subject)
        >>> board.log([Point("train/total", 1, 2.5)])
        >>> board.close("finished")
        >>> InTensorBoard(root, subject).known >= {("train/total", 1)}
        True
    """

    def _open(self) -> None:
        self.folder = self.root / self.subject.name
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(self.folder.glob("events.out.tfevents.*")):
            self.known |= {(value.tag, event.step) for event in events(path) for value in event.summary.value}
        # The name that tensorboardX makes counts seconds, and a file of that name would be overwritten.
        self.writer = EventsWriter(str(self.folder / "events"), f".{uuid.uuid4().hex[:12]}")
        if (_START, 0) not in self.known:
            start, _ = _hparams(self.subject.config)
            self._write(start, 0, self.subject.created)
            indented = "    " + self.subject.text.replace("\n", "\n    ")
            self._write(summary.text("config", indented), 0, self.subject.created)
        self.writer.flush()

    def _log(self, points: Sequence[Point]) -> None:
        for point in points:
            self._write(summary.scalar(point.name, point.value), point.step, point.moment)
        self.writer.flush()

    def _show(self, name: str, step: int, image: NDArray[np.uint8]) -> None:
        self._write(summary.image(name, image, dataformats="HWC"), step, time.time())
        self.writer.flush()

    def close(self, status: str) -> None:
        """Say how the run ended, once, and close the file."""
        if status in _ENDS and (_END, 0) not in self.known:
            _, end = _hparams(self.subject.config, _ENDS[status])
            self._write(end, 0, time.time())
        self.writer.close()

    def _write(self, content: Any, step: int, moment: float) -> None:
        self.writer.write_event(Event(wall_time=moment, step=step, summary=content))


def events(path: Path) -> Iterator[Event]:
    """The whole events of a file, as far as TensorBoard reads it: up to one that a kill has torn.

    Each is its length (8 bytes), a checksum of that (4), the event, and a checksum of the event (4), which is not
    compared here: the one of a picture takes tensorboardX a tenth of a second.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "events"
        >>> path.write_bytes(b"torn"), list(events(path))
        (4, [])
    """
    data = path.read_bytes()
    place = 0
    while place + 12 <= len(data):
        header = data[place : place + 8]
        end = place + 16 + struct.unpack("<Q", header)[0]
        if end > len(data) or struct.unpack("<I", data[place + 8 : place + 12])[0] != masked_crc32c(header):
            return
        yield Event.FromString(data[place + 12 : end - 4])
        place = end


def _hparams(config: Mapping[str, Any], status: int = 0) -> tuple[Any, Any]:
    """The summaries that begin and end a session of HParams; TensorBoard finds the columns of scores by itself."""
    from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData

    plain = {
        key: value if isinstance(value, bool | int | float | str) else str(value)
        for key, value in config.items()
        if value is not None
    }
    _, start, end = summary.hparams(plain, {})
    if status:
        plugin = end.value[0].metadata.plugin_data
        content = HParamsPluginData.FromString(plugin.content)
        content.session_end_info.status = status
        plugin.content = content.SerializeToString()
    return start, end
