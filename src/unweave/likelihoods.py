"""Families of p(x given z): from the decoder's features to a distribution over images.

The reconstruction loss is ``-log_prob(x)``, in nats per image, summed over all pixels and channels. Each family has the
option ``blur``: the overlap loss of paper REC, which also compares blurred images (:class:`OverlapImages`).
:class:`Likelihood` says what a likelihood must provide.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Distribution, constraints

from unweave.errors import UnweaveError, check_at_least, check_positive
from unweave.functional.blur import blur_matrix, blur_profile, blur_with, window_area
from unweave.functional.untyped import apply_function
from unweave.references import Reference
from unweave.slots import Slot

Shape = torch.Size | list[int] | tuple[int, ...]
Blur = Literal["none", "box", "gaussian"]
Augmentation = Callable[[Tensor], Tensor]

_LOG_VARIANCE = 12.0
"""Log-variances of single outputs are clamped to plus or minus this."""


class Likelihood(nn.Module, ABC):
    """A family p(x given z): the decoder's features are its parameters. It *is* the reconstruction loss.

    A likelihood provides three things:

    1. a constructor ``__init__(self, image_shape, *, options)`` that calls ``super().__init__(image_shape)``; every
       keyword with a type and a default is an option, ``likelihood.NAME=VALUE`` in a config;
    2. ``output_shape``, the shape ``(channels, height, width)`` of the features that the decoder must return for each
       image; the image's own shape, unless another is given;
    3. ``forward(features) -> Distribution`` with batch shape ``(n,)`` and event shape ``image_shape``: ``log_prob`` in
       nats per image, summed over pixels and channels, ``mean``, the expected image, and ``sample``.

    Args:
        image_shape: (channels, height, width).
        output_shape: that of the decoder's features; none: that of the images.

    Example:
        >>> from torch.distributions import Independent, Laplace
        >>> class LaplaceImages(Likelihood):
        ...     def forward(self, features: Tensor) -> Distribution:
        ...         return Independent(Laplace(features, torch.ones_like(features)), 3)
        >>> p = LaplaceImages((1, 2, 2))(torch.zeros(1, 1, 2, 2))
        >>> p.log_prob(torch.zeros(1, 1, 2, 2))  # = -4 log 2
        tensor([-2.7726])
    """

    def __init__(
        self, image_shape: tuple[int, int, int], output_shape: tuple[int, int, int] | None = None
    ) -> None:
        super().__init__()
        self.image_shape = image_shape
        self.output_shape = image_shape if output_shape is None else output_shape

    @property
    def normalised(self) -> bool:
        """Whether ``exp(log_prob)`` integrates to 1: false for a loss that lacks its constant."""
        return True

    def as_seen(self, images: Tensor) -> Tensor:
        """Images in [0, 1] as the loss sees them: the same, unless they are standardised."""
        return images

    @abstractmethod
    def forward(self, features: Tensor) -> Distribution:
        """The distribution over images of the features ``(n, *output_shape)``."""


class OverlapLikelihood(Likelihood, ABC):
    """What the families of this module share: the overlap term, if there is one.

    Args:
        image_shape: (channels, height, width).
        blur: of the overlap term; "none": no such term.
        blur_radius: the window has 2 radius + 1 pixels a side.
        blur_weight: ``alpha``; none: the area of the window, as in REC, or 1 with another augmentation.
        augmentation: of the overlap term instead of a blur: ``package.module:function`` or ``file.py:function`` of a
            differentiable function of images, see :meth:`with_overlap`.
    """

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        *,
        blur: Blur = "none",
        blur_radius: int = 31,
        blur_weight: float | None = None,
        augmentation: Reference | str | None = None,
    ) -> None:
        super().__init__(image_shape)
        check_at_least("likelihood.blur_radius", blur_radius, 0)
        check_at_least("likelihood.blur_weight", blur_weight, 0)
        self.augmentation: Augmentation | None = None
        self.weight = 0.0
        if blur != "none":
            weight = window_area(blur_radius) if blur_weight is None else blur_weight
            self.with_overlap(_Blur(blur_profile(blur, blur_radius), *image_shape[1:]), weight)
        if augmentation is not None:
            if blur != "none":
                raise UnweaveError("likelihood has both a blur and an augmentation: give one of them")
            named = augmentation if isinstance(augmentation, Reference) else Reference(augmentation)
            function = named.load()
            if not callable(function):
                raise UnweaveError(f"likelihood.augmentation: {augmentation} is not a function of images")
            self.with_overlap(function, 1.0 if blur_weight is None else blur_weight)

    def with_overlap(self, augmentation: Augmentation, weight: float) -> Self:
        """This likelihood with the term ``weight * -log p(augmentation(x))`` added, for any differentiable map.

        The augmentation takes images in [0, 1], ``(n, channels, height, width)``, to images in [0, 1] of any shape;
        it is applied to the data and to the mean of the reconstruction.

        Example:
            >>> likelihood = MSE((1, 4, 4)).with_overlap(lambda x: torch.nn.functional.avg_pool2d(x, 4), weight=10.0)
            >>> likelihood(torch.zeros(1, 1, 4, 4)).log_prob(torch.ones(1, 1, 4, 4))  # -(16 + 10)
            tensor([-26.])
        """
        self.augmentation = augmentation
        self.weight = weight
        return self

    @property
    def normalised(self) -> bool:
        """Not with an overlap term."""
        return self.augmentation is None

    @abstractmethod
    def family(self, features: Tensor) -> "ImageDistribution":
        """The distribution over images without the overlap term."""

    def forward(self, features: Tensor) -> Distribution:
        """The distribution over images of the features ``(n, *output_shape)``."""
        images = self.family(features)
        return images if self.augmentation is None else OverlapImages(images, self.augmentation, self.weight)


@final
class _Blur(nn.Module):
    linear = True
    rows: Tensor
    columns: Tensor

    def __init__(self, profile: Tensor, height: int, width: int) -> None:
        super().__init__()
        self.register_buffer("rows", blur_matrix(height, profile), persistent=False)
        self.register_buffer("columns", blur_matrix(width, profile), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        return blur_with(images, self.rows, self.columns)


@final
class Bernoulli(OverlapLikelihood):
    """``log p(x | z) = sum_i x_i log s(f_i) + (1 - x_i) log(1 - s(f_i))`` with logits ``f`` and the sigmoid ``s``.

    For images in [0, 1], binary or not.

    Args:
        image_shape: (channels, height, width).
        blur: adds the overlap term of REC Eq. 11 with this blur.
        blur_radius: the window has 2 radius + 1 pixels a side.
        blur_weight: ``alpha`` of the overlap term; none: the area of the window.
        augmentation: of the overlap term instead of a blur, see :class:`OverlapLikelihood`.

    Reference: FAC appendix A, SBD appendix A; REC Eq. 11.

    Example:
        >>> p = Bernoulli((1, 2, 2))(torch.zeros(1, 1, 2, 2))
        >>> p.log_prob(torch.ones(1, 1, 2, 2))  # = -4 log 2
        tensor([-2.7726])
    """

    def family(self, features: Tensor) -> "BernoulliImages":
        """The distribution over images with the logits ``(n, *image_shape)``."""
        return BernoulliImages(features)


@final
class Gaussian(OverlapLikelihood):
    """``log p(x | z) = -sum_i (x_i - f_i)^2 / (2 v) - (D / 2) log(2 pi v)`` with variance ``v``.

    Args:
        image_shape: (channels, height, width).
        variance: ``v``; its initial value if it is learned. SBD suggests 0.3.
        learned: whether ``v``, one number for all pixels, is trained.
        per_output: the decoder gives a mean and a log-variance for every output, in twice the channels: means first
            (DEC table 1b, "FC. 2x2"). ``variance`` and ``learned`` are then not used. Log-variances are clamped to
            [-12, 12], so that no output can have all the density.
        blur: adds the overlap term of REC Eq. 11 with this blur.
        blur_radius: the window has 2 radius + 1 pixels a side.
        blur_weight: ``alpha`` of the overlap term; none: the area of the window.
        augmentation: of the overlap term instead of a blur, see :class:`OverlapLikelihood`.

    Reference: SBD appendix A; DEC table 1b.

    Example:
        >>> p = Gaussian((1, 1, 1), variance=1.0)(torch.zeros(1, 1, 1, 1))
        >>> p.log_prob(torch.zeros(1, 1, 1, 1))  # = -log(2 pi) / 2
        tensor([-0.9189])
    """

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        *,
        variance: float = 0.3,
        learned: bool = False,
        blur: Blur = "none",
        blur_radius: int = 31,
        blur_weight: float | None = None,
        per_output: bool = False,
        augmentation: Reference | str | None = None,
    ) -> None:
        super().__init__(
            image_shape,
            blur=blur,
            blur_radius=blur_radius,
            blur_weight=blur_weight,
            augmentation=augmentation,
        )
        check_positive("likelihood.variance", variance)
        self.per_output = per_output
        if per_output:
            if learned or blur != "none":
                raise UnweaveError(
                    "likelihood.per_output decodes every variance: omit likelihood.learned and likelihood.blur"
                )
            self.output_shape = (2 * image_shape[0], *image_shape[1:])
        log_variance = torch.tensor(math.log(variance))
        if learned:
            self.log_variance: Tensor = nn.Parameter(log_variance)
        else:
            self.register_buffer("log_variance", log_variance, persistent=False)

    def family(self, features: Tensor) -> "ImageDistribution":
        """The distribution over images with means ``(n, *image_shape)``, or means and log-variances of each output."""
        if self.per_output:
            means, log_variances = features.chunk(2, dim=1)
            return HeteroscedasticImages(means, log_variances.clamp(-_LOG_VARIANCE, _LOG_VARIANCE))
        return GaussianImages(features, self.log_variance)


@final
class MSE(OverlapLikelihood):
    """``-log p(x | z) = sum_i (x_i - f_i)^2``: squared error as a loss, with no normaliser.

    It is the Gaussian of variance 1/2 without its constant ``(D / 2) log pi``, so that the value is a squared error.
    Paper REC averages it over elements and beta over latents: train with ``averaged=true``.

    Args:
        image_shape: (channels, height, width).
        blur: adds the overlap term of REC Eq. 11 with this blur.
        blur_radius: the window has 2 radius + 1 pixels a side.
        blur_weight: ``alpha`` of the overlap term; none: the area of the window.
        augmentation: of the overlap term instead of a blur, see :class:`OverlapLikelihood`.

    Reference: REC section 3, Eq. 11 and appendix B.1.

    Example:
        >>> p = MSE((1, 2, 1))(torch.zeros(1, 1, 2, 1))
        >>> p.log_prob(torch.tensor([1.0, 2.0]).view(1, 1, 2, 1))
        tensor([-5.])
    """

    @property
    def normalised(self) -> bool:
        """Never: a squared error has no constant."""
        return False

    def family(self, features: Tensor) -> "SquaredErrorImages":
        """The loss around the images ``(n, *image_shape)``."""
        return SquaredErrorImages(features)


class ImageDistribution(Distribution, ABC):
    """A distribution over images ``(channels, height, width)`` for each row of the decoder's features."""

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    location: ClassVar[bool] = False
    """Whether the density depends on the distance from the mean alone."""

    def __init__(self, features: Tensor) -> None:
        self.features = features
        super().__init__(features.shape[:1], features.shape[1:], validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The expected image."""
        return self.features

    @abstractmethod
    def around(self, mean: Tensor) -> "ImageDistribution":
        """The same family around another mean."""


@final
class BernoulliImages(ImageDistribution):
    """Independent Bernoulli pixels given by logits; ``log_prob`` takes any values in [0, 1].

    Example:
        >>> BernoulliImages(torch.zeros(1, 1, 1, 1)).mean
        tensor([[[[0.5000]]]])
    """

    @property
    def mean(self) -> Tensor:
        """The probability of each pixel, the sigmoid of the logits."""
        return self.features.sigmoid()

    def around(self, mean: Tensor) -> "_BernoulliMeans":
        """Bernoulli pixels of other probabilities."""
        return _BernoulliMeans(mean)

    def log_prob(self, value: Tensor) -> Tensor:
        """Minus the cross-entropy of the pixels, summed over the image, ``(n,)``."""
        return -F.binary_cross_entropy_with_logits(self.features, value, reduction="none").sum((1, 2, 3))

    def sample(self, sample_shape: Shape = torch.Size()) -> Tensor:
        """Binary images."""
        return torch.bernoulli(self.mean.expand(*sample_shape, *self.features.shape))


@final
class _BernoulliMeans(ImageDistribution):
    """Bernoulli pixels given by probabilities, which are clamped to [1e-6, 1 - 1e-6]."""

    def around(self, mean: Tensor) -> "_BernoulliMeans":
        return _BernoulliMeans(mean)

    def log_prob(self, value: Tensor) -> Tensor:
        return apply_function(_LogBernoulli, self.features, value).sum((1, 2, 3))


@final
class _LogBernoulli(torch.autograd.Function):
    """``x log p + (1 - x) log(1 - p)`` and its gradients: ``(x - p) / (p (1 - p))`` in ``p``, ``logit p`` in ``x``.

    In fewer passes than in torch; that in ``x`` only if it is asked for.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(probability: Tensor, value: Tensor) -> Tensor:
        p = probability.clamp(1e-6, 1 - 1e-6)
        return torch.lerp((1 - p).log(), p.log(), value)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None]:
        probability, value = ctx.saved_tensors
        p = probability.clamp(1e-6, 1 - 1e-6)
        of_image = gradient * torch.logit(p) if ctx.needs_input_grad[1] else None
        return gradient * (value - p) / torch.addcmul(p, p, p, value=-1), of_image


