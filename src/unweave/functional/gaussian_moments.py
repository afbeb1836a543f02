"""Absolute moments of a Gaussian, which have no elementary form."""

import math

import torch
from torch import Tensor

_FAR = 8.0
"""Above this ratio ``|mean| / scale`` the asymptotic series is exact to double precision; below, the mixture is."""
_TERMS = 128
_FAR_TERMS = 16


def absolute_moment(mean: Tensor, scale: Tensor, p: Tensor) -> Tensor:
    r"""``E |x|^p`` for ``x ~ N(mean, scale^2)``, any ``p > 0``, differentiable in all three arguments.

    ``(x / scale)^2`` has a noncentral chi-squared law, a mixture over ``k ~ Poisson(m^2 / 2)``, ``m = mean / scale``,
    of chi-squared laws with ``1 + 2k`` degrees of freedom, so

        E |x|^p = scale^p 2^(p/2) sum_k Poisson(k; m^2 / 2) Gamma(k + (1 + p) / 2) / Gamma(k + 1/2),

    which is Kummer's function ``1F1(-p/2; 1/2; -m^2/2)`` in a form without cancellation. For ``|m| > 8`` the expansion
    ``|mean|^p sum_k binom(p, 2k) (2k - 1)!! m^(-2k)`` is used. Both are summed in double precision.

    Args:
        mean: any shape.
        scale: broadcastable with ``mean``, positive.
        p: exponent, broadcastable with ``mean``, positive.

    Example:
        >>> absolute_moment(torch.tensor(1.0), torch.tensor(2.0), torch.tensor([2.0, 4.0]))  # 1 + 4; 1 + 6 * 4 + 3 * 16
        tensor([ 5., 73.])
    """
    dtype = torch.result_type(mean, scale)
    mean, scale, p = mean.double(), scale.double(), p.double()
    ratio, p = torch.broadcast_tensors(mean.abs() / scale, p)
    far = ratio > _FAR
    # Each branch gets only arguments where it is finite: infinities of the other would make the gradient NaN.
    near = _poisson_mixture(torch.where(far, torch.ones_like(ratio), ratio).square() / 2, p)
    tail = _asymptotic(torch.where(far, ratio, torch.full_like(ratio, 2 * _FAR)), p)
    return (p * scale.log() + torch.where(far, tail, near)).exp().to(dtype)


def _poisson_mixture(rate: Tensor, p: Tensor) -> Tensor:
    """The logarithm of ``E |m + e|^p``, ``e ~ N(0, 1)``, from ``rate = m^2 / 2``."""
    k = torch.arange(_TERMS, dtype=torch.float64, device=rate.device)
    rate = rate.clamp(min=1e-30).unsqueeze(-1)
    log_poisson = k * rate.log() - rate - torch.lgamma(k + 1)
    log_moment = torch.lgamma(k + (1 + p.unsqueeze(-1)) / 2) - torch.lgamma(k + 0.5)
    return torch.logsumexp(log_poisson + log_moment, -1) + 0.5 * math.log(2) * p


def _asymptotic(ratio: Tensor, p: Tensor) -> Tensor:
    """The same logarithm from ``ratio = |m|``, for large ratios."""
    term = torch.ones_like(ratio)
    total = term
    for k in range(1, _FAR_TERMS):
        # binom(p, 2k) (2k - 1)!! from the previous term: (p - 2k + 2) (p - 2k + 1) (2k - 1) / ((2k - 1) 2k)
        term = term * (p - 2 * k + 2) * (p - 2 * k + 1) / (2 * k * ratio.square())
        total = total + term
    return p * ratio.log() + total.log()
