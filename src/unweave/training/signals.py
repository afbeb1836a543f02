"""Ctrl-C and SIGTERM as requests: the present step is finished, the state is saved, then the run ends."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class StopOnSignal:
    """While active, the first SIGINT or SIGTERM sets a flag; a second one stops at once.

    A call returns whether a stop was requested. Outside the main thread Python allows no signal handlers, and the
    answer is always no.

    Example:
        >>> import os
        >>> with StopOnSignal() as stop:
        ...     os.kill(os.getpid(), signal.SIGINT)
        ...     stop()
        True
    """

    def __init__(self) -> None:
        self.requested = False
        self.previous: dict[signal.Signals, Any] = {}

    def __call__(self) -> bool:
        """Whether a stop was requested."""
        return self.requested

    def __enter__(self) -> "StopOnSignal":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