class _NoisyImages(ImageDistribution, ABC):
    """Gaussian outputs around a mean; ``log_variance`` is one number, or one for each output."""

    def __init__(self, features: Tensor, log_variance: Tensor) -> None:
        self.log_variance = log_variance
        super().__init__(features)

    def around(self, mean: Tensor) -> Self:
        """Outputs of the same variance around another mean."""
        return type(self)(mean, self.log_variance)

    def sample(self, sample_shape: Shape = torch.Size()) -> Tensor:
        """The mean plus noise."""
        mean = self.mean.expand(*sample_shape, *self.features.shape)
        return mean + (0.5 * self.log_variance).exp() * torch.randn_like(mean)


@final
class GaussianImages(_NoisyImages):
    """Independent Gaussian pixels of one variance.

    Example:
        >>> GaussianImages(torch.zeros(1, 1, 1, 1), torch.tensor(0.0)).mean.item()
        0.0
    """

    location: ClassVar[bool] = True

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-density summed over the image, ``(n,)``."""
        squares = apply_function(_SquaredDistance, self.features, value)
        elements = self.features[0].numel()
        return -0.5 * (
            squares * (-self.log_variance).exp() + elements * (math.log(2 * math.pi) + self.log_variance)
        )


@final
class HeteroscedasticImages(_NoisyImages):
    """Independent Gaussian outputs, each with a variance of its own.

    Example:
        >>> images = HeteroscedasticImages(torch.zeros(1, 1, 1, 2), torch.tensor([0.0, math.log(4.0)]).view(1, 1, 1, 2))
        >>> images.log_prob(torch.tensor([1.0, 2.0]).view(1, 1, 1, 2))  # -log(2 pi) - log 2 - 1/2 - 1/2
        tensor([-3.5310])
    """

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-density summed over the image, ``(n,)``."""
        squares = (value - self.features).square() * (-self.log_variance).exp()
        return -0.5 * (squares + self.log_variance + math.log(2 * math.pi)).sum((1, 2, 3))


