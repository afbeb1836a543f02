"""Objectives that estimate a divergence of q(z) with a discriminator trained alongside (the density-ratio trick)."""

from abc import ABC
from typing import Any, ClassVar, Literal, final

import torch
from torch import Tensor
from torch.distributions import Distribution
from torch.nn import Parameter

from unweave.errors import UnweaveError, check_positive
from unweave.functional.density_ratio import (
    discriminator_accuracy,
    discriminator_loss,
    log_density_ratio,
    permute_dims,
)
from unweave.networks import Discriminator
from unweave.networks.layers import Initialisation
from unweave.objectives.core import CriticLoss, Loss, Objective, Progress, bound, check_non_negative, frozen
from unweave.slots import Form
from unweave.vae import VAE


class _DiscriminatorObjective(Objective, ABC):
    """What both share: the discriminator, its loss, and the divergence to the target that it estimates.

    Args:
        latents: size of the code.
        gamma: weight of the divergence.
        critic_layers: hidden layers of the discriminator.
        critic_width: units in each.
        critic_learning_rate: step size of the discriminator's Adam(0.5, 0.9); FAC uses 1e-4 or 1e-5.
        critic_slope: slope of the discriminator's leaky ReLUs below zero, which FAC does not give.
        critic_initialisation: of the discriminator; "truncated_normal" in SBD appendix A.
    """

    target: Literal["marginals", "prior"] = "prior"

    def __init__(
        self,
        latents: int,
        *,
        gamma: float,
        critic_layers: int = 6,
        critic_width: int = 1000,
        critic_learning_rate: float = 1e-4,
        critic_slope: float = 0.2,
        critic_initialisation: Initialisation = "default",
    ) -> None:
        super().__init__()
        check_non_negative(gamma=gamma)
        check_positive("objective.critic_learning_rate", critic_learning_rate)
        self.gamma = gamma
        self.critic = Discriminator(
            latents,
            layers=critic_layers,
            width=critic_width,
            slope=critic_slope,
            initialisation=critic_initialisation,
        )
        self.critic_learning_rate = critic_learning_rate

    def check(self, vae: VAE) -> None:
        """Needs a discriminator for codes of the VAE's size."""
        super().check(vae)
        if self.critic.latents != vae.latents:
            raise UnweaveError(
                f"{self.name} was made for codes of {self.critic.latents} latents, the VAE has {vae.latents}: "
                f"use the same number for both"
            )

    def critic_parameters(self, vae: VAE) -> list[Parameter]:
        """Those of the discriminator."""
        return list(self.critic.parameters())

    def _divergence(self, z: Tensor, prior: Distribution) -> Tensor:
        """The discriminator's estimate of ``KL(q(z) || target)``, with its gradients in ``z`` and in the prior.

        The ratio that the discriminator estimates holds the target as it is, so it passes no gradient on to a prior
        that is learned. That gradient needs no ratio: it is ``-E_q(z)[d log p(z)]``, because ``q(z)`` does not depend
        on the prior. It is added to the estimate as a term whose value is zero.
        """
        with frozen(self.critic):
            divergence = log_density_ratio(self.critic(z)).mean()
        if self.target == "marginals":
            return divergence
        log_prior = prior.log_prob(z.detach()).mean()
        return divergence - (log_prior - log_prior.detach()) if log_prior.requires_grad else divergence

    def critic_loss(self, vae: VAE, images: Tensor, loss: Loss, turn: int) -> CriticLoss:
        """The discriminator's cross-entropy on the VAE's codes and on samples of the target."""
        assert loss.codes is not None
        with torch.no_grad():
            if self.target == "marginals":
                other = permute_dims(vae.infer(images.chunk(2)[1]).sample())
            else:
                other = vae.prior().sample((len(loss.codes),))
        of_q, of_target = self.critic(loss.codes), self.critic(other)
        accuracy = discriminator_accuracy(of_q, of_target)
        return CriticLoss(discriminator_loss(of_q, of_target), {"discriminator_accuracy": accuracy})


