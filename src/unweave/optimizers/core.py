"""What an optimiser must provide."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import nn


class Trained(NamedTuple):
    """The parameters that one optimiser updates.

    Args:
        parameters: all of them.
        facing_code: those of the two layers that face the code: the encoder's last and the decoder's first.
        betas: Adam's betas that the objective asks for, where the user does not.

    Example:
        >>> Trained([nn.Parameter(torch.zeros(2))]).betas
        (0.9, 0.999)
    """

    parameters: Sequence[nn.Parameter]
    facing_code: Sequence[nn.Parameter] = ()
    betas: tuple[float, float] = (0.9, 0.999)


class Optimizer(ABC):
    """A rule by which gradients change weights.

    An optimiser provides three things:

    1. a constructor ``__init__(self, *, options)``; every keyword with a type and a default is an option,
       ``optimizer.NAME=VALUE`` in a config;
    2. ``build(trained, learning_rate) -> torch.optim.Optimizer``: the rule for these parameters. Its state must be in
       its ``state_dict``, so that a run resumes bit for bit;
    3. groups with the key ``lr``, which schedules multiply.
    """

    @abstractmethod
    def build(self, trained: Trained, learning_rate: float) -> torch.optim.Optimizer:
        """The torch optimiser of some parameters."""

    def before_step(self, optimizer: torch.optim.Optimizer, fraction: float) -> None:  # noqa: B027  most rules stay
        """Change the rule before a step, given the fraction of all steps that is done."""
