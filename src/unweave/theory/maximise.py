"""Maximising smooth objectives of a few variables by L-BFGS with a line search."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def maximise(
    objective: Callable[[], Tensor],
    variables: Sequence[Tensor],
    *,
    steps: int,
    history: int = 10,
    tolerance_grad: float = 1e-7,
    tolerance_change: float = 1e-9,
) -> None:
    """Change variables in place so that the objective increases, by L-BFGS with a line search.

    Gradients that the caller holds, of these variables or of others in the objective, stay as they are.

    Args:
        objective: a scalar function of the variables.
        variables: require gradients.
        steps: at most so many iterations.
        history: number of past gradients from which the curvature is estimated.
        tolerance_grad: stop when no gradient is larger.
        tolerance_change: stop when no variable changes by more.

    Example:
        >>> x = torch.zeros(1, requires_grad=True)
        >>> maximise(lambda: -(x - 3).square().sum(), [x], steps=20)
        >>> x.detach()
        tensor([3.])
    """
    optimizer = torch.optim.LBFGS(
        list(variables),
        max_iter=steps,
        history_size=history,
        tolerance_grad=tolerance_grad,
        tolerance_change=tolerance_change,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        loss = -objective()
        gradients = torch.autograd.grad(loss, variables, allow_unused=True)
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.grad = gradient
        return loss

    held = [variable.grad for variable in variables]
    try:
        optimizer.step(closure)
    finally:
        for variable, gradient in zip(variables, held, strict=True):
            variable.grad = gradient
