"""Standardised images: networks and loss get (x - mean) / std, everything else gets images in [0, 1]."""

from collections.abc import Sequence
from typing import ClassVar, final

import torch
from torch import Tensor, nn
from torch.distributions import Distribution, constraints

from unweave.errors import UnweaveError
from unweave.likelihoods import Augmentation, Bernoulli, Likelihood, OverlapLikelihood
from unweave.vae import VAE

Shape = torch.Size | list[int] | tuple[int, ...]


def standardise(vae: VAE, mean: Sequence[float], std: Sequence[float]) -> VAE:
    """The same VAE, in place, with its encoder and its likelihood on ``y = (x - mean) / std``.

    The constants are part of its state, so they are saved and loaded with its weights. The VAE still takes and returns
    images in [0, 1]; its loss is that of the standardised images, ``-log p(y | z)``. An augmentation of the likelihood
    still gets images in [0, 1], and what it makes of them is standardised.

    Args:
        vae: with a likelihood whose images are not limited to [0, 1]: MSE or Gaussian.
        mean: mean of each channel, on the scale [0, 1].
        std: standard deviation of each channel, likewise.

    Reference: REC appendix B.4.

    Example:
        >>> import torch
        >>> vae = standardise(VAE.assemble((1, 32, 32), 2, likelihood="MSE"), [0.25], [0.5])
        >>> x = torch.full((1, 1, 32, 32), 0.75)
        >>> p = vae.likelihood(torch.zeros(1, 1, 32, 32))
        >>> p.mean.unique().item(), p.log_prob(x).item()  # decoder 0 is the mean; 1024 pixels one deviation away
        (0.25, -1024.0)
    """
    channels = vae.image_shape[0]
    if len(mean) != channels or len(std) != channels or min(std) <= 0:
        raise UnweaveError(
            f"standardise needs {channels} means and {channels} deviations above 0, got {tuple(mean)} and {tuple(std)}"
        )
    if any(isinstance(part, Bernoulli) for part in vae.likelihood.modules()):
        raise UnweaveError(
            "standardised images are not in [0, 1], which a Bernoulli likelihood needs: "
            "choose likelihood=MSE or likelihood=Gaussian, or standardise=false"
        )
    vae.encoder = nn.Sequential(Standardised(mean, std), vae.encoder)
    inner, vae.likelihood = vae.likelihood, StandardisedLikelihood(vae.likelihood, mean, std)
    if isinstance(inner, OverlapLikelihood) and inner.augmentation is not None:
        inner.augmentation = _augmentation(inner.augmentation, vae.likelihood.scale, vae.image_shape)
    return vae


def _augmentation(given: Augmentation, scale: "Standardised", shape: tuple[int, int, int]) -> Augmentation:
    """The augmentation for standardised images of one for images in [0, 1], which it still gets."""
    if getattr(given, "linear", False):  # a blur of a channel is the same for every scale of that channel
        return given
    with torch.no_grad():
        made = given(torch.zeros(1, *shape))
    if made.ndim != 4 or made.shape[1] != shape[0]:
        raise UnweaveError(
            f"the augmentation of standardised images must keep their {shape[0]} channels, which are standardised each "
            f"by its own constants, got {tuple(made.shape)}: change it, or choose standardise=false"
        )
    return StandardisedAugmentation(given, scale)


@final
class Standardised(nn.Module):
    """``(x - mean) / std``, a channel at a time.

    Example:
        >>> import torch
        >>> Standardised([0.5], [0.25])(torch.ones(1, 1, 1, 1)).item()
        2.0
    """

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        for name, values in (("mean", mean), ("std", std)):
            self.register_buffer(name, torch.tensor(values, dtype=torch.float32).view(-1, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        """Images ``(n, channels, height, width)``, standardised."""
        return (images - self.mean) / self.std


@final
class StandardisedAugmentation(nn.Module):
    """``y -> (a(mean + std y) - mean) / std``: an augmentation ``a`` of images in [0, 1] for standardised ones.

    Example:
        >>> import torch
        >>> squared = StandardisedAugmentation(lambda x: x**2, Standardised([0.5], [0.25]))
        >>> squared(torch.full((1, 1, 1, 1), 2.0)).item()  # the image 1, of which the square is 1
        2.0
    """

    def __init__(self, augmentation: Augmentation, scale: Standardised) -> None:
        super().__init__()
        self.augmentation, self.scale = augmentation, scale

    def forward(self, images: Tensor) -> Tensor:
        """Standardised images ``(n, channels, height, width)``, augmented."""
        augmented: Tensor = self.scale(self.augmentation(images * self.scale.std + self.scale.mean))
        return augmented


@final
class StandardisedLikelihood(Likelihood):
    """A likelihood of standardised images, used as a likelihood of images in [0, 1].

    Example:
        >>> from unweave.likelihoods import MSE
        >>> StandardisedLikelihood(MSE((1, 2, 2)), [0.5], [0.25]).image_shape
        (1, 2, 2)
    """

    def __init__(self, inner: Likelihood, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__(inner.image_shape, inner.output_shape)
        self.inner = inner
        self.scale = Standardised(mean, std)

    @property
    def normalised(self) -> bool:
        """Whether the likelihood of the standardised images is."""
        return self.inner.normalised

    def as_seen(self, images: Tensor) -> Tensor:
        """Standardised."""
        standardised: Tensor = self.scale(images)
        return standardised

    def forward(self, features: Tensor) -> "StandardisedImages":
        """The distribution over images of the features."""
        return StandardisedImages(self.inner(features), self.scale)


@final
class StandardisedImages(Distribution):
    """A distribution over ``y`` for images ``x = mean + std y``; ``log_prob`` is the density of ``y``.

    Example:
        >>> from unweave.likelihoods import SquaredErrorImages
        >>> images = StandardisedImages(SquaredErrorImages(torch.ones(1, 1, 1, 1)), Standardised([0.5], [0.25]))
        >>> images.mean.item()
        0.75
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}

    def __init__(self, inner: Distribution, scale: Standardised) -> None:
        self.inner = inner
        self.scale = scale
        super().__init__(inner.batch_shape, inner.event_shape, validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The expected image."""
        return self.inner.mean * self.scale.std + self.scale.mean

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-density of the standardised image, summed over it, ``(n,)``."""
        return self.inner.log_prob(self.scale(value))

    def sample(self, sample_shape: Shape = torch.Size()) -> Tensor:
        """Images."""
        return self.inner.sample(torch.Size(sample_shape)) * self.scale.std + self.scale.mean
