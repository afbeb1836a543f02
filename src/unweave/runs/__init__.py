"""Runs: what was asked, what came out, how it is scored; many of them as a study, and where they are found again."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unweave.runs.config import Config
    from unweave.runs.run import Codes, Run
    from unweave.runs.run_index import RunIndex, find
    from unweave.runs.study import Study

_OBJECTS = {
    "Codes": "run",
    "Config": "config",
    "Run": "run",
    "RunIndex": "run_index",
    "Study": "study",
    "find": "run_index",
}

__all__ = ["Codes", "Config", "Run", "RunIndex", "Study", "find"]


def __getattr__(name: str) -> Any:
    # Loaded when first asked for: a look into the index must not pay for torch.
    if name in _OBJECTS:
        return getattr(importlib.import_module(f"unweave.runs.{_OBJECTS[name]}"), name)
    raise AttributeError(f"module 'unweave.runs' has no attribute {name!r}")
