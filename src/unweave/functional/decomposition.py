"""The three parts of the KL to the prior, and other functions of the aggregate posterior ``q(z)``.

``E_x[KL(q(z|x) || p(z))] = I(x; z) + TC(z) + sum_j KL(q(z_j) || p(z_j))`` (ISA Eq. 3, FAC appendix C). The functions
called ``pointwise_...`` give a log-density ratio at each sample ``z``; the mean over samples estimates the quantity in
the name. They take ``log q(z)`` and ``log q(z_j)`` from :func:`unweave.functional.aggregate`. (The *score*
``total_correlation``, with an interval, is that of :mod:`unweave.metrics`.)
"""

from torch import Tensor
from torch.distributions import Distribution, MultivariateNormal

from unweave.functional.aggregate_posterior import Aggregate, aggregate
from unweave.functional.divergence import factorises


def pointwise_total_correlation(at: Aggregate) -> Tensor:
    """``log q(z) - sum_j log q(z_j)`` at each sample, ``(n,)``; its mean over ``z ~ q(z)`` is the TC in nats.

    Reference: FAC Eq. 2, ISA Eq. 3.

    Example:
        >>> import torch
        >>> pointwise_total_correlation(Aggregate(torch.tensor([-1.0]), torch.tensor([[-1.0, -0.5]])))
        tensor([0.5000])
    """
    return at.joint - at.marginals.sum(1)


def pointwise_mutual_information(q: Distribution, z: Tensor, at: Aggregate) -> Tensor:
    """``log q(z|x) - log q(z)`` at each sample, ``(n,)``; its mean is ``I(x; z) = E_x[KL(q(z|x) || q(z))]``.

    Reference: FAC appendix C, ISA Eq. 3 (first term).

    Example:
        >>> import torch
        >>> from torch.distributions import Independent, Normal
        >>> q = Independent(Normal(torch.zeros(1, 2), torch.ones(1, 2)), 1)
        >>> z = torch.zeros(1, 2)
        >>> pointwise_mutual_information(q, z, aggregate(q, z))
        tensor([0.])
    """
    return q.log_prob(z) - at.joint


def pointwise_dimension_wise_kl(prior: Distribution, z: Tensor, at: Aggregate) -> Tensor:
    """``sum_j log q(z_j) - log p(z_j)`` at each sample, ``(n,)``; its mean is ``sum_j KL(q(z_j) || p(z_j))``.

    Needs a prior that factorises over the latents.

    Reference: ISA Eq. 3 (third term).

    Example:
        >>> import torch
        >>> from torch.distributions import Independent, Normal
        >>> p, z = Independent(Normal(torch.zeros(2), torch.ones(2)), 1), torch.zeros(1, 2)
        >>> pointwise_dimension_wise_kl(p, z, aggregate(p.expand((4,)), z)).abs() < 1e-6
        tensor([True])
    """
    if not factorises(prior):
        raise TypeError("a dimension-wise KL needs a prior that factorises over the latents")
    return at.marginals.sum(1) - prior.log_prob(z)


def pointwise_inclusive_kl(prior: Distribution, q: Distribution, z: Tensor) -> Tensor:
    """``log p(z) - log q(z)`` at samples ``z ~ p(z)``, ``(n,)``; its mean is ``KL(p(z) || q(z))`` in nats.

    ``q(z)`` is the mixture, with equal weights, of the given posteriors: of all data, or of a batch. DEC prints a sum
    over the samples and drops ``log n``; here the constants are included, so that the mean is a KL.

    Reference: DEC appendix B.

    Example:
        >>> import torch
        >>> from torch.distributions import Independent, Normal
        >>> p = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
        >>> pointwise_inclusive_kl(p, p.expand((4,)), torch.zeros(1, 2)).abs() < 1e-6
        tensor([True])
    """
    return prior.log_prob(z) - aggregate(q, z).joint


def pointwise_exclusive_kl(
    prior: Distribution, q: Distribution, z: Tensor, weights: Tensor | None = None
) -> Tensor:
    """``log q(z) - log p(z)`` at samples ``z ~ q(z)``, ``(n,)``; its mean is ``KL(q(z) || p(z))`` in nats.

    Args:
        prior: ``p(z)``.
        q: the posteriors whose mixture is ``q(z)``.
        z: codes drawn from them, ``(n, latents)``.
        weights: of the posteriors at each code, see :func:`unweave.functional.mixture_weights`; "split" is DEC Eq.
            10b; none: equal weights, which is exact if ``q`` are the posteriors of all data.

    Reference: DEC appendix C, Eq. 10.

    Example:
        >>> import torch
        >>> from torch.distributions import Independent, Normal
        >>> p = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
        >>> pointwise_exclusive_kl(p, p.expand((4,)), torch.zeros(1, 2)).abs() < 1e-6
        tensor([True])
    """
    return aggregate(q, z, weights).joint - prior.log_prob(z)


def half_log_determinant(q: Distribution) -> Tensor:
    """``1/2 log|S(x)|`` of Gaussian posteriors with covariance ``S``, ``(n,)``: their entropy without its constant.

    Reference: DEC Eq. 5.

    Example:
        >>> import torch
        >>> from torch.distributions import Independent, Normal
        >>> half_log_determinant(Independent(Normal(torch.zeros(1, 2), torch.full((1, 2), 2.0)), 1))
        tensor([1.3863])
    """
    if isinstance(q, MultivariateNormal):
        diagonal: Tensor = q.scale_tril.diagonal(dim1=-2, dim2=-1)
        return diagonal.log().sum(-1)
    return q.stddev.log().sum(-1)
