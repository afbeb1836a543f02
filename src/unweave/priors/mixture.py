"""The prior with clusters."""

import math
from typing import final

import torch
from torch import Tensor
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

from unweave.errors import UnweaveError
from unweave.priors.core import Prior


@final
class GaussianMixture(Prior):
    """``p(z) = sum_c weight_c N(z; mean_c, variance I)``, a mixture of Gaussians.

    The defaults are those of the paper at two latents: four equal components of variance 0.03 on the corners of the
    unit square. With other numbers and no ``means``, component ``c`` is at the corner of the unit cube whose
    coordinates are the binary digits of ``c``, repeated until every latent has one.

    Args:
        latents: size of the code.
        components: number of components; ignored if ``means`` are given.
        variance: variance of every component along every latent.
        means: one list of ``latents`` numbers for each component.
        weights: one positive number for each component, any scale; none: equal.

    Reference: DEC Eq. 9, section 6.2 and figure 6.

    Example:
        >>> GaussianMixture(2).means
        tensor([[0., 0.],
                [1., 0.],
                [0., 1.],
                [1., 1.]])
    """

    means: Tensor
    log_weights: Tensor

    def __init__(
        self,
        latents: int,
        *,
        components: int = 4,
        variance: float = 0.03,
        means: tuple[tuple[float, ...], ...] | None = None,
        weights: tuple[float, ...] | None = None,
    ) -> None:
        super().__init__(latents)
        if components < 1:
            raise UnweaveError(f"prior.components must be at least 1, got {components}")
        if variance <= 0:
            raise UnweaveError(f"prior.variance must be greater than 0, got {variance:g}")
        if means is not None and (not means or any(len(mean) != latents for mean in means)):
            raise UnweaveError(
                f"prior.means must be lists of {latents} numbers, one for each latent, got {list(map(list, means))}"
            )
        located = (
            torch.tensor(means, dtype=torch.float32) if means is not None else corners(components, latents)
        )
        weights = (1.0,) * len(located) if weights is None else weights
        if len(weights) != len(located) or min(weights) <= 0:
            raise UnweaveError(
                f"prior.weights must be {len(located)} positive numbers, one for each component, got {list(weights)}"
            )
        self.deviation = math.sqrt(variance)
        self.register_buffer("means", located, persistent=False)
        self.register_buffer("log_weights", torch.tensor(weights).log().log_softmax(0), persistent=False)

    def forward(self) -> MixtureSameFamily:
        """The distribution, event shape ``(latents,)``."""
        scales = torch.full_like(self.means, self.deviation)
        each = Independent(Normal(self.means, scales, validate_args=False), 1, validate_args=False)
        which = Categorical(logits=self.log_weights, validate_args=False)
        return MixtureSameFamily(which, each, validate_args=False)


def corners(count: int, latents: int) -> Tensor:
    """``count`` corners of the unit cube ``(count, latents)``: the binary digits of 0, 1, 2 ..., repeated.

    Example:
        >>> corners(3, 4).tolist()
        [[0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    """
    digits = max(1, (count - 1).bit_length())
    places = torch.arange(latents) % digits
    bits = torch.arange(count).unsqueeze(1) >> places
    return (bits & 1).float()
