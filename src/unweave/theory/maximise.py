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
        optimizer.zero_grad()
        loss = -objective()
        torch.autograd.backward(loss)
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
