"""The effect of beta on a VAE: DEC theorem 1 and its two corollaries, as numbers."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent, MultivariateNormal, Normal, kl_divergence

from unweave.theory.maximise import maximise

Decoder = Callable[[Tensor], Tensor]
"""``log p(x|z)`` of codes ``(m, latents)``, for one fixed ``x``, ``(m,)``."""


@dataclass(frozen=True)
class Sides:
    """The two sides of an equation between objectives, in nats, and the terms of the right one.

    Example:
        >>> Sides(1.0, {"elbo": 0.25, "entropy": 0.75}).right
        1.0
    """

    left: float
    parts: dict[str, float]

    @property
    def right(self) -> float:
        """The sum of the parts."""
        return math.fsum(self.parts.values())


def theorem_one(
    log_likelihood: Decoder, q: Distribution, prior: Distribution, beta: float, axis: Tensor, weights: Tensor
) -> Sides:
    """``L_beta(x) = L(x; pi_beta, q) + (beta - 1) H_q + log F_beta``, every term by quadrature (DEC theorem 1).

    ``pi_beta(x, z) = p(x|z) f_beta(z)`` with the annealed prior ``f_beta = p^beta / F_beta``, where ``F_beta`` is the
    integral of ``p^beta``. The integrals run over the grid ``axis x axis``, so codes have two latents.

    Args:
        log_likelihood: ``log p(x|z)`` at codes ``(m, 2)``.
        q: encoding of ``x``, event shape ``(2,)``.
        prior: event shape ``(2,)``.
        beta: the weight of the KL.
        axis: nodes of a quadrature rule on the line, ``(k,)``.
        weights: of the nodes, ``(k,)``.

    Example:
        >>> axis = torch.linspace(-9, 9, 181, dtype=torch.float64)
        >>> q = Independent(Normal(torch.tensor([0.5, 0.0]).double(), torch.tensor([0.5, 0.8]).double()), 1)
        >>> prior = Independent(Normal(torch.zeros(2).double(), torch.ones(2).double()), 1)
        >>> sides = theorem_one(lambda z: -z.square().sum(-1), q, prior, 4.0, axis, torch.full_like(axis, 0.1))
        >>> abs(sides.left - sides.right) < 1e-6
        True
    """
    z = torch.cartesian_prod(axis, axis)
    area = torch.outer(weights, weights).flatten()
    log_q, log_p = q.log_prob(z), prior.log_prob(z)
    density = area * log_q.exp()
    density = density / density.sum()

    def expected(values: Tensor) -> float:
        return float((density * values).sum())

    reconstruction = expected(log_likelihood(z))
    log_normaliser = float((area * (beta * log_p).exp()).sum().log())
    log_annealed = beta * log_p - log_normaliser
    entropy = -expected(log_q)
    return Sides(
        left=reconstruction - beta * expected(log_q - log_p),
        parts={
            "elbo of the annealed target": reconstruction - expected(log_q - log_annealed),
            "entropy": (beta - 1) * entropy,
            "log F": log_normaliser,
        },
    )


def corollary_one(
    log_likelihood: Decoder,
    mean: Tensor,
    covariance: Tensor,
    prior_covariance: Tensor,
    beta: float,
    noise: Tensor,
) -> Sides:
    """``L_beta(x; theta, phi) = L(x; theta', phi') + (beta - 1) / 2 log |S_phi'| + c`` for Gaussians (DEC corollary 1).

    The rescaled networks encode ``x`` as ``N(sqrt(beta) mean, beta S)`` and decode ``z / sqrt(beta)``. With
    ``log F_beta = (1 - beta) / 2 log |2 pi Sigma| - D / 2 log beta``, the constant is
    ``c = D (beta - 1) / 2 (1 + log(2 pi / beta)) + log F_beta``.

    Args:
        log_likelihood: ``log p(x|z)`` at codes ``(m, D)``.
        mean: of the encoding, ``(D,)``.
        covariance: ``S`` of the encoding, ``(D, D)``.
        prior_covariance: ``Sigma``, ``(D, D)``.
        beta: the weight of the KL.
        noise: standard normal numbers ``(m, D)`` from which the codes of both sides are computed.

    Example:
        >>> eye = torch.eye(2, dtype=torch.float64)
        >>> noise = torch.randn(100, 2, dtype=torch.float64)
        >>> sides = corollary_one(lambda z: -z.square().sum(-1), torch.ones(2).double(), 0.3 * eye, 2 * eye, 4.0, noise)
        >>> abs(sides.left - sides.right) < 1e-9
        True
    """
    latents = len(mean)
    root = torch.linalg.cholesky(covariance)
    prior = MultivariateNormal(torch.zeros_like(mean), prior_covariance)
    scale = math.sqrt(beta)

    def bound(decoder: Decoder, centre: Tensor, lower: Tensor, weight: float) -> float:
        q = MultivariateNormal(centre, scale_tril=lower)
        return float(decoder(centre + noise @ lower.T).mean() - weight * kl_divergence(q, prior))

    log_f = float(
        0.5 * (1 - beta) * torch.logdet(2 * math.pi * prior_covariance) - 0.5 * latents * math.log(beta)
    )
    return Sides(
        left=bound(log_likelihood, mean, root, beta),
        parts={
            "elbo of the rescaled networks": bound(
                lambda z: log_likelihood(z / scale), scale * mean, scale * root, 1.0
            ),
            "log determinant": 0.5 * (beta - 1) * float(torch.logdet(beta * covariance)),
            "c": 0.5 * latents * (beta - 1) * (1 + math.log(2 * math.pi / beta)) + log_f,
        },
    )


class LinearVAE:
    """A VAE small enough to be trained to a stationary point exactly: ``x ~ N(W z, v I)``, ``q = N(R x, diag(s^2))``.

    ``parameters`` are ``W`` (observed, latents), ``R`` (latents, observed) and ``log s`` (latents,), in one vector.

    Args:
        moment: second moment of the data, ``(observed, observed)``.
        latents: size of the code.
        variance: ``v``.

    Reference: DEC corollary 2, of which this is the simplest case.

    Example:
        >>> vae = LinearVAE(torch.eye(2, dtype=torch.float64), 1)
        >>> vae.beta_objective(torch.zeros(5, dtype=torch.float64), 1.0).shape
        torch.Size([])
    """

    def __init__(self, moment: Tensor, latents: int, variance: float = 0.5) -> None:
        self.moment, self.latents, self.variance = moment, latents, variance

    def parts(self, parameters: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``W``, ``R`` and ``log s`` from the vector."""
        observed, latents = len(self.moment), self.latents
        size = observed * latents
        return (
            parameters[:size].view(observed, latents),
            parameters[size : 2 * size].view(latents, observed),
            parameters[2 * size :],
        )

    def bound(self, parameters: Tensor) -> tuple[Tensor, Tensor]:
        """``E_q[log p(x|z)]`` and ``KL(q || N(0, I))``, means over the data, exactly."""
        weights, recognition, log_scale = self.parts(parameters)
        observed = len(self.moment)
        reduced = torch.eye(observed, dtype=parameters.dtype) - weights @ recognition
        error = torch.trace(reduced @ self.moment @ reduced.T)
        error = error + ((2 * log_scale).exp() * weights.square().sum(0)).sum()
        reconstruction = -0.5 * (error / self.variance + observed * math.log(2 * math.pi * self.variance))
        squares = torch.trace(recognition @ self.moment @ recognition.T)
        rate = 0.5 * (squares + ((2 * log_scale).exp() - 2 * log_scale - 1).sum())
        return reconstruction, rate

    def beta_objective(self, parameters: Tensor, beta: float) -> Tensor:
        """``L_beta`` (DEC Eq. 2)."""
        reconstruction, rate = self.bound(parameters)
        return reconstruction - beta * rate

    def entropy_objective(self, parameters: Tensor, beta: float) -> Tensor:
        """``L_{H,beta} = L + (beta - 1) / 2 log |S|`` (DEC Eq. 5)."""
        reconstruction, rate = self.bound(parameters)
        return reconstruction - rate + (beta - 1) * self.parts(parameters)[2].sum()

    def rescaled(self, parameters: Tensor, beta: float) -> Tensor:
        """``g_beta``: codes larger by ``sqrt(beta)``, and a decoder that divides by it."""
        weights, recognition, log_scale = self.parts(parameters)
        scale = math.sqrt(beta)
        parts = (weights / scale, recognition * scale, log_scale + math.log(scale))
        return torch.cat([part.flatten() for part in parts])

    def stationary_point(self, beta: float, seed: int = 0) -> Tensor:
        """Parameters at which the gradient of ``L_beta`` vanishes, found from a random start."""
        size = 2 * len(self.moment) * self.latents + self.latents
        generator = torch.Generator().manual_seed(seed)
        start = 0.5 * torch.randn(size, generator=generator, dtype=torch.float64)
        parameters = start.requires_grad_()
        maximise(
            lambda: self.beta_objective(parameters, beta),
            [parameters],
            steps=2000,
            history=50,
            tolerance_grad=1e-12,
            tolerance_change=0,
        )
        return parameters.detach()


def diagonal(mean: Tensor, scale: Tensor) -> "Independent[Normal]":
    """``N(mean, diag(scale^2))`` in the form that the encoders of this package return.

    Example:
        >>> diagonal(torch.zeros(2), torch.ones(2)).event_shape
        torch.Size([2])
    """
    return Independent(Normal(mean, scale), 1)
