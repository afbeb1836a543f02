"""Kullback-Leibler divergences: exact where a closed form exists, otherwise from a sample."""

import math

from torch import Tensor
from torch.distributions import Distribution, Independent, Normal, kl_divergence

NARROW = 1e-18
"""Scales below this have squares that float32 cannot hold."""


class NarrowNormal(Normal):
    """A Gaussian whose density is finite, with its gradients, down to a log-variance of -170.

    ``log N(z) = -1/2 ((z - mean) / scale)^2 - log scale - 1/2 log(2 pi)``. PyTorch divides by the square of the scale,
    which is 0 in float32 from a log-variance of -104 on and has lost its digits from -88 on, so that estimates of the
    KL become NaN. Wider ones are PyTorch's to the last digit.

    Example:
        >>> import torch
        >>> log_variance = torch.tensor(-150.0, requires_grad=True)
        >>> value = NarrowNormal(torch.ones(()), (0.5 * log_variance).exp()).log_prob(torch.ones(()))
        >>> value.backward()
        >>> round(value.item(), 3), log_variance.grad.item()
        (74.081, -0.5)
    """

    def log_prob(self, value: Tensor) -> Tensor:
        """Of each element of ``value``, in nats."""
        if not bool((self.scale < NARROW).any()):
            wide: Tensor = Normal.log_prob(self, value)
            return wide
        distance = (value - self.loc) / self.scale
        return -0.5 * distance.square() - self.scale.log() - 0.5 * math.log(2 * math.pi)


class PathwiseNormal(NarrowNormal):
    """A Gaussian whose divergences are estimated by "sticking the landing": along the path of the sample alone.

    The estimate of ``KL(q || p)`` is ``log q(z) - log p(z)`` with the parameters *inside* ``log q`` held fixed, so that
    the gradient flows through ``z`` only. The omitted term has expectation zero, so the gradient stays unbiased; and
    where ``q = p`` it is exactly zero for every single ``z``, while the plain estimate still has noise. Everything
    else, including ``log_prob``, is as in :class:`NarrowNormal`.

    Reference: ISA section 3.2 and Eq. 12; Roeder, Wu and Duvenaud 2017, "Sticking the landing".

    Example:
        >>> import torch
        >>> mean = torch.zeros(1, requires_grad=True)
        >>> q, p = PathwiseNormal(mean, torch.ones(1)), Normal(torch.zeros(1), torch.ones(1))
        >>> kl_per_latent(Independent(q, 1), Independent(p, 1), q.rsample()).sum().backward()
        >>> mean.grad.item() == 0.0
        True
    """

    def detached(self) -> Distribution:
        """The same Gaussian with detached parameters, which pass no gradient on."""
        return NarrowNormal(self.loc.detach(), self.scale.detach(), validate_args=False)


