"""MLflow: an SQLite file and a folder of pictures of its own, or the server of MLFLOW_TRACKING_URI."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.tracking.tracker import Point, Tracker

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")

_NAME, _IDENTITY = "unweave.run", "unweave.identity"
_AT_ONCE, _LONGEST = 1000, 6000
"""Values in one request, and characters of a parameter, that MLflow takes at most."""


class InMLflow(Tracker):
    """A run of MLflow, found again by the name and the identity that it is tagged with.

    Example:
        >>> issubclass(InMLflow, Tracker)
        True
    """

    def _open(self) -> None:
        from mlflow import MlflowClient
        from mlflow.entities import Metric

        self.root.mkdir(parents=True, exist_ok=True)
        self.metric = Metric
        own = f"sqlite:///{self.root.absolute() / 'mlflow.db'}"
        self.client: Any = MlflowClient(tracking_uri=os.environ.get("MLFLOW_TRACKING_URI") or own)
        experiment = self._experiment()
        subject = self.subject
        found = self.client.search_runs(
            [experiment],
            filter_string=f"tags.`{_NAME}` = '{subject.name}' and tags.`{_IDENTITY}` = '{subject.identity}'",
        )
        if found:
            self.run_id = found[0].info.run_id
            self._read_back(found[0])
            self.client.update_run(self.run_id, status="RUNNING")
        else:
            tags = {_NAME: subject.name, _IDENTITY: subject.identity}
            begun = self.client.create_run(
                experiment, start_time=int(subject.created * 1000), tags=tags, run_name=subject.name
            )
            self.run_id = begun.info.run_id
        self._log_config(found[0].data.params if found else {})

    def _experiment(self) -> str:
        """The experiment of the sweep or folder that the run belongs to; made if it is new."""
        from mlflow.exceptions import MlflowException

        name = f"unweave {self.subject.group}"
        found = self.client.get_experiment_by_name(name)
        if found is None:
            place = None
            if not os.environ.get("MLFLOW_TRACKING_URI"):
                place = (self.root / "pictures").absolute().as_uri()
            try:
                return str(self.client.create_experiment(name, artifact_location=place))
            except MlflowException:  # another process has just made it
                found = self.client.get_experiment_by_name(name)
        return str(found.experiment_id)

    def _read_back(self, run: Any) -> None:
        for name in run.data.metrics:
            history = self.client.get_metric_history(self.run_id, name)
            self.known |= {(name, metric.step) for metric in history}
        for file in self.client.list_artifacts(self.run_id, "pictures"):
            name, _, step = file.path.removesuffix(".png").rpartition("-")
            if step.isdigit():
                self.known.add((name, int(step)))

    def _log_config(self, present: dict[str, str]) -> None:
        from mlflow.entities import Param

        values = {key: str(value)[:_LONGEST] for key, value in self.subject.config.items()}
        missing = [Param(key, value) for key, value in values.items() if key not in present]
        for start in range(0, len(missing), 100):
            self.client.log_batch(self.run_id, params=missing[start : start + 100])
        if not present:
            self.client.log_text(self.run_id, self.subject.text, "config.yaml")

    def _log(self, points: Sequence[Point]) -> None:
        metrics = [self.metric(p.name, p.value, int(p.moment * 1000), p.step) for p in points]
        for start in range(0, len(metrics), _AT_ONCE):
            self.client.log_batch(self.run_id, metrics=metrics[start : start + _AT_ONCE])

    def _show(self, name: str, step: int, image: NDArray[np.uint8]) -> None:
        self.client.log_image(self.run_id, image, artifact_file=f"{name}-{step:08d}.png")

    def close(self, status: str) -> None:
        """Say how the run ended; one that was stopped can go on."""
        ends = {"finished": "FINISHED", "diverged": "FAILED", "failed": "FAILED"}
        self.client.set_terminated(self.run_id, status=ends.get(status, "KILLED"))
        self.client.set_tag(self.run_id, "unweave.status", status)
