"""Muon for networks of convolutions and linear layers.

Muon (Jordan et al. 2024) replaces the momentum ``M`` of a weight matrix by the nearest matrix with orthonormal rows or
columns, ``(M M')^(-1/2) M``, found by a few Newton-Schulz steps. Four things make it cheap here:

* the iteration runs on the Gram matrix ``M M'`` of the smaller side, so that the long side is met twice (once to make
  the Gram matrix, once to apply the result) and not ten times;
* every product in it is one of commuting symmetric matrices, so symmetric: of the large ones a quarter is copied;
* matrices of equal shape go through one batched product, Gram matrices of equal size through one iteration;
* thin weights, and those of the layers that face the code, are left to Adam, fused.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, final

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.optimizer import ParamsT

from unweave.errors import UnweaveError
from unweave.optimizers.adam import can_fuse, checked
from unweave.optimizers.core import Optimizer, Trained

THIN = 16
"""A weight whose smaller side is at most this long is left to Adam."""

HALVED = 128
"""Symmetric products of larger matrices than this are computed by halves; below, a plain product is as fast."""

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""``a, b, c`` of the step ``x -> a x + b x^3 + c x^5`` (Jordan et al. 2024): four bring [0.005, 1] to [0.6, 1.2]."""


@final
class Muon(Optimizer):
    """Muon for matrices and convolution kernels; Adam for biases, thin layers and the two layers that face the code.

    Muon keeps every direction of a weight matrix alive, so networks learn several times as fast as with Adam. In the
    layers that face the code that would also feed latents that carry nothing: there Adam lets them rest.

    Args:
        adam_rate: Adam's learning rate as a multiple of Muon's.
        momentum: of Muon.
        iterations: Newton-Schulz steps for each update.
        betas: of Adam; none: what the objective asks for.
        eps: of Adam.
        weight_decay: decoupled, for matrices only.
        code_layers: let Muon take the layers that face the code too.
        begins: fraction of all steps from which Muon takes over; before, Adam trains everything.

    Reference: Jordan et al. 2024; the scale of a step is that of Liu et al. 2025.

    Example:
        >>> weights = [torch.nn.Parameter(torch.ones(32, 64)), torch.nn.Parameter(torch.ones(32))]
        >>> rule = Muon().build(Trained(weights), learning_rate=5e-3)
        >>> rule.param_groups[0]["lr"], rule.param_groups[0]["adam_rate"]
        (0.005, 0.2)
    """

    def __init__(
        self,
        *,
        adam_rate: float = 0.2,
        momentum: float = 0.95,
        iterations: int = 4,
        betas: tuple[float, float] | None = None,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        code_layers: bool = False,
        begins: float = 0.0,
    ) -> None:
        if not 0 <= begins <= 1:
            raise UnweaveError(f"optimizer.begins must be from 0 to 1, got {begins:g}")
        if adam_rate <= 0:
            raise UnweaveError(f"optimizer.adam_rate must be greater than 0, got {adam_rate:g}")
        if not 0 <= momentum < 1:
            raise UnweaveError(f"optimizer.momentum must be at least 0 and less than 1, got {momentum:g}")
        if iterations < 1:
            raise UnweaveError(f"optimizer.iterations must be at least 1, got {iterations}")
        self.betas, self.eps, _, self.weight_decay = checked(betas, eps, False, weight_decay)
        self.adam_rate, self.momentum, self.iterations = adam_rate, momentum, iterations
        self.code_layers, self.begins = code_layers, begins

    def build(self, trained: Trained, learning_rate: float) -> torch.optim.Optimizer:
        """Muon of some parameters, as one group, or two if layers face a code."""
        apart = {id(weight) for weight in trained.facing_code} if not self.code_layers else set()
        inner = [weight for weight in trained.parameters if id(weight) not in apart]
        facing = [weight for weight in trained.parameters if id(weight) in apart]
        groups: list[dict[str, Any]] = [{"params": inner, "muon": True, "facing": False}]
        return OrthogonalMomentum(
            [*groups, *([{"params": facing, "muon": False, "facing": True}] if facing else [])],
            learning_rate,
            adam_rate=self.adam_rate,
            momentum=self.momentum,
            iterations=self.iterations,
            betas=self.betas or trained.betas,
            eps=self.eps,
            weight_decay=self.weight_decay,
        )

    def before_step(self, optimizer: torch.optim.Optimizer, fraction: float) -> None:
        """Let Muon take over when its time has come."""
        for group in optimizer.param_groups:
            group["muon"] = fraction >= self.begins and not group["facing"]


