"""What all objectives share: the abstract base, its result, and wrappers that change any objective."""

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Protocol, final

from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn import Parameter

from unweave.errors import UnweaveError, check_at_least
from unweave.functional.divergence import factorises, kl, kl_per_latent
from unweave.slots import Form
from unweave.vae import VAE


@final
@dataclass(frozen=True)
class Progress:
    """The position in training: ``step`` of ``steps``, counted from 0. Schedules depend on nothing else.

    ``capacity`` is the value, in nats, at which :class:`Annealed` holds the KL at this step; none: it is not held.
    ``kl_weight`` is the factor by which a schedule multiplies the KL at this step.

    Example:
        >>> Progress(step=50, steps=200).ramp(100)
        0.5
    """

    step: int
    steps: int
    capacity: float | None = None
    kl_weight: float = 1.0

    @property
    def fraction(self) -> float:
        """The share of all steps that is done.

        Example:
            >>> Progress(50, 200).fraction
            0.25
        """
        return self.step / self.steps

    def ramp(self, length: int) -> float:
        """Rises linearly from 0 at the first step to 1 at step ``length`` and stays at 1."""
        return min(1.0, self.step / length) if length > 0 else 1.0

    def hold(self, rate: Tensor) -> Tensor:
        """The KL (or another rate) as the schedule weighs it, or its distance from the capacity if there is one.

        Example:
            >>> import torch
            >>> Progress(0, 1).hold(torch.tensor(3.0)), Progress(0, 1, capacity=5.0).hold(torch.tensor(3.0))
            (tensor(3.), tensor(2.))
        """
        held = rate if self.capacity is None else (rate - self.capacity).abs()
        return held if self.kl_weight == 1 else self.kl_weight * held


@final
@dataclass(frozen=True)
class Loss:
    """The value of an objective for a batch: the number to minimise, and the terms it consists of.

    All are means over the batch, in nats per image. ``total`` and ``reconstruction`` carry gradients; ``terms`` are
    logged by name (``kl``, ``total_correlation``, ...), scalars or one value per latent. ``codes`` are the samples of
    ``q(z|x)`` that the critic is trained on, without gradients.

    Example:
        >>> import torch
        >>> Loss(torch.tensor(3.0), torch.tensor(2.0), {"kl": torch.tensor(1.0)}).logged()
        {'total': 3.0, 'reconstruction': 2.0, 'kl': 1.0}
    """

    total: Tensor
    reconstruction: Tensor | None = None
    terms: dict[str, Tensor] = field(default_factory=dict)
    codes: Tensor | None = None

    def logged(self) -> dict[str, float | list[float]]:
        """All numbers as plain floats, for the history."""
        named = {"total": self.total}
        if self.reconstruction is not None:
            named["reconstruction"] = self.reconstruction
        return _as_floats({**named, **self.terms})


@final
@dataclass(frozen=True)
class CriticLoss:
    """The value of the critic's loss, and the terms to be logged.

    Example:
        >>> import torch
        >>> CriticLoss(torch.tensor(0.5), {"discriminator_accuracy": torch.tensor(0.75)}).logged()
        {'critic_loss': 0.5, 'discriminator_accuracy': 0.75}
    """

    total: Tensor
    terms: dict[str, Tensor] = field(default_factory=dict)

    def logged(self) -> dict[str, float | list[float]]:
        """All numbers as plain floats, for the history."""
        return _as_floats({"critic_loss": self.total, **self.terms})


class TrainingData(Protocol):
    """The part of a data set that objectives use."""

    @property
    def name(self) -> str:
        """For error messages."""

    @property
    def count(self) -> int | None:
        """Number of images; none if there is no fixed number."""

    def at(self, index: NDArray[Any]) -> NDArray[Any]:
        """The images with these row numbers."""


