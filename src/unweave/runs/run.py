"""A run: one folder that holds what was asked and what came out."""

import contextlib
import dataclasses
import fcntl
import json
import logging
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from unweave import atomic
from unweave.data import Dataset
from unweave.errors import UnweaveError
from unweave.gan import GAN
from unweave.objectives import Objective
from unweave.runs.config import Config
from unweave.training.checkpoints import Checkpoints
from unweave.training.data_parallel import ALONE, Share
from unweave.training.loop import train
from unweave.training.randomness import seed_torch
from unweave.training.trainer import Display, Outcome, Record
from unweave.vae import VAE

logger = logging.getLogger("unweave")

_PACKAGES = ("unweave", "torch", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Codes:
    """What the encoder made of a sample of the data set, encoded once and kept for every score.

    ``means``, ``scales`` and ``kl`` (to the prior, in nats) are ``(n, latents)``; ``kl`` is ``(n, 1)``, the whole, if
    the prior does not factorise over latents; ``factors`` is ``(n, factors)`` or ``None``; ``nll`` holds
    ``-log p(x|z)`` in nats of the first images, at a sample ``z`` of their posterior; ``step``
    is the one the weights were from.

    Example:
        >>> import numpy as np
        >>> zeros = np.zeros((2, 3))
        >>> Codes(means=zeros, scales=zeros + 1, kl=zeros, factors=None, nll=np.zeros(2), step=100).means.shape
        (2, 3)
    """

    means: NDArray[Any]
    scales: NDArray[Any]
    kl: NDArray[Any]
    factors: NDArray[Any] | None
    nll: NDArray[Any]
    step: int


class Run:
    """One run on disk. The folder is the truth; this is a way to read it and to go on with it.

    Files: ``config.yaml`` (what was asked), ``run.json`` (identity, versions, command), ``data.json`` (fingerprint of
    the data, channel constants), ``status.json``, ``history.jsonl`` (a line per logged step), ``checkpoints/``,
    ``model.safetensors`` (when finished), ``codes.npz``, ``scores.json``, ``report.html`` and ``pictures/``.

    Example:
        >>> import tempfile
        >>> config = Config.read(words=["data=circles", "data.size=32", "steps=2", "batch_size=4", "latents=2"])
        >>> run = Run.create(config, Path(tempfile.mkdtemp()) / "run")
        >>> run.train().status
        'finished'
        >>> [record["step"] for record in run.history]
        [1, 2]
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not (self.folder / "run.json").exists():
            raise UnweaveError(f"{self.folder} is not the folder of a run: it has no run.json")
        self.config = Config.read(self.folder / "config.yaml")

    @classmethod
    def create(cls, config: Config, folder: Path | str | None = None, command: str | None = None) -> "Run":
        """The run of a config: the one in the folder if it is the same, otherwise a new one.

        Args:
            config: what is asked.
            folder: where it lives; none: ``runs/<label>``.
            command: the command line that asked, kept for the report.
        """
        folder = Path(folder) if folder is not None else Path("runs") / config.label
        if (folder / "run.json").exists():
            made = _read_json(folder / "run.json")
            if made.get("identity") != config.identity:
                changed = ", ".join(_differences(Run(folder).config.to_mapping(), config.to_mapping()))
                raise UnweaveError(
                    f"{folder} holds a run made by another config ({changed}); choose another folder with --out"
                )
            return cls(folder)
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
                "config": config.to_mapping(),  # as in config.yaml; read by the index, which has thousands to read
            },
        )
        return cls(folder)

    @property
    def command(self) -> str:
        """The command that makes this run again."""
        given = _read_json(self.folder / "run.json").get("command")
        return given or f"unweave train {self.folder / 'config.yaml'}"

    @property
    def versions(self) -> dict[str, str]:
        """The versions of what made this run."""
        versions: dict[str, str] = _read_json(self.folder / "run.json").get("versions", {})
        return versions

    @property
    def status(self) -> str:
        """``new``, ``running``, ``finished``, ``interrupted``, ``diverged`` or ``failed``."""
        if (self.folder / "model.safetensors").exists():  # perhaps killed before it could say so
            return "finished"
        status: str = self._status().get("status", "new")
        if status == "running" and not self._locked_elsewhere():
            return "interrupted"
        return status

    @property
    def reason(self) -> str | None:
        """Why the run ended before its last step, if it did."""
        given: str | None = self._status().get("reason")
        return "the process was killed" if self.status == "interrupted" and given is None else given

    @property
    def seconds(self) -> float:
        """Training time so far, over all sessions."""
        return float(self._status().get("seconds", 0.0))

    @property
    def history(self) -> list[Record]:
        """The logged losses, one record per logged step; a torn last line is passed over."""
        return list(_read_lines(self.folder / "history.jsonl"))

    @property
    def scores(self) -> dict[str, Any]:
        """The scores of the last evaluation, by name; empty before the first."""
        path = self.folder / "scores.json"
        return _read_json(path) if path.exists() else {}

    def dataset(self) -> Dataset:
        """The data set of this run; a warning if it is no longer the one that was trained on."""
        dataset = self.config.make_dataset()
        if (problem := self._changed_data(dataset)) is not None:
            logger.warning("%s", problem)
        return dataset

    def _changed_data(self, dataset: Dataset) -> str | None:
        """What is wrong, if the data have changed since the run first saw them."""
        path, seen = self.folder / "data.json", dataset.fingerprint()
        if not path.exists():
            return None
        if (first := _read_json(path).get("fingerprint")) == seen:
            return None
        return (
            f"the data of {self.folder} have changed since it was begun (fingerprint {first} then, {seen} now): "
            f"bring the old data back, or start a new run with --out"
        )

    def _note_data(self, dataset: Dataset) -> None:
        """Keep what the data look like, or refuse to go on with others."""
        if (problem := self._changed_data(dataset)) is not None:
            raise UnweaveError(problem)
        channels = dataclasses.asdict(dataset.channels()) if self.config.standardise else None
        kept = {"fingerprint": dataset.fingerprint(), "count": dataset.count, "channels": channels}
        atomic.write_json(self.folder / "data.json", kept)

    def model(self, device: torch.device | str = "cpu") -> VAE | GAN:
        """The model with the final weights, or with the newest good ones if the run is not finished."""
        return self.model_and_step(device)[0]

    def model_and_step(self, device: torch.device | str = "cpu") -> tuple[VAE | GAN, int]:
        """The model and the step that its weights are from."""
        vae = self.config.make_model(self.dataset().image_shape).to(device)
        final = self.folder / "model.safetensors"
        if final.exists():
            from safetensors.torch import load_file

            vae.load_state_dict(load_file(final, device=str(device)))
            step = self.config.steps
        else:
            state = self.checkpoints.latest(device)
            if state is None:
                raise UnweaveError(f"{self.folder} has no weights yet: train it with {self.command}")
            vae.load_state_dict(state["vae"])
            step = state["step"]
        return vae.to(memory_format=torch.channels_last).eval(), step  # type: ignore[call-overload]

    @property
    def checkpoints(self) -> Checkpoints:
        """The newest states of this run."""
        return Checkpoints(self.folder / "checkpoints")

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
        """Train to the last step, from the newest checkpoint if there is one; nothing is done twice.

        With a ``share`` this process trains its part of every batch and keeps the folder; the others :func:`follow`.
        """
        if share.first(lambda: (self.folder / "model.safetensors").exists()):
            return Outcome("finished", self.config.steps)
        with self._lock():
            return self._train(device, threads, checkpoint_seconds, display, stop, share)

    def _train(
        self,
        device: torch.device | str,
        threads: int,
        checkpoint_seconds: float,
        display: Display | None,
        stop: Callable[[], bool],
        share: Share,
    ) -> Outcome:
        config = self.config
        dataset = config.make_dataset()
        self._note_data(dataset)
        vae, objective = fresh(config, dataset, device)
        started = time.monotonic()

        def tell(status: str, step: int, reason: str | None) -> None:
            seconds = time.monotonic() - started
            value = {"status": status, "step": step, "reason": reason, "seconds": round(seconds, 3)}
            atomic.write_json(self.folder / "status.json", value)

        def resumed(step: int) -> None:
            nonlocal started
            kept = [record for record in self.history if record["step"] <= step]
            started -= (
                kept[-1]["seconds"] if kept else 0.0
            )  # the clock goes on where the last session's stood
            atomic.write(self.folder / "history.jsonl", "".join(json.dumps(record) + "\n" for record in kept))
            tell("running", step, None)
            if step:
                logger.info("going on from step %d of %d", step, config.steps)

        try:
            with _History(self.folder / "history.jsonl", lambda: time.monotonic() - started) as history:
                outcome = train(
                    vae,
                    objective,
                    dataset,
                    steps=config.steps,
                    batch_size=config.batch_size,
                    learning_rate=config.learning_rate,
                    seed=config.seed,
                    threads=threads,
                    checkpoints=self.checkpoints,
                    checkpoint_seconds=checkpoint_seconds,
                    record=history.append,
                    resumed=resumed,
                    display=display,
                    stop=stop,
                    share=share,
                )
        except OSError as error:
            raise atomic.explain(error, self.folder) from error
        if outcome.status == "finished":
            from safetensors.torch import save

            weights = {name: tensor.contiguous().cpu() for name, tensor in vae.state_dict().items()}
            atomic.write(self.folder / "model.safetensors", save(weights))
            self.checkpoints.clear()
        tell(outcome.status, outcome.step, outcome.reason)
        return outcome

    def _status(self) -> dict[str, Any]:
        path = self.folder / "status.json"
        return _read_json(path) if path.exists() else {}

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Hold the folder for this process; the kernel lets go of it however the process ends."""
        try:
            file = (self.folder / ".lock").open("w")
        except OSError as error:
            raise atomic.explain(error, self.folder) from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UnweaveError(f"another process is training {self.folder} right now") from None
            yield

    def _locked_elsewhere(self) -> bool:
        path = self.folder / ".lock"
        if not path.exists():
            return False
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


def follow(
    config: Config,
    share: Share,
    *,
    device: torch.device | str = "cpu",
    threads: int = 1,
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Train one share of every batch of a run whose folder another process keeps (the first: ``Run.train``).

    Example:
        >>> config = Config.read(words=["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"])
        >>> follow(config, Share(), device="cpu").step  # alone there is nobody to follow: it just trains
        1
    """
    if share.first(lambda: False):
        return Outcome("finished", config.steps)
    dataset = config.make_dataset()
    vae, objective = fresh(config, dataset, device)
    return train(
        vae,
        objective,
        dataset,
        steps=config.steps,
        batch_size=config.batch_size,
        learning_rate=config.learning_rate,
        seed=config.seed,
        threads=threads,
        stop=stop,
        share=share,
    )


def fresh(config: Config, dataset: Dataset, device: torch.device | str) -> tuple[VAE | GAN, Objective]:
    """A model and its objective with the weights that the config's seed gives them.

    Example:
        >>> config = Config.read(words=["data=circles", "data.size=32", "latents=2"])
        >>> fresh(config, config.make_dataset(), "cpu")[0].latents
        2
    """
    with torch.random.fork_rng(devices=[]):
        seed_torch(config.seed, "weights")
        channels = dataset.channels() if config.standardise else None
        model = config.make_model(dataset.image_shape, channels).to(device)
        return model, config.make_objective(model).to(device)


class _History:
    """Lines appended to ``history.jsonl``; opened at the first line, after a resume has cut the file to size."""

    def __init__(self, path: Path, seconds: Callable[[], float]) -> None:
        self.path = path
        self.seconds = seconds
        self.file: Any = None

    def __enter__(self) -> "_History":
        return self

    def append(self, record: Record) -> None:
        if self.file is None:
            self.file = self.path.open("a", buffering=1)
        self.file.write(json.dumps({**record, "seconds": round(self.seconds(), 3)}) + "\n")

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()


def _entries(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UnweaveError(f"{folder} is a file, not a folder; choose another folder with --out")
    return list(folder.iterdir())


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UnweaveError(f"cannot read {path}: {error}") from error
    return content


def _read_lines(path: Path) -> Iterator[Record]:
    if not path.exists():
        return
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # torn by a crash in the middle of the line
            continue


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
