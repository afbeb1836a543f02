"""Objectives that are the evidence lower bound with another weight on its KL term, or on its entropy."""

from typing import ClassVar

import torch
from torch import Tensor

from unweave.errors import UnweaveError
from unweave.functional.decomposition import half_log_determinant
from unweave.objectives.core import Loss, Objective, Progress, at_least_zero, bound
from unweave.slots import Form
from unweave.vae import VAE


class BetaVAE(Objective):
    """``L = E_q[-log p(x|z)] + beta * KL(q(z|x) || p(z))``; ``beta = 1`` is the VAE (OBJ-1, OBJ-2).

    With ``prior=ISA`` this is ISA-VAE and ISA-beta-VAE (OBJ-14).

    Args:
        beta: weight of the KL term, in the summed convention.

    Reference: FAC section 2, Eq. 1; ISA section 2.1.

    Example:
        >>> import torch
        >>> vae = VAE.assemble((1, 32, 32), 4)
        >>> loss = BetaVAE(beta=4.0)(vae, torch.rand(2, 1, 32, 32), Progress(0, 1))
        >>> bool(torch.isclose(loss.total, loss.reconstruction + 4 * loss.terms["kl"]))
        True
    """

    forms: ClassVar[tuple[Form, ...]] = (
        Form(
            "OBJ-1",
            "E_q[-log p(x|z)] + KL(q(z|x) ‖ p(z))",
            "FAC section 2",
            "objective=BetaVAE objective.beta=1",
        ),
        Form(
            "OBJ-2",
            "E_q[-log p(x|z)] + beta KL(q(z|x) ‖ p(z))",
            "FAC section 2, ISA section 2.1",
            "objective=BetaVAE objective.beta=4",
        ),
        Form(
            "OBJ-14",
            "E_q[-log p(x|z)] + beta [log q(z|x) - log p_ISA(z)]",
            "ISA section 3.2, Eq. 12",
            "objective=BetaVAE objective.beta=1 prior=ISA",
        ),
    )

    def __init__(self, *, beta: float = 1.0) -> None:
        super().__init__()
        at_least_zero(beta=beta)
        self.beta = beta

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """Reconstruction plus ``beta`` times the KL."""
        _, _, _, reconstruction, kl, terms = bound(vae, images)
        return Loss(reconstruction + self.beta * progress.hold(kl), reconstruction, terms)


class AnnealedVAE(Objective):
    """``L = E_q[-log p(x|z)] + gamma * |KL(q(z|x) || p(z)) - C|``, with ``C`` growing from 0 (OBJ-3).

    ``C`` grows linearly to ``capacity`` over ``anneal_steps`` steps and stays there. The KL is the mean over the
    batch, taken before the absolute value. For a capacity in any other objective see
    :class:`unweave.objectives.Annealed` (``capacity=...`` on the command line).

    Args:
        gamma: strength with which the KL is held at ``C``.
        capacity: the final ``C``, in nats.
        anneal_steps: steps until ``C`` is reached; none: the whole run.

    Reference: Burgess et al. 2018, "Understanding disentangling in beta-VAE", Eq. 8; cited by SBD and FAC.

    Example:
        >>> import torch
        >>> vae = VAE.assemble((1, 32, 32), 4)
        >>> loss = AnnealedVAE(gamma=10.0, capacity=2.0)(vae, torch.rand(2, 1, 32, 32), Progress(5, 10))
        >>> bool(torch.isclose(loss.total, loss.reconstruction + 10 * (loss.terms["kl"] - 1.0).abs()))
        True
    """

    forms: ClassVar[tuple[Form, ...]] = (
        Form(
            "OBJ-3",
            "E_q[-log p(x|z)] + gamma abs(KL(q(z|x) ‖ p(z)) - C)",
            "Burgess et al. 2018 Eq. 8, cited by SBD and FAC",
            "objective=AnnealedVAE objective.gamma=1000 objective.capacity=25",
        ),
    )
    held: ClassVar[str | None] = None  # it has a capacity of its own

    def __init__(
        self, *, gamma: float = 1000.0, capacity: float = 25.0, anneal_steps: int | None = None
    ) -> None:
        super().__init__()
        at_least_zero(gamma=gamma, capacity=capacity, anneal_steps=anneal_steps)
        self.gamma = gamma
        self.capacity = capacity
        self.anneal_steps = anneal_steps

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """Reconstruction plus ``gamma`` times the distance of the KL from the present capacity."""
        _, _, _, reconstruction, kl, terms = bound(vae, images)
        length = progress.steps if self.anneal_steps is None else self.anneal_steps
        capacity = self.capacity * progress.ramp(length)
        terms["capacity"] = kl.new_tensor(capacity)
        return Loss(reconstruction + self.gamma * (kl - capacity).abs(), reconstruction, terms)


class MaxEntropyVAE(Objective):
    """``L = E_q[-log p(x|z)] + KL(q(z|x) || p(z)) - (beta - 1) * 1/2 log|S(x)|``: beta as reward for entropy (OBJ-13).

    ``S(x)`` is the covariance of the Gaussian posterior. With a Gaussian prior this has the optima of the beta-VAE, up
    to a scaling of the latent space by ``sqrt(beta)``.

    Args:
        beta: as in the beta-VAE that this is equivalent to.

    Reference: DEC Eq. 5, corollaries 1 and 2.

    Example:
        >>> import torch
        >>> vae = VAE.assemble((1, 32, 32), 4)
        >>> loss = MaxEntropyVAE(beta=3.0)(vae, torch.rand(2, 1, 32, 32), Progress(0, 1))
        >>> rest = loss.reconstruction + loss.terms["kl"] - 2 * loss.terms["half_log_determinant"]
        >>> bool(torch.isclose(loss.total, rest))
        True
    """

    forms: ClassVar[tuple[Form, ...]] = (
        Form(
            "OBJ-13",
            "E_q[-log p(x|z)] + KL(q(z|x) ‖ p(z)) - (beta - 1)/2 log det S(x)",
            "DEC Eq. 5",
            "objective=MaxEntropyVAE objective.beta=4",
        ),
    )

    def __init__(self, *, beta: float = 4.0) -> None:
        super().__init__()
        at_least_zero(beta=beta)
        self.beta = beta

    def check(self, vae: VAE) -> None:
        """Needs a Gaussian posterior: ``S`` is its covariance."""
        super().check(vae)
        q = posteriors_of(vae)
        if not isinstance(getattr(q, "base_dist", None), torch.distributions.Normal):
            raise UnweaveError(
                f"MaxEntropyVAE is defined for Gaussian posteriors, but {type(vae.posterior).__name__} is not one: "
                f"choose posterior=DiagonalNormal"
            )

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """The bound less ``beta - 1`` times half the log-determinant of the posterior's covariance."""
        q, _, _, reconstruction, kl, terms = bound(vae, images)
        entropy = half_log_determinant(q).mean()
        terms["half_log_determinant"] = entropy
        total = reconstruction + progress.hold(kl) - (self.beta - 1) * entropy
        return Loss(total, reconstruction, terms)


def posteriors_of(vae: VAE) -> torch.distributions.Distribution:
    """Two posteriors of the VAE's family, to ask what family it is.

    Example:
        >>> posteriors_of(VAE.assemble((1, 32, 32), 4)).batch_shape
        torch.Size([2])
    """
    features = torch.zeros(2, int(vae.posterior.features), device=vae.device)  # type: ignore[arg-type]
    q: torch.distributions.Distribution = vae.posterior(features)
    return q
