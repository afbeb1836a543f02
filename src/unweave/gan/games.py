"""The games that GANs with codes play: what the generator minimises, and what the critic does in its turn."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import Parameter

from unweave.functional.gradient_penalty import gradient_penalty
from unweave.objectives.core import CriticLoss, Loss, Objective, Progress, frozen


class Game(Objective, ABC):
    """What both games share: the information term ``L = E[log Q(c|G(c, e))]`` (FAC Eq. 13), for both players.

    The generator minimises its part of ``V - lambda_mi * L`` with D and Q fixed; then D and Q, which share a trunk,
    minimise theirs with the generator fixed: D maximises V, Q maximises L (FAC Eq. 14).

    Args:
        lambda_mi: weight of the information term.
        critic_learning_rate: step size of D and Q.
        critic_steps: steps of D and Q for each of the generator, each on a batch of its own.
    """

    held: ClassVar[str | None] = None

    def __init__(self, lambda_mi: float, critic_learning_rate: float, critic_steps: int) -> None:
        super().__init__()
        self.lambda_mi = lambda_mi
        self.critic_learning_rate = critic_learning_rate
        self.critic_turns = self.batches = critic_steps
        self.betas = self.critic_betas = (0.5, 0.999)

    @abstractmethod
    def generator_term(self, fake: Tensor) -> Tensor:
        """What the generator minimises of V, from the scores of its images."""

    @abstractmethod
    def critic_term(self, gan: Any, real: Tensor, made: Tensor, fake: Tensor) -> CriticLoss:
        """What D minimises, from real images, generated ones and the scores of the latter."""

    def check(self, vae: Any) -> None:
        """A game is a GAN's own: there is nothing to refuse."""

    def forward(self, vae: Any, images: Tensor, progress: Progress) -> Loss:
        """The generator's loss; the images tell how many to generate."""
        drawn = vae.draw(len(images) // self.batches)
        with frozen(vae.critic):
            scores, features = vae.critic(vae.generate(drawn))
        each = vae.log_likelihood(features, drawn).mean(0)
        information = each.sum()
        term = self.generator_term(scores)
        told = each + vae.code_entropy()
        terms = {"generator_loss": term, "code_log_likelihood": information}
        terms |= {"kl": told.sum(), "kl_per_latent": told}  # E[log Q(c|x) - log p(c)], what the codes tell
        return Loss(term - self.lambda_mi * information, None, terms)

    def critic_parameters(self, vae: Any) -> list[Parameter]:
        """Those of D and Q."""
        return list(vae.critic.parameters())

    def critic_loss(self, vae: Any, images: Tensor, loss: Loss, turn: int) -> CriticLoss:
        """D's and Q's loss on the turn's batch and as many generated images."""
        real = images.chunk(self.batches)[turn]
        with torch.no_grad():
            drawn = vae.draw(len(real))
            made = vae.generate(drawn)
        scores, features = vae.critic(made)
        term = self.critic_term(vae, real, made, scores)
        information = vae.log_likelihood(features, drawn).sum(1).mean()
        return CriticLoss(term.total - self.lambda_mi * information, term.terms)


class OriginalGame(Game):
    """``V = E[log D(x)] + E[log(1 - D(G))]`` for D; the generator minimises ``-E[log D(G)]`` (FAC Eq. 15, figure 32).

    Example:
        >>> OriginalGame(1.0, 1e-4, 1).generator_term(torch.zeros(3))  # log 2
        tensor(0.6931)
    """

    def generator_term(self, fake: Tensor) -> Tensor:
        """``-E[log D(G)]`` from D's logits."""
        return F.softplus(-fake).mean()

    def critic_term(self, gan: Any, real: Tensor, made: Tensor, fake: Tensor) -> CriticLoss:
        """Minus V, and the share of images that D assigns rightly."""
        scores = gan.critic.scores(real)
        accuracy = 0.5 * ((scores > 0).float().mean() + (fake <= 0).float().mean())
        return CriticLoss(
            F.softplus(-scores).mean() + F.softplus(fake).mean(), {"discriminator_accuracy": accuracy}
        )


class WassersteinGame(Game):
    """``V = E[D(x)] - E[D(G)]``, and ``eta`` times the gradient penalty for D (FAC Eq. 16).

    Args:
        lambda_mi: weight of the information term.
        critic_learning_rate: step size of D and Q.
        critic_steps: steps of D and Q for each of the generator.
        eta: weight of the penalty.

    Example:
        >>> WassersteinGame(1.0, 1e-4, 1, 10.0).generator_term(torch.full((3,), 2.0))
        tensor(-2.)
    """

    def __init__(self, lambda_mi: float, critic_learning_rate: float, critic_steps: int, eta: float) -> None:
        super().__init__(lambda_mi, critic_learning_rate, critic_steps)
        self.eta = eta

    def generator_term(self, fake: Tensor) -> Tensor:
        """``-E[D(G)]``."""
        return -fake.mean()

    def critic_term(self, gan: Any, real: Tensor, made: Tensor, fake: Tensor) -> CriticLoss:
        """Minus V plus the penalty; the gap ``E[D(x)] - E[D(G)]`` estimates the Wasserstein distance."""
        gap = gan.critic.scores(real).mean() - fake.mean()
        penalty = gradient_penalty(gan.critic.scores, real, made)
        return CriticLoss(self.eta * penalty - gap, {"critic_gap": gap, "gradient_penalty": penalty})
