"""Gaussian priors."""

import math
from collections.abc import Callable
from typing import Literal, final

import torch
from torch import Tensor, nn
from torch.distributions import Independent, Normal

from unweave.errors import UnweaveError
from unweave.functional.singular_values import singular_values
from unweave.priors.core import Prior

_LOG_VARIANCES = (-20.0, 20.0)
"""A learned log-variance is clamped to this range, so that no step can make the prior degenerate."""


@final
class StandardNormal(Prior):
    """``p(z) = N(z; 0, I)``, the isotropic prior of the VAE.

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
        super().__init__(latents)
        self.register_buffer("mean", torch.zeros(latents), persistent=False)
        self.register_buffer("scale", torch.ones(latents), persistent=False)

    def forward(self) -> "Independent[Normal]":
        """The distribution, event shape ``(latents,)``."""
        return Independent(Normal(self.mean, self.scale, validate_args=False), 1, validate_args=False)


@final
class AnisotropicNormal(Prior):
    """``p(z) = N(z; 0, diag(scale^2))``, with the scales of the data's principal components, or learned.

    From the data: ``scale_j = D softmax(s_1 / sqrt(n), ..., s_D / sqrt(n))_j`` for ``D`` latents, where ``s_j`` are the
    largest singular values of ``n`` centred images, so that ``s_j / sqrt(n)`` is the standard deviation of the data
    along its ``j``-th principal component, whatever ``n`` is. The softmax and the factor ``D`` make the mean scale
    1, so beta is not implicitly changed. The paper prints the softmax but neither the ``n`` nor the factor.

    Args:
        latents: size of the code.
        scales: ``pca`` (set from the data before step 0) or ``ones``.
        learned: train the log-variances together with the networks, starting from ``scales``.
        images: how many images the principal components are computed from.

    Reference: DEC section 6.1 and appendix B.

    Example:
        >>> import torch
        >>> prior = AnisotropicNormal(2)
        >>> images = torch.randn(500, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([2.0, 1.0, 0.1])
        >>> prior.initialise(lambda n: images)
        >>> prior().stddev.round(decimals=1)
        tensor([1.5000, 0.5000])
    """

    log_variance: Tensor
    mean: Tensor

    def __init__(
        self,
        latents: int,
        *,
        scales: Literal["pca", "ones"] = "pca",
        learned: bool = False,
        images: int = 4096,
    ) -> None:
        super().__init__(latents)
        if images < 2:
            raise UnweaveError(f"prior.images must be at least 2, got {images}")
        self.scales = scales
        self.images = images
        start = torch.zeros(latents)
        if learned:
            self.log_variance = nn.Parameter(start)
        else:
            self.register_buffer("log_variance", start)
        self.register_buffer("mean", torch.zeros(latents), persistent=False)

    @torch.no_grad()
    def initialise(self, draw: Callable[[int], Tensor]) -> None:
        """Set the scales from the images that ``draw(n)`` gives, ``(n, ...)``; called once, before step 0."""
        if self.scales == "ones":
            return
        images = draw(self.images).flatten(1)
        deviations = singular_values(images - images.mean(0), self.latents) / math.sqrt(len(images))
        scales = self.latents * torch.softmax(deviations, 0)
        self.log_variance.copy_(2 * scales.log())

    def forward(self) -> "Independent[Normal]":
        """The distribution, event shape ``(latents,)``."""
        scale = (0.5 * self.log_variance.clamp(*_LOG_VARIANCES)).exp()
        return Independent(Normal(self.mean, scale, validate_args=False), 1, validate_args=False)
