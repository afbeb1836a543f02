"""Trained models, to be opened, carried, asked and changed; nothing here needs the data that they were trained on.

Example:
    >>> import tempfile
    >>> import unweave
    >>> from unweave.runs import Config, Run
    >>> config = Config.read(words=["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"])
    >>> run = Run.create(config, tempfile.mkdtemp())
    >>> _ = run.train()
    >>> model = unweave.load(run.folder)
    >>> model.decode([[0.0, 1.0]]).shape
    (1, 3, 32, 32)
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unweave.models.image_files import write_image
    from unweave.models.loading import load
    from unweave.models.places import find, kept
    from unweave.models.preparation import Preparation
    from unweave.models.trained import TrainedModel

_OBJECTS = {
    "Preparation": "preparation",
    "TrainedModel": "trained",
    "find": "places",
    "kept": "places",
    "load": "loading",
    "write_image": "image_files",
}

__all__ = ["Preparation", "TrainedModel", "find", "kept", "load", "write_image"]


def __getattr__(name: str) -> Any:
    # Loaded when first asked for: to list the kept models must not pay for torch.
    if name in _OBJECTS:
        return getattr(importlib.import_module(f"unweave.models.{_OBJECTS[name]}"), name)
    raise AttributeError(f"module 'unweave.models' has no attribute {name!r}")
