"""Exponents of norms: fixed, or learned within bounds."""

import math
from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor, nn

from unweave.errors import UnweaveError

LOWEST, HIGHEST = 0.5, 20.0
"""The range of a learned exponent."""


@final
class Exponents(nn.Module):
    """Positive exponents, some of them learned.

    A learned exponent is ``p = LOWEST (HIGHEST / LOWEST)^sigmoid(r)`` of a free parameter ``r``, so it stays within
    [0.5, 20] whatever the optimiser does.

    Args:
        start: the exponents; the initial ones of those that are learned.
        learned: which of them are trained.
        name: the option that holds them, for error messages.

    Example:
        >>> import torch
        >>> exponents = Exponents([2.1, 2.0], [False, True])
        >>> exponents()
        tensor([2.1000, 2.0000], grad_fn=<WhereBackward0>)
        >>> with torch.no_grad():
        ...     _ = exponents.raw.fill_(1e9)
        >>> exponents().tolist()[1]
        20.0
    """

    fixed: Tensor
    learned: Tensor
    raw: Tensor

    def __init__(self, start: Sequence[float], learned: Sequence[bool], name: str = "prior.p") -> None:
        super().__init__()
        for p, train in zip(start, learned, strict=True):
            if not (p > 0 and math.isfinite(p)):
                raise UnweaveError(f"{name} must be greater than 0, got {p:g}")
            if train and not LOWEST < p < HIGHEST:
                raise UnweaveError(
                    f"{name} must lie between {LOWEST:g} and {HIGHEST:g} to be learned, got {p:g}"
                )
        self.register_buffer("fixed", torch.tensor(start, dtype=torch.float32), persistent=False)
        self.register_buffer("learned", torch.tensor(learned), persistent=False)
        self.any = any(learned)
        if self.any:
            share = torch.log(self.fixed.clamp(LOWEST, HIGHEST) / LOWEST) / math.log(HIGHEST / LOWEST)
            self.raw = nn.Parameter(torch.logit(share, 1e-6))

    def forward(self) -> Tensor:
        """The exponents, one-dimensional."""
        if not self.any:
            return self.fixed
        bounded = LOWEST * (HIGHEST / LOWEST) ** torch.sigmoid(self.raw)
        return torch.where(self.learned, bounded.clamp(LOWEST, HIGHEST), self.fixed)
