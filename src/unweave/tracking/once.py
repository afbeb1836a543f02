"""A run that exists already is copied to a tracker."""

from pathlib import Path

from unweave.errors import UnweaveError
from unweave.tracking.followed import Followed
from unweave.tracking.follower import described
from unweave.tracking.registry import check_tracker


def track(folder: Path, tracker: str, root: Path) -> str:
    """Copy the config, losses, pictures and scores of a run to a tracker, as far as it lacks them.

    Args:
        folder: of the run.
        tracker: tensorboard, mlflow or wandb.
        root: the folder of the tracker's files.

    Returns:
        The command that shows them.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config, Run
        >>> words = ["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"]
        >>> place = Path(tempfile.mkdtemp())
        >>> run = Run.create(Config.read(words=words), place / "run")
        >>> _ = run.train()
        >>> track(run.folder, "tensorboard", place / "tensorboard").startswith("tensorboard --logdir")
        True
    """
    adapter = check_tracker(tracker)
    run = Followed(folder, root, _loaded(tracker))
    try:
        run.close()
    except Exception as error:  # whatever a tracker raises
        raise UnweaveError(f"{tracker} did not take {folder}: {described(error)}") from error
    if run.tracker is None:
        raise UnweaveError(f"{folder} has nothing to track yet, or another process is copying it to {root}")
    return adapter.look(root)


def _loaded(tracker: str) -> "type":
    adapter = check_tracker(tracker)
    try:
        return adapter.load()
    except Exception as error:  # installed, but broken
        raise UnweaveError(f"{adapter.package} cannot be imported: {described(error)}") from error
