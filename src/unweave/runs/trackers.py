"""Copies of runs in trackers: TensorBoard, MLflow. The run folders stay the truth."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unweave.errors import UnweaveError, check_choice
from unweave.runs.executors import Event, Tell
from unweave.runs.flat import flatten
from unweave.runs.run import Run


def track(run: Run, tracker: str, folder: Path) -> str:
    """Copy a run's config, losses and scores to a tracker; returns where they are.

    Args:
        run: the run.
        tracker: ``tensorboard`` or ``mlflow``.
        folder: of TensorBoard's event files; MLflow uses its own settings.

    Example:
        >>> track.__annotations__["tracker"].__name__
        'str'
    """
    check_choice("tracker", tracker, TRACKERS)
    return TRACKERS[tracker](run, folder)


def tracking(tell: Tell, tracker: str | None, folder: Path) -> Tell:
    """``tell``, extended so that each run that ends is copied to the tracker, if there is one.

    Example:
        >>> tracking(print, None, Path("runs")) is print
        True
    """
    if tracker is None:
        return tell
    check_choice("tracker", tracker, TRACKERS)
    _import(tracker)  # if it is not installed, that is an error now and not after the first run

    def tell_and_track(event: Event) -> None:
        tell(event)
        if event.kind == "ended" and event.folder is not None:
            track(Run(event.folder), tracker, folder / "tensorboard")

    return tell_and_track


def _tensorboard(run: Run, folder: Path) -> str:
    writer_class = _import("tensorboard").SummaryWriter
    place = folder / run.folder.name
    for old in place.glob("events.out.tfevents.*"):  # copied again: replace the earlier copy
        old.unlink()
    with writer_class(log_dir=str(place)) as writer:
        writer.add_text("config", "    " + run.config.to_yaml().replace("\n", "\n    "))
        for record in run.history:
            for name, value in record.items():
                if name != "step" and isinstance(value, int | float):
                    writer.add_scalar(f"train/{name}", value, record["step"])
        for name, value in _values(run).items():
            writer.add_scalar(f"score/{name}", value, run.config.steps)
    return str(place)


def _mlflow(run: Run, folder: Path) -> str:
    mlflow = _import("mlflow")
    with mlflow.start_run(run_name=run.folder.name) as started:
        mlflow.log_params(flatten(run.config.to_mapping()))
        mlflow.set_tags({"unweave.identity": run.config.identity, "unweave.status": run.status})
        for record in run.history:
            numbers = {k: v for k, v in record.items() if k != "step" and isinstance(v, int | float)}
            mlflow.log_metrics(numbers, step=record["step"])
        mlflow.log_metrics(_values(run), step=run.config.steps)
    return f"MLflow run {started.info.run_id}"


def _values(run: Run) -> dict[str, float]:
    return {name: s["value"] for name, s in run.scores.items() if s.get("value") is not None}


def _import(tracker: str) -> Any:
    try:
        module = importlib.import_module("torch.utils.tensorboard" if tracker == "tensorboard" else tracker)
    except ImportError as error:
        extra = "'unweave[trackers]'" if tracker == "tensorboard" else "mlflow"
        raise UnweaveError(f"{tracker} is not installed: pip install {extra}") from error
    return module


TRACKERS: dict[str, Callable[[Run, Path], str]] = {"tensorboard": _tensorboard, "mlflow": _mlflow}
"""The known trackers."""
