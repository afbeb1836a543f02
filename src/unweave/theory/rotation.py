"""Rotations of the latent space: under which priors they change the objective (DEC theorem 2)."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.distributions import Distribution, Independent, MultivariateNormal, Normal, kl_divergence

from unweave.priors import AnisotropicNormal, GeneralizedNormal
from unweave.vae import VAE

PRIORS: dict[str, dict[str, Any]] = {
    "StandardNormal": {},
    "AnisotropicNormal": {"scales": "ones"},  # log-variances from 1 to -1, see informative_vae
    "StudentT": {"nu": 5.0},
    "GeneralizedNormal": {"p": 1.0},
    "SparseMixture": {},
    "GaussianMixture": {},
    "LpNested": {"p": 2.4},
    "ISA": {},
}
"""The priors of the comparison, with their options."""


def rotations(
    priors: Mapping[str, Mapping[str, Any]] = PRIORS,
    *,
    latents: int = 20,
    beta: float = 1.0,
    count: int = 100,
    images: int = 16,
    samples: int = 64,
    seed: int = 0,
) -> dict[str, NDArray[Any]]:
    """The change of ``L_beta`` when encoder and decoder of a VAE are rotated (DEC theorem 2).

    The turned networks encode ``x`` as ``N(R mean, R S R^T)``, a Gaussian with full covariance, and decode ``R^T z``.
    Both sides are computed from the same noise, so that the reconstructions agree to rounding and only the
    KL differs: in closed form for Gaussian priors, otherwise the mean of ``log q - log p`` over the samples.

    The networks are linear-tanh networks with random weights, whose encoder has been scaled to give means of unit
    variance and deviations around 0.3, so that it is informative. (Where ``q`` is ``N(0, I)`` for every ``x``, no
    prior distinguishes one rotation from another.)

    Args:
        priors: names and options.
        latents: size of the code.
        beta: weight of the KL.
        count: number of random rotations.
        images: number of data points.
        samples: codes drawn for each data point.
        seed: of images, networks, noise and rotations.

    Returns:
        For each prior ``L(x; theta(R), phi(R)) - L(x; theta, phi)`` in nats, ``(rotations, data points)``.

    Reference: DEC theorem 2, Eq. 6.

    Example:
        >>> changes = rotations({"StandardNormal": {}}, latents=4, count=2, samples=8, images=3)
        >>> changes["StandardNormal"].shape, bool(abs(changes["StandardNormal"]).max() < 1e-8)
        ((2, 3), True)
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(images, 1, 8, 8, generator=generator, dtype=torch.float64)
    noise = torch.randn(samples, images, latents, generator=generator, dtype=torch.float64)
    turns = [random_rotation(latents, generator) for _ in range(count)]
    changes = {}
    for name, options in priors.items():
        vae = informative_vae(latents, {"name": name, **options}, x, seed)
        with torch.no_grad():
            plain = objective(vae, x, noise, beta)
            each = [objective(vae, x, noise, beta, turn) - plain for turn in turns]
        changes[name] = torch.stack(each).numpy()
    return changes


def objective(vae: VAE, x: Tensor, noise: Tensor, beta: float, turn: Tensor | None = None) -> Tensor:
    """``L_beta`` of each image under the networks turned by ``R = turn``, ``(n,)``; not turned if it is none.

    Args:
        vae: the model whose networks are turned.
        x: images ``(n, ...)``.
        noise: standard normal numbers ``(samples, n, latents)``.
        beta: weight of the KL.
        turn: a rotation ``(latents, latents)``.

    Example:
        >>> x = torch.rand(2, 1, 8, 8, dtype=torch.float64)
        >>> vae = informative_vae(3, "StandardNormal", x, seed=0)
        >>> objective(vae, x, torch.randn(5, 2, 3, dtype=torch.float64), beta=4.0).shape
        torch.Size([2])
    """
    encoded = vae.encode(x)
    mean, root = encoded.mean, torch.diag_embed(encoded.stddev)
    turn = torch.eye(vae.latents, dtype=mean.dtype) if turn is None else turn
    mean, root = mean @ turn.T, turn @ root
    q = MultivariateNormal(mean, covariance_matrix=root @ root.mT)
    z = mean + (root @ noise.unsqueeze(-1)).squeeze(-1)
    flat = (z @ turn).flatten(0, 1)  # R^T z, for codes in rows
    images = x.expand(len(noise), *x.shape).flatten(0, 1)
    reconstruction = vae.decode(flat).log_prob(images).view(len(noise), -1).mean(0)
    prior = vae.prior()
    gaussian = _as_multivariate(prior)
    if gaussian is not None:
        divergence = kl_divergence(q, gaussian.expand(q.batch_shape))
    else:
        divergence = (q.log_prob(z) - prior.log_prob(z)).mean(0)
    return reconstruction - beta * divergence


