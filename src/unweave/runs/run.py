"""A run: one folder that holds what was requested and what came out."""

import contextlib
import dataclasses
import logging
import os
import platform
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from unweave import atomic
from unweave.data import Channels, Dataset
from unweave.errors import UnweaveError
from unweave.model_metrics import Codes
from unweave.objectives import Objective
from unweave.optimizers import OPTIMIZERS
from unweave.runs import history, locks, status
from unweave.runs.config import Config
from unweave.runs.history import HistoryWriter, Record
from unweave.runs.opened import LoadedModel, OpenedData, keep_model, loaded_model, open_data
from unweave.schedules import SCHEDULES
from unweave.training import cpu
from unweave.training.checkpoints import Checkpoints
from unweave.training.data_parallel import ALONE, Share
from unweave.training.randomness import seed_torch
from unweave.training.trainer import Display, Outcome, Settings, Trainer
from unweave.vae import Model

__all__ = ["Codes", "Run", "follow", "fresh"]

logger = logging.getLogger("unweave")

_PACKAGES = ("unweave", "torch", "numpy", "scipy", "scikit-learn")


class Run:
    """One run on disk. The folder is the truth; this object reads it and continues it.

    Its data set and its model are opened once and handed on to training, scores and pages.

    Files: ``config.yaml`` (what was requested), ``run.json`` (identity, versions, command), ``data.json`` (fingerprint
    of the data, channel constants), ``status.json``, ``history.jsonl`` (a line per logged step), ``checkpoints/``,
    ``model.safetensors`` (when finished), ``codes.npz``, ``scores.json``, ``report.html`` and ``pictures/``.

    Args:
        folder: of the run.
        config: of the run, if it is known already. It is then not read, and the folder need not exist yet.

    Example:
        >>> import tempfile
        >>> config = Config.read(words=["data=circles", "data.size=32", "steps=2", "batch_size=4", "latents=2"])
        >>> run = Run.create(config, Path(tempfile.mkdtemp()) / "run")
        >>> run.train().status
        'finished'
        >>> [record["step"] for record in run.history]
        [1, 2]
    """

    def __init__(self, folder: Path | str, config: Config | None = None) -> None:
        self.folder = Path(folder)
        if config is None and not (self.folder / "run.json").exists():
            raise UnweaveError(f"{self.folder} is not the folder of a run: it has no run.json")
        self.config = Config.read(self.folder / "config.yaml") if config is None else config
        self._data: OpenedData | None = None
        self._warning: str | None = None

    @classmethod
    def create(cls, config: Config, folder: Path | str | None = None, command: str | None = None) -> "Run":
        """The run of a config: the one in the folder if it is the same, otherwise a new one.

        Args:
            config: what is requested.
            folder: of the run; none: ``runs/<label>``.
            command: the command line that requested it, recorded for the report.
        """
        folder = Path(folder) if folder is not None else Path("runs") / config.label
        if (folder / "run.json").exists():
            if atomic.read_json(folder / "run.json").get("identity") != config.identity:
                changed = ", ".join(_differences(Run(folder).config.to_mapping(), config.to_mapping()))
                raise UnweaveError(
                    f"{folder} holds a run made by another config ({changed}); choose another folder with --out"
                )
            return cls(folder, config)
        if folder.exists() and any(not entry.name.startswith(".") for entry in _entries(folder)):
            raise UnweaveError(
                f"{folder} is not empty and not the folder of a run; choose another folder with --out"
            )
        atomic.write(folder / "config.yaml", config.to_yaml())
        atomic.write_json(
            folder / "run.json",
            {
                "identity": config.identity,
                "command": command,
                "created": datetime.now(UTC).isoformat(timespec="seconds"),
                "versions": _versions(),
                "parts": {
                    name: part.code.to_config() for name, part in config.outside_parts.items() if part.code
                },
                "config": config.to_mapping(),  # as in config.yaml; JSON is faster to read for the index
            },
        )
        return cls(folder, config)

    @property
    def command(self) -> str:
        """The command that makes this run again."""
        given = atomic.read_json(self.folder / "run.json", default={}).get("command")
        return given or f"unweave train {self.folder / 'config.yaml'}"

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the software that made this run."""
        versions: dict[str, str] = atomic.read_json(self.folder / "run.json").get("versions", {})
        return versions

    @property
    def status(self) -> str:
        """``new``, ``running``, ``finished``, ``interrupted``, ``diverged`` or ``failed``."""
        return status.present_status(self.folder)

    @property
    def reason(self) -> str | None:
        """Why the run ended before its last step, if it did."""
        given: str | None = status.recorded_status(self.folder).get("reason")
        return "the process was killed" if self.status == "interrupted" and given is None else given

    @property
    def seconds(self) -> float:
        """Training time so far, over all sessions."""
        return float(status.recorded_status(self.folder).get("seconds", 0.0))

    @property
    def history(self) -> list[Record]:
        """The logged losses, one record per logged step; a torn last line is skipped."""
        return history.read_history(self.folder / history.FILE)

    @property
    def scores(self) -> dict[str, Any]:
        """The scores of the last evaluation, by name; empty before the first."""
        return atomic.read_json(self.folder / status.SCORES, default={})

    @property
    def checkpoints(self) -> Checkpoints:
        """The newest states of this run."""
        return Checkpoints(self.folder / "checkpoints")

    def dataset(self) -> Dataset:
        """The data set of this run; a warning if it is no longer the one that the run was trained on."""
        data = self._open_data()
        problem = self._changed_data(data)
        if problem is not None and problem != self._warning:
            logger.warning("%s", problem)
        self._warning = problem
        return data.dataset

    def model(self, device: torch.device | str = "cpu") -> Model:
        """The model with the final weights, or with those of the newest checkpoint if the run is not finished.

        Calls with the same weights on disk return the same object.
        """
        return self.model_and_step(device)[0]

    def model_and_step(self, device: torch.device | str = "cpu") -> tuple[Model, int]:
        """The model and the training step of its weights."""
        device = str(torch.device(device))
        weights = self._newest_weights()
        loaded = loaded_model(weights, device)
        if loaded is None:
            loaded = self._load_model(device)
            keep_model(weights, device, loaded)
        return loaded.model.eval(), loaded.step

    def train(
        self,
        *,
        device: torch.device | str = "cpu",
        threads: int = 1,
        checkpoint_seconds: float = 30.0,
        display: Display | None = None,
        stop: Callable[[], bool] = lambda: False,
        share: Share = ALONE,
    ) -> Outcome:
        """Train to the last step, from the newest checkpoint if there is one; a finished run is not trained again.

        With a ``share`` this process trains its part of every batch and writes the folder; the others :func:`follow`.
        """
        if share.first(lambda: status.is_trained(self.folder)):
            return Outcome("finished", self.config.steps)
        settings = _settings(self.config, threads, checkpoint_seconds)
        with self._lock(), self.outside_code():
            return self._train(str(torch.device(device)), settings, display, stop, share)

    def _train(
        self, device: str, settings: Settings, display: Display | None, stop: Callable[[], bool], share: Share
    ) -> Outcome:
        data = self._open_data()
        self._record_data(data)
        model, objective = fresh(self.config, data.dataset, device, self._channels(data))
        if changed := self.config.changed_parts():
            raise UnweaveError(
                f"{self.folder} cannot be trained: {'; '.join(changed)}; bring the old code back, or start a new run"
            )
        try:
            with _Session(self) as session:
                trainer = Trainer(
                    model,
                    objective,
                    data.dataset,
                    settings,
                    checkpoints=self.checkpoints,
                    record=session.append,
                    resumed=session.resumed,
                    display=display,
                    share=share,
                )
                outcome = trainer.run(stop)
        except OSError as error:
            raise atomic.explain(error, self.folder) from error
        if outcome.status == "finished":
            self._save_weights(model, device)
        session.write_status(outcome.status, outcome.step, outcome.reason)
        return outcome

    def _save_weights(self, model: Model, device: str) -> None:
        from safetensors.torch import save

        path = self.folder / status.WEIGHTS
        weights = {name: tensor.contiguous().cpu() for name, tensor in model.state_dict().items()}
        atomic.write(path, save(weights))
        self.checkpoints.clear()
        keep_model(path, device, LoadedModel(model.eval(), self.config.steps))

    def _newest_weights(self) -> Path:
        """The file of the final weights, otherwise the newest checkpoint."""
        if status.is_trained(self.folder):
            return self.folder / status.WEIGHTS
        saved = self.checkpoints.paths()
        if not saved:
            raise UnweaveError(f"{self.folder} has no weights yet: train it with {self.command}")
        return saved[-1]

    def _load_model(self, device: str) -> LoadedModel:
        model = self.config.make_model(self.dataset().image_shape).to(device)
        for sentence in self.config.changed_parts():
            logger.warning("%s: %s", self.folder, sentence)
        if status.is_trained(self.folder):
            from safetensors.torch import load_file

            model.load_state_dict(load_file(self.folder / status.WEIGHTS, device=device))
            step = self.config.steps
        else:
            state = self.checkpoints.latest(device)
            if state is None:
                raise UnweaveError(f"{self.folder} has no weights yet: train it with {self.command}")
            model.load_state_dict(state["vae"])
            step = state["step"]
        return LoadedModel(cpu.channels_last(model).eval(), step)

    def _open_data(self) -> OpenedData:
        self._data = open_data(self.config)  # held, so that it stays open as long as this run is used
        return self._data

    def _channels(self, data: OpenedData) -> Channels | None:
        return data.channels if self.config.standardise else None

    def _changed_data(self, data: OpenedData) -> str | None:
        """What is wrong, if the data have changed since the run began."""
        recorded = atomic.read_json(self.folder / "data.json", default={})
        if not recorded or recorded.get("fingerprint") == data.fingerprint:
            return None
        return (
            f"the data of {self.folder} have changed since it was begun (fingerprint {recorded.get('fingerprint')} "
            f"then, {data.fingerprint} now): bring the old data back, or start a new run with --out"
        )

    def _record_data(self, data: OpenedData) -> None:
        """Record what identifies the data, or refuse to continue with other data."""
        if (problem := self._changed_data(data)) is not None:
            raise UnweaveError(problem)
        channels = self._channels(data)
        content = {
            "fingerprint": data.fingerprint,
            "count": data.dataset.count,
            "channels": None if channels is None else dataclasses.asdict(channels),
        }
        atomic.write_json(self.folder / "data.json", content)

    @contextlib.contextmanager
    def outside_code(self) -> Iterator[None]:
        """Inside, whatever goes wrong in or around an outside part becomes one sentence; ``log.txt`` gets the rest."""
        try:
            yield
        except (UnweaveError, OSError):
            raise
        except Exception as error:
            parts = self.config.outside_parts
            if not parts:
                raise
            with (self.folder / "log.txt").open("a") as log:
                log.write(traceback.format_exc())
            files = {part.code.file: part.label for part in parts.values() if part.code and part.code.file}
            frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in files]
            place = (
                f"{files[frames[-1].filename]} of {frames[-1].filename}, line {frames[-1].lineno}"
                if frames
                else ""
            )
            named = ", ".join(f"{slot} {part.label}" for slot, part in parts.items())
            raise UnweaveError(
                f"{place or f'a run with parts from outside ({named})'} failed: {type(error).__name__}: "
                f"{' '.join(str(error).split())[:300]}; the traceback is in {self.folder / 'log.txt'}"
            ) from error

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Hold the folder for this process."""
        with contextlib.ExitStack() as stack:
            try:
                ours = stack.enter_context(locks.lock(self.folder / locks.TRAINING))
            except OSError as error:
                raise atomic.explain(error, self.folder) from error
            if not ours:
                raise UnweaveError(f"another process is training {self.folder} right now")
            yield


