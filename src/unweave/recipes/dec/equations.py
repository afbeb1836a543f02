"""What theorem 1 and its corollaries share: a decoder that is not linear, and tables of both sides of an equation."""

import torch
from torch import Tensor

BETA = 4.0
"""The weight of the KL in the tables."""


def header(beta: float = BETA) -> list[str]:
    """The header of a table of equations.

    Example:
        >>> header(2.0)[0]
        'equation, beta = 2'
    """
    return [f"equation, beta = {beta:g}", "left (nats)", "right (nats)", "difference"]


def equation_row(name: str, left: float, right: float) -> list[str]:
    """Both sides of an equation and their difference, as a row under :func:`header`.

    Example:
        >>> equation_row("theorem 1", 1.0, 1.5)
        ['theorem 1', '1.000000', '1.500000', '5.0e-01']
    """
    return [name, f"{left:.6f}", f"{right:.6f}", f"{abs(left - right):.1e}"]


def log_likelihood(z: Tensor) -> Tensor:
    """``log p(x|z)`` of one image under a decoder with a hidden layer, at codes ``(m, 2)``.

    Example:
        >>> log_likelihood(torch.zeros(1, 2))
        tensor([-1.9000])
    """
    hidden = torch.tanh(z @ torch.tensor([[1.0, -0.5, 0.3], [0.2, 0.8, -1.0]], dtype=z.dtype))
    return -3 * (hidden - torch.tensor([0.5, -0.2, 0.1], dtype=z.dtype)).square().sum(-1) - 1