@final
class FactorVAE(_DiscriminatorObjective):
    """``L = E_q[-log p(x|z)] + KL(q(z|x) || p(z)) + gamma * KL(q(z) || target)`` by a discriminator.

    The target is the product of ``q``'s marginals, so that the divergence is the total correlation (FAC Eq. 2), or the
    prior (FAC Eq. 12). Each step follows FAC algorithm 2: the VAE is updated on a first batch with the discriminator
    fixed; then the discriminator learns to tell the codes of that batch, drawn before the update, from the codes of a
    second batch, drawn after it and permuted (target "prior": from samples of the prior). FAC's prior is fixed; one
    that is learned gets the gradient of both divergences to it.

    Args:
        latents: size of the code.
        gamma: weight of the divergence.
        target: "marginals" or "prior".
        inherited: ``critic_layers`` (6 hidden layers of the discriminator), ``critic_width`` (1000 units in each),
            ``critic_learning_rate`` (1e-4, step size of its Adam(0.5, 0.9); FAC uses 1e-4 or 1e-5), ``critic_slope``
            (0.2, of its leaky ReLUs below zero, which FAC does not give), ``critic_initialisation`` ("default", or
            "truncated_normal" as in SBD appendix A).

    Reference: FAC Eq. 2, 3, 12, algorithms 1 and 2, appendix A.

    Example:
        >>> import torch
        >>> vae = VAE.assemble((1, 32, 32), 4)
        >>> loss = FactorVAE(4, gamma=35.0)(vae, torch.rand(8, 1, 32, 32), Progress(0, 1))
        >>> rest = loss.reconstruction + loss.terms["kl"]
        >>> bool(torch.isclose(loss.total, rest + 35 * loss.terms["total_correlation"]))
        True
    """

    forms: ClassVar[tuple[Form, ...]] = (
        Form(
            "E_q[-log p(x|z)] + KL(q(z|x) ‖ p(z)) + gamma KL(q(z) ‖ Π_j q(z_j))",
            "FAC Eq. 2, algorithms 1-2",
            "objective=FactorVAE objective.gamma=35",
        ),
        Form(
            "E_q[-log p(x|z)] + KL(q(z|x) ‖ p(z)) + gamma KL(q(z) ‖ p(z))",
            "FAC Eq. 12",
            "objective=FactorVAE objective.gamma=35 objective.target=prior",
        ),
    )

    def __init__(
        self,
        latents: int,
        *,
        gamma: float = 35.0,
        target: Literal["marginals", "prior"] = "marginals",
        **inherited: Any,
    ) -> None:
        super().__init__(latents, gamma=gamma, **inherited)
        self.target = target
        self.batches = 2 if target == "marginals" else 1

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """The bound of the first batch plus ``gamma`` times the discriminator's estimate of the divergence."""
        _, z, prior, reconstruction, kl, terms = bound(vae, images.chunk(self.batches)[0])
        divergence = self._divergence(z, prior)
        terms["total_correlation" if self.target == "marginals" else "aggregate_kl"] = divergence
        total = reconstruction + progress.hold(kl) + self.gamma * divergence
        return Loss(total, reconstruction, terms, codes=z.detach())


@final
class AAE(_DiscriminatorObjective):
    """``L = E_q[-log p(x|z)] + gamma * KL(q(z) || p(z))`` by a discriminator: the adversarial auto-encoder.

    Args:
        latents: size of the code.
        gamma: weight of the divergence; 1 is the AAE, FAC tunes it.
        inherited: options of the discriminator, as those of :class:`FactorVAE`.

    Reference: FAC Eq. 7 and figure 23.

    Example:
        >>> import torch
        >>> vae = VAE.assemble((1, 32, 32), 4)
        >>> loss = AAE(4, gamma=3.0)(vae, torch.rand(8, 1, 32, 32), Progress(0, 1))
        >>> bool(torch.isclose(loss.total, loss.reconstruction + 3 * loss.terms["aggregate_kl"]))
        True
    """

    forms: ClassVar[tuple[Form, ...]] = (
        Form(
            "E_q[-log p(x|z)] + gamma KL(q(z) ‖ p(z))",
            "FAC Eq. 7",
            "objective=AAE objective.gamma=1",
        ),
    )
    held: ClassVar[str | None] = None

    def __init__(self, latents: int, *, gamma: float = 1.0, **inherited: Any) -> None:
        super().__init__(latents, gamma=gamma, **inherited)

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """Reconstruction plus ``gamma`` times the discriminator's estimate of ``KL(q(z) || p(z))``."""
        _, z, prior, reconstruction, _, terms = bound(vae, images)
        divergence = self._divergence(z, prior)
        terms["aggregate_kl"] = divergence
        return Loss(reconstruction + self.gamma * divergence, reconstruction, terms, codes=z.detach())
