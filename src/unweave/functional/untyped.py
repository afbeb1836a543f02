"""Functions of PyTorch that lack type annotations, with types."""

from typing import Any

import torch
from torch import Tensor


def apply_function(function: type[torch.autograd.Function], *inputs: Any) -> Tensor:
    """The output of an autograd function.

    Example:
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx: object, value: Tensor) -> Tensor:
        ...         return 2 * value
        >>> apply_function(Double, torch.ones(1))
        tensor([2.])
    """
    value: Tensor = function.apply(*inputs)
    return value