@final
class SquaredErrorImages(ImageDistribution):
    """Squared error around a mean; as a density it lacks its constant.

    Example:
        >>> SquaredErrorImages(torch.zeros(1, 1, 1, 1)).log_prob(torch.full((1, 1, 1, 1), 3.0))
        tensor([-9.])
    """

    location: ClassVar[bool] = True

    def around(self, mean: Tensor) -> "SquaredErrorImages":
        """Squared error around another mean."""
        return SquaredErrorImages(mean)

    def log_prob(self, value: Tensor) -> Tensor:
        """Minus the squared error summed over the image, ``(n,)``."""
        return -apply_function(_SquaredDistance, self.features, value)

    def sample(self, sample_shape: Shape = torch.Size()) -> Tensor:
        """The mean plus noise of variance 1/2: samples of the Gaussian of which this is the loss."""
        mean = self.mean.expand(*sample_shape, *self.features.shape)
        return mean + math.sqrt(0.5) * torch.randn_like(mean)


@final
class _SquaredDistance(torch.autograd.Function):
    """``sum_i (mean_i - x_i)^2`` of each image, with a backward pass of two operations."""

    generate_vmap_rule = True

    @staticmethod
    def forward(mean: Tensor, value: Tensor) -> Tensor:
        return (mean - value).square().sum((1, 2, 3))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None]:
        mean, value = ctx.saved_tensors
        slope = (mean - value) * (2 * gradient)[:, None, None, None]
        return slope, -slope if ctx.needs_input_grad[1] else None


