"""Adam and its variant with decoupled weight decay."""

from collections.abc import Iterable
from typing import Any, ClassVar, final

import torch
from torch import Tensor

from unweave.errors import UnweaveError
from unweave.optimizers.core import Optimizer, Trained


class AdamRule(Optimizer):
    """What Adam and AdamW share: their options and how they are built, fused where the device supports it.

    Args:
        betas: decay of the two moments; none: what the objective asks for, (0.9, 0.999) for all VAEs.
        eps: added to the root of the second moment.
        amsgrad: divide by the largest second moment so far (Reddi et al. 2018).
        weight_decay: see the rule.

    Example:
        >>> AdamW(betas=(0.5, 0.9)).build(Trained([torch.nn.Parameter(torch.ones(3))]), 0.1).defaults["betas"]
        (0.5, 0.9)
    """

    rule: ClassVar[type[torch.optim.Adam]]

    def __init__(
        self,
        *,
        betas: tuple[float, float] | None = None,
        eps: float = 1e-8,
        amsgrad: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        self.betas, self.eps, self.amsgrad, self.weight_decay = checked(betas, eps, amsgrad, weight_decay)

    def build(self, trained: Trained, learning_rate: float) -> torch.optim.Optimizer:
        """The rule for some parameters."""
        return self.rule(
            trained.parameters,
            lr=learning_rate,
            betas=self.betas or trained.betas,
            eps=self.eps,
            amsgrad=self.amsgrad,
            weight_decay=self.weight_decay,
            fused=can_fuse(trained.parameters),
        )


@final
class Adam(AdamRule):
    """Adam; ``weight_decay`` times the weight is added to the gradient.

    The arguments are those of :class:`AdamRule`.

    Reference: Kingma & Ba 2015.

    Example:
        >>> weight = torch.nn.Parameter(torch.ones(3))
        >>> optimizer = Adam().build(Trained([weight]), learning_rate=0.1)
        >>> weight.grad = torch.tensor([1.0, -2.0, 0.0])
        >>> _ = optimizer.step()
        >>> weight.data  # the first step has the size of the learning rate
        tensor([0.9000, 1.1000, 1.0000])
    """

    rule = torch.optim.Adam


@final
class AdamW(AdamRule):
    """Adam with decoupled weight decay: ``w <- (1 - lr * weight_decay) w`` before each step.

    The arguments are those of :class:`AdamRule`.

    Reference: Loshchilov & Hutter 2019.

    Example:
        >>> weight = torch.nn.Parameter(torch.ones(1))
        >>> optimizer = AdamW(weight_decay=0.5).build(Trained([weight]), learning_rate=0.1)
        >>> weight.grad = torch.zeros(1)
        >>> _ = optimizer.step()
        >>> weight.data
        tensor([0.9500])
    """

    rule = torch.optim.AdamW

    def __init__(self, *, weight_decay: float = 0.01, **inherited: Any) -> None:
        super().__init__(weight_decay=weight_decay, **inherited)


def checked(
    betas: tuple[float, float] | None, eps: float, amsgrad: bool, weight_decay: float
) -> tuple[tuple[float, float] | None, float, bool, float]:
    """The options of Adam, or the sentence that says which of them is wrong.

    Example:
        >>> checked((0.9, 1.0), 1e-8, False, 0.0)
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: optimizer.betas must be at least 0 and less than 1, got (0.9, 1.0)
    """
    if betas is not None and not all(0 <= beta < 1 for beta in betas):
        raise UnweaveError(f"optimizer.betas must be at least 0 and less than 1, got {betas}")
    if eps <= 0:
        raise UnweaveError(f"optimizer.eps must be greater than 0, got {eps:g}")
    if weight_decay < 0:
        raise UnweaveError(f"optimizer.weight_decay must be at least 0, got {weight_decay:g}")
    return betas, eps, amsgrad, weight_decay


def can_fuse(parameters: Iterable[Tensor]) -> bool:
    """Whether torch updates these parameters in one fused pass.

    Example:
        >>> can_fuse([torch.nn.Parameter(torch.ones(1))])
        True
    """
    return all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters)
