"""Kullback-Leibler divergences: exact where a closed form exists, otherwise from a sample."""

from torch import Tensor
from torch.distributions import Distribution, Independent, kl_divergence


def kl(q: Distribution, p: Distribution, z: Tensor) -> Tensor:
    """``KL(q || p) = E_q[log q(z) - log p(z)]`` in nats, shape ``(n,)``.

    The closed form where PyTorch knows one for the two families, otherwise the one-sample estimate
    ``log q(z) - log p(z)`` at the given ``z ~ q``, which is unbiased.

    Args:
        q: posterior over codes, batch ``(n,)``, event ``(latents,)``.
        p: prior over codes, event ``(latents,)``.
        z: codes drawn from ``q``, ``(n, latents)``; used only without a closed form.

    Reference: FAC Eq. 1; ISA Eq. 12 for the estimate.

    Example:
        >>> import torch
        >>> from torch.distributions import Independent, Normal
        >>> q = Independent(Normal(torch.ones(1, 2), torch.ones(1, 2)), 1)
        >>> p = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
        >>> kl(q, p, q.rsample())
        tensor([1.])
    """
    try:
        return kl_divergence(q, p.expand(q.batch_shape))
    except NotImplementedError:
        return q.log_prob(z) - p.log_prob(z)


def kl_per_latent(q: Distribution, p: Distribution, z: Tensor) -> Tensor:
    """``KL(q(z_j) || p(z_j))`` of each latent in nats, shape ``(n, latents)``.

    Needs both to factorise over the latents; their sum is then :func:`kl`. For a prior that does not factorise this
    quantity does not exist, and the one-sample estimate cannot be split; ask :func:`factorises` first.

    Reference: FAC appendix C.

    Example:
        >>> import torch
        >>> from torch.distributions import Independent, Normal
        >>> q = Independent(Normal(torch.tensor([[1.0, 0.0]]), torch.ones(1, 2)), 1)
        >>> p = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
        >>> kl_per_latent(q, p, q.rsample())
        tensor([[0.5000, 0.0000]])
    """
    if not (factorises(q) and factorises(p)):
        raise TypeError("kl_per_latent needs a posterior and a prior that factorise over the latents")
    q_each, p_each = q.base_dist, p.base_dist  # type: ignore[attr-defined]
    try:
        return kl_divergence(q_each, p_each)
    except NotImplementedError:
        difference: Tensor = q_each.log_prob(z) - p_each.log_prob(z)
        return difference


def factorises(distribution: Distribution) -> bool:
    """Whether the distribution is a product over latents, i.e. an ``Independent`` of one-dimensional ones.

    Example:
        >>> import torch
        >>> from torch.distributions import Independent, Normal
        >>> factorises(Independent(Normal(torch.zeros(3), torch.ones(3)), 1))
        True
    """
    return isinstance(distribution, Independent) and distribution.base_dist.event_shape == ()
