"""The training loop."""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor, nn

from unweave.data import Dataset
from unweave.errors import UnweaveError
from unweave.gan import GAN
from unweave.objectives import Objective, Progress
from unweave.pairing import Pairing
from unweave.training import cpu
from unweave.training.checkpoints import Checkpoints, State
from unweave.training.data_parallel import ALONE, Share
from unweave.training.randomness import generator, seed_torch
from unweave.vae import VAE, as_tensor

logger = logging.getLogger("unweave")

Record = dict[str, Any]
Status = Literal["finished", "interrupted", "diverged"]

DIVERGED = 1000.0
"""A loss this many times as large as the first one ends the run."""


@dataclass(frozen=True)
class Outcome:
    """How training ended: after which step, and for what reason if it is not the last.

    Example:
        >>> Outcome("diverged", 120, "the loss is nan at step 121").status
        'diverged'
    """

    status: Status
    step: int
    reason: str | None = None


class Display(Protocol):
    """What the loop tells while it runs; see :mod:`unweave.training.display`."""

    def show(self, step: int, record: Record | None) -> None:
        """Called after every step; ``record`` holds the losses when they were logged."""


def train(
    vae: VAE | GAN,
    objective: Objective,
    dataset: Dataset,
    *,
    steps: int,
    batch_size: int = 64,
    learning_rate: float = 1e-4,
    seed: int = 0,
    threads: int = 1,
    checkpoints: Checkpoints | None = None,
    checkpoint_seconds: float = 30.0,
    log_every: int | None = None,
    record: Callable[[Record], None] | None = None,
    resumed: Callable[[int], None] | None = None,
    display: Display | None = None,
    stop: Callable[[], bool] = lambda: False,
    share: Share = ALONE,
) -> Outcome:
    """Minimise an objective over batches of a data set with Adam; go on from the newest checkpoint if there is one.

    Step ``t`` draws its batch and its noise from ``(seed, t)`` alone, so a run that was interrupted, even by
    ``kill -9``, ends with the same weights, bit for bit, as one that was not.

    An objective with a critic has two optimisers: after each step of the model the critic takes its turn(s), and
    neither's step touches a weight or a gradient of the other. With a pairing, batches are made of pairs.

    Args:
        vae: the model; trained in place, on the device where it is. A GAN is trained with its own ``game()``.
        objective: what to minimise.
        dataset: where the images come from.
        steps: number of updates in all.
        batch_size: images in a batch, or pairs of images.
        learning_rate: Adam's step size; its betas are the objective's, (0.9, 0.999) for all VAEs.
        seed: of batches and noise.
        threads: CPU threads. One by default: several runs at once then share the cores without a fight.
        checkpoints: where to keep states; none: nothing is kept.
        checkpoint_seconds: a state is saved when this long has passed since the last.
        log_every: steps between records; none: about a thousand records in all.
        record: called with each record of losses.
        resumed: called once with the step from which training goes on.
        display: shows progress.
        stop: asked after every step; ``True`` ends the run in an orderly way.
        share: this process's part of every batch, where several train together; only the first keeps states.

    Example:
        >>> from unweave import VAE, data, objectives
        >>> vae = VAE.assemble((3, 32, 32), latents=2)
        >>> train(vae, objectives.BetaVAE(), data.Circles(size=32), steps=2, batch_size=4)
        Outcome(status='finished', step=2, reason=None)
    """
    if vae.image_shape != dataset.image_shape:
        raise UnweaveError(
            f"the VAE takes images {vae.image_shape}, {dataset.name} has {dataset.image_shape}"
        )
    model = cast(VAE, vae)  # the game of a GAN takes it for what it is
    pairing: Pairing | None = getattr(model, "pairing", None)
    if pairing is not None:
        _check_pairs(pairing, model, dataset, generator(seed, "data"))
    objective.check(model)
    share.check(batch_size)
    objective.prepare(dataset, batch_size // share.count * (1 if pairing is None else 2))
    cpu.prepare(threads)
    device = vae.device
    vae.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    vae.train()
    critic = objective.critic_parameters(model)
    judging = {id(parameter) for parameter in critic}
    own = [parameter for parameter in vae.parameters() if id(parameter) not in judging]
    optimizer = cpu.adam(own, learning_rate, objective.betas)
    critic_optimizer = (
        cpu.adam(critic, objective.critic_learning_rate, objective.critic_betas) if critic else None
    )
    first_total: float | None = None

    def state(step: int) -> State:
        return {
            "step": step,
            "first_total": first_total,
            "vae": vae.state_dict(),
            "objective": objective.state_dict(),
            "optimizer": optimizer.state_dict(),
            "critic_optimizer": critic_optimizer.state_dict() if critic_optimizer else None,
        }

    done = 0
    saved = share.first(lambda: checkpoints.latest(device) if checkpoints else None)
    if saved is not None:
        done, first_total = saved["step"], saved["first_total"]
        vae.load_state_dict(saved["vae"])
        objective.load_state_dict(saved["objective"])
        optimizer.load_state_dict(saved["optimizer"])
        if critic_optimizer is not None:
            critic_optimizer.load_state_dict(saved["critic_optimizer"])
    elif callable(
        initialise := getattr(getattr(vae, "prior", None), "initialise", None)
    ):  # it takes something from the data
        initialise(lambda n: as_tensor(dataset.sample(n, generator(seed, "prior")).images, device))
    if saved is None and checkpoints is not None:
        checkpoints.save(
            state(0)
        )  # so that there always is a good state, and an unwritable folder is told at once
    if resumed is not None:
        resumed(done)
    log_every = log_every or max(1, steps // 1000)
    last_save = time.monotonic()

    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        for step in range(done, steps):
            seed_torch(seed, "noise", step)
            parts = _draw(dataset, batch_size, objective.batches, generator(seed, "data", step), pairing)
            images = as_tensor(_joined([share.rows(part) for part in parts]), device)
            with share.noise(len(images) // objective.batches):
                loss = objective(model, images, Progress(step, steps))
            shown = share.average_loss(loss)

            total = shown.total.item()
            first_total = total if first_total is None else first_total
            if not math.isfinite(total) or abs(total) > DIVERGED * (abs(first_total) + 1):
                return Outcome("diverged", done, f"the loss is {total:.4g} at step {step + 1}")

            _step(optimizer, loss.total, own, share)
            judged = None
            if critic_optimizer is not None:
                for turn in range(objective.critic_turns):
                    judged = objective.critic_loss(model, images, loss, turn)
                    _step(critic_optimizer, judged.total, critic, share)
                if judged is not None and not math.isfinite(judged.total.item()):
                    return Outcome("diverged", done, f"the critic's loss is not finite at step {step + 1}")
            done = step + 1

            logged = None
            if done % log_every == 0 or done in (1, steps):
                logged = {"step": done, **shown.logged(), **(judged.logged() if judged else {})}
                if record is not None:
                    record(logged)
            if display is not None:
                display.show(done, logged)
            overdue = checkpoints is not None and time.monotonic() - last_save >= checkpoint_seconds
            interrupted, overdue = share.any(stop(), overdue)
            if interrupted or overdue or done == steps:
                if not (_finite(vae) and _finite(objective)):
                    return Outcome("diverged", done, f"a weight is not finite after step {done}")
                if checkpoints is not None:
                    checkpoints.save(state(done))
                last_save = time.monotonic()
            if interrupted and done < steps:
                return Outcome("interrupted", done, "stopped by the user")
    return Outcome("finished", done)


def _step(
    optimizer: torch.optim.Optimizer, total: Tensor, parameters: list[nn.Parameter], share: Share
) -> None:
    optimizer.zero_grad(set_to_none=True)
    total.backward()  # type: ignore[no-untyped-call]
    share.average_gradients(parameters)
    optimizer.step()


def _draw(
    dataset: Dataset, size: int, batches: int, rng: Generator, pairing: Pairing | None
) -> list[NDArray[Any]]:
    """The images of a step in parts of ``size``: batch after batch; a batch of pairs is two parts, first and second."""
    if pairing is None:
        return [dataset.sample(size, rng).images for _ in range(batches)]
    pairs = [dataset.pairs(size, rng, pairing.k) for _ in range(batches)]
    return [half.images for pair in pairs for half in pair]


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """All rows one after another; the memory layout of a single part is kept."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _check_pairs(pairing: Pairing, vae: VAE, dataset: Dataset, rng: Generator) -> None:
    """Refuse, before step 0, data in which pairs that differ in ``k`` factors cannot be found, and odd posteriors."""
    if dataset.space is None:
        raise UnweaveError(
            f"pairing {type(pairing).__name__} needs pairs that differ in known factors, but {dataset.name} has none: "
            f"choose a data set with factors (such as data=dsprites), or pairing=none"
        )
    pairing.check(vae.posterior)
    dataset.pairs(1, rng, pairing.k)


def _finite(module: nn.Module) -> bool:
    return all(bool(torch.isfinite(parameter).all()) for parameter in module.parameters())
