"""Gaussian priors."""

import torch
from torch import Tensor, nn
from torch.distributions import Independent, Normal


class StandardNormal(nn.Module):
    """``p(z) = N(z; 0, I)``, the isotropic prior of the VAE (PRI-1).

    Args:
        latents: size of the code.

    Reference: FAC section 2.

    Example:
        >>> import torch
        >>> StandardNormal(2)().log_prob(torch.zeros(2))  # = -log(2 pi)
        tensor(-1.8379)
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, latents: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(latents), persistent=False)
        self.register_buffer("scale", torch.ones(latents), persistent=False)

    def forward(self) -> "Independent[Normal]":
        """The distribution, event shape ``(latents,)``."""
        return Independent(Normal(self.mean, self.scale, validate_args=False), 1, validate_args=False)
