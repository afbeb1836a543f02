"""The explorer: one HTML file in which a reader moves the codes of trained models and sees what they decode.

Example:
    >>> import tempfile
    >>> from pathlib import Path
    >>> from unweave.explorer import write_explorer
    >>> from unweave.models import TrainedModel
    >>> from unweave.runs import Config
    >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
    >>> write_explorer([model], Path(tempfile.mkdtemp()) / "page.html").name
    'page.html'
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unweave.explorer.explore import write_explorer

__all__ = ["write_explorer"]


def __getattr__(name: str) -> Any:
    # Loaded when first asked for: the command line lists its commands without torch.
    if name == "write_explorer":
        return importlib.import_module("unweave.explorer.explore").write_explorer
    raise AttributeError(f"module 'unweave.explorer' has no attribute {name!r}")
