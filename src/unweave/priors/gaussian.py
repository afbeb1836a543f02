"""Gaussian priors."""

import math
from collections.abc import Callable, Iterator
from typing import Literal, final

import torch
from torch import Tensor, nn
from torch.distributions import Independent, Normal

from unweave.errors import UnweaveError, check_at_least
from unweave.functional.singular_values import principal_variances, singular_values
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

    From the data, with the largest singular values ``s_1 ... s_D`` of ``n`` centred images and ``D`` latents:

    * ``shares``: ``scale_j^2 = D s_j^2 / sum_k s_k^2 = D softmax(log s^2)_j``. The variances sum to ``D`` as those of
      N(0, I) do, also while they are learned, so that beta keeps its meaning: the reason that the paper gives for its
      softmax, and what the code of its authors computes. The default.
    * ``pca``: ``scale_j = D softmax(s_1 / sqrt(n), ..., s_D / sqrt(n))_j``, the standard deviations "mapped through a
      softmax function" as the paper's sentence says; the factors ``D`` and ``1 / sqrt(n)`` are ours. On dSprites the
      variances then sum to 17 for 10 latents. Learned log-variances are free.
    * ``ones``: N(0, I); learned log-variances are free.

    Args:
        latents: size of the code.
        scales: ``shares``, ``pca`` (both set from the data before step 0) or ``ones``.
        learned: train the log-variances together with the networks, starting from ``scales``.
        images: how many images the principal components are computed from; none: all of the data set.

    Reference: DEC section 6.1 and appendix B.

    Example:
        >>> import torch
        >>> prior = AnisotropicNormal(2)
        >>> images = torch.randn(500, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([2.0, 1.0, 0.1])
        >>> prior.initialise(lambda n: images)
        >>> prior().variance.round(decimals=1), round(prior().variance.sum().item(), 4)
        (tensor([1.6000, 0.4000]), 2.0)
    """

    log_variance: Tensor
    mean: Tensor

    def __init__(
        self,
        latents: int,
        *,
        scales: Literal["shares", "pca", "ones"] = "shares",
        learned: bool = False,
        images: int | None = 4096,
    ) -> None:
        super().__init__(latents)
        check_at_least("prior.images", images, 2)
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
        """Set the scales from the images that ``draw(n)`` gives, ``(n, ...)``; called once, before step 0.

        For all images, ``draw`` must have ``blocks()``, which yields every image of the data set once.
        """
        if self.scales == "ones":
            return
        if self.images is None:
            variances = principal_variances(_all_blocks(draw), self.latents)
        else:
            images = draw(self.images).flatten(1)
            variances = singular_values(images - images.mean(0), self.latents).square() / len(images)
        if self.scales == "pca":
            self.log_variance.copy_(2 * (self.latents * torch.softmax(variances.sqrt(), 0)).log())
        else:
            self.log_variance.copy_(variances.clamp(min=1e-12 * variances[0]).log())
            self.log_variance.sub_(self.log_variance.logsumexp(0) - math.log(self.latents))

    def forward(self) -> "Independent[Normal]":
        """The distribution, event shape ``(latents,)``."""
        bounded = self.log_variance.clamp(*_LOG_VARIANCES)
        if self.scales == "shares":
            bounded = bounded.log_softmax(0) + math.log(self.latents)
        scale = (0.5 * bounded).exp()
        return Independent(Normal(self.mean, scale, validate_args=False), 1, validate_args=False)


def _all_blocks(draw: Callable[[int], Tensor]) -> Iterator[Tensor]:
    blocks = getattr(draw, "blocks", None)
    if blocks is None:
        raise UnweaveError(
            "prior.images is none, for all images, but the data have no fixed number of them: set it, as in "
            "prior.images=4096"
        )
    yield from blocks()