def kl(q: Distribution, p: Distribution, z: Tensor) -> Tensor:
    """``KL(q || p) = E_q[log q(z) - log p(z)]`` in nats, shape ``(n,)``.

    The closed form where one is registered for the two families, otherwise the one-sample estimate
    ``log q(z) - log p(z)`` at the given ``z ~ q``, which is unbiased. For a posterior of :class:`PathwiseNormal` it is
    always the estimate, in its lower-variance form, whatever the prior.

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
    if factorises(q) and isinstance(each := factors(q), PathwiseNormal):
        return each.detached().log_prob(z).sum(-1) - p.log_prob(z)
    if factorises(q) and factorises(p):
        return kl_per_latent(q, p, z).sum(-1)
    try:
        return kl_divergence(q, p.expand(q.batch_shape))
    except NotImplementedError:
        return q.log_prob(z) - p.log_prob(z)


def kl_per_latent(q: Distribution, p: Distribution, z: Tensor) -> Tensor:
    """``KL(q(z_j) || p(z_j))`` of each latent in nats, shape ``(n, latents)``.

    Needs both to factorise over the latents; the sum over latents is then :func:`kl`. For a prior that does not
    factorise this quantity does not exist, and the one-sample estimate cannot be split; check :func:`factorises` first.

    Reference: FAC appendix C.

    Example:
        >>> import torch
        >>> from torch.distributions import Independent, Normal
        >>> q = Independent(Normal(torch.tensor([[1.0, 0.0]]), torch.ones(1, 2)), 1)
        >>> p = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
        >>> kl_per_latent(q, p, q.rsample())
        tensor([[0.5000, 0.0000]])
    """
    q_each, p_each = factors(q), factors(p)
    if isinstance(q_each, PathwiseNormal):
        return q_each.detached().log_prob(z) - p_each.log_prob(z)
    if isinstance(q_each, Normal) and isinstance(p_each, Normal):
        return normal_kl(q_each, p_each)
    try:
        return kl_divergence(q_each, p_each)
    except NotImplementedError:
        return q_each.log_prob(z) - p_each.log_prob(z)


def normal_kl(q: Normal, p: Normal) -> Tensor:
    """``KL(q || p) = 1/2 (r^2 + (mean_q - mean_p)^2 / scale_p^2 - 1) - log r`` of Gaussians, ``r = scale_q / scale_p``.

    PyTorch takes the logarithm of ``r^2``, which is 0 in float32 from a log-variance of -88 on, so that the KL becomes
    infinite and its gradient NaN. The logarithm of ``r`` is half the log-variance down to -174.

    Example:
        >>> import torch
        >>> log_variance = torch.tensor(-100.0, requires_grad=True)
        >>> value = normal_kl(Normal(torch.zeros(()), (0.5 * log_variance).exp()), Normal(0.0, 1.0))
        >>> value.backward()
        >>> value.item(), log_variance.grad.item()
        (49.5, -0.5)
    """
    ratio = q.scale / p.scale
    distance = (q.loc - p.loc) / p.scale
    return 0.5 * (ratio.square() + distance.square() - 1) - ratio.log()


def kl_parts(q: Distribution, p: Distribution, z: Tensor) -> Tensor:
    """The KL in as many parts as it has: ``(n, latents)`` if it splits by latent, otherwise the whole as ``(n, 1)``.

    Example:
        >>> import torch
        >>> from torch.distributions import Independent, MultivariateNormal, Normal
        >>> q = Independent(Normal(torch.zeros(3, 2), torch.ones(3, 2)), 1)
        >>> kl_parts(q, q, q.rsample()).shape
        torch.Size([3, 2])
        >>> kl_parts(q, MultivariateNormal(torch.zeros(2), torch.eye(2)), q.rsample()).shape
        torch.Size([3, 1])
    """
    if factorises(q) and factorises(p):
        return kl_per_latent(q, p, z)
    return kl(q, p, z).unsqueeze(-1)


def factorises(distribution: Distribution) -> bool:
    """Whether the distribution is a product over latents, i.e. an ``Independent`` of one-dimensional distributions.

    Example:
        >>> import torch
        >>> from torch.distributions import Independent, Normal
        >>> factorises(Independent(Normal(torch.zeros(3), torch.ones(3)), 1))
        True
    """
    return isinstance(distribution, Independent) and distribution.base_dist.event_shape == ()


def factors(distribution: Distribution) -> Distribution:
    """The one-dimensional distributions, one for each latent, whose product the distribution is.

    Raises:
        TypeError: if it does not factorise over the latents.

    Example:
        >>> import torch
        >>> from torch.distributions import Independent, Normal
        >>> factors(Independent(Normal(torch.zeros(3), torch.ones(3)), 1)).batch_shape
        torch.Size([3])
    """
    if isinstance(distribution, Independent) and distribution.base_dist.event_shape == ():
        each: Distribution = distribution.base_dist
        return each
    raise TypeError(
        f"a distribution that factorises over the latents is needed, got {type(distribution).__name__}"
    )
