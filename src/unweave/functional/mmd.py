"""Maximum mean discrepancy between two samples."""

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

from unweave.errors import UnweaveError

Kernel = Callable[[Tensor, Tensor], Tensor]

SCALES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Factors of the kernel's width over which the kernel is summed, so that the result depends little on one width."""


def inverse_multiquadratic(
    x: Tensor, y: Tensor, *, width: float = 2.0, norm: Literal["squared", "plain"] = "squared"
) -> Tensor:
    """``k(x, y) = C / (C + ||x - y||^2)`` for all pairs of rows, ``(n, m)``; ``norm="plain"`` does not square.

    DEC prints the plain norm and cites Tolstikhin et al. 2017, who square it; squared is the default.

    Args:
        x: ``(n, latents)``.
        y: ``(m, latents)``.
        width: ``C``.
        norm: whether the distance is squared.

    Reference: DEC appendix B.

    Example:
        >>> inverse_multiquadratic(torch.zeros(1, 2), torch.ones(1, 2), width=2.0)
        tensor([[0.5000]])
    """
    distance = _squares(x, y) if norm == "squared" else torch.cdist(x, y)
    return width / (width + distance)


def gaussian_kernel(x: Tensor, y: Tensor, *, width: float = 2.0) -> Tensor:
    """``k(x, y) = exp(-||x - y||^2 / C)`` for all pairs of rows, ``(n, m)``.

    Args:
        x: ``(n, latents)``.
        y: ``(m, latents)``.
        width: ``C``, twice the variance of the Gaussian.

    Example:
        >>> gaussian_kernel(torch.zeros(1, 2), torch.ones(1, 2), width=2.0)
        tensor([[0.3679]])
    """
    return (-_squares(x, y) / width).exp()


def mmd(x: Tensor, y: Tensor, kernel: Kernel) -> Tensor:
    """The unbiased estimate of ``MMD^2``: zero on average if both samples have one distribution.

    ``1/(n(n-1)) sum_{i != j} k(x_i, x_j) + 1/(m(m-1)) sum_{i != j} k(y_i, y_j) - 2/(n m) sum_ij k(x_i, y_j)``. It needs
    memory for the kernel matrix only, whatever the number of latents.

    Args:
        x: ``(n, latents)``, ``n >= 2``.
        y: ``(m, latents)``, ``m >= 2``.
        kernel: takes two samples to the matrix of all pairs.

    Reference: DEC section 6.3 (a U-statistic); Gretton et al. 2012, Eq. 3.

    Example:
        >>> same = torch.zeros(3, 2)
        >>> mmd(same, same, inverse_multiquadratic)
        tensor(0.)
    """
    return _among(x, kernel) + _among(y, kernel) - 2 * kernel(x, y).mean()


def over_scales(kernel: Callable[..., Tensor], widths: Sequence[float]) -> Kernel:
    """The sum of a kernel over several widths.

    Example:
        >>> over_scales(inverse_multiquadratic, [1.0, 2.0])(torch.zeros(1, 2), torch.zeros(1, 2))
        tensor([[2.]])
    """

    def total(x: Tensor, y: Tensor) -> Tensor:
        values = [kernel(x, y, width=width) for width in widths]
        return torch.stack(values).sum(0)

    return total


def _among(x: Tensor, kernel: Kernel) -> Tensor:
    if len(x) < 2:
        raise UnweaveError(
            f"the MMD needs samples of at least 2 points, got {len(x)}: choose a larger batch_size"
        )
    values = kernel(x, x)
    return (values.sum() - values.diagonal().sum()) / (len(x) * (len(x) - 1))


def _squares(x: Tensor, y: Tensor) -> Tensor:
    squares = x.square().sum(1)[:, None] + y.square().sum(1) - 2 * x @ y.T
    return squares.clamp(min=0)
