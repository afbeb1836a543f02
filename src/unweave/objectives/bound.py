"""Objectives that are the evidence lower bound with another weight on its KL term."""

from torch import Tensor

from unweave.errors import UnweaveError
from unweave.functional.divergence import factorises, kl, kl_per_latent
from unweave.objectives.core import Loss, Objective, Progress
from unweave.vae import VAE


class BetaVAE(Objective):
    """``L = E_q[-log p(x|z)] + beta * KL(q(z|x) || p(z))``; ``beta = 1`` is the VAE (OBJ-1, OBJ-2).

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

    def __init__(self, *, beta: float = 1.0) -> None:
        super().__init__()
        if beta < 0:
            raise UnweaveError(f"objective.beta must be at least 0, got {beta:g}")
        self.beta = beta

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """Reconstruction plus ``beta`` times the KL."""
        reconstruction, rate, terms = bound(vae, images)
        return Loss(reconstruction + self.beta * rate, reconstruction, terms)


class AnnealedVAE(Objective):
    """``L = E_q[-log p(x|z)] + gamma * |KL(q(z|x) || p(z)) - C|``, with ``C`` growing from 0 (OBJ-3).

    ``C`` grows linearly to ``capacity`` over ``anneal_steps`` steps and stays there. The KL is the mean over the
    batch, taken before the absolute value.

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

    def __init__(
        self, *, gamma: float = 1000.0, capacity: float = 25.0, anneal_steps: int | None = None
    ) -> None:
        super().__init__()
        for name, value in (("gamma", gamma), ("capacity", capacity), ("anneal_steps", anneal_steps or 0)):
            if value < 0:
                raise UnweaveError(f"objective.{name} must be at least 0, got {value:g}")
        self.gamma = gamma
        self.capacity = capacity
        self.anneal_steps = anneal_steps

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """Reconstruction plus ``gamma`` times the distance of the KL from the present capacity."""
        reconstruction, rate, terms = bound(vae, images)
        length = progress.steps if self.anneal_steps is None else self.anneal_steps
        capacity = self.capacity * progress.ramp(length)
        terms["capacity"] = rate.new_tensor(capacity)
        return Loss(reconstruction + self.gamma * (rate - capacity).abs(), reconstruction, terms)


def bound(vae: VAE, images: Tensor) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """The two halves of the evidence lower bound, means over the batch, and the terms worth logging.

    Returns ``E_q[-log p(x|z)]``, ``KL(q(z|x) || p(z))``, and ``{"kl": ..., "kl_per_latent": ...}``.

    Example:
        >>> import torch
        >>> reconstruction, rate, terms = bound(VAE.assemble((1, 32, 32), 4), torch.rand(2, 1, 32, 32))
        >>> bool(torch.isclose(terms["kl_per_latent"].sum(), rate))
        True
    """
    q, z, p = vae(images)
    prior = vae.prior()
    reconstruction = -p.log_prob(images).mean()
    if factorises(q) and factorises(prior):
        each = kl_per_latent(q, prior, z).mean(0)
        rate = each.sum()
        return reconstruction, rate, {"kl": rate, "kl_per_latent": each}
    rate = kl(q, prior, z).mean()
    return reconstruction, rate, {"kl": rate}
