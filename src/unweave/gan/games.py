"""The objectives of GANs with codes: the loss of the generator and the loss of the critic."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, final

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import Parameter

from unweave.functional.gradient_penalty import gradient_penalty
from unweave.networks.infogan import InfoGANCritic
from unweave.objectives.core import CriticLoss, Loss, Objective, Progress, frozen

QStep = Literal["critic", "generator", "both"]
"""In which step Q is trained."""


class Game(Objective, ABC):
    """What both GANs share: the information term ``L = E[log Q(c|G(c, e))]`` (FAC Eq. 13), for generator and critic.

    The generator minimises its part of ``V - lambda_mi * L`` with D fixed; then D is updated with the generator fixed
    and maximises V (FAC Eq. 14). Q only occurs in L, which it maximises in the step of the critic, with which it shares
    layers (as Chen et al. do, whose settings FAC takes), in that of the generator (as Eq. 14 groups them; the shared
    layers are D's then), or in both (``q_step``). The model (``vae`` in the signatures of
    :class:`unweave.objectives.Objective`) is a :class:`unweave.gan.GAN`.

    Args:
        lambda_mi: weight of the information term.
        critic_learning_rate: step size of D and Q.
        critic_steps: steps of D and Q for each step of the generator, each on a batch of its own.
        q_step: in which step Q is trained.
    """

    held: ClassVar[str | None] = None

    def __init__(
        self, lambda_mi: float, critic_learning_rate: float, critic_steps: int, q_step: QStep = "critic"
    ) -> None:
        super().__init__()
        self.q_step = q_step
        self.lambda_mi = lambda_mi
        self.critic_learning_rate = critic_learning_rate
        self.critic_turns = self.batches = critic_steps
        self.betas = self.critic_betas = (0.5, 0.999)

    @abstractmethod
    def generator_term(self, fake_scores: Tensor) -> Tensor:
        """The generator's part of V, from the scores of its images."""

    @abstractmethod
    def critic_term(
        self, critic: InfoGANCritic, real: Tensor, generated: Tensor, fake_scores: Tensor
    ) -> CriticLoss:
        """D's loss, from real images, generated images and the scores of the latter."""

    def check(self, vae: Any) -> None:
        """Made by the GAN itself, so there is nothing to check."""

    def forward(self, vae: Any, images: Tensor, progress: Progress) -> Loss:
        """The generator's loss; as many images are generated as are given."""
        drawn = vae.draw(len(images) // self.batches)
        of_d = vae.critic if self.q_step == "critic" else vae.critic.of_discriminator
        with frozen(of_d):
            scores, features = vae.critic(vae.generate(drawn))
        each = vae.log_likelihood(features, drawn).mean(0)
        information = each.sum()
        term = self.generator_term(scores)
        per_code = each + vae.code_entropy()  # E[log Q(c|x) - log p(c)], the information in each code
        terms = {"generator_loss": term, "code_log_likelihood": information}
        terms |= {"kl": per_code.sum(), "kl_per_latent": per_code}
        return Loss(term - self.lambda_mi * information, None, terms)

    def critic_parameters(self, vae: Any) -> list[Parameter]:
        """Those of D, and of Q if it is trained in this step."""
        return list((vae.critic.of_discriminator if self.q_step == "generator" else vae.critic).parameters())

    def joint_parameters(self, vae: Any) -> list[Parameter]:
        """Those of Q's own layers, if it is trained in both steps."""
        return list(vae.critic.code.parameters()) if self.q_step == "both" else []

    def critic_loss(self, vae: Any, images: Tensor, loss: Loss, turn: int) -> CriticLoss:
        """The loss of D and Q on the batch of this turn and as many generated images."""
        real = images.chunk(self.batches)[turn]
        with torch.no_grad():
            drawn = vae.draw(len(real))
            generated = vae.generate(drawn)
        scores, features = vae.critic(generated)
        term = self.critic_term(vae.critic, real, generated, scores)
        if self.q_step == "generator":
            return term
        information = vae.log_likelihood(features, drawn).sum(1).mean()
        return CriticLoss(term.total - self.lambda_mi * information, term.terms)


@final
class OriginalGame(Game):
    """``V = E[log D(x)] + E[log(1 - D(G))]`` for D; the generator minimises ``-E[log D(G)]`` (FAC Eq. 15, figure 32).

    Example:
        >>> OriginalGame(1.0, 1e-4, 1).generator_term(torch.zeros(3))  # log 2
        tensor(0.6931)
    """

    def generator_term(self, fake_scores: Tensor) -> Tensor:
        """``-E[log D(G)]`` from D's logits."""
        return F.softplus(-fake_scores).mean()

    def critic_term(
        self, critic: InfoGANCritic, real: Tensor, generated: Tensor, fake_scores: Tensor
    ) -> CriticLoss:
        """Minus V, and the fraction of images that D classifies correctly."""
        scores = critic.scores(real)
        accuracy = 0.5 * ((scores > 0).float().mean() + (fake_scores <= 0).float().mean())
        return CriticLoss(
            F.softplus(-scores).mean() + F.softplus(fake_scores).mean(), {"discriminator_accuracy": accuracy}
        )


@final
class WassersteinGame(Game):
    """``V = E[D(x)] - E[D(G)]``, and ``eta`` times the gradient penalty for D (FAC Eq. 16).

    Args:
        lambda_mi: weight of the information term.
        critic_learning_rate: step size of D and Q.
        critic_steps: steps of D and Q for each step of the generator.
        eta: weight of the penalty.

    Example:
        >>> WassersteinGame(1.0, 1e-4, 1, 10.0).generator_term(torch.full((3,), 2.0))
        tensor(-2.)
    """

    def __init__(
        self,
        lambda_mi: float,
        critic_learning_rate: float,
        critic_steps: int,
        eta: float,
        q_step: QStep = "critic",
    ) -> None:
        super().__init__(lambda_mi, critic_learning_rate, critic_steps, q_step)
        self.eta = eta

    def generator_term(self, fake_scores: Tensor) -> Tensor:
        """``-E[D(G)]``."""
        return -fake_scores.mean()

    def critic_term(
        self, critic: InfoGANCritic, real: Tensor, generated: Tensor, fake_scores: Tensor
    ) -> CriticLoss:
        """Minus V plus the penalty; the gap ``E[D(x)] - E[D(G)]`` estimates the Wasserstein distance."""
        gap = critic.scores(real).mean() - fake_scores.mean()
        penalty = gradient_penalty(critic.scores, real, generated)
        return CriticLoss(self.eta * penalty - gap, {"critic_gap": gap, "gradient_penalty": penalty})
