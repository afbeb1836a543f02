"""The aggregate posterior ``q(z) = 1/N sum_n q(z|x_n)`` and the three parts of the KL that it splits off.

``E_x[KL(q(z|x) || p(z))] = I(x; z) + TC(z) + sum_j KL(q(z_j) || p(z_j))`` (ISA Eq. 3, FAC appendix C). Everything here
is an estimate of ``log q(z)`` and ``log q(z_j)`` at samples ``z``; the three parts are differences of those numbers.
Estimators from a batch differ only in the weights of its components, :func:`mixture_weights`.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, cast

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent
from torch.utils.checkpoint import checkpoint

from unweave.errors import UnweaveError
from unweave.functional.divergence import factorises

Estimator = Literal["mws", "mss", "split", "batch", "mixture"]

BLOCK = 2**22
"""Numbers held at once: samples x components x latents of a block."""


class Aggregate(NamedTuple):
    """``log q(z)``, shape ``(n,)``, and ``log q(z_j)``, shape ``(n, latents)``, at ``n`` samples.

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
    *split* is DEC Eq. 10b, *batch* the estimate of FAC Eq. 5-6, whose samples are drawn apart from its mixture (that
    is why the own component is left out), *mixture* its fix "use samples from q^(z)".

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
    if estimator in ("mws", "mss", "split") and size is None:
        raise UnweaveError(f"estimator {estimator} needs the size of the data set, got none")
    if estimator == "mixture":
        return torch.full((batch, batch), 1 / batch)
    if estimator == "batch":
        return torch.full((batch, batch), 1 / others).fill_diagonal_(0.0)
    count = cast(int, size)
    if estimator == "mws":
        return torch.full((batch, batch), 1 / (count * batch))
    if estimator == "split":
        return torch.full((batch, batch), (count - 1) / (count * others)).fill_diagonal_(1 / count)
    if count < others:
        raise UnweaveError(
            f"estimator mss needs a data set of at least batch - 1 = {others} images, got {count}: "
            f"take a smaller batch or estimator=mixture"
        )
    weights = torch.full((batch, batch), 1 / others)
    rows = torch.arange(batch)
    weights[rows, (rows + 1) % batch] = (count - others) / (count * others)
    return weights.fill_diagonal_(1 / count)


