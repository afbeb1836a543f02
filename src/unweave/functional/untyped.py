"""Functions of PyTorch that lack type annotations, with types."""

import torch
from torch import Tensor


def broadcast_pair(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both tensors expanded to their common shape.

    Example:
        >>> broadcast_pair(torch.zeros(3, 1), torch.zeros(2))[1].shape
        torch.Size([3, 2])
    """
    first, second = torch.broadcast_tensors(a, b)  # type: ignore[no-untyped-call]
    return first, second


def apply_function(function: type[torch.autograd.Function], *inputs: Tensor) -> Tensor:
    """The output of an autograd function.

    Example:
        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx: object, value: Tensor) -> Tensor:
        ...         return 2 * value
        >>> apply_function(Double, torch.ones(1))
        tensor([2.])
    """
    value: Tensor = function.apply(*inputs)  # type: ignore[no-untyped-call]
    return value
