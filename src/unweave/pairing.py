"""Weak supervision from pairs: posteriors of two images that differ in a few factors share their other latents.

A pairing changes the posteriors of a batch of pairs before the codes are drawn, and nothing else, so it can be combined
with every objective. It acts in training only; codes for scores and pictures are never paired.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, final

import torch
from torch import Tensor, nn
from torch.distributions import Distribution, Independent, Normal

from unweave.errors import UnweaveError
from unweave.functional.divergence import NarrowNormal, factorises, factors, normal_kl
from unweave.posteriors import Posterior, example_posteriors
from unweave.slots import Form, Slot

Divergence = Literal["symmetric", "one_sided"]


class Pairing(nn.Module, ABC):
    """What the pairings have in common: which latents a pair shares. Subclasses define how those are averaged.

    A batch of ``2 n`` posteriors holds the first images of ``n`` pairs, then the second ones. Latent ``j`` is shared by
    a pair if its divergence ``d_j`` is below ``(min_j d_j + max_j d_j) / 2``. A pairing provides :meth:`average`; its
    constructor has the two options below, and may add more.

    Args:
        k: factors in which the images of a pair differ; none: drawn for each pair, uniformly from 1 to all.
        divergence: ``d_j``, "symmetric": ``1/2 KL(q1_j || q2_j) + 1/2 KL(q2_j || q1_j)`` (REC Eq. 14), or "one_sided":
            ``KL(q1_j || q2_j)``, as in the first version of the method.
    """

    forms: ClassVar[tuple[Form, ...]] = ()

    def __init__(self, *, k: int | None = None, divergence: Divergence = "symmetric") -> None:
        super().__init__()
        if k is not None and k < 1:
            raise UnweaveError(f"pairing.k must be at least 1, got {k}")
        self.k = k
        self.divergence = divergence

    @staticmethod
    @abstractmethod
    def average(first: Normal, second: Normal) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of the average of two posteriors."""

    def forward(self, q: Distribution) -> Distribution:
        """The ``2 n`` posteriors with the shared latents of each pair averaged."""
        each = _normals(q)
        if each is None:
            raise TypeError(
                f"pairing {type(self).__name__} averages Gaussian posteriors, got {type(q).__name__}"
            )
        (mean_1, mean_2), (scale_1, scale_2) = each.loc.chunk(2), each.scale.chunk(2)
        first, second = (
            NarrowNormal(m, s, validate_args=False) for m, s in ((mean_1, scale_1), (mean_2, scale_2))
        )
        share = self.shared(first, second)
        mean, scale = self.average(first, second)
        means = torch.cat([torch.where(share, mean, mean_1), torch.where(share, mean, mean_2)])
        scales = torch.cat([torch.where(share, scale, scale_1), torch.where(share, scale, scale_2)])
        return Independent(type(each)(means, scales, validate_args=False), 1, validate_args=False)

    @torch.no_grad()
    def shared(self, first: Normal, second: Normal) -> Tensor:
        """Which latents each pair shares, ``(n, latents)``."""
        distance = normal_kl(first, second)
        if self.divergence == "symmetric":
            distance = 0.5 * (distance + normal_kl(second, first))
        threshold = 0.5 * (distance.amin(1, keepdim=True) + distance.amax(1, keepdim=True))
        return distance < threshold

    def check(self, posterior: Posterior) -> None:
        """Raise an error, before step 0, for posteriors that cannot be averaged."""
        if _normals(example_posteriors(posterior)) is None:
            raise UnweaveError(
                f"pairing {type(self).__name__} averages Gaussian posteriors, but {type(posterior).__name__} is not "
                f"one: choose posterior=DiagonalNormal, or pairing=none"
            )


@final
class AdaGVAE(Pairing):
    """Shared latents take the mean of the two means and the mean of the two variances.

    ``mean = (mean_1 + mean_2) / 2``, ``variance = (variance_1 + variance_2) / 2``.

    Args:
        k: factors in which the images of a pair differ; none: drawn for each pair, uniformly from 1 to all.
        divergence: "symmetric" or "one_sided", see :class:`Pairing`.

    Reference: REC section 5.2, appendices B.2 and B.3; Locatello et al. 2020.

    Example:
        >>> q = Independent(Normal(torch.tensor([[0.0, 0.0], [0.2, 4.0]]), torch.ones(2, 2)), 1)
        >>> AdaGVAE()(q).mean
        tensor([[0.1000, 0.0000],
                [0.1000, 4.0000]])
    """

    forms: ClassVar[tuple[Form, ...]] = (
        Form(
            "any of the above; q_j of a pair averaged where KL_sym(q1_j, q2_j) < (min + max)/2",
            "REC section 5.2, Eq. 14, appendices B.2-B.3",
            "pairing=AdaGVAE objective.beta=1",
        ),
        Form(
            "the same, one-sided KL, pairs that differ in one factor",
            "REC appendix B.2",
            "pairing=AdaGVAE pairing.divergence=one_sided pairing.k=1",
        ),
    )

    @staticmethod
    def average(first: Normal, second: Normal) -> tuple[Tensor, Tensor]:
        """Mean of the means, root of the mean of the variances."""
        return 0.5 * (first.loc + second.loc), (0.5 * (first.variance + second.variance)).sqrt()


@final
class AdaMLVAE(Pairing):
    """Shared latents take the normalised geometric mean of the two densities.

    ``variance = 2 / (1/variance_1 + 1/variance_2)``, ``mean = variance / 2 * (mean_1/variance_1 + mean_2/variance_2)``.

    Args:
        k: factors in which the images of a pair differ; none: drawn for each pair, uniformly from 1 to all.
        divergence: "symmetric" or "one_sided", see :class:`Pairing`.

    Reference: Locatello et al. 2020, cited by REC section 5.2; pairs as in REC appendices B.2 and B.3.

    Example:
        >>> q = Independent(Normal(torch.tensor([[0.0, 0.0], [0.2, 4.0]]), torch.ones(2, 2)), 1)
        >>> AdaMLVAE()(q).mean
        tensor([[0.1000, 0.0000],
                [0.1000, 4.0000]])
    """

    forms: ClassVar[tuple[Form, ...]] = (
        Form(
            "any of the above; shared q_j ∝ sqrt(q1_j q2_j)",
            "Locatello et al. 2020, cited by REC section 5.2",
            "pairing=AdaMLVAE",
        ),
    )

    @staticmethod
    def average(first: Normal, second: Normal) -> tuple[Tensor, Tensor]:
        """Mean weighted by the precisions, root of the harmonic mean of the variances."""
        one, two = first.variance.reciprocal(), second.variance.reciprocal()
        variance = 2 / (one + two)
        return 0.5 * variance * (first.loc * one + second.loc * two), variance.sqrt()


@final
class Unpaired:
    """No pairing: images are drawn independently.

    Example:
        >>> Unpaired() is not None
        True
    """


def _normals(q: Distribution) -> Normal | None:
    """The Gaussians of each latent, if ``q`` is a product of Gaussians."""
    each = factors(q) if factorises(q) else None
    return each if isinstance(each, Normal) else None


PAIRINGS: Slot[Pairing | Unpaired] = Slot(
    "pairing",
    "unweave.pairings",
    Pairing,
    {"none": Unpaired, "AdaGVAE": AdaGVAE, "AdaMLVAE": AdaMLVAE},
)
