"""The known trackers: which package each needs, where its files are, how they are looked at."""

import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from unweave.errors import UnweaveError, check_choice

if TYPE_CHECKING:
    from unweave.tracking.tracker import Tracker


class Adapter(NamedTuple):
    """A tracker: its class, the package that it needs, what installs it, and the command that shows its files.

    Example:
        >>> TRACKERS["tensorboard"].look(Path("runs/tensorboard"))
        'tensorboard --logdir runs/tensorboard'
    """

    module: str
    kind: str
    package: str
    install: str
    command: str

    def look(self, root: Path) -> str:
        """What to type to look at the files in ``root``."""
        return self.command.format(root=root)

    def load(self) -> "type[Tracker]":
        """The class; this imports the package."""
        loaded: Any = getattr(importlib.import_module(self.module), self.kind)
        return loaded  # type: ignore[no-any-return]


TRACKERS = {
    "tensorboard": Adapter(
        "unweave.tracking.in_tensorboard",
        "InTensorBoard",
        "tensorboardX",
        "'unweave[trackers]'",
        "tensorboard --logdir {root}",
    ),
    "mlflow": Adapter(
        "unweave.tracking.in_mlflow",
        "InMLflow",
        "mlflow",
        "mlflow",
        "mlflow ui --backend-store-uri sqlite:///{root}/mlflow.db",
    ),
    "wandb": Adapter(
        "unweave.tracking.in_wandb", "InWandb", "wandb", "wandb", "wandb sync --append {root}/offline-run-*"
    ),
}
"""The known trackers by name."""


def check_tracker(name: str) -> Adapter:
    """The tracker of that name; one sentence if there is none, or if its package is not installed.

    Example:
        >>> check_tracker("tensorbord")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: unknown tracker 'tensorbord': did you mean tensorboard? (there are: ...
    """
    check_choice("tracker", name, TRACKERS)
    adapter = TRACKERS[name]
    if not _is_installed(adapter.package):
        raise UnweaveError(
            f"--track {name} needs the package {adapter.package}, which is not installed: pip install {adapter.install}"
        )
    return adapter


def _is_installed(package: str) -> bool:
    """Whether a package can be imported; nothing is imported, since that may take seconds."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # a module that hides or replaces it
        return False