@final
class OverlapImages(Distribution):
    """The overlap loss: ``L(x, x^) + alpha L(blur x, blur x^)`` for the loss ``L = -log p`` of any family.

    ``x^`` is the mean image. Mean and samples are those of the family; as a density it is not normalised.

    Reference: REC Eq. 11.

    Example:
        >>> images = SquaredErrorImages(torch.zeros(1, 1, 2, 1))
        >>> overlap = OverlapImages(images, lambda x: x.sum(2, keepdim=True), weight=2.0)
        >>> overlap.log_prob(torch.tensor([1.0, 2.0]).view(1, 1, 2, 1))  # -(1 + 4) - 2 * 3^2
        tensor([-23.])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}

    def __init__(self, images: ImageDistribution, augmentation: Augmentation, weight: float) -> None:
        self.images = images
        self.augmentation = augmentation
        self.weight = weight
        super().__init__(images.batch_shape, images.event_shape, validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The expected image."""
        return self.images.mean

    def log_prob(self, value: Tensor) -> Tensor:
        """Minus the loss of the images, minus ``alpha`` times that of the augmented images, ``(n,)``."""
        mean = self.images.mean
        if self.images.location and getattr(self.augmentation, "linear", False):
            difference = self.augmentation(mean - value)  # one blur instead of two
            augmented, target = self.images.around(difference), torch.zeros_like(difference)
        else:
            augmented, target = self.images.around(self.augmentation(mean)), self.augmentation(value)
        return self.images.log_prob(value) + self.weight * augmented.log_prob(target)

    def sample(self, sample_shape: Shape = torch.Size()) -> Tensor:
        """Images of the family."""
        return self.images.sample(sample_shape)


LIKELIHOODS: Slot[Likelihood] = Slot(
    "likelihood",
    "unweave.likelihoods",
    Likelihood,
    {"Bernoulli": Bernoulli, "Gaussian": Gaussian, "MSE": MSE},
)