class Objective(nn.Module, ABC):
    """A loss to minimise, and the critic that it needs, if any.

    An objective provides three things:

    1. a constructor ``__init__(self, *, options)``, or ``__init__(self, latents, *, options)`` if it needs the size of
       the code; every keyword with a type and a default is an option, ``objective.NAME=VALUE`` in a config;
    2. ``forward(vae, images, progress) -> Loss``; :func:`bound` computes the reconstruction and the KL. To support
       ``capacity=...``, pass the KL through :meth:`Progress.hold` (and set ``held`` to none if there is no KL);
    3. with a critic, :meth:`critic_parameters` and :meth:`critic_loss`. The training loop gives the critic an optimiser
       of its own and updates it after each step of the model.

    :meth:`check` and :meth:`prepare` may be overridden to refuse a VAE and to read from the data before step 0.

    Attributes:
        forms: the equations of the papers that this class computes, for the table of objectives.
        held: the term that :class:`Annealed` holds at a capacity; none: there is no such term.
        needs_prior: whether the loss depends on the prior, so that a learned prior gets gradients.
        batches: number of batches that one step takes; they arrive as one tensor.
        critic_turns: steps of the critic for each step of the model.
        critic_learning_rate: step size of the critic's Adam.
        betas: those of the model's Adam.
        critic_betas: those of the critic's Adam.

    Example:
        >>> import torch
        >>> class SquaredCodes(Objective):
        ...     def __init__(self, *, weight: float = 1.0) -> None:
        ...         super().__init__()
        ...         self.weight = weight
        ...     def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        ...         _, z, _, reconstruction, kl, terms = bound(vae, images)
        ...         terms["squares"] = z.square().sum(1).mean()
        ...         total = reconstruction + progress.hold(kl) + self.weight * terms["squares"]
        ...         return Loss(total, reconstruction, terms)
        >>> loss = SquaredCodes()(VAE.assemble((1, 32, 32), 4), torch.rand(2, 1, 32, 32), Progress(0, 1))
        >>> sorted(loss.terms)
        ['kl', 'kl_per_latent', 'squares']
    """

    forms: ClassVar[tuple[Form, ...]] = ()
    held: ClassVar[str | None] = "kl"
    needs_prior: ClassVar[bool] = True
    batches: int = 1
    critic_turns: int = 1
    critic_learning_rate: float = 1e-4
    betas: tuple[float, float] = (0.9, 0.999)
    critic_betas: tuple[float, float] = (0.5, 0.9)

    @property
    def name(self) -> str:
        """The name for messages: that of the class."""
        return type(self).__name__

    @abstractmethod
    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """The loss of ``batches`` batches of images in [0, 1], ``(batches * n, channels, height, width)``."""

    def check(self, vae: VAE) -> None:
        """Raise an error, before step 0, for a VAE for which this objective cannot be computed."""
        if not self.needs_prior and any(p.requires_grad for p in vae.prior.parameters()):
            raise UnweaveError(
                f"{self.name} does not train the prior, but {type(vae.prior).__name__} has learned parameters: choose "
                f"a prior without them (such as prior=StandardNormal), or an objective that has KL(q(z|x) || p(z))"
            )

    def prepare(self, data: TrainingData, batch: int) -> None:
        """Read what the objective needs of the data and the batch size; called before step 0."""

    def critic_parameters(self, vae: VAE) -> list[Parameter]:
        """The parameters of the critic's optimiser, which the model's does not get; empty if there is no critic."""
        return []

    def joint_parameters(self, vae: VAE) -> list[Parameter]:
        """Those of the critic's parameters that the step of the model changes as well."""
        return []

    def critic_loss(self, vae: VAE, images: Tensor, loss: Loss, turn: int) -> CriticLoss:
        """The critic's loss, after the step of the model that produced ``loss``; ``turn`` counts from 0."""
        raise NotImplementedError


class Bound(NamedTuple):
    """The terms of the evidence lower bound of a batch; ``reconstruction`` and ``kl`` are means over the batch.

    Example:
        >>> import torch
        >>> made = bound(VAE.assemble((1, 32, 32), 4), torch.rand(2, 1, 32, 32))
        >>> bool(torch.isclose(made.terms["kl_per_latent"].sum(), made.kl))
        True
    """

    q: Distribution
    z: Tensor
    prior: Distribution
    reconstruction: Tensor
    kl: Tensor
    terms: dict[str, Tensor]


def bound(vae: VAE, images: Tensor) -> Bound:
    """``E_q[-log p(x|z)]`` and ``KL(q(z|x) || p(z))``, means over the batch, with the terms to be logged.

    Example:
        >>> import torch
        >>> sorted(bound(VAE.assemble((1, 32, 32), 4), torch.rand(2, 1, 32, 32)).terms)
        ['kl', 'kl_per_latent']
    """
    q, z, p = vae(images)
    prior = vae.prior()
    reconstruction = -p.log_prob(images).mean()
    if factorises(q) and factorises(prior):
        each = kl_per_latent(q, prior, z).mean(0)
        rate = each.sum()
        return Bound(q, z, prior, reconstruction, rate, {"kl": rate, "kl_per_latent": each})
    rate = kl(q, prior, z).mean()
    return Bound(q, z, prior, reconstruction, rate, {"kl": rate})


@contextlib.contextmanager
def frozen(critic: nn.Module) -> Iterator[None]:
    """A context in which gradients flow through the critic but its weights get none.

    Example:
        >>> import torch
        >>> critic, z = nn.Linear(2, 1), torch.ones(1, 2, requires_grad=True)
        >>> with frozen(critic):
        ...     value = critic(z).sum()
        >>> value.backward()
        >>> z.grad is not None, critic.weight.grad is None
        (True, True)
    """
    wanted = [parameter.requires_grad for parameter in critic.parameters()]
    critic.requires_grad_(False)
    try:
        yield
    finally:
        for parameter, want in zip(critic.parameters(), wanted, strict=True):
            parameter.requires_grad_(want)


