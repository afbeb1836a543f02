"""Training in one call."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from unweave.data import Dataset, as_dataset
from unweave.objectives import OBJECTIVES, Objective
from unweave.optimizers import OPTIMIZERS, Optimizer
from unweave.schedules import SCHEDULES, Schedule
from unweave.slots import PartLike
from unweave.training.checkpoints import Checkpoints
from unweave.training.data_parallel import ALONE, Share
from unweave.training.display import TerminalDisplay
from unweave.training.trainer import (
    Call,
    Callback,
    Display,
    Outcome,
    Precision,
    Record,
    Settings,
    Trainer,
)
from unweave.vae import Model

PARTS = {
    "optimizer": OPTIMIZERS,
    "critic_optimizer": OPTIMIZERS,
    "schedule": SCHEDULES,
    "critic_schedule": SCHEDULES,
}
"""Settings that are parts, and the slot of each."""

KEPT = ("steps", "batch_size", "learning_rate", "seed", "weight_average", "clip_norm", *PARTS)
"""Arguments of :func:`train` that an :class:`Outcome` keeps, as they were given."""

HOOKS = ("checkpoints", "record", "resumed", "display", "share", "on_step", "on_checkpoint")
"""Arguments of :func:`train` that its :class:`Trainer` takes as they are."""


def train(
    vae: Model,
    objective: Objective | PartLike,
    dataset: Dataset | PartLike | Any,
    *,
    steps: int,
    batch_size: int = 64,
    learning_rate: float = 1e-4,
    seed: int = 0,
    threads: int = 1,
    optimizer: Optimizer | PartLike = "Adam",
    critic_optimizer: Optimizer | PartLike = "Adam",
    schedule: Schedule | PartLike = "Constant",
    critic_schedule: Schedule | PartLike = "Constant",
    weight_average: float | None = None,
    clip_norm: float | None = None,
    patience: int | None = None,
    precision: Precision = "float32",
    checkpoints: Checkpoints | None = None,
    checkpoint_seconds: float = 30.0,
    log_every: int | None = None,
    record: Callable[[Record], None] | None = None,
    resumed: Callable[[int], None] | None = None,
    display: Display | None = None,
    quiet: bool = False,
    on_step: Callback | None = None,
    on_checkpoint: Callback | None = None,
    stop: Callable[[], bool] = lambda: False,
    share: Share = ALONE,
) -> Outcome:
    """Minimise an objective over batches of a data set; resume from the newest checkpoint if there is one.

    Step ``t`` draws its batch and its noise from ``(seed, t)`` alone. A run that was interrupted, even by
    ``kill -9``, therefore ends with the same weights, bit for bit, as one that was not.

    An objective with a critic has two optimisers: after each step of the model the critic takes its turn(s), and
    neither step changes a weight or a gradient of the other. With a pairing, batches are made of pairs.

    Args:
        vae: the model; trained in place, on its device. One that is no VAE is trained with its own ``game()``.
        objective: what to minimise: an instance, a class, a name or a reference (``./my_loss.py:MyLoss``).
        dataset: where the images come from, given like the objective; or images, a torch data set or loader, a table
            or an iterable, see :func:`unweave.data.as_dataset`.
        steps: total number of updates.
        batch_size: images in a batch, or pairs of images.
        learning_rate: the optimiser's step size, before the schedule.
        seed: of batches and noise.
        threads: CPU threads; with one thread per run, several runs share the cores well.
        optimizer: changes the model's weights, in any of these forms.
        critic_optimizer: changes the critic's weights, if the objective has one.
        schedule: how the learning rate, and perhaps more, changes over the steps.
        critic_schedule: how the critic's learning rate changes over the steps.
        weight_average: decay of a moving average of the weights, such as 0.999, which the model has at the end; none:
            it has those of the last step.
        clip_norm: longer gradients, of the model or of the critic, are shortened to this norm; none: they are not.
        patience: training ends early when the mean loss of so many steps is no lower than that of as many before.
        precision: of the networks' products: float32, or bfloat16, which is for CUDA.
        checkpoints: where states are saved; none: nowhere.
        checkpoint_seconds: time between saved states.
        log_every: steps between records; none: about a thousand records in total.
        record: called with each record of losses.
        resumed: called once, before the first step, with the number of steps that were taken earlier.
        display: shows progress; none: a bar on standard error, if that is a terminal.
        quiet: show no bar.
        on_step: called with the :class:`Trainer` after every step: ``losses``, ``model`` and ``state`` are its own.
        on_checkpoint: called with it after a state was saved.
        stop: called after every step; ``True`` saves the state and ends the run.
        share: this process's part of every batch, where several processes train together.

    Example:
        >>> from unweave import VAE, data, objectives
        >>> vae = VAE.assemble((3, 32, 32), latents=2)
        >>> train(vae, objectives.BetaVAE(), data.Circles(size=32), steps=2, batch_size=4)
        Outcome(status='finished', step=2, reason=None)
    """
    given = dict(locals())
    settings, images = _settings(given), as_dataset(dataset)
    part = OBJECTIVES.make(objective, latents=vae.latents)
    trainer = Trainer(vae, part, images, settings, **{name: given[name] for name in HOOKS})
    call = Call(objective, dataset, images, {name: given[name] for name in KEPT})
    with _shown(trainer, quiet):
        return replace(trainer.run(stop), call=call)


def _settings(given: Mapping[str, Any]) -> Settings:
    """Those among the arguments of :func:`train`, with the parts made that they name."""
    made = {name: slot.make(given[name]) for name, slot in PARTS.items()}
    return Settings(**{field.name: given[field.name] for field in fields(Settings)} | made)


@contextlib.contextmanager
def _shown(trainer: Trainer, quiet: bool) -> Iterator[None]:
    """Inside, a bar on standard error shows the progress, unless something else does or nothing should."""
    if trainer.display is not None or quiet or trainer.share.rank:
        yield
        return
    steps = {type(trainer.model).__name__: trainer.settings.steps}
    with TerminalDisplay.of(steps, quiet) as trainer.display:
        yield