def random_rotation(latents: int, generator: torch.Generator) -> Tensor:
    """A rotation matrix drawn uniformly (determinant 1).

    Example:
        >>> turn = random_rotation(3, torch.Generator().manual_seed(0))
        >>> bool(torch.allclose(turn @ turn.T, torch.eye(3).double())), round(torch.det(turn).item(), 6)
        (True, 1.0)
    """
    gaussian = torch.randn(latents, latents, generator=generator, dtype=torch.float64)
    basis, triangle = torch.linalg.qr(gaussian)
    turn: Tensor = basis * triangle.diagonal().sign()
    if torch.det(turn) < 0:
        turn[:, 0] = -turn[:, 0]
    return turn


def informative_vae(latents: int, prior: str | Mapping[str, Any], x: Tensor, seed: int) -> VAE:
    """A VAE of small random networks in double precision, whose encoder is informative about the images ``x``.

    Example:
        >>> x = torch.rand(50, 1, 8, 8, dtype=torch.float64)
        >>> informative_vae(3, "ISA", x, seed=0).encode(x).mean.std(0).round(decimals=2)
        tensor([1., 1., 1.], dtype=torch.float64, grad_fn=<RoundBackward1>)
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = {"name": "MLP", "hidden": (64,)}
        vae = VAE.assemble((1, 8, 8), latents, encoder=network, decoder=network, prior=prior).double()
    if isinstance(vae.prior, AnisotropicNormal):
        vae.prior.log_variance.data = torch.linspace(1.0, -1.0, latents, dtype=torch.float64)
    *_, last = (layer for layer in vae.encoder.modules() if isinstance(layer, nn.Linear))
    with torch.no_grad():
        features = vae.encoder(x)
        centre, spread = features.mean(0), features.std(0)
        spread[latents:] /= 0.3
        target = torch.zeros_like(centre)
        target[latents:] = 2 * math.log(0.3)
        last.weight /= spread.unsqueeze(1)
        last.bias.copy_((last.bias - centre) / spread + target)
    return vae.eval()


def preferred_angles(p: float, angles: NDArray[Any], n: int = 41) -> NDArray[Any]:
    """The mean log-density in nats of a square of positions turned by ``angles``, with exponent ``p`` (ISA figure 3).

    The square has unit variance along each side. Below ``p = 2`` the prior prefers it on a corner, above lying flat.

    Example:
        >>> flat, corner = preferred_angles(2.4, np.array([0.0, np.pi / 4]))
        >>> bool(flat > corner)
        True
    """
    side = np.linspace(-math.sqrt(3), math.sqrt(3), n)
    square = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    law = GeneralizedNormal(2, p=p)().base_dist
    turned = [square @ np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]]) for a in angles]
    logs = law.log_prob(torch.from_numpy(np.stack(turned))).sum(-1).mean(-1)
    values: NDArray[Any] = logs.numpy()
    return values


def _as_multivariate(prior: Distribution) -> MultivariateNormal | None:
    if isinstance(prior, Independent) and isinstance(prior.base_dist, Normal):
        return MultivariateNormal(prior.mean, torch.diag(prior.variance))
    return None