def check_non_negative(**weights: float | None) -> None:
    """Raise an error for the first option that is negative.

    Example:
        >>> check_non_negative(beta=-1.0)
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: objective.beta must be at least 0, got -1
    """
    for name, value in weights.items():
        check_at_least(f"objective.{name}", value, 0)


def _as_floats(named: dict[str, Tensor]) -> dict[str, float | list[float]]:
    return {name: value.detach().tolist() for name, value in named.items()}


class Wrapper(Objective, ABC):
    """An objective that changes another one and takes from it everything that it does not override."""

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.objective = objective
        self.batches = objective.batches
        self.critic_turns = objective.critic_turns
        self.critic_learning_rate = objective.critic_learning_rate
        self.betas = objective.betas
        self.critic_betas = objective.critic_betas

    @property
    def name(self) -> str:
        """That of the inner objective."""
        return self.objective.name

    def check(self, vae: VAE) -> None:
        """That of the inner objective."""
        self.objective.check(vae)

    def prepare(self, data: TrainingData, batch: int) -> None:
        """That of the inner objective."""
        self.objective.prepare(data, batch)

    def critic_parameters(self, vae: VAE) -> list[Parameter]:
        """Those of the inner objective."""
        return self.objective.critic_parameters(vae)

    def critic_loss(self, vae: VAE, images: Tensor, loss: Loss, turn: int) -> CriticLoss:
        """That of the inner objective."""
        return self.objective.critic_loss(vae, images, loss, turn)


@final
class Annealed(Wrapper):
    """Any objective with its KL held at a capacity: ``w * KL`` becomes ``w * |KL - C|``, with ``C`` growing from 0.

    ``C`` grows linearly to ``capacity`` over ``steps`` steps and stays there; ``w`` is the weight that the objective
    gives its KL (``beta``, or 1). The KL is the mean over the batch, taken before the absolute value.

    Args:
        objective: any objective that has a KL, or a mutual information in its place.
        capacity: the final ``C``, in nats.
        steps: steps until ``C`` is reached; none: the whole run.

    Reference: Burgess et al. 2018, "Understanding disentangling in beta-VAE", Eq. 8; cited by SBD and FAC.

    Example:
        >>> import torch
        >>> from unweave.objectives import BetaVAE
        >>> vae = VAE.assemble((1, 32, 32), 4)
        >>> loss = Annealed(BetaVAE(beta=10.0), capacity=2.0)(vae, torch.rand(2, 1, 32, 32), Progress(5, 10))
        >>> bool(torch.isclose(loss.total, loss.reconstruction + 10 * (loss.terms["kl"] - 1.0).abs()))
        True
    """

    def __init__(self, objective: Objective, *, capacity: float, steps: int | None = None) -> None:
        super().__init__(objective)
        if capacity < 0 or (steps or 0) < 0:
            raise UnweaveError(
                f"capacity and capacity_steps must be at least 0, got {capacity:g} and {steps}"
            )
        if objective.held is None:
            raise UnweaveError(
                f"{objective.name} has no KL that a capacity could hold: omit capacity, or choose an objective "
                f"with a KL (such as objective=BetaVAE)"
            )
        self.capacity = capacity
        self.steps = steps

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """The loss with the KL held at the current capacity, which is also logged."""
        capacity = self.capacity * progress.ramp(progress.steps if self.steps is None else self.steps)
        loss: Loss = self.objective(vae, images, replace(progress, capacity=capacity))
        return replace(loss, terms={**loss.terms, "capacity": loss.total.new_tensor(capacity)})


@final
class Averaged(Wrapper):
    """Any objective in the units of paper REC: means over image elements and over latents.

    ``total = reconstruction / D + (total' - reconstruction) / L`` for an image of ``D`` elements and ``L`` latents,
    where ``total'`` is the summed loss. A beta in these units is converted to the summed convention by
    :func:`unweave.functional.averaged_to_summed`.

    Args:
        objective: any objective in the summed convention.

    Reference: REC appendix B.1.

    Example:
        >>> import torch
        >>> from unweave.objectives import BetaVAE
        >>> vae = VAE.assemble((1, 32, 32), 4, likelihood="MSE").double()
        >>> loss = Averaged(BetaVAE(beta=0.001))(vae, torch.rand(2, 1, 32, 32).double(), Progress(0, 1))
        >>> bool(torch.isclose(loss.total, loss.reconstruction / 1024 + 0.001 * loss.terms["kl"] / 4))
        True
    """

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """The averaged loss; the named terms stay in nats per image."""
        loss: Loss = self.objective(vae, images, progress)
        assert loss.reconstruction is not None
        regularisation = (loss.total - loss.reconstruction) / vae.latents
        return replace(loss, total=loss.reconstruction / math.prod(vae.image_shape) + regularisation)