class _Session(HistoryWriter):
    """One session of training: continues the run's clock and history, and writes its status."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.started = time.monotonic()
        super().__init__(run.folder / history.FILE, lambda: time.monotonic() - self.started)

    def resumed(self, step: int) -> None:
        earlier = history.cut_history(self.path, step)
        self.started -= earlier[-1]["seconds"] if earlier else 0.0
        self.write_status("running", step, None)
        if step:
            logger.info("going on from step %d of %d", step, self.run.config.steps)

    def write_status(self, name: str, step: int, reason: str | None) -> None:
        content = {"status": name, "step": step, "reason": reason, "seconds": round(self.seconds(), 3)}
        atomic.write_json(self.run.folder / status.STATUS, content)


def follow(
    config: Config,
    share: Share,
    *,
    device: torch.device | str = "cpu",
    threads: int = 1,
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Train one share of every batch of a run whose folder the first process writes (``Run.train``).

    Example:
        >>> config = Config.read(words=["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"])
        >>> follow(config, Share(), device="cpu").step  # a single process just trains
        1
    """
    if share.first(lambda: False):
        return Outcome("finished", config.steps)
    data = open_data(config)
    model, objective = fresh(config, data.dataset, device, data.channels if config.standardise else None)
    return Trainer(model, objective, data.dataset, _settings(config, threads), share=share).run(stop)