class OrthogonalMomentum(torch.optim.Optimizer):
    """Orthogonalised momentum for matrices and convolution kernels, Adam for everything else.

    ``M <- momentum M + (1 - momentum) G``; the direction is ``D = (1 - momentum) G + momentum M`` (Nesterov) as a
    matrix, ``O`` its orthogonal factor, and the step ``W <- W - lr * 0.2 sqrt(max(rows, columns)) O``: its elements
    have a root mean square of about ``0.2 lr``, as those of Adam's (Liu et al. 2025), so both can share one rate.

    A weight of more than two axes is the matrix (first axis, the rest). A group with ``"muon": False`` is left to Adam;
    so are, in every group, weights with one axis and those whose smaller side is at most ``thin``.

    Steps are deterministic, and the state is that of each parameter alone, so that training goes on exactly from a
    state that was saved.

    Args:
        params: parameters, or groups of them; a group may have its own ``lr``, ``muon`` and the rest.
        lr: step size of Muon.
        adam_rate: step size of Adam as a multiple of ``lr``.
        momentum: of Muon.
        iterations: Newton-Schulz steps.
        betas: of Adam.
        eps: of Adam.
        weight_decay: decoupled, ``W <- (1 - lr * weight_decay) W``, for matrices only.
        thin: the longest smaller side that is left to Adam.

    Reference: Jordan et al. 2024; the scale of a step is that of Liu et al. 2025.

    Example:
        >>> layer = torch.nn.Linear(32, 64)
        >>> optimizer = OrthogonalMomentum(layer.parameters(), lr=0.01)
        >>> before = layer.weight.detach().clone()
        >>> layer(torch.ones(4, 32)).square().sum().backward()
        >>> optimizer.step()
        >>> round((layer.weight - before).norm().item(), 2)  # one direction: 0.01 * 0.2 * sqrt(64) = 0.016
        0.02
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float,
        *,
        adam_rate: float = 1.0,
        momentum: float = 0.95,
        iterations: int = 4,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        thin: int = THIN,
    ) -> None:
        defaults = {
            "lr": lr,
            "adam_rate": adam_rate,
            "momentum": momentum,
            "iterations": iterations,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "thin": thin,
            "muon": True,
            "facing": False,
        }
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """One update of every parameter that has a gradient."""
        if closure is not None:
            raise ValueError("Muon takes no closure")
        for group in self.param_groups:
            matrices: list[Tensor] = []
            others: list[Tensor] = []
            for parameter in group["params"]:
                if parameter.grad is not None:
                    wanted = group["muon"] and is_matrix(parameter, group["thin"])
                    (matrices if wanted else others).append(parameter)
            if matrices:
                self._orthogonal_step(matrices, group)
            if others:
                self._adam_step(others, group)

    def _orthogonal_step(self, weights: list[Tensor], group: dict[str, Any]) -> None:
        gradients = _gradients(weights)
        buffers: list[Tensor] = []
        for weight in weights:
            state = self.state[weight]
            if "momentum" not in state:
                state.clear()
                state["momentum"] = torch.zeros_like(weight)
            buffers.append(state["momentum"])
        momentum: float = group["momentum"]
        torch._foreach_lerp_(buffers, gradients, 1 - momentum)
        directions = torch._foreach_lerp(gradients, buffers, momentum)
        matrices = [as_matrix(direction) for direction in directions]
        updates = orthogonalise(matrices, group["iterations"])
        if group["weight_decay"]:
            torch._foreach_mul_(weights, 1 - group["lr"] * group["weight_decay"])
        for weight, update in zip(weights, updates, strict=True):
            as_matrix(weight).add_(update, alpha=-group["lr"] * 0.2 * math.sqrt(max(update.shape)))

    def _adam_step(self, weights: list[Tensor], group: dict[str, Any]) -> None:
        for weight in weights:
            state = self.state[weight]
            if "exp_avg" not in state:
                state.clear()
                state["step"] = torch.zeros((), dtype=torch.float32, device=weight.device)
                state["exp_avg"] = torch.zeros_like(weight)
                state["exp_avg_sq"] = torch.zeros_like(weight)
        states = [self.state[weight] for weight in weights]
        beta1, beta2 = group["betas"]
        adam(
            weights,
            _gradients(weights),
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [state["step"] for state in states],
            fused=can_fuse(weights),
            amsgrad=False,
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"] * group["adam_rate"],
            weight_decay=0.0,
            eps=group["eps"],
            maximize=False,
        )


def _gradients(weights: Sequence[Tensor]) -> list[Tensor]:
    return [weight.grad for weight in weights if weight.grad is not None]


def is_matrix(weight: Tensor, thin: int = THIN) -> bool:
    """Whether Muon can make something of a weight: two axes or more, and not thin as a matrix (first axis, the rest).

    Example:
        >>> [is_matrix(torch.zeros(shape)) for shape in ((64, 32, 4, 4), (32, 1, 4, 4), (20, 256), (64,))]
        [True, False, True, False]
    """
    return weight.ndim >= 2 and min(weight.shape[0], weight.numel() // max(1, weight.shape[0])) > thin


def as_matrix(weight: Tensor) -> Tensor:
    """A weight as the matrix (first axis, the rest), without a copy: the rest in the order of memory.

    Example:
        >>> kernel = torch.zeros(64, 32, 4, 4).contiguous(memory_format=torch.channels_last)
        >>> as_matrix(kernel).shape, as_matrix(kernel).data_ptr() == kernel.data_ptr()
        (torch.Size([64, 512]), True)
    """
    if weight.ndim == 4 and weight.is_contiguous(memory_format=torch.channels_last):
        weight = weight.permute(0, 2, 3, 1)
    return weight.view(weight.shape[0], -1)


def orthogonalise(matrices: Sequence[Tensor], iterations: int = 4) -> list[Tensor]:
    """Of each matrix ``U S V'`` about ``U V'``: all singular values become 0.6 to 1.2, those near 0 excepted.

    With ``G = X X'`` every step ``X <- (a + b G + c G^2) X =: P X`` changes ``G`` to ``P G P``; all these are
    polynomials of the first ``G``, so the steps are taken on ``G`` and on their product ``Q`` alone, and at the end the
    result is ``Q X``.

    Shapes: each ``(m, n)``, to the same. ``X'`` takes the place of ``X`` where there are more rows than columns.

    Example:
        >>> x = torch.diag(torch.tensor([3.0, 2.0, 1.0]))
        >>> [result] = orthogonalise([x])
        >>> bool(((result.diagonal() - 1).abs() < 0.35).all())
        True
    """
    by_shape: dict[torch.Size, list[int]] = {}
    for index, matrix in enumerate(matrices):
        by_shape.setdefault(matrix.shape, []).append(index)
    stacks: dict[torch.Size, Tensor] = {}
    traces: dict[torch.Size, Tensor] = {}
    by_side: dict[int, dict[torch.Size, Tensor]] = {}
    for shape, members in by_shape.items():
        first = matrices[members[0]]
        stack = first[None] if len(members) == 1 else torch.stack([matrices[index] for index in members])
        wide = shape[0] <= shape[1]
        gram = _symmetric_product(stack, stack.mT) if wide else _symmetric_product(stack.mT, stack)
        trace = gram.diagonal(dim1=1, dim2=2).sum(1).clamp_min(1e-30)[:, None, None]
        stacks[shape], traces[shape] = stack, trace
        by_side.setdefault(min(shape), {})[shape] = gram.div_(trace)
    results = list(matrices)
    for grams in by_side.values():
        factors = _product_of_steps(torch.cat(list(grams.values())), iterations)
        for shape, factor in zip(
            grams, torch.split(factors, [len(gram) for gram in grams.values()]), strict=True
        ):
            stack, factor = stacks[shape], factor / traces[shape].sqrt()
            product = torch.bmm(factor, stack) if shape[0] <= shape[1] else torch.bmm(stack, factor)
            for index, result in zip(by_shape[shape], product, strict=True):
                results[index] = result
    return results


def _product_of_steps(gram: Tensor, iterations: int) -> Tensor:
    """``Q = P_k ... P_1`` of symmetric matrices (batch, m, m) with eigenvalues in [0, 1]."""
    a, b, c = COEFFICIENTS
    total: Tensor | None = None
    for last in [False] * (iterations - 1) + [True]:
        step = _symmetric_product(gram, gram).mul_(c).add_(gram, alpha=b)
        step.diagonal(dim1=1, dim2=2).add_(a)
        if not last:
            gram = _symmetric_product(_symmetric_product(step, gram), step)
        total = step if total is None else _symmetric_product(step, total)
    assert total is not None, "at least one iteration"
    return total


def _symmetric_product(left: Tensor, right: Tensor) -> Tensor:
    """``left @ right`` of batches whose product is known to be symmetric; of large ones three quarters are computed."""
    side = left.shape[1]
    if side <= HALVED:
        return torch.bmm(left, right)
    half = side // 2
    product = left.new_empty(len(left), side, side)
    product[:, :half] = torch.bmm(left[:, :half], right)
    product[:, half:, half:] = torch.bmm(left[:, half:], right[:, :, half:])
    product[:, half:, :half] = product[:, :half, half:].mT
    return product
