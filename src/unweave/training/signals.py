"""Ctrl-C, SIGTERM and SIGHUP as requests: the present step is finished, the state is saved, then the run ends."""

import signal
import threading
from types import FrameType
from typing import Any

STOPPING = tuple(signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Windows has no SIGHUP."""


class StopOnSignal:
    """While active, the first SIGINT, SIGTERM or SIGHUP (the terminal is gone) sets a flag; a second stops at once.

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
            for number in STOPPING:
                if number.name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN:
                    continue  # nohup asks for that
                self.previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
