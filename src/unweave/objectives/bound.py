"""Objectives that change the weight of the KL term, or of the entropy, in the evidence lower bound."""

from typing import ClassVar, final

from torch import Tensor
from torch.distributions import MultivariateNormal, Normal

from unweave.errors import UnweaveError
from unweave.functional.decomposition import half_log_determinant
from unweave.functional.divergence import factorises, factors
from unweave.objectives.core import Loss, Objective, Progress, bound, check_non_negative
from unweave.posteriors import example_posteriors
from unweave.slots import Form
from unweave.vae import VAE


@final
class BetaVAE(Objective):
    """``L = E_q[-log p(x|z)] + beta * KL(q(z|x) || p(z))``; ``beta = 1`` is the VAE.

    With ``prior=ISA`` this is ISA-VAE and ISA-beta-VAE.

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
            "E_q[-log p(x|z)] + KL(q(z|x) ‖ p(z))",
            "FAC section 2",
            "objective=BetaVAE objective.beta=1",
        ),
        Form(
            "E_q[-log p(x|z)] + beta KL(q(z|x) ‖ p(z))",
            "FAC section 2, ISA section 2.1",
            "objective=BetaVAE objective.beta=4",
        ),
        Form(
            "E_q[-log p(x|z)] + beta [log q(z|x) - log p_ISA(z)]",
            "ISA section 3.2, Eq. 12",
            "objective=BetaVAE objective.beta=1 prior=ISA",
        ),
    )

    def __init__(self, *, beta: float = 1.0) -> None:
        super().__init__()
        check_non_negative(beta=beta)
        self.beta = beta

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """Reconstruction plus ``beta`` times the KL."""
        _, _, _, reconstruction, kl, terms = bound(vae, images)
        return Loss(reconstruction + self.beta * progress.hold(kl), reconstruction, terms)


@final
class AnnealedVAE(Objective):
    """``L = E_q[-log p(x|z)] + gamma * |KL(q(z|x) || p(z)) - C|``, with ``C`` growing from 0.

    ``C`` grows linearly to ``capacity`` over ``anneal_steps`` steps and stays there. The KL is the mean over the
    batch, taken before the absolute value. For a capacity in any other objective see
    :class:`unweave.objectives.Annealed` (``capacity=...`` on the command line).

    Args:
        gamma: weight of the distance of the KL from ``C``.
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
        check_non_negative(gamma=gamma, capacity=capacity, anneal_steps=anneal_steps)
        self.gamma = gamma
        self.capacity = capacity
        self.anneal_steps = anneal_steps

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """Reconstruction plus ``gamma`` times the distance of the KL from the current capacity."""
        _, _, _, reconstruction, kl, terms = bound(vae, images)
        length = progress.steps if self.anneal_steps is None else self.anneal_steps
        capacity = self.capacity * progress.ramp(length)
        terms["capacity"] = kl.new_tensor(capacity)
        return Loss(reconstruction + self.gamma * (kl - capacity).abs(), reconstruction, terms)


@final
class MaxEntropyVAE(Objective):
    """``L = E_q[-log p(x|z)] + KL(q(z|x) || p(z)) - (beta - 1) * 1/2 log|S(x)|``: beta as reward for entropy.

    ``S(x)`` is the covariance of the Gaussian posterior. With a Gaussian prior this has the optima of the beta-VAE, up
    to a scaling of the latent space by ``sqrt(beta)``.

    Args:
        beta: that of the equivalent beta-VAE.

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
            "E_q[-log p(x|z)] + KL(q(z|x) ‖ p(z)) - (beta - 1)/2 log det S(x)",
            "DEC Eq. 5",
            "objective=MaxEntropyVAE objective.beta=4",
        ),
    )

    def __init__(self, *, beta: float = 4.0) -> None:
        super().__init__()
        check_non_negative(beta=beta)
        self.beta = beta

    def check(self, vae: VAE) -> None:
        """Needs a Gaussian posterior: ``S`` is its covariance."""
        super().check(vae)
        q = example_posteriors(vae.posterior, vae.device)
        if not isinstance(factors(q) if factorises(q) else q, Normal | MultivariateNormal):
            raise UnweaveError(
                f"MaxEntropyVAE is defined for Gaussian posteriors, but {type(vae.posterior).__name__} is not one: "
                f"choose posterior=DiagonalNormal"
            )

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """The bound minus ``beta - 1`` times half the log-determinant of the posterior's covariance."""
        q, _, _, reconstruction, kl, terms = bound(vae, images)
        entropy = half_log_determinant(q).mean()
        terms["half_log_determinant"] = entropy
        total = reconstruction + progress.hold(kl) - (self.beta - 1) * entropy
        return Loss(total, reconstruction, terms)
