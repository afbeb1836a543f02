"""Training as a state, a step and a loop."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, cast, get_args

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from unweave import memory
from unweave.data import Dataset
from unweave.errors import UnweaveError, check_choice
from unweave.objectives import CriticLoss, Loss, Objective, Progress
from unweave.optimizers import Adam, Optimizer
from unweave.pairing import Pairing
from unweave.schedules import Constant, Schedule, Stage
from unweave.training import cpu
from unweave.training.checkpoints import Checkpoints, State
from unweave.training.data_parallel import ALONE, Share
from unweave.training.draws import Draws
from unweave.training.randomness import generator, seed_torch
from unweave.training.state import TrainingState
from unweave.vae import VAE, Model, as_tensor

Record = dict[str, Any]
Status = Literal["finished", "interrupted", "diverged"]

Precision = Literal["float32", "bfloat16"]

DIVERGED = 1000.0
"""A loss this many times as large as the first one ends the run."""


@dataclass(frozen=True)
class Call:
    """With what :func:`train` was called, as it was given; for those who save the model.

    Example:
        >>> from unweave.data import Circles
        >>> Call("BetaVAE", "circles", Circles(), {"steps": 10}).objective
        'BetaVAE'
    """

    objective: Any
    data: Any
    dataset: Dataset
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """How training ended: after which step, and the reason if that is not the last step.

    ``call`` is known of :func:`train` alone, not of a run, whose folder has it.

    Example:
        >>> Outcome("diverged", 120, "the loss is nan at step 121").status
        'diverged'
    """

    status: Status
    step: int
    reason: str | None = None
    call: Call | None = field(default=None, repr=False, compare=False)


class Display(Protocol):
    """Shows the progress of training; see :mod:`unweave.training.display`."""

    def show(self, step: int, record: Record | None) -> None:
        """Called after every step; ``record`` holds the losses if this step was logged."""


@dataclass(frozen=True)
class Settings:
    """How to train a model: what decides the result, and how often it is saved and logged.

    Args:
        steps: total number of updates.
        batch_size: images in a batch, or pairs of images.
        learning_rate: of the model's optimiser.
        seed: of batches and noise.
        threads: CPU threads.
        optimizer: changes the model's weights.
        critic_optimizer: changes the critic's weights, if the objective has one.
        schedule: how the learning rate, and perhaps more, changes.
        critic_schedule: how the learning rate of the critic changes.
        weight_average: decay of a moving average of the weights, which the model has at the end; none: the last ones.
        clip_norm: the longest gradient; none: any.
        patience: training ends when the mean loss of so many steps is no lower than that of as many before; none: it
            goes to the last step.
        precision: of the networks' products: float32, or bfloat16 (mixed precision, for CUDA); weights stay float32.

    Example:
        >>> Settings(steps=100).batch_size
        64
        >>> settings = Settings(steps=100, log_every=10)
        >>> settings.is_logged(20), settings.is_logged(21)
        (True, False)
    """

    steps: int
    batch_size: int = 64
    learning_rate: float = 1e-4
    seed: int = 0
    threads: int = 1
    checkpoint_seconds: float = 30.0
    optimizer: Optimizer = field(default_factory=Adam)
    critic_optimizer: Optimizer = field(default_factory=Adam)
    schedule: Schedule = field(default_factory=Constant)
    log_every: int | None = None
    critic_schedule: Schedule = field(default_factory=Constant)
    weight_average: float | None = None
    clip_norm: float | None = None
    patience: int | None = None
    precision: Precision = "float32"

    def is_logged(self, step: int) -> bool:
        """Whether the losses of a step (counted from 1) are logged: the first, the last, every ``log_every``-th."""
        return step in (1, self.steps) or step % self._every == 0

    def logged_steps(self, until: int) -> list[int]:
        """The logged steps up to one.

        Example:
            >>> Settings(steps=100, log_every=10).logged_steps(20)
            [1, 10, 20]
        """
        steps = {*range(self._every, until + 1, self._every), 1, self.steps}
        return sorted(step for step in steps if step <= until)

    @property
    def _every(self) -> int:
        return self.log_every or max(1, self.steps // 1000)


@dataclass(frozen=True)
class StepLosses:
    """The losses of one step, averaged over all processes: the model's, and the last one of the critic if any.

    Example:
        >>> StepLosses(Loss(torch.tensor(2.0))).to_record(step=7)
        {'step': 7, 'total': 2.0}
    """

    model: Loss
    critic: CriticLoss | None = None

    def to_record(self, step: int) -> Record:
        """As a line of the history."""
        return {"step": step, **self.model.logged(), **(self.critic.logged() if self.critic else {})}


class DivergedError(Exception):
    """A loss or a weight is not finite, or the loss has exploded; the message says which.

    Example:
        >>> str(DivergedError("the loss is nan at step 3"))
        'the loss is nan at step 3'
    """


Callback = Callable[["Trainer"], None]


class Trainer:
    """Minimises an objective over batches of a data set: one :meth:`step`, or the whole loop with :meth:`run`.

    Args:
        model: trained in place, on its device.
        objective: what to minimise.
        dataset: where the images come from.
        settings: what decides the result.
        checkpoints: where states are saved; none: nowhere.
        record: called with each record of losses.
        resumed: called once, before the first step, with the number of steps that were taken earlier.
        display: shows progress.
        share: this process's part of every batch.
        on_step: called with this trainer after every step; ``losses`` holds those of the step.
        on_checkpoint: called with this trainer after a state was saved.

    Example:
        >>> from unweave import data, objectives
        >>> vae = VAE.assemble((3, 32, 32), latents=2)
        >>> settings = Settings(steps=2, batch_size=4)
        >>> trainer = Trainer(vae, objectives.BetaVAE(), data.Circles(size=32), settings)
        >>> trainer.run()
        Outcome(status='finished', step=2, reason=None)
        >>> trainer.state.step
        2
    """

    def __init__(
        self,
        model: Model,
        objective: Objective,
        dataset: Dataset,
        settings: Settings,
        *,
        checkpoints: Checkpoints | None = None,
        record: Callable[[Record], None] | None = None,
        resumed: Callable[[int], None] | None = None,
        display: Display | None = None,
        share: Share = ALONE,
        on_step: Callback | None = None,
        on_checkpoint: Callback | None = None,
    ) -> None:
        _check_settings(settings)
        self.dataset, self.settings, self.checkpoints, self.share = dataset, settings, checkpoints, share
        self.record, self.resumed, self.display = record, resumed, display
        self.on_step, self.on_checkpoint = on_step, on_checkpoint
        self.losses: StepLosses | None = None
        self.model = model
        self.pairing: Pairing | None = getattr(model, "pairing", None)
        self.device = model.device
        vae = cast(VAE, model)  # objectives are typed for a VAE; the game of another model takes that model
        self._check(vae, objective)
        objective.prepare(dataset, settings.batch_size // share.count * (1 if self.pairing is None else 2))
        cpu.prepare(settings.threads)
        cpu.channels_last(model).train()
        self.state = TrainingState(
            vae,
            objective,
            settings.learning_rate,
            settings.optimizer,
            settings.critic_optimizer,
            weight_average=settings.weight_average,
            clip_norm=settings.clip_norm,
            patience=settings.patience,
        )
        self._rates = _rates(self.state.optimizer)
        self._critic_rates = _rates(self.state.critic_optimizer)

    def _check(self, vae: VAE, objective: Objective) -> None:
        """Refuse, before step 0, what cannot be trained."""
        if vae.image_shape != self.dataset.image_shape:
            raise UnweaveError(
                f"the VAE takes images {vae.image_shape}, {self.dataset.name} has {self.dataset.image_shape}"
            )
        if self.pairing is not None:
            _check_pairs(self.pairing, vae, self.dataset, generator(self.settings.seed, "data"))
        size, shape = self.settings.batch_size, vae.image_shape
        images = size * objective.batches * (1 if self.pairing is None else 2)
        memory.check(
            8.0 * images * math.prod(shape),  # the images and their reconstructions, as 32-bit numbers
            f"a batch of {images:,} images of {' x '.join(map(str, shape))}",
            "choose a smaller batch_size or smaller images",
        )
        objective.check(vae)
        self.settings.schedule.check(vae)
        self.share.check(self.settings.batch_size)

    def run(self, stop: Callable[[], bool] = lambda: False) -> Outcome:
        """Resume from the newest checkpoint if there is one, and train to the last step, to a stop or to divergence.

        Args:
            stop: called after every step; ``True`` saves the state and ends the run.
        """
        state, steps = self.state, self.settings.steps
        self.resume()
        last_save = time.monotonic()
        with self._steps():
            try:
                while state.step < steps and not state.has_settled:
                    self._report(self.step())
                    due = self.checkpoints is not None
                    due = due and time.monotonic() - last_save >= self.settings.checkpoint_seconds
                    stopped, due = self.share.any(stop(), due)
                    ended = state.has_settled or state.step == steps
                    if stopped or due or ended:
                        self.save()
                        last_save = time.monotonic()
                    if stopped and not ended:
                        return Outcome("interrupted", state.step, "stopped by the user")
            except DivergedError as problem:
                return Outcome("diverged", state.step, str(problem))
        state.adopt_average()
        early = state.step < steps
        reason = f"the loss fell no further for {self.settings.patience} steps" if early else None
        return Outcome("finished", state.step, reason)

    def rehearse(self) -> None:
        """Take the first step, saving and reporting nothing: whatever makes training impossible fails here."""
        with self._steps(), contextlib.suppress(DivergedError):
            self._start()
            self.step()

    @contextlib.contextmanager
    def _steps(self) -> Iterator[None]:
        """Inside, steps are taken; afterwards the generators of random numbers are as they were."""
        generators = [self.device] if self.device.type == "cuda" else []
        with cpu.flushed_denormals(), torch.random.fork_rng(devices=generators):
            yield

    def step(self) -> StepLosses:
        """One update of the model, then the turns of the critic; the state counts one step more.

        The batch and the noise depend on the seed and the step alone.
        """
        state, settings = self.state, self.settings
        progress = self._follow_schedule()
        seed_torch(settings.seed, "noise", state.step)
        images = self._batch()
        with self.share.noise(len(images) // state.objective.batches), self._precision():
            loss = _with_lesson(
                state.objective(state.model, images, progress),
                settings.schedule.lesson(state.model, images, progress),
            )
        average = self.share.average_loss(loss)
        total = average.total.item()
        self._check_loss(total)
        state.update_model(loss.total, self.share)
        critic = self._critic_turns(images, loss)
        state.step += 1
        state.note_loss(total)
        self.losses = StepLosses(average, critic)
        return self.losses

    def _precision(self) -> contextlib.AbstractContextManager[object]:
        """Inside, networks multiply in the precision of the settings."""
        if self.settings.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def _follow_schedule(self) -> Progress:
        """Let schedules and optimisers change what they change before this step; the position in training."""
        state, settings = self.state, self.settings
        progress = Progress(state.step, settings.steps)
        average = None if state.average is None else state.average.model
        settings.schedule.before_step(Stage(state.model, state.optimizer, self._draw, progress, average))
        settings.optimizer.before_step(state.optimizer, progress.fraction)
        _set_rates(state.optimizer, self._rates, settings.schedule.rate(progress))
        if state.critic_optimizer is not None:
            settings.critic_optimizer.before_step(state.critic_optimizer, progress.fraction)
            _set_rates(state.critic_optimizer, self._critic_rates, settings.critic_schedule.rate(progress))
        return replace(progress, kl_weight=settings.schedule.kl_weight(progress))

    def _draw(self, count: int) -> Tensor:
        """Images for the schedule, the same before the same step."""
        rng = generator(self.settings.seed, "schedule", self.state.step)
        return as_tensor(self.dataset.sample(count, rng).images, self.device)

    def resume(self) -> None:
        """Restore the newest checkpoint; without one, start: initialise the prior from data and save step 0."""
        checkpoints = self.checkpoints
        saved = self.share.first(self._newest)
        if saved is not None:
            self.state.restore(saved)
        else:
            self._start()
            if checkpoints:  # an intact state always exists, and an unwritable folder fails at once
                checkpoints.save(self.state.to_checkpoint())
        if self.resumed is not None:
            self.resumed(self.state.step)

    def _start(self) -> None:
        self._initialise_prior()
        self.settings.schedule.start(self.state.model)

    def _newest(self) -> State | None:
        """The newest checkpoint that is intact and fits; others are set aside."""
        if self.checkpoints is None:
            return None
        return self.checkpoints.latest(self.device, unfit=self.state.unfit, set_aside=True)

    def save(self) -> None:
        """Save the state as a checkpoint, unless a weight is not finite."""
        if not self.state.is_finite():
            raise DivergedError(f"a weight is not finite after step {self.state.step}")
        if self.checkpoints is not None:
            self.checkpoints.save(self.state.to_checkpoint())
            if self.on_checkpoint is not None:
                self.on_checkpoint(self)

    def _batch(self) -> Tensor:
        """This process's images of the present step: batch after batch; a batch of pairs is two, first and second."""
        size, batches = self.settings.batch_size, self.state.objective.batches
        rng = generator(self.settings.seed, "data", self.state.step)
        if self.pairing is None:
            parts = [self.dataset.sample(size, rng).images for _ in range(batches)]
        else:
            pairs = [self.dataset.pairs(size, rng, self.pairing.k) for _ in range(batches)]
            parts = [side.images for pair in pairs for side in pair]
        return as_tensor(_joined([self.share.rows(part) for part in parts]), self.device)

    def _critic_turns(self, images: Tensor, loss: Loss) -> CriticLoss | None:
        """The steps of the critic after a step of the model; returns the loss of the last one."""
        state, critic = self.state, None
        if state.critic_optimizer is None:
            return None
        for turn in range(state.objective.critic_turns):
            with self._precision():
                critic = state.objective.critic_loss(state.model, images, loss, turn)
            state.update_critic(critic.total, self.share)
        if critic is not None and not math.isfinite(critic.total.item()):
            raise DivergedError(f"the critic's loss is not finite at step {state.step + 1}")
        return critic

    def _check_loss(self, total: float) -> None:
        state = self.state
        state.first_total = total if state.first_total is None else state.first_total
        if not math.isfinite(total) or abs(total) > DIVERGED * (abs(state.first_total) + 1):
            raise DivergedError(f"the loss is {total:.4g} at step {state.step + 1}")

    def _initialise_prior(self) -> None:
        """Let a prior that takes something from the data have images of them, as networks and loss see them."""
        if isinstance(self.model, VAE):
            as_seen = self.model.likelihood.as_seen
            self.model.prior.initialise(Draws(self.dataset, self.settings.seed, self.device, as_seen))

    def _report(self, losses: StepLosses) -> None:
        step, record = self.state.step, None
        if self.settings.is_logged(step):
            record = losses.to_record(step)
            if self.record is not None:
                self.record(record)
        if self.display is not None:
            self.display.show(step, record)
        if self.on_step is not None:
            self.on_step(self)


