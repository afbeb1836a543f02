"""A moving average of the weights, for evaluation in place of the last ones."""

import copy
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from unweave.errors import UnweaveError

M = TypeVar("M", bound=nn.Module)


class WeightAverage(Generic[M]):
    """The average ``a`` of the weights ``w``: ``a <- a + max(1 - decay, 1 / t) (w - a)`` after step ``t``.

    So it is the plain mean of all weights so far, in which the initial ones do not count, and from step
    ``1 / (1 - decay)`` on an exponential one. What a model counts or estimates besides its weights (the statistics of
    batch norm) is averaged too.

    Args:
        model: in training; the average is a copy of it.
        decay: greater than 0 and less than 1, such as 0.999.

    Reference: Polyak & Juditsky 1992; as an exponential average of weights: Tarvainen & Valpola 2017.

    Example:
        >>> model = nn.Linear(1, 1, bias=False)
        >>> average = WeightAverage(model, decay=0.75)
        >>> for step, value in enumerate((4.0, 2.0, 6.0, 8.0, 0.0)):
        ...     _ = nn.init.constant_(model.weight, value)
        ...     average.update(step)
        >>> average.model.weight.item()  # the mean of four, 5, then a quarter of the way to 0
        3.75
    """

    def __init__(self, model: M, decay: float) -> None:
        self.decay = check_average(decay)
        self.model = copy.deepcopy(model).requires_grad_(False)
        pairs = list(zip(self.model.state_dict().values(), model.state_dict().values(), strict=True))
        self._moving = [pair for pair in pairs if pair[0].is_floating_point()]
        self._counts = [pair for pair in pairs if not pair[0].is_floating_point()]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take the weights after a step, counted from 0, into the average."""
        share = max(1 - self.decay, 1 / (step + 1))
        averages: list[Tensor] = [average for average, _ in self._moving]
        torch._foreach_lerp_(averages, [weight for _, weight in self._moving], share)
        for average, weight in self._counts:
            average.copy_(weight)


def check_average(decay: float, name: str = "weight_average") -> float:
    """The decay of an average, or the sentence that says what is wrong.

    Example:
        >>> check_average(1.0)
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: weight_average must be greater than 0 and less than 1, such as 0.999, got 1
    """
    if not 0 < decay < 1:
        raise UnweaveError(f"{name} must be greater than 0 and less than 1, such as 0.999, got {decay:g}")
    return decay
