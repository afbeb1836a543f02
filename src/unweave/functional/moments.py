"""Covariances of the code and their distance from the identity (DIP-VAE)."""

import torch
from torch import Tensor
from torch.distributions import Distribution


def covariance(samples: Tensor) -> Tensor:
    """``1/n sum_i (x_i - mean)(x_i - mean)^T`` of the rows, ``(latents, latents)``: divided by ``n``, not ``n - 1``.

    Example:
        >>> covariance(torch.tensor([[0.0, 0.0], [2.0, 4.0]]))
        tensor([[1., 2.],
                [2., 4.]])
    """
    centred = samples - samples.mean(0)
    return centred.T @ centred / len(samples)


def code_covariance(q: Distribution) -> Tensor:
    """``Cov_q(z)[z] = E_x[Cov_q(z|x)[z]] + Cov_x[mean(x)]`` over a batch of diagonal posteriors.

    The first term is the *diagonal matrix* of the batch's mean variances: the posteriors have no covariances.

    Reference: FAC appendix F, law of total covariance.

    Example:
        >>> from torch.distributions import Independent, Normal
        >>> code_covariance(Independent(Normal(torch.zeros(3, 2), torch.ones(3, 2)), 1))
        tensor([[1., 0.],
                [0., 1.]])
    """
    return torch.diag(q.variance.mean(0)) + covariance(q.mean)


def covariance_penalties(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """``sum_{i != j} C_ij^2`` and ``sum_i (C_ii - 1)^2``.

    Reference: FAC Eq. 10, 11.

    Example:
        >>> covariance_penalties(torch.tensor([[3.0, 1.0], [1.0, 1.0]]))
        (tensor(2.), tensor(4.))
    """
    diagonal = matrix.diagonal()
    off = matrix - torch.diag(diagonal)
    return off.square().sum(), (diagonal - 1).square().sum()
