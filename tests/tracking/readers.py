"""What is in the files of each tracker, read by the software that they are made for."""

import importlib.util
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Seen(NamedTuple):
    """The curves of a run, its config, the steps of its pictures, and how it ended."""

    curves: dict[str, list[tuple[int, float]]]
    config: dict[str, str]
    pictures: dict[str, list[int]]
    status: str


def needs(tracker: str) -> None:
    package = {"tensorboard": "tensorboardX"}.get(tracker, tracker)
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed here; `make trackers-test` runs this with it")


def tensorboard(root: Path, name: str) -> Seen:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    events = EventAccumulator(str(root / name), size_guidance={"scalars": 0, "images": 0})
    events.Reload()
    tags = events.Tags()
    begun = events.PluginTagToContent("hparams")
    start = HParamsPluginData.FromString(begun["_hparams_/session_start_info"]).session_start_info
    config = {
        key: str(getattr(value, value.WhichOneof("kind") or "")) for key, value in start.hparams.items()
    }
    end = begun.get("_hparams_/session_end_info")
    status = {1: "finished", 2: "failed"}.get(
        HParamsPluginData.FromString(end).session_end_info.status if end else 0, ""
    )
    return Seen(
        {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in tags["scalars"]},
        config,
        {tag: [e.step for e in events.Images(tag)] for tag in tags["images"]},
        status,
    )


def mlflow(root: Path, name: str) -> Seen:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{root / 'mlflow.db'}")
    found = client.search_runs([e.experiment_id for e in client.search_experiments()])
    (run,) = [each for each in found if each.info.run_name == name]
    curves = {
        key: [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, key)]
        for key in run.data.metrics
    }
    pictures: dict[str, list[int]] = {}
    for file in client.list_artifacts(run.info.run_id, "pictures"):
        key, _, step = file.path.removesuffix(".png").rpartition("-")
        pictures.setdefault(key, []).append(int(step))
    status = {"FINISHED": "finished", "FAILED": "failed"}.get(run.info.status, "")
    return Seen(curves, dict(run.data.params), pictures, status)


def wandb(root: Path, name: str) -> Seen:
    import json

    curves: dict[str, list[tuple[int, float]]] = {}
    config: dict[str, str] = {}
    pictures: dict[str, list[int]] = {}
    status = ""
    for path in sorted(root.glob("offline-run-*/*.wandb")):
        for record in _wandb_records(path):
            kind = record.WhichOneof("record_type")
            if kind == "run" and record.run.display_name != name:
                break
            if kind == "run":
                config |= {item.key: str(json.loads(item.value_json)) for item in record.run.config.update}
            if kind == "exit":
                status = "failed" if record.exit.exit_code else "finished"
            if kind != "history":
                continue
            row = {item.key or "/".join(item.nested_key): item.value_json for item in record.history.item}
            for key, value in row.items():
                if key.startswith(("train/", "score/")):
                    curves.setdefault(key, []).append((int(row["step"]), float(value)))
                elif key.endswith("/step"):
                    pictures.setdefault(key.removesuffix("/step"), []).append(int(value))
    return Seen(curves, config, pictures, status)


def _wandb_records(path: Path) -> list[Any]:
    """By the reader in Python that wandb shipped until 0.23; the present one has it in Go, and no way to call it."""
    reader = os.environ.get("UNWEAVE_WANDB_READER")
    if not reader:
        pytest.skip("UNWEAVE_WANDB_READER does not name wandb's datastore.py; `make trackers-test` sets it")
    spec = importlib.util.spec_from_file_location("wandb_datastore", reader)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    from wandb.proto.wandb_internal_pb2 import Record

    store = module.DataStore()
    store.open_for_scan(str(path))
    found = []
    while True:
        try:
            content = store.scan_data()
        except AssertionError:  # how it tells a file that a kill has torn
            break
        if content is None:
            break
        found.append(Record.FromString(content))
    return found


READERS = {"tensorboard": tensorboard, "mlflow": mlflow, "wandb": wandb}
