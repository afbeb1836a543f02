"""The prior with heavy tails."""

import math
from typing import final

import torch
from torch import Tensor
from torch.distributions import Independent
from torch.distributions import StudentT as TorchStudentT

from unweave.errors import UnweaveError
from unweave.priors.core import Prior


@final
class StudentT(Prior):
    """``p(z) = prod_j t(z_j; nu)``, a product of Student's t distributions with ``nu`` degrees of freedom.

    ``t(z; nu) = Gamma((nu + 1) / 2) / (Gamma(nu / 2) sqrt(pi nu)) (1 + z^2 / nu)^(-(nu + 1) / 2)``; it tends to the
    standard normal as ``nu`` grows. Independent, but not rotation invariant. The KL of a Gaussian to it has no closed
    form and is estimated.

    Args:
        latents: size of the code.
        nu: degrees of freedom.

    Reference: DEC section 6.1, figures 2 and 5.

    Example:
        >>> import torch
        >>> StudentT(1, nu=1.0)().log_prob(torch.zeros(1))  # Cauchy: -log(pi)
        tensor(-1.1447)
    """

    nu: Tensor

    def __init__(self, latents: int, *, nu: float = 5.0) -> None:
        super().__init__(latents)
        if nu <= 0:
            raise UnweaveError(f"prior.nu must be greater than 0, got {nu:g}")
        self.register_buffer("nu", torch.full((latents,), nu), persistent=False)

    def forward(self) -> "Independent[FactoredStudentT]":
        """The distribution, event shape ``(latents,)``."""
        return Independent(FactoredStudentT(self.nu, validate_args=False), 1, validate_args=False)


@final
class FactoredStudentT(TorchStudentT):
    """Student's t distribution with a normaliser that stays exact in float32 for any ``nu``.

    PyTorch subtracts ``lgamma(nu / 2)`` from ``lgamma((nu + 1) / 2)`` in the precision of ``nu``: at ``nu = 10^6`` in
    float32 that is wrong by half a nat.

    Example:
        >>> import torch
        >>> FactoredStudentT(torch.tensor(1e6)).log_prob(torch.tensor(0.0))  # the Gaussian's -log(2 pi) / 2
        tensor(-0.9189)
    """

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-density of each value."""
        standard = (value - self.loc) / self.scale
        tail = 0.5 * (self.df + 1) * torch.log1p(standard.square() / self.df)
        return -tail - self.scale.log() - self._log_normaliser().to(value.dtype)

    def entropy(self) -> Tensor:
        """``(nu + 1) / 2 (digamma((nu + 1) / 2) - digamma(nu / 2))`` plus the logarithm of the normaliser, in nats."""
        nu = self.df.double()
        tail = 0.5 * (nu + 1) * (torch.digamma((nu + 1) / 2) - torch.digamma(nu / 2))
        return (tail + self._log_normaliser()).to(self.df) + self.scale.log()

    def _log_normaliser(self) -> Tensor:
        nu = self.df.double()
        gammas = torch.lgamma(nu / 2) - torch.lgamma((nu + 1) / 2)
        return 0.5 * (nu.log() + math.log(math.pi)) + gammas
