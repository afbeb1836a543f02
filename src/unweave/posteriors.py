"""Families of q(z given x): from the encoder's features to a distribution over codes."""

from torch import Tensor, nn
from torch.distributions import Independent, Normal

from unweave.functional.divergence import PathwiseNormal
from unweave.slots import Slot


class DiagonalNormal(nn.Module):
    """``q(z | x) = prod_j N(z_j; mean_j, exp(log_variance_j))``: the encoder gives means, then log-variances.

    Args:
        latents: size of the code.
        sticking_the_landing: estimate the KL to any prior from the sample, with gradients along its path only (see
            :class:`unweave.functional.divergence.PathwiseNormal`); off: closed forms where they exist.

    Reference: FAC appendix A ("mean and log-variance of Gaussian q(z|x)"); ISA Eq. 12 for the estimate.

    Example:
        >>> import torch
        >>> q = DiagonalNormal(2)(torch.tensor([[1.0, 2.0, 0.0, 0.0]]))
        >>> q.mean, q.stddev
        (tensor([[1., 2.]]), tensor([[1., 1.]]))
    """

    def __init__(self, latents: int, *, sticking_the_landing: bool = False) -> None:
        super().__init__()
        self.latents = latents
        self.family = PathwiseNormal if sticking_the_landing else Normal
        self.features = 2 * latents

    def forward(self, features: Tensor) -> "Independent[Normal]":
        """The posterior of each row of ``features``, ``(n, 2 * latents)``."""
        mean, log_variance = features.chunk(2, dim=-1)
        each = self.family(mean, (0.5 * log_variance).exp(), validate_args=False)
        return Independent(each, 1, validate_args=False)


POSTERIORS: Slot[nn.Module] = Slot(
    "posterior", "unweave.posteriors", nn.Module, {"DiagonalNormal": DiagonalNormal}
)
