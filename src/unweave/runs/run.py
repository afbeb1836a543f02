"""A run: one folder that holds what was requested and what came out."""

import contextlib
import dataclasses
import json
import logging
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from unweave import artefacts, atomic
from unweave.atomic import DamagedError
from unweave.data import Channels, Dataset
from unweave.errors import UnweaveError
from unweave.memory import Budget
from unweave.model_metrics import Codes
from unweave.objectives import Objective
from unweave.optimizers import OPTIMIZERS
from unweave.runs import history, locks, publishing, status, weights
from unweave.runs.config import Config, with_record
from unweave.runs.history import HistoryWriter, Record
from unweave.runs.opened import LoadedModel, OpenedData, keep_model, loaded_model, open_data
from unweave.runs.weights import About, DataFacts
from unweave.schedules import SCHEDULES
from unweave.training import cpu
from unweave.training.checkpoints import Checkpoints
from unweave.training.data_parallel import ALONE, Share
from unweave.training.randomness import seed_torch
from unweave.training.trainer import Display, Outcome, Settings, Trainer
from unweave.vae import Model

__all__ = ["Codes", "Run", "follow", "fresh"]

logger = logging.getLogger("unweave")


class Run:
    """One run on disk. The folder is the truth; this object reads it and continues it.

    Its data set and its model are opened once and handed on to training, scores and pages.

    Files: ``config.yaml`` (what was requested), ``run.json`` (identity, versions, command), ``data.json`` (fingerprint
    of the data, channel constants), ``status.json``, ``history.jsonl`` (a line per logged step), ``checkpoints/``,
    ``model.safetensors`` (when finished), ``codes.npz``, ``scores.json``, ``names.json`` (of latents, if given),
    ``report.html`` and ``pictures/``.

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
        self._command: str | None = None
        self._minutes: float | None = None
        if config is None and not publishing.is_published(self.folder):
            raise UnweaveError(f"{self.folder} is not the folder of a run: it has no run.json")
        self.config = _stored_config(self.folder) if config is None else config
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
        run = cls.requested(config, folder, command)
        run.publish()
        return run

    @classmethod
    def requested(
        cls,
        config: Config,
        folder: Path | str | None = None,
        command: str | None = None,
        minutes: float | None = None,
    ) -> "Run":
        """As :meth:`create`, but a new run gets its folder only when :meth:`train` has found that it can be trained.

        ``minutes`` is the time that its number of steps was made for, recorded so that the same request finds it.

        Example:
            >>> run = Run.requested(Config.read(words=["data=circles", "objective.beta=-1"]), "nowhere")
            >>> run.train()
            Traceback (most recent call last):
            ...
            unweave.errors.UnweaveError: objective.beta must be at least 0, got -1
            >>> Path("nowhere").exists()
            False
        """
        run = cls(Path(folder) if folder is not None else Path("runs") / config.label, config)
        publishing.check_free(run.folder, config)
        run._command, run._minutes = command, minutes
        return run

    def publish(self) -> bool:
        """Make the folder of the run, unless it exists; several processes may do this at once. Whether this one did."""
        if publishing.is_published(self.folder):
            return False
        return publishing.publish(self.folder, self.config, self._command, self._minutes)

    @property
    def command(self) -> str:
        """The command that makes this run again."""
        given = status.readable(self.folder / publishing.RUN).get("command")
        return str(given) if given else f"unweave train {self.folder / 'config.yaml'}"

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the software that made this run."""
        versions = artefacts.read_json(self.folder / publishing.RUN).get("versions", {})
        return dict(versions) if isinstance(versions, dict) else {}

    @property
    def status(self) -> str:
        """``new``, ``running``, ``finished``, ``interrupted``, ``diverged`` or ``failed``."""
        return status.present_status(self.folder)

    @property
    def reason(self) -> str | None:
        """Why the run ended before its last step, if it did."""
        given: str | None = status.readable(self.folder / status.STATUS).get("reason")
        return "the process was killed" if self.status == "interrupted" and given is None else given

    @property
    def seconds(self) -> float:
        """Training time so far, over all sessions."""
        return status.training_seconds(self.folder)

    @property
    def history(self) -> list[Record]:
        """The logged losses, one record per logged step; damaged lines are skipped."""
        return history.read_history(self.folder / history.FILE)

    @property
    def scores(self) -> dict[str, Any]:
        """The scores of the last evaluation, by name; empty before the first."""
        return artefacts.read_json(self.folder / status.SCORES, default={})

    @property
    def checkpoints(self) -> Checkpoints:
        """The newest states of this run."""
        return Checkpoints(self.folder / "checkpoints", self.config.identity)

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
        if share.first(self._is_finished):
            return Outcome("finished", self.config.steps)
        settings = settings_of(self.config, threads, checkpoint_seconds)
        with self.outside_code(), contextlib.ExitStack() as stack:
            if publishing.is_published(self.folder):
                stack.enter_context(self.held())
            trainer, session = self._prepare(str(torch.device(device)), settings, display, share)
            if not publishing.is_published(self.folder):
                stack.enter_context(self._begun(trainer))
            return self._run(trainer, session, stop)

    def rehearse(self) -> None:
        """Take the first step and forget it: an error says why the run cannot be trained. Nothing is written.

        Example:
            >>> config = Config.read(words=["data=circles", "data.size=32", "objective.beta=-1"])
            >>> Run("nowhere", config).rehearse()
            Traceback (most recent call last):
            ...
            unweave.errors.UnweaveError: objective.beta must be at least 0, got -1
        """
        with self.outside_code():
            data = self._open_data()
            model, objective = fresh(self.config, data.dataset, "cpu", self._channels(data))
            Trainer(model, objective, data.dataset, settings_of(self.config, threads=1)).rehearse()

    @contextlib.contextmanager
    def _begun(self, trainer: Trainer) -> Iterator[None]:
        """The folder of a run that nothing speaks against; gone again if not even its first step can be taken."""
        before = publishing.entries(self.folder)
        ours = self.publish()
        with self.held():
            try:
                yield
            except Exception:
                if ours and not trainer.state.step:
                    publishing.withdraw(self.folder, before)
                raise

    def _is_finished(self) -> bool:
        """Whether the final weights are intact; damaged ones are told and set aside, so that they are trained again."""
        path = self.folder / status.WEIGHTS
        problem = status.weights_problem(path)
        if problem == "there is no such file":
            return False
        try:
            if problem is not None:
                raise DamagedError(f"{path} is damaged: {problem}")
            artefacts.read(path)
        except DamagedError as error:
            with self.held():
                logger.warning("%s; it is kept as %s, and trained again", error, atomic.set_aside(path).name)
            return False
        if status.readable(self.folder / status.STATUS).get("status") != "finished":
            with (
                contextlib.suppress(UnweaveError),
                self.held(),
            ):  # it was killed after the weights were written
                status.write_status(self.folder, "finished", self.config.steps, None, self.seconds)
                self.checkpoints.clear()
        return True

    def _prepare(
        self, device: str, settings: Settings, display: Display | None, share: Share
    ) -> tuple[Trainer, "_Session"]:
        """All that training needs; an error here means that the run cannot be trained, and nothing is written."""
        data = self._open_data()
        if (problem := self._changed_data(data)) is not None:
            raise UnweaveError(problem)
        model, objective = fresh(self.config, data.dataset, device, self._channels(data))
        if changed := self.config.changed_parts():
            raise UnweaveError(
                f"{self.folder} cannot be trained: {'; '.join(changed)}; bring the old code back, or start a new run"
            )
        session = _Session(self, settings)
        trainer = Trainer(
            model,
            objective,
            data.dataset,
            settings,
            checkpoints=Checkpoints(self.folder / "checkpoints", self.config.identity, session.sync),
            record=session.append,
            resumed=session.resumed,
            display=display,
            share=share,
        )
        return trainer, session

    def _run(self, trainer: Trainer, session: "_Session", stop: Callable[[], bool]) -> Outcome:
        """Train, in the folder that this process holds."""
        self.record_data()
        for place in (self.folder, self.folder / "checkpoints"):
            atomic.remove_leftovers(place)
        try:
            with session:
                outcome = trainer.run(stop)
        except OSError as error:
            raise atomic.explain(error, self.folder) from error
        if outcome.status == "finished":
            self._save_weights(trainer.state.model, str(trainer.device))
        session.write_status(outcome.status, outcome.step, outcome.reason)
        if outcome.status == "finished":
            self.checkpoints.clear()
        return outcome

    def _save_weights(self, model: Model, device: str) -> None:
        path = self.folder / status.WEIGHTS
        about = About(self.config, self.data_facts(), self.config.steps)
        artefacts.write(path, weights.pack(model.state_dict(), about))
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
        with Budget("the model", copies=1):
            model = self.config.make_model(self.data_facts().image_shape)
        model = model.to(device)
        for sentence in self.config.changed_parts():
            logger.warning("%s: %s", self.folder, sentence)
        if status.is_trained(self.folder):
            path, tensors, step = self.folder / status.WEIGHTS, self._final_weights(), self.config.steps
        else:
            path, state = self._newest_weights(), self.checkpoints.latest(device)
            if state is None:
                raise UnweaveError(f"{self.folder} has no intact weights: train it with {self.command}")
            tensors, step = state.get("average") or state.get("vae", {}), state["step"]
        try:
            model.load_state_dict(tensors)
        except (RuntimeError, TypeError, AttributeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise DamagedError(f"{path} does not fit the config of its run: {reason}") from error
        return LoadedModel(cpu.channels_last(model).to(device).eval(), step)

    def _final_weights(self) -> dict[str, torch.Tensor]:
        path = self.folder / status.WEIGHTS
        try:
            return weights.unpack(artefacts.read(path), path)[0]
        except DamagedError as error:
            raise DamagedError(f"{error}; to train it again: {self.command}") from error

    def data_facts(self) -> DataFacts:
        """What the model keeps of its data; recorded when training begins, so that the data need not be there."""
        stored = status.readable(self.folder / "data.json")
        with contextlib.suppress(KeyError, TypeError, ValueError):
            return DataFacts.of_json(stored)
        return DataFacts.of(self.config, self.dataset())  # an older run, or one that has not begun

    def _open_data(self) -> OpenedData:
        self._data = open_data(self.config)  # held, so that it stays open as long as this run is used
        return self._data

    def _channels(self, data: OpenedData) -> Channels | None:
        return data.channels if self.config.standardise else None

    def _changed_data(self, data: OpenedData) -> str | None:
        """What is wrong, if the data have changed since the run began."""
        try:
            recorded = artefacts.read_json(self.folder / "data.json", default={})
        except DamagedError as error:
            return (
                f"{error}, so whether the data have changed cannot be told; "
                f"`unweave runs check --root {self.folder.parent} --repair` records the present ones"
            )
        if not recorded or recorded.get("fingerprint") == data.fingerprint:
            return None
        return (
            f"the data of {self.folder} have changed since it was begun (fingerprint {recorded.get('fingerprint')} "
            f"then, {data.fingerprint} now): bring the old data back, or start a new run with --out"
        )

    def record_data(self) -> None:
        """Record what identifies the data, unless that is recorded already."""
        data = self._open_data()
        channels = self._channels(data)
        content = {
            "fingerprint": data.fingerprint,
            "channels": None if channels is None else json.loads(json.dumps(dataclasses.asdict(channels))),
            **DataFacts.of(self.config, data.dataset).to_json(),
        }
        if artefacts.read_json(self.folder / "data.json", default={}) != content:
            artefacts.write_json(self.folder / "data.json", content)

    @contextlib.contextmanager
    def outside_code(self) -> Iterator[None]:
        """Inside, whatever goes wrong in or around an outside part becomes one sentence; ``log.txt`` gets the rest."""
        try:
            yield
        except (UnweaveError, OSError):
            raise
        except Exception as error:
            parts = self.config.outside_code
            if not parts:
                raise
            kept = "run it with --debug for the traceback"
            if publishing.is_published(self.folder):
                with (self.folder / "log.txt").open("a") as log:
                    log.write(traceback.format_exc())
                kept = f"the traceback is in {self.folder / 'log.txt'}"
            files = {code.file: label for label, code in parts.values() if code.file}
            frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in files]
            place = (
                f"{files[frames[-1].filename]} of {frames[-1].filename}, line {frames[-1].lineno}"
                if frames
                else ""
            )
            named = ", ".join(f"{slot} {label}" for slot, (label, _) in parts.items())
            raise UnweaveError(
                f"{place or f'a run with parts from outside ({named})'} failed: {type(error).__name__}: "
                f"{' '.join(str(error).split())[:300]}; {kept}"
            ) from error

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder for this process; an error if another one holds it."""
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

    def __init__(self, run: Run, settings: Settings) -> None:
        self.run = run
        self.settings = settings
        self.started = time.monotonic()
        super().__init__(run.folder / history.FILE, lambda: time.monotonic() - self.started)

    def resumed(self, step: int) -> None:
        earlier = history.cut_history(self.path, step, self.settings.logged_steps(step))
        self.started = time.monotonic() - (history.seconds_of(earlier[-1]) if earlier else 0.0)
        self.write_status("running", step, None)
        if step:
            logger.info("going on from step %d of %d", step, self.run.config.steps)

    def write_status(self, name: str, step: int, reason: str | None) -> None:
        status.write_status(self.run.folder, name, step, reason, self.seconds())


def _stored_config(folder: Path) -> Config:
    """The config of a run: of ``config.yaml``, or of its copy in ``run.json`` if that file is damaged."""
    path, made = folder / publishing.CONFIG, artefacts.read_json(folder / publishing.RUN)
    identity = made.get("identity")
    try:
        artefacts.read(path)
        config = Config.read(path)
        if config.identity == identity or identity is None:
            return config
        problem = f"{path} is not the config of this run: its identity is another one"
    except atomic.UnreadableError:
        raise
    except UnweaveError as error:
        problem = str(error)
    copy = made.get("config")
    with contextlib.suppress(UnweaveError):
        if isinstance(copy, dict) and (config := Config.of(with_record(copy, folder))).identity == identity:
            logger.warning("%s; its copy in run.json is used", problem)
            return config
    raise DamagedError(f"{problem}; {folder / publishing.RUN} has no copy of it")


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
    return Trainer(model, objective, data.dataset, settings_of(config, threads), share=share).run(stop)


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
        with Budget("the model"):
            model = config.make_model(dataset.image_shape, channels)
        model = model.to(device)
        return model, config.make_objective(model).to(device)


def settings_of(config: Config, threads: int, seconds: float = 30.0) -> Settings:
    """How a config trains its model.

    Example:
        >>> settings_of(Config.read(words=["data=circles", "steps=7"]), threads=1).steps
        7
    """
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
        critic_schedule=SCHEDULES.build(config.critic_schedule),
        weight_average=config.weight_average,
        clip_norm=config.clip_norm,
    )