def _check_settings(settings: Settings) -> None:
    check_choice("precision", settings.precision, get_args(Precision))
    if settings.patience is not None and settings.patience < 1:
        raise UnweaveError(f"patience must be at least 1 step, got {settings.patience}")


def _rates(optimizer: torch.optim.Optimizer | None) -> list[float]:
    """The step sizes of an optimiser's groups."""
    return [] if optimizer is None else [group["lr"] for group in optimizer.param_groups]


def _set_rates(optimizer: torch.optim.Optimizer, rates: list[float], factor: float) -> None:
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate * factor


def _with_lesson(loss: Loss, lesson: Tensor | None) -> Loss:
    """A loss with what the schedule adds to it, which the history names ``lesson``."""
    if lesson is None:
        return loss
    return replace(loss, total=loss.total + lesson, terms={**loss.terms, "lesson": lesson})


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """All rows one after another; a single part keeps its memory layout."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _check_pairs(pairing: Pairing, vae: VAE, dataset: Dataset, rng: Generator) -> None:
    """Refuse data without pairs that differ in ``k`` factors, and posteriors that the pairing cannot change."""
    if dataset.space is None:
        raise UnweaveError(
            f"pairing {type(pairing).__name__} needs pairs that differ in known factors, but {dataset.name} has none: "
            f"choose a data set with factors (such as data=dsprites), or pairing=none"
        )
    pairing.check(vae.posterior)
    dataset.pairs(1, rng, pairing.k)
