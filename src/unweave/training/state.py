"""What training changes: the model, its objective, their optimisers and the step they have reached."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from unweave.errors import UnweaveError, check_positive
from unweave.objectives import Objective
from unweave.optimizers import Adam, Optimizer, Trained
from unweave.schedules import CodeLayers
from unweave.training.checkpoints import State
from unweave.training.data_parallel import ALONE, Share
from unweave.training.weight_average import WeightAverage
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
        weight_average: decay of a moving average of the model's weights; none: there is no average.
        clip_norm: longer gradients, of the model or of the critic, are shortened to this norm; none: they are not.
        patience: steps over which losses are averaged to see whether they still fall; none: nobody asks.

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
        *,
        weight_average: float | None = None,
        clip_norm: float | None = None,
        patience: int | None = None,
    ) -> None:
        check_positive("clip_norm", clip_norm)
        self.clip_norm = clip_norm
        self.average = None if weight_average is None else WeightAverage(model, weight_average)
        self.model = model
        self.objective = objective
        self.step = 0
        self.first_total: float | None = None
        self.patience = patience
        self.window: dict[str, Any] = {"sum": 0.0, "before": None, "settled": False}
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
        _update(self.optimizer, self.parameters, total, share, self.clip_norm)
        if self.average is not None:
            self.average.update(self.step)

    def update_critic(self, total: Tensor, share: Share = ALONE) -> None:
        """One optimiser step of the critic's parameters along the gradient of ``total``."""
        assert self.critic_optimizer is not None
        _update(self.critic_optimizer, self.critic_parameters, total, share, self.clip_norm)

    def note_loss(self, total: float) -> None:
        """Take note of the loss of the step that was just counted; every ``patience`` steps, compare with before."""
        if self.patience is None:
            return
        window = self.window
        window["sum"] += total
        if self.step % self.patience == 0:
            mean, before = window["sum"] / self.patience, window["before"]
            self.window = {"sum": 0.0, "before": mean, "settled": before is not None and mean >= before}

    @property
    def has_settled(self) -> bool:
        """Whether the mean loss of the last ``patience`` steps is no lower than that of as many before.

        Example:
            >>> from unweave.objectives import BetaVAE
            >>> state = TrainingState(VAE.assemble((1, 32, 32), latents=2), BetaVAE(), 1e-3, patience=2)
            >>> for state.step, loss in enumerate([5, 3, 2, 4, 2, 4], 1):
            ...     state.note_loss(loss)
            >>> state.has_settled
            True
        """
        return bool(self.window["settled"])

    def adopt_average(self) -> None:
        """Give the model the average of its weights, if there is one: training is over."""
        if self.average is not None:
            self.model.load_state_dict(self.average.model.state_dict())

    def is_finite(self) -> bool:
        """Whether every parameter of model and objective is a finite number."""
        weights = [*self.model.parameters(), *self.objective.parameters()]
        return all(bool(torch.isfinite(weight).all()) for weight in weights)

    def to_checkpoint(self) -> State:
        """Everything that a resumed run needs, as a plain dictionary."""
        state: State = {
            "step": self.step,
            "first_total": self.first_total,
            "vae": self.model.state_dict(),
            "objective": self.objective.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "critic_optimizer": self.critic_optimizer.state_dict() if self.critic_optimizer else None,
        }
        if self.average is not None:
            state["average"] = self.average.model.state_dict()
        return state if self.patience is None else {**state, "window": dict(self.window)}

    def unfit(self, saved: State) -> str | None:
        """What keeps a saved state from being restored; ``None`` if nothing does.

        Example:
            >>> from unweave.objectives import BetaVAE
            >>> state = TrainingState(VAE.assemble((1, 32, 32), latents=2), BetaVAE(), learning_rate=1e-3)
            >>> state.unfit(state.to_checkpoint()), state.unfit({"step": 3})
            (None, "it has no 'critic_optimizer'")
        """
        own = self.to_checkpoint()
        if missing := sorted(own.keys() - saved.keys()):
            return f"it has no {missing[0]!r}"
        for name in sorted(own.keys() - {"step", "first_total"}):
            if problem := _unlike(saved[name], own[name], name):
                return problem
        for name, rule in (("optimizer", self.optimizer), ("critic_optimizer", self.critic_optimizer)):
            if rule is not None and (problem := _unlike_moments(saved[name], rule, name)):
                return problem
        first = saved["first_total"]
        return None if first is None or isinstance(first, float) else "its 'first_total' is no number"

    def restore(self, saved: State) -> None:
        """Continue from what :meth:`to_checkpoint` returned."""
        self.step, self.first_total = saved["step"], saved["first_total"]
        self.model.load_state_dict(saved["vae"])
        self.objective.load_state_dict(saved["objective"])
        self.optimizer.load_state_dict(saved["optimizer"])
        if self.critic_optimizer is not None:
            self.critic_optimizer.load_state_dict(saved["critic_optimizer"])
        if self.average is not None:
            self.average.model.load_state_dict(saved["average"])
        if self.patience is not None:
            self.window = dict(saved["window"])


def _unlike(saved: object, own: object, name: str) -> str | None:
    """In what a saved value differs from the present one in kind: keys and shapes of weights, groups of optimisers."""
    if own is None or saved is None:
        return None if own is saved else f"its {name!r} belongs to another objective"
    if not isinstance(saved, dict) or not isinstance(own, dict):
        return f"its {name!r} is no mapping"
    if "param_groups" in own:
        groups, ours = saved.get("param_groups"), own["param_groups"]
        if (
            not isinstance(groups, list)
            or len(groups) != len(ours)
            or not isinstance(saved.get("state"), dict)
        ):
            return f"its {name!r} is of another kind"
        pairs = zip(groups, ours, strict=True)
        alike = all(
            isinstance(a, dict) and a.keys() >= b.keys() and a["params"] == b["params"] for a, b in pairs
        )
        return None if alike else f"its {name!r} is of another kind"
    if saved.keys() != own.keys():
        return f"its {name!r} has other weights: {sorted(map(str, saved.keys() ^ own.keys()))[0]}"
    for key, value in own.items():
        if getattr(saved[key], "shape", None) != getattr(value, "shape", None):
            return f"its {name!r} has another shape: {key}"
    return None


_MOMENTS = ("exp_avg", "exp_avg_sq", "momentum_buffer")


def _unlike_moments(saved: State, rule: torch.optim.Optimizer, name: str) -> str | None:
    """Whether what an optimiser remembers of a weight has the shape of that weight."""
    weights = [weight for group in rule.param_groups for weight in group["params"]]
    for number, remembered in saved["state"].items():
        if not isinstance(number, int) or number >= len(weights) or not isinstance(remembered, dict):
            return f"its {name!r} belongs to other weights"
        moments = [remembered[key] for key in _MOMENTS if key in remembered]
        if any(getattr(moment, "shape", None) != weights[number].shape for moment in moments):
            return f"its {name!r} belongs to other weights"
    return None


def _facing_code(model: nn.Module) -> list[nn.Parameter]:
    """The parameters of the two layers that face the code of a VAE, if they can be told."""
    try:
        return CodeLayers.of(model).parameters if isinstance(model, VAE) else []
    except UnweaveError:
        return []


def _update(
    optimizer: torch.optim.Optimizer,
    parameters: Sequence[nn.Parameter],
    total: Tensor,
    share: Share,
    clip_norm: float | None,
) -> None:
    optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(total)
    share.average_gradients(parameters)
    if clip_norm is not None:
        nn.utils.clip_grad_norm_(parameters, clip_norm)
    optimizer.step()
