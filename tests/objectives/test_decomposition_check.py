"""Which posteriors a decomposition objective accepts depends on its divergence."""

import pytest
import torch
from torch.distributions import Distribution, MultivariateNormal

from unweave.errors import UnweaveError
from unweave.objectives import DecompositionVAE
from unweave.posteriors import Posterior
from unweave.vae import VAE


class FullCovariance(Posterior):
    """Latents that depend on each other: it does not factorise."""

    def __init__(self, latents: int) -> None:
        super().__init__(latents, features=latents)

    def forward(self, features: torch.Tensor) -> Distribution:
        covariance = torch.eye(self.latents) + 0.5
        return MultivariateNormal(features, covariance)


def test_only_the_inclusive_kl_needs_posteriors_that_factorise() -> None:
    vae = VAE.assemble((1, 32, 32), 3, posterior=FullCovariance)
    DecompositionVAE(alpha=1.0, divergence="mmd").check(vae)
    with pytest.raises(UnweaveError, match="posterior"):
        DecompositionVAE(alpha=1.0, divergence="inclusive_kl").check(vae)
    DecompositionVAE(alpha=1.0, divergence="inclusive_kl").check(VAE.assemble((1, 32, 32), 3))
