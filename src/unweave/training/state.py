"""What training changes: the model, its objective, their optimisers and the step they have reached."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from unweave.errors import UnweaveError
from unweave.objectives import Objective
from unweave.optimizers import Adam, Optimizer, Trained
from unweave.schedules import CodeLayers
from unweave.training.checkpoints import State
from unweave.training.data_parallel import ALONE, Share
from unweave.vae import VAE

ADAM = Adam()
"""The optimiser of the papers."""


class TrainingState:
    """Model, objective, optimisers, number of steps taken, and the total loss of the first step.

    An objective with a critic has two optimisers, and no parameter belongs to both.

    Args:
        model: trained in place.
        objective: what to minimise.
        learning_rate: of the model; the critic's is the objective's.
        optimizer: of the model's weights.
        critic_optimizer: of the critic's weights.

    Example:
        >>> from unweave.objectives import BetaVAE
        >>> state = TrainingState(VAE.assemble((1, 32, 32), latents=2), BetaVAE(), learning_rate=1e-3)
        >>> sorted(state.to_checkpoint())
        ['critic_optimizer', 'first_total', 'objective', 'optimizer', 'step', 'vae']
    """

    def __init__(
        self,
        model: VAE,
        objective: Objective,
        learning_rate: float,
        optimizer: Optimizer = ADAM,
        critic_optimizer: Optimizer = ADAM,
    ) -> None:
        self.model = model
        self.objective = objective
        self.step = 0
        self.first_total: float | None = None
        self.critic_parameters = objective.critic_parameters(model)
        joint = {id(parameter) for parameter in objective.joint_parameters(model)}
        of_critic = {id(parameter) for parameter in self.critic_parameters} - joint
        self.parameters = [weight for weight in model.parameters() if id(weight) not in of_critic]
        own = Trained(self.parameters, _facing_code(model), objective.betas)
        self.optimizer = optimizer.build(own, learning_rate)
        of_critic_alone = Trained(self.critic_parameters, betas=objective.critic_betas)
        self.critic_optimizer = (
            critic_optimizer.build(of_critic_alone, objective.critic_learning_rate)
            if self.critic_parameters
            else None
        )

    def update_model(self, total: Tensor, share: Share = ALONE) -> None:
        """One optimiser step of the model's own parameters along the gradient of ``total``."""
        _update(self.optimizer, self.parameters, total, share)

    def update_critic(self, total: Tensor, share: Share = ALONE) -> None:
        """One optimiser step of the critic's parameters along the gradient of ``total``."""
        assert self.critic_optimizer is not None
        _update(self.critic_optimizer, self.critic_parameters, total, share)

    def is_finite(self) -> bool:
        """Whether every parameter of model and objective is a finite number."""
        weights = [*self.model.parameters(), *self.objective.parameters()]
        return all(bool(torch.isfinite(weight).all()) for weight in weights)

    def to_checkpoint(self) -> State:
        """Everything that a resumed run needs, as a plain dictionary."""
        return {
            "step": self.step,
            "first_total": self.first_total,
            "vae": self.model.state_dict(),
            "objective": self.objective.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "critic_optimizer": self.critic_optimizer.state_dict() if self.critic_optimizer else None,
        }

    def restore(self, saved: State) -> None:
        """Continue from what :meth:`to_checkpoint` returned."""
        self.step, self.first_total = saved["step"], saved["first_total"]
        self.model.load_state_dict(saved["vae"])
        self.objective.load_state_dict(saved["objective"])
        self.optimizer.load_state_dict(saved["optimizer"])
        if self.critic_optimizer is not None:
            self.critic_optimizer.load_state_dict(saved["critic_optimizer"])


def _facing_code(model: nn.Module) -> list[nn.Parameter]:
    """The parameters of the two layers that face the code of a VAE, if they can be told."""
    try:
        return CodeLayers.of(model).parameters if isinstance(model, VAE) else []
    except UnweaveError:
        return []


def _update(
    optimizer: torch.optim.Optimizer, parameters: Sequence[nn.Parameter], total: Tensor, share: Share
) -> None:
    optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(total)
    share.average_gradients(parameters)
    optimizer.step()
