"""Objectives that estimate a divergence of q(z) with a discriminator trained along (the density-ratio trick)."""

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from unweave.errors import UnweaveError
from unweave.functional.density_ratio import (
    discriminator_accuracy,
    discriminator_loss,
    log_density_ratio,
    permute_dims,
)
from unweave.networks import Discriminator
from unweave.objectives.core import CriticLoss, Loss, Objective, Progress, at_least_zero, bound, frozen
from unweave.slots import Form
from unweave.vae import VAE


class FactorVAE(Objective):
    """``L = E_q[-log p(x|z)] + KL(q(z|x) || p(z)) + gamma * KL(q(z) || target)`` by a discriminator (OBJ-4, OBJ-5).

    The target is the product of ``q``'s marginals, so that the divergence is the total correlation (FAC Eq. 2), or the
    prior (Eq. 12). Each step follows FAC algorithm 2: the VAE moves on a first batch with the discriminator fixed;
    then the discriminator learns to tell those codes, drawn before the move, from the codes of a second batch, drawn
    after it and permuted (target "prior": from samples of the prior).

    Args:
        latents: size of the code.
        gamma: weight of the divergence.
        target: "marginals" or "prior".
        critic_layers: hidden layers of the discriminator.
        critic_width: units in each.
        critic_learning_rate: step size of the discriminator's Adam(0.5, 0.9); FAC takes 1e-4 or 1e-5.

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
            "OBJ-4",
            "E_q[-log p(x|z)] + KL(q(z|x) ‖ p(z)) + gamma KL(q(z) ‖ Π_j q(z_j))",
            "FAC Eq. 2, algorithms 1-2",
            "objective=FactorVAE objective.gamma=35",
        ),
        Form(
            "OBJ-5",
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
        critic_layers: int = 6,
        critic_width: int = 1000,
        critic_learning_rate: float = 1e-4,
    ) -> None:
        super().__init__()
        at_least_zero(gamma=gamma)
        self.gamma, self.target = gamma, target
        self.critic = Discriminator(latents, layers=critic_layers, width=critic_width)
        self.critic_learning_rate = _positive(critic_learning_rate)
        self.batches = 2 if target == "marginals" else 1

    def check(self, vae: VAE) -> None:
        """Needs a discriminator of the code's size."""
        super().check(vae)
        _check_size(self.name, self.critic, vae)

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """The bound of the first batch plus ``gamma`` times the discriminator's estimate of the divergence."""
        _, z, _, reconstruction, kl, terms = bound(vae, images.chunk(self.batches)[0])
        with frozen(self.critic):
            divergence = log_density_ratio(self.critic(z)).mean()
        terms["total_correlation" if self.target == "marginals" else "aggregate_kl"] = divergence
        total = reconstruction + progress.hold(kl) + self.gamma * divergence
        return Loss(total, reconstruction, terms, codes=z.detach())

    def critic_parameters(self, vae: VAE) -> list[Parameter]:
        """The discriminator's."""
        return list(self.critic.parameters())

    def critic_loss(self, vae: VAE, images: Tensor, loss: Loss, turn: int) -> CriticLoss:
        """The discriminator's cross-entropy on the VAE's codes and on permuted codes of the second batch."""
        assert loss.codes is not None
        with torch.no_grad():
            if self.target == "marginals":
                other = permute_dims(vae.infer(images.chunk(2)[1]).sample())
            else:
                other = vae.prior().sample((len(loss.codes),))
        return _judge(self.critic, loss.codes, other)


class AAE(Objective):
    """``L = E_q[-log p(x|z)] + gamma * KL(q(z) || p(z))`` by a discriminator: the adversarial auto-encoder (OBJ-6).

    Args:
        latents: size of the code.
        gamma: weight of the divergence; 1 is the AAE, FAC tunes it.
        critic_layers: hidden layers of the discriminator.
        critic_width: units in each.
        critic_learning_rate: step size of the discriminator's Adam(0.5, 0.9).

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
            "OBJ-6",
            "E_q[-log p(x|z)] + gamma KL(q(z) ‖ p(z))",
            "FAC Eq. 7",
            "objective=AAE objective.gamma=1",
        ),
    )
    held: ClassVar[str | None] = None
    needs_prior: ClassVar[bool] = False

    def __init__(
        self,
        latents: int,
        *,
        gamma: float = 1.0,
        critic_layers: int = 6,
        critic_width: int = 1000,
        critic_learning_rate: float = 1e-4,
    ) -> None:
        super().__init__()
        at_least_zero(gamma=gamma)
        self.gamma = gamma
        self.critic = Discriminator(latents, layers=critic_layers, width=critic_width)
        self.critic_learning_rate = _positive(critic_learning_rate)

    def check(self, vae: VAE) -> None:
        """Needs a discriminator of the code's size, and a prior without parameters, which would not be trained."""
        super().check(vae)
        _check_size(self.name, self.critic, vae)

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """Reconstruction plus ``gamma`` times the discriminator's estimate of ``KL(q(z) || p(z))``."""
        _, z, _, reconstruction, _, terms = bound(vae, images)
        with frozen(self.critic):
            divergence = log_density_ratio(self.critic(z)).mean()
        terms["aggregate_kl"] = divergence
        return Loss(reconstruction + self.gamma * divergence, reconstruction, terms, codes=z.detach())

    def critic_parameters(self, vae: VAE) -> list[Parameter]:
        """The discriminator's."""
        return list(self.critic.parameters())

    def critic_loss(self, vae: VAE, images: Tensor, loss: Loss, turn: int) -> CriticLoss:
        """The discriminator's cross-entropy on the VAE's codes and on samples of the prior."""
        assert loss.codes is not None
        with torch.no_grad():
            other = vae.prior().sample((len(loss.codes),))
        return _judge(self.critic, loss.codes, other)


def _judge(critic: nn.Module, codes: Tensor, other: Tensor) -> CriticLoss:
    of_q, of_target = critic(codes), critic(other)
    accuracy = discriminator_accuracy(of_q, of_target)
    return CriticLoss(discriminator_loss(of_q, of_target), {"discriminator_accuracy": accuracy})


def _positive(rate: float) -> float:
    if rate <= 0:
        raise UnweaveError(f"objective.critic_learning_rate must be greater than 0, got {rate:g}")
    return rate


def _check_size(name: str, critic: Discriminator, vae: VAE) -> None:
    if critic.latents != vae.latents:
        raise UnweaveError(
            f"{name} was made for codes of {critic.latents} latents, the VAE has {vae.latents}: give both one size"
        )
