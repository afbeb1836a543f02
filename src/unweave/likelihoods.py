"""Families of p(x given z): from the decoder's features to a distribution over images.

This *is* the reconstruction loss: ``-log_prob(x)``, in nats per image, summed over all pixels and channels.
"""

import math
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Distribution, constraints

from unweave.errors import UnweaveError

Shape = torch.Size | list[int] | tuple[int, ...]


class Bernoulli(nn.Module):
    """``log p(x | z) = sum_i x_i log s(f_i) + (1 - x_i) log(1 - s(f_i))`` with logits ``f`` and the sigmoid ``s``.

    For images in [0, 1], binary or not (REC-1).

    Args:
        image_shape: (channels, height, width).

    Reference: FAC appendix A, SBD appendix A.

    Example:
        >>> import torch
        >>> p = Bernoulli((1, 2, 2))(torch.zeros(1, 1, 2, 2))
        >>> p.log_prob(torch.ones(1, 1, 2, 2))  # = -4 log 2
        tensor([-2.7726])
    """

    def __init__(self, image_shape: tuple[int, int, int]) -> None:
        super().__init__()
        self.image_shape = self.output_shape = image_shape

    def forward(self, features: Tensor) -> "BernoulliImages":
        """The distribution over images that the logits ``(n, *image_shape)`` stand for."""
        return BernoulliImages(features)


class Gaussian(nn.Module):
    """``log p(x | z) = -sum_i (x_i - f_i)^2 / (2 v) - (D / 2) log(2 pi v)`` with variance ``v`` (REC-2).

    Args:
        image_shape: (channels, height, width).
        variance: ``v``, or where it starts if it is learned. SBD suggests 0.3.
        learned: whether ``v``, one number for all pixels, is trained along.

    Reference: SBD appendix A.

    Example:
        >>> import torch
        >>> p = Gaussian((1, 1, 1), variance=1.0)(torch.zeros(1, 1, 1, 1))
        >>> p.log_prob(torch.zeros(1, 1, 1, 1))  # = -log(2 pi) / 2
        tensor([-0.9189])
    """

    def __init__(
        self, image_shape: tuple[int, int, int], *, variance: float = 0.3, learned: bool = False
    ) -> None:
        super().__init__()
        if variance <= 0:
            raise UnweaveError(f"likelihood.variance must be greater than 0, got {variance}")
        self.image_shape = self.output_shape = image_shape
        log_variance = torch.tensor(math.log(variance))
        if learned:
            self.log_variance: Tensor = nn.Parameter(log_variance)
        else:
            self.register_buffer("log_variance", log_variance, persistent=False)

    def forward(self, features: Tensor) -> "GaussianImages":
        """The distribution over images with means ``(n, *image_shape)``."""
        return GaussianImages(features, self.log_variance)


class MSE(nn.Module):
    """``-log p(x | z) = sum_i (x_i - f_i)^2``: squared error as a loss, with no normaliser (REC-3).

    It is the Gaussian of variance 1/2 without its constant ``(D / 2) log pi``, so that the number reads as a squared
    error. Paper REC averages it over elements and beta over latents: train with ``averaged=true``.

    Args:
        image_shape: (channels, height, width).

    Reference: REC section 3 and appendix B.1.

    Example:
        >>> import torch
        >>> p = MSE((1, 2, 1))(torch.zeros(1, 1, 2, 1))
        >>> p.log_prob(torch.tensor([1.0, 2.0]).view(1, 1, 2, 1))
        tensor([-5.])
    """

    def __init__(self, image_shape: tuple[int, int, int]) -> None:
        super().__init__()
        self.image_shape = self.output_shape = image_shape

    def forward(self, features: Tensor) -> "SquaredErrorImages":
        """The loss around the images ``(n, *image_shape)``."""
        return SquaredErrorImages(features)


class _Images(Distribution):
    """A distribution over images ``(channels, height, width)``, one for each row of the decoder's features."""

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}

    def __init__(self, features: Tensor) -> None:
        self.features = features
        super().__init__(features.shape[:1], features.shape[1:], validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The expected image."""
        return self.features


class BernoulliImages(_Images):
    """Independent Bernoulli pixels given by logits; ``log_prob`` takes any values in [0, 1].

    Example:
        >>> import torch
        >>> BernoulliImages(torch.zeros(1, 1, 1, 1)).mean
        tensor([[[[0.5000]]]])
    """

    @property
    def mean(self) -> Tensor:
        """The probability of each pixel, the sigmoid of the logits."""
        return self.features.sigmoid()

    def log_prob(self, value: Tensor) -> Tensor:
        """Minus the cross-entropy of the pixels, summed over the image, ``(n,)``."""
        return -F.binary_cross_entropy_with_logits(self.features, value, reduction="none").sum((1, 2, 3))

    def sample(self, sample_shape: Shape = torch.Size()) -> Tensor:
        """Binary images."""
        return torch.bernoulli(self.mean.expand(*sample_shape, *self.features.shape))


class GaussianImages(_Images):
    """Independent Gaussian pixels of one variance.

    Example:
        >>> import torch
        >>> GaussianImages(torch.zeros(1, 1, 1, 1), torch.tensor(0.0)).mean.item()
        0.0
    """

    def __init__(self, features: Tensor, log_variance: Tensor) -> None:
        self.log_variance = log_variance
        super().__init__(features)

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-density summed over the image, ``(n,)``."""
        squares = (value - self.features).square().sum((1, 2, 3))
        elements = self.features[0].numel()
        return -0.5 * (
            squares * (-self.log_variance).exp() + elements * (math.log(2 * math.pi) + self.log_variance)
        )

    def sample(self, sample_shape: Shape = torch.Size()) -> Tensor:
        """The mean plus noise."""
        mean = self.mean.expand(*sample_shape, *self.features.shape)
        return mean + (0.5 * self.log_variance).exp() * torch.randn_like(mean)


class SquaredErrorImages(_Images):
    """Squared error around a mean; as a density it lacks its constant.

    Example:
        >>> import torch
        >>> SquaredErrorImages(torch.zeros(1, 1, 1, 1)).log_prob(torch.full((1, 1, 1, 1), 3.0))
        tensor([-9.])
    """

    def log_prob(self, value: Tensor) -> Tensor:
        """Minus the squared error summed over the image, ``(n,)``."""
        return -(value - self.features).square().sum((1, 2, 3))

    def sample(self, sample_shape: Shape = torch.Size()) -> Tensor:
        """The mean plus noise of variance 1/2, the Gaussian that this loss stands for."""
        mean = self.mean.expand(*sample_shape, *self.features.shape)
        return mean + math.sqrt(0.5) * torch.randn_like(mean)


LIKELIHOODS: dict[str, type] = {"Bernoulli": Bernoulli, "Gaussian": Gaussian, "MSE": MSE}