def aggregate(q: Distribution, z: Tensor, weights: Tensor | None = None) -> Aggregate:
    """``log sum_k w_ik q(z_i|x_k)`` and ``log sum_k w_ik q(z_ij|x_k)`` at samples ``z``.

    With ``q`` the posteriors of *all* images of a data set and no weights these are exact. Memory is bounded by
    ``BLOCK`` numbers whatever the sizes, in the backward pass too: blocks are computed again there.

    Args:
        q: ``K`` posteriors that factorise over the latents.
        z: ``(n, latents)``.
        weights: ``(n, K)``; none: ``1/K`` each.

    Reference: FAC Eq. 1, 6; DEC Eq. 10.

    Example:
        >>> from torch.distributions import Normal
        >>> q = Independent(Normal(torch.zeros(5, 2), torch.ones(5, 2)), 1)
        >>> aggregate(q, torch.zeros(1, 2)).joint  # five times the same component: - log(2 pi)
        tensor([-1.8379])
    """
    if not factorises(q):
        raise TypeError("aggregate needs posteriors that factorise over the latents")
    base: Distribution = cast("Independent[Any]", q).base_dist
    components, latents = base.batch_shape
    columns = min(components, max(1, BLOCK // latents))
    rows = min(len(z), max(1, BLOCK // (columns * latents)))
    log_weights = z.new_full((1, 1), -torch.tensor(float(components)).log().item())
    log_weights = log_weights.expand(len(z), components) if weights is None else weights.to(z).log()

    if rows >= len(z) and columns >= components:
        return _mixture(z, base, log_weights)
    parts = []
    for top in range(0, len(z), rows):
        part: Aggregate | None = None
        for left in range(0, components, columns):
            inside = _components(base, slice(left, left + columns))
            block = log_weights[top : top + rows, left : left + columns]
            new = _again(_mixture, z[top : top + rows], inside, block)
            part = (
                new
                if part is None
                else Aggregate(*(torch.logaddexp(a, b) for a, b in zip(part, new, strict=True)))
            )
        parts.append(cast(Aggregate, part))
    return Aggregate(torch.cat([p.joint for p in parts]), torch.cat([p.marginals for p in parts]))


def total_correlation(at: Aggregate) -> Tensor:
    """``log q(z) - sum_j log q(z_j)`` at each sample, ``(n,)``; its mean over ``z ~ q(z)`` is the TC in nats.

    Reference: FAC Eq. 2, ISA Eq. 3.

    Example:
        >>> total_correlation(Aggregate(torch.tensor([-1.0]), torch.tensor([[-1.0, -0.5]])))
        tensor([0.5000])
    """
    return at.joint - at.marginals.sum(1)


def mutual_information(q: Distribution, z: Tensor, at: Aggregate) -> Tensor:
    """``log q(z|x) - log q(z)`` at each sample, ``(n,)``; its mean is ``I(x; z) = E_x[KL(q(z|x) || q(z))]``.

    Reference: FAC appendix C, ISA Eq. 3 (first term).

    Example:
        >>> from torch.distributions import Normal
        >>> q = Independent(Normal(torch.zeros(1, 2), torch.ones(1, 2)), 1)
        >>> mutual_information(q, torch.zeros(1, 2), aggregate(q, torch.zeros(1, 2)))
        tensor([0.])
    """
    return q.log_prob(z) - at.joint


def dimension_wise_kl(prior: Distribution, z: Tensor, at: Aggregate) -> Tensor:
    """``sum_j log q(z_j) - log p(z_j)`` at each sample, ``(n,)``; its mean is ``sum_j KL(q(z_j) || p(z_j))``.

    Needs a prior that factorises over the latents.

    Reference: ISA Eq. 3 (third term).

    Example:
        >>> from torch.distributions import Normal
        >>> p = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
        >>> q = p.expand((4,))
        >>> dimension_wise_kl(p, torch.zeros(1, 2), aggregate(q, torch.zeros(1, 2))).abs() < 1e-6
        tensor([True])
    """
    if not factorises(prior):
        raise TypeError("dimension_wise_kl needs a prior that factorises over the latents")
    return at.marginals.sum(1) - prior.log_prob(z)


def inclusive_kl(prior: Distribution, q: Distribution, z: Tensor) -> Tensor:
    """``log p(z) - log q(z)`` at samples ``z ~ p(z)``, ``(n,)``; its mean is ``KL(p(z) || q(z))`` in nats.

    ``q(z)`` is the even mixture of the given posteriors: of all data, or of a batch. DEC prints a sum over the samples
    and drops ``log n``; here the constants are kept, so that the mean is a KL.

    Reference: DEC appendix B.

    Example:
        >>> from torch.distributions import Normal
        >>> p = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
        >>> inclusive_kl(p, p.expand((4,)), torch.zeros(1, 2)).abs() < 1e-6
        tensor([True])
    """
    return prior.log_prob(z) - aggregate(q, z).joint


def half_log_determinant(q: Distribution) -> Tensor:
    """``1/2 log|S(x)|`` of Gaussian posteriors with covariance ``S``, ``(n,)``: their entropy without its constant.

    Reference: DEC Eq. 5.

    Example:
        >>> from torch.distributions import Normal
        >>> half_log_determinant(Independent(Normal(torch.zeros(1, 2), torch.full((1, 2), 2.0)), 1))
        tensor([1.3863])
    """
    return q.stddev.log().sum(-1)


def _mixture(z: Tensor, components: Distribution, log_weights: Tensor) -> Aggregate:
    each = components.log_prob(z[:, None])
    joint = torch.logsumexp(log_weights + each.sum(-1), 1)
    return Aggregate(joint, torch.logsumexp(log_weights[..., None] + each, 1))


def _components(base: Distribution, part: slice) -> Distribution:
    parameters = {name: getattr(base, name)[part] for name in base.arg_constraints}
    return type(base)(**parameters, validate_args=False)


def _again(
    function: Callable[..., Aggregate], z: Tensor, components: Distribution, weights: Tensor
) -> Aggregate:
    """The function's value; with gradients, its inside is not kept but computed again when they are asked for."""
    if not torch.is_grad_enabled():
        return function(z, components, weights)
    return cast(Aggregate, checkpoint(function, z, components, weights, use_reentrant=False))