def fresh(
    config: Config, dataset: Dataset, device: torch.device | str, channels: Channels | None = None
) -> tuple[Model, Objective]:
    """A model and its objective with the initial weights of the config's seed.

    Args:
        config: of the run.
        dataset: of the config.
        device: of model and objective.
        channels: what to standardise by, if the config does; none: taken from the data set.

    Example:
        >>> config = Config.read(words=["data=circles", "data.size=32", "latents=2"])
        >>> fresh(config, config.make_dataset(), "cpu")[0].latents
        2
    """
    with torch.random.fork_rng(devices=[]):
        seed_torch(config.seed, "weights")
        if config.standardise and channels is None:
            channels = dataset.channels()
        model = config.make_model(dataset.image_shape, channels).to(device)
        return model, config.make_objective(model).to(device)


def _settings(config: Config, threads: int, seconds: float = 30.0) -> Settings:
    return Settings(
        config.steps,
        config.batch_size,
        config.learning_rate,
        config.seed,
        threads,
        seconds,
        optimizer=OPTIMIZERS.build(config.optimizer),
        critic_optimizer=OPTIMIZERS.build(config.critic_optimizer),
        schedule=SCHEDULES.build(config.schedule),
    )


def _entries(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UnweaveError(f"{folder} is a file, not a folder; choose another folder with --out")
    return list(folder.iterdir())


def _differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict) and before.get("name") == after.get("name"):
            yield from _differences(before, after, f"{prefix}{key}.")
        elif before != after:
            first, second = (v["name"] if isinstance(v, dict) else v for v in (before, after))
            yield f"{prefix}{key}: {first} there, {second} here"


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            versions[package] = version(package)
    versions["machine"] = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return versions
