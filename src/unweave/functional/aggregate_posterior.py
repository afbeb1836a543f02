"""The aggregate posterior ``q(z) = 1/N sum_n q(z|x_n)``: its log-densities, from a batch or from all data, in torch.

Objectives and theory take ``log q(z)`` and ``log q(z_j)`` from here. :mod:`unweave.metrics.aggregate` evaluates the
same mixture in numpy: metrics work on plain arrays, need no gradients and must not import torch.
``tests/metrics/test_functional_parity.py`` checks that the two agree.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor
from torch.distributions import Distribution
from torch.utils.checkpoint import checkpoint

from unweave.errors import UnweaveError
from unweave.functional.divergence import factors

Estimator = Literal["mws", "mss", "split", "batch", "mixture"]

BLOCK = 2**22
"""Numbers held at once: samples x components x latents of a block."""


class Aggregate(NamedTuple):
    """Log-densities of the aggregate posterior at ``n`` samples.

    ``joint``: ``log q(z)``, ``(n,)``; ``marginals``: ``log q(z_j)``, ``(n, latents)``.

    Example:
        >>> Aggregate(torch.zeros(2), torch.ones(2, 3)).marginals.shape
        torch.Size([2, 3])
    """

    joint: Tensor
    marginals: Tensor


def mixture_weights(estimator: Estimator, batch: int, size: int | None = None) -> Tensor:
    """The weight of ``q(z_i | x_k)`` in the estimate of ``q(z_i)``, a matrix ``(batch, batch)``.

    With ``B`` images in the batch, ``M = B - 1`` and ``N`` images in the data set:

    | estimator | weight of the sample's own component (k = i) | of the others | rows sum to |
    |---|---|---|---|
    | mws | ``1/(N B)`` | ``1/(N B)`` | ``1/N`` |
    | mss | ``1/N`` | ``1/M``, but ``(N - M)/(N M)`` for k = i + 1 | 1 |
    | split | ``1/N`` | ``(N - 1)/(N M)`` | 1 |
    | batch | 0 | ``1/M`` | 1 |
    | mixture | ``1/B`` | ``1/B`` | 1 |

    *mws* and *mss* are minibatch weighted and stratified sampling (Chen et al. 2018, appendix C, cited by ISA as [6]),
    *split* is DEC Eq. 10b, *batch* the estimate of FAC Eq. 5-6, whose samples are drawn independently of its mixture
    (that is why the sample's own component has no weight), *mixture* its fix "use samples from q^(z)".

    *mws* is a lower bound on ``log q`` and not consistent: it is *mixture* divided by ``N``, so its TC is that of
    *mixture* plus the constant ``(latents - 1) log N``, however large the batch.

    Args:
        estimator: which one.
        batch: ``B``, at least 2.
        size: ``N``, for mws, mss and split.

    Example:
        >>> mixture_weights("mss", 3, size=10)
        tensor([[0.1000, 0.4000, 0.5000],
                [0.5000, 0.1000, 0.4000],
                [0.4000, 0.5000, 0.1000]])
    """
    others = batch - 1
    if batch < 2:
        raise UnweaveError(f"the aggregate posterior needs a batch of at least 2 images, got {batch}")

    def even(weight: float) -> Tensor:
        return torch.full((batch, batch), weight)

    if estimator == "mixture":
        return even(1 / batch)
    if estimator == "batch":
        return even(1 / others).fill_diagonal_(0.0)
    if size is None:
        raise UnweaveError(f"estimator {estimator} needs the size of the data set, got none")
    if estimator == "mws":
        return even(1 / (size * batch))
    if estimator == "split":
        return even((size - 1) / (size * others)).fill_diagonal_(1 / size)
    if size < others:
        raise UnweaveError(
            f"estimator mss needs a data set of at least batch - 1 = {others} images, got {size}: "
            f"take a smaller batch or estimator=mixture"
        )
    weights = even(1 / others)
    rows = torch.arange(batch)
    weights[rows, (rows + 1) % batch] = (size - others) / (size * others)
    return weights.fill_diagonal_(1 / size)


def aggregate(q: Distribution, z: Tensor, weights: Tensor | None = None) -> Aggregate:
    """``log sum_k w_ik q(z_i|x_k)`` and ``log sum_k w_ik q(z_ij|x_k)`` at samples ``z``.

    With ``q`` the posteriors of *all* images of a data set and no weights, these are exact. At most ``BLOCK`` numbers
    are in memory at once, in the backward pass too: blocks are recomputed there.

    Args:
        q: ``K`` posteriors that factorise over the latents.
        z: ``(n, latents)``.
        weights: ``(n, K)``; none: ``1/K`` each.

    Reference: FAC Eq. 1, 6; DEC Eq. 10.

    Example:
        >>> from torch.distributions import Independent, Normal
        >>> q = Independent(Normal(torch.zeros(5, 2), torch.ones(5, 2)), 1)
        >>> aggregate(q, torch.zeros(1, 2)).joint  # five times the same component: - log(2 pi)
        tensor([-1.8379])
    """
    components = factors(q)
    count, latents = components.batch_shape
    columns = min(count, max(1, BLOCK // latents))
    rows = min(len(z), max(1, BLOCK // (columns * latents)))
    if weights is None:
        log_weights = -z.new_full((1, 1), float(count)).log().expand(len(z), count)
    else:
        log_weights = weights.to(z).log()

    if rows >= len(z) and columns >= count:
        return _mixture(z, components, log_weights)
    parts = []
    for top in range(0, len(z), rows):
        blocks = [
            _recomputed(
                _mixture,
                z[top : top + rows],
                _slice(components, slice(left, left + columns)),
                log_weights[top : top + rows, left : left + columns],
            )
            for left in range(0, count, columns)
        ]
        part = blocks[0]
        for block in blocks[1:]:
            part = Aggregate(
                torch.logaddexp(part.joint, block.joint), torch.logaddexp(part.marginals, block.marginals)
            )
        parts.append(part)
    return Aggregate(torch.cat([p.joint for p in parts]), torch.cat([p.marginals for p in parts]))


def _mixture(z: Tensor, components: Distribution, log_weights: Tensor) -> Aggregate:
    each = components.log_prob(z[:, None])
    joint = torch.logsumexp(log_weights + each.sum(-1), 1)
    return Aggregate(joint, torch.logsumexp(log_weights[..., None] + each, 1))


def _slice(components: Distribution, part: slice) -> Distribution:
    parameters = {name: getattr(components, name)[part] for name in components.arg_constraints}
    return type(components)(**parameters, validate_args=False)


def _recomputed(
    function: Callable[..., Aggregate], z: Tensor, components: Distribution, weights: Tensor
) -> Aggregate:
    """The function's value; its intermediate results are not stored for the backward pass but computed again."""
    if not torch.is_grad_enabled():
        return function(z, components, weights)
    return cast(Aggregate, checkpoint(function, z, components, weights, use_reentrant=False))
