"""How many steps fit into the time that a user has."""

import itertools
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch

from unweave.errors import UnweaveError
from unweave.runs import publishing, status
from unweave.runs.config import Config
from unweave.runs.opened import open_data
from unweave.runs.run import Run, fresh, settings_of
from unweave.training.trainer import Trainer

_SECONDS = 3.0
"""Time that is spent on measuring."""

_WARM = 2
"""First steps that are not counted: memory is allocated and libraries are loaded in them."""


def config_for(
    minutes: float,
    config_of: Callable[[int | None], Config],
    folder: Path | None = None,
    *,
    device: torch.device | str = "cpu",
    threads: int = 1,
) -> Config:
    """The config whose training takes about that many minutes on this machine.

    A run that the same request has made before gives its number of steps again, so that the same command resumes it.

    Args:
        minutes: of training; scores and page come on top.
        config_of: the config for a number of steps; none: for the default one.
        folder: of the run; none: one in ``runs/``.
        device: to train on.
        threads: CPU threads.

    Example:
        >>> words = ["data=circles", "data.size=32", "latents=2", "batch_size=4"]
        >>> config_for(0.01, lambda steps: Config.read(words=[*words, f"steps={steps or 100}"]), Path("new")).steps >= 1
        True
    """
    if not minutes > 0 or math.isinf(minutes):
        raise UnweaveError(f"--minutes must be greater than 0, got {minutes:g}")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UnweaveError("--minutes times one process: with several (torchrun) say steps=N instead")
    usual = config_of(None)
    started = _earlier(minutes, config_of, [folder] if folder else _labelled(usual))
    if started is not None:
        return started
    return config_of(rounded(60 * minutes / seconds_per_step(usual, device=device, threads=threads)))


def seconds_per_step(config: Config, *, device: torch.device | str = "cpu", threads: int = 1) -> float:
    """The median time of a step in the middle of training, measured for a few seconds with weights that are dropped.

    Example:
        >>> config = Config.read(words=["data=circles", "data.size=32", "batch_size=4", "latents=2"])
        >>> 0 < seconds_per_step(config) < 60
        True
    """
    data = open_data(config)
    model, objective = fresh(config, data.dataset, device, data.channels if config.standardise else None)
    trainer = Trainer(model, objective, data.dataset, settings_of(config, threads))
    trainer.state.step = int(0.6 * config.steps)
    times: list[float] = []
    for _ in itertools.count():
        began = time.perf_counter()
        trainer.step()
        times.append(time.perf_counter() - began)
        trainer.state.step = int(0.6 * config.steps)
        if sum(times) > _SECONDS and len(times) > _WARM:
            break
    return median(times[_WARM:])


def rounded(steps: float) -> int:
    """Two leading digits of a number of steps, at least 1 step.

    Example:
        >>> rounded(4687.2), rounded(83.9), rounded(0.3)
        (4600, 83, 1)
    """
    digits = str(max(1, int(steps)))
    return int(digits[:2].ljust(len(digits), "0"))


def _labelled(config: Config) -> list[Path]:
    """Folders in ``runs/`` of runs with this config or with another number of steps."""
    prefix = config.label.rsplit("-", 1)[0]
    return sorted(path for path in Path("runs").glob("*-*") if path.name.rsplit("-", 1)[0] == prefix)


def _earlier(minutes: float, config_of: Callable[[int | None], Config], folders: list[Path]) -> Config | None:
    """The config of a run that was made for as many minutes, and for the same otherwise."""
    for folder in folders:
        if (
            publishing.is_published(folder)
            and status.readable(folder / publishing.RUN).get("minutes") == minutes
        ):
            made = Run(folder).config
            if config_of(made.steps) == made:
                return made
    return None
