"""The sparse prior, under which most latents are off."""

import math
from typing import ClassVar, final

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent, constraints

from unweave.errors import UnweaveError, check_positive
from unweave.priors.core import Prior

Shape = torch.Size | list[int] | tuple[int, ...]


@final
class SparseMixture(Prior):
    """``p(z) = prod_j (1 - gamma) N(z_j; 0, 1) + gamma N(z_j; 0, sigma0^2)``: each latent is on or off.

    The paper gives ``sigma0^2 = 0.05`` in section 6.3 and ``sigma0 = 0.05`` in appendix B; the latter is the default.

    Args:
        latents: size of the code.
        gamma: probability that a latent is off, from 0 (the standard normal) to 1.
        sigma0: standard deviation of a latent that is off.

    Reference: DEC section 6.3 and appendix B.

    Example:
        >>> import torch
        >>> SparseMixture(1, gamma=0.0)().log_prob(torch.zeros(1))
        tensor(-0.9189)
    """

    gamma: Tensor
    sigma0: Tensor

    def __init__(self, latents: int, *, gamma: float = 0.9, sigma0: float = 0.05) -> None:
        super().__init__(latents)
        if not 0 <= gamma <= 1:
            raise UnweaveError(f"prior.gamma must lie between 0 and 1, got {gamma:g}")
        check_positive("prior.sigma0", sigma0)
        self.register_buffer("gamma", torch.full((latents,), gamma), persistent=False)
        self.register_buffer("sigma0", torch.full((latents,), sigma0), persistent=False)

    def forward(self) -> "Independent[SpikeAndSlab]":
        """The distribution, event shape ``(latents,)``."""
        return Independent(SpikeAndSlab(self.gamma, self.sigma0), 1, validate_args=False)


@final
class SpikeAndSlab(Distribution):
    """``(1 - gamma) N(z; 0, 1) + gamma N(z; 0, sigma0^2)`` on the line, exact at ``gamma`` 0 and 1 too.

    Example:
        >>> import torch
        >>> law = SpikeAndSlab(torch.tensor(0.9), torch.tensor(0.05))
        >>> law.variance  # 0.1 + 0.9 * 0.05^2
        tensor(0.1023)
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    support = constraints.real
    gamma: Tensor
    sigma0: Tensor

    def __init__(self, gamma: Tensor, sigma0: Tensor) -> None:
        self.gamma, self.sigma0 = torch.broadcast_tensors(gamma, sigma0)
        super().__init__(self.gamma.shape, validate_args=False)

    def expand(self, batch_shape: Shape, _instance: None = None) -> "SpikeAndSlab":
        """The same distribution for a larger batch."""
        return SpikeAndSlab(self.gamma.expand(batch_shape), self.sigma0.expand(batch_shape))

    @property
    def mean(self) -> Tensor:
        """Zero."""
        return torch.zeros_like(self.gamma)

    @property
    def variance(self) -> Tensor:
        """``1 - gamma + gamma sigma0^2``."""
        return 1 - self.gamma + self.gamma * self.sigma0.square()

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-density of each value."""
        on = torch.log1p(-self.gamma) - 0.5 * value.square()
        off = self.gamma.log() - 0.5 * (value / self.sigma0).square() - self.sigma0.log()
        return torch.logaddexp(on, off) - 0.5 * math.log(2 * math.pi)

    def sample(self, sample_shape: Shape = torch.Size()) -> Tensor:
        """Draws of shape ``sample_shape + batch_shape``."""
        with torch.no_grad():
            shape = self._extended_shape(torch.Size(sample_shape))
            off = torch.rand(shape, device=self.gamma.device) < self.gamma
            return torch.randn(shape, device=self.gamma.device, dtype=self.gamma.dtype) * torch.where(
                off, self.sigma0, torch.ones_like(self.sigma0)
            )
