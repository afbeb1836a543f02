"""Runs in trackers while they are trained: TensorBoard, MLflow, Weights & Biases. The run folders stay the truth.

A process of its own reads the folders of runs as they grow and copies what is new. Training knows nothing of it: a
tracker cannot change, slow down or stop a run, and what it has already is not sent again, whoever was killed.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unweave.tracking.live import Tracking, tracking
    from unweave.tracking.once import track
    from unweave.tracking.registry import TRACKERS
    from unweave.tracking.tracker import Point, Subject, Tracker

_OBJECTS = {
    "Point": "tracker",
    "Subject": "tracker",
    "TRACKERS": "registry",
    "Tracker": "tracker",
    "Tracking": "live",
    "track": "once",
    "tracking": "live",
}

__all__ = ["TRACKERS", "Point", "Subject", "Tracker", "Tracking", "track", "tracking"]


def __getattr__(name: str) -> Any:
    # Loaded when first asked for: the process that copies runs needs neither torch nor the other trackers.
    if name in _OBJECTS:
        return getattr(importlib.import_module(f"unweave.tracking.{_OBJECTS[name]}"), name)
    raise AttributeError(f"module 'unweave.tracking' has no attribute {name!r}")
