"""What a schedule must provide."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from unweave.objectives import Progress
from unweave.vae import VAE


class Stage(NamedTuple):
    """What a schedule may look at and change before a step.

    Args:
        model: in training.
        optimizer: of its weights.
        draw: gives ``n`` images ``(n, ...)``, always the same ones before the same step.
        progress: where training stands.
        average: the moving average of the model's weights, if there is one; what is done to the weights themselves must
            be done to it too.

    Example:
        >>> Stage._fields
        ('model', 'optimizer', 'draw', 'progress', 'average')
    """

    model: VAE
    optimizer: torch.optim.Optimizer
    draw: Callable[[int], Tensor]
    progress: Progress
    average: VAE | None = None


class Schedule(ABC):
    """How training changes from its first step to its last.

    A schedule provides three things:

    1. a constructor ``__init__(self, *, options)``; every keyword with a type and a default is an option,
       ``schedule.NAME=VALUE`` in a config;
    2. :meth:`rate`, the factor of the learning rate at each step, and if it likes :meth:`kl_weight`, a factor of the
       objective's KL, and :meth:`lesson`, a term that is added to the loss;
    3. if it changes the model itself: :meth:`check`, :meth:`start` and :meth:`before_step`. These may depend on the
       step, on the weights and on the images that are drawn for it, and on nothing else: then a run resumes exactly.
    """

    @abstractmethod
    def rate(self, progress: Progress) -> float:
        """The factor by which learning rates are multiplied at this step."""

    def kl_weight(self, progress: Progress) -> float:
        """The factor by which the objective's KL is multiplied at this step."""
        return 1.0

    def lesson(self, model: VAE, images: Tensor, progress: Progress) -> Tensor | None:
        """What is added to the loss of a batch at this step, a number with gradients; most schedules add nothing."""
        return None

    def check(self, model: VAE) -> None:  # noqa: B027  most schedules do nothing here
        """Refuse, before step 0, a model that this schedule cannot train."""

    def start(self, model: VAE) -> None:  # noqa: B027  most schedules do nothing here
        """Change the fresh weights before step 0; not called for a run that resumes."""

    def before_step(self, stage: Stage) -> None:  # noqa: B027  most schedules do nothing here
        """Change model or optimiser before a step."""
