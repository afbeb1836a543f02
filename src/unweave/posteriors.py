"""Families of q(z given x): from the encoder's features to a distribution over codes."""

from abc import ABC, abstractmethod
from typing import final

import torch
from torch import Tensor, nn
from torch.distributions import Distribution, Independent, Normal

from unweave.functional.divergence import PathwiseNormal
from unweave.slots import Slot


class Posterior(nn.Module, ABC):
    """A family q(z given x): the encoder's features are its parameters.

    A posterior provides three things:

    1. a constructor ``__init__(self, latents, *, options)`` that calls ``super().__init__(latents, features)``; every
       keyword with a type and a default is an option, ``posterior.NAME=VALUE`` in a config;
    2. ``features``, the number of features for each image that the encoder must return;
    3. ``forward(features) -> Distribution`` with batch shape ``(n,)``, event shape ``(latents,)``, and the members
       ``mean``, ``stddev``, ``log_prob`` and ``rsample``. A posterior that factorises over the latents returns an
       ``Independent`` of one-dimensional distributions; some objectives need that.

    Args:
        latents: size of the code.
        features: number of features for each image.

    Example:
        >>> class UnitNormal(Posterior):
        ...     def __init__(self, latents: int) -> None:
        ...         super().__init__(latents, features=latents)
        ...     def forward(self, features: Tensor) -> Distribution:
        ...         return Independent(Normal(features, torch.ones_like(features)), 1)
        >>> UnitNormal(3)(torch.zeros(2, 3)).rsample().shape
        torch.Size([2, 3])
    """

    def __init__(self, latents: int, features: int) -> None:
        super().__init__()
        self.latents = latents
        self.features = features

    @abstractmethod
    def forward(self, features: Tensor) -> Distribution:
        """The posterior of each row of ``features``, ``(n, features)``."""


@final
class DiagonalNormal(Posterior):
    """``q(z | x) = prod_j N(z_j; mean_j, exp(log_variance_j))``: the features are the means, then the log-variances.

    Args:
        latents: size of the code.
        sticking_the_landing: estimate the KL to any prior from the sample, with gradients along its path only (see
            :class:`unweave.functional.divergence.PathwiseNormal`); off: closed forms where they exist.

    Reference: FAC appendix A ("mean and log-variance of Gaussian q(z|x)"); ISA Eq. 12 for the estimate.

    Example:
        >>> q = DiagonalNormal(2)(torch.tensor([[1.0, 2.0, 0.0, 0.0]]))
        >>> q.mean, q.stddev
        (tensor([[1., 2.]]), tensor([[1., 1.]]))
    """

    def __init__(self, latents: int, *, sticking_the_landing: bool = False) -> None:
        super().__init__(latents, features=2 * latents)
        self.family = PathwiseNormal if sticking_the_landing else Normal

    def forward(self, features: Tensor) -> "Independent[Normal]":
        """The posterior of each row of ``features``, ``(n, 2 * latents)``."""
        mean, log_variance = features.chunk(2, dim=-1)
        each = self.family(mean, (0.5 * log_variance).exp(), validate_args=False)
        return Independent(each, 1, validate_args=False)


def example_posteriors(posterior: Posterior, device: torch.device | str = "cpu") -> Distribution:
    """Two posteriors of the family, at features 0, for checks of what kind of distribution it gives.

    Example:
        >>> example_posteriors(DiagonalNormal(4)).batch_shape
        torch.Size([2])
    """
    q: Distribution = posterior(torch.zeros(2, posterior.features, device=device))
    return q


POSTERIORS: Slot[Posterior] = Slot(
    "posterior", "unweave.posteriors", Posterior, {"DiagonalNormal": DiagonalNormal}
)
