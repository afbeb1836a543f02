"""The entropy of the aggregate posterior from a minibatch: how biased it is (DEC appendix C)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class EntropyBias:
    """What the estimate of DEC Eq. 10 says of the entropy of ``q(z)``, for several batch sizes.

    All in nats. ``estimates`` are means over batches and ``errors`` their standard errors; ``exact`` is the entropy of
    the mixture of all ``n`` encodings; ``no_overlap = log n + E_x H[q(z|x)]`` is where the estimate starts when no two
    members of a batch overlap; ``divergence`` is the exact ``KL(q(z) || p(z))`` to the standard normal, and
    ``divergence_estimates`` what the estimate makes of it, which may be negative.

    Example:
        >>> bias = entropy_bias(n=200, batch_sizes=(2, 200), batches=50, deviation=0.3)
        >>> bias.estimates[0] > bias.estimates[1]
        True
    """

    n: int
    batch_sizes: tuple[int, ...]
    estimates: tuple[float, ...]
    errors: tuple[float, ...]
    exact: float
    exact_error: float
    no_overlap: float
    divergence: float
    divergence_estimates: tuple[float, ...]


def entropy_bias(
    *,
    n: int = 5000,
    latents: int = 4,
    deviation: float = 0.25,
    batch_sizes: Sequence[int] = (2, 8, 32, 128, 512, 2048, 5000),
    batches: int = 100,
    seed: int = 0,
) -> EntropyBias:
    """Measure the bias of the minibatch entropy estimate where everything is known.

    The encodings are ``q(z|x_i) = N(mean_i, deviation^2 I)`` whose means make ``q(z)`` close to ``N(0, I)``: what a
    well-regularised encoder makes of ``n`` data points. The estimate is :func:`minibatch_log_density`, averaged over
    random batches.

    Args:
        n: number of data points.
        latents: size of the code.
        deviation: of each encoding.
        batch_sizes: ``B``; at ``B = n`` the estimate is unbiased.
        batches: how many batches of each size (fewer, but not less than 3, for large ones).
        seed: of the encodings, the batches and the codes.

    Reference: DEC appendix C, Eq. 10.

    Example:
        >>> entropy_bias(n=100, batch_sizes=(10,), batches=3).batch_sizes
        (10,)
    """
    generator = torch.Generator().manual_seed(seed)
    kind = {"generator": generator, "dtype": torch.float64}
    drawn: Tensor = torch.randn(n, latents, **kind)  # type: ignore[call-overload]
    means = math.sqrt(1 - deviation**2) * drawn
    constant = latents * (0.5 * math.log(2 * math.pi) + math.log(deviation))
    own_entropy = constant + latents / 2

    def log_densities(z: Tensor, centres: Tensor) -> Tensor:
        return -0.5 * torch.cdist(z, centres).square() / deviation**2 - constant

    def codes(rows: Tensor) -> Tensor:
        noise: Tensor = torch.randn(len(rows), latents, **kind)  # type: ignore[call-overload]
        return means[rows] + deviation * noise

    estimates, errors = [], []
    for size in batch_sizes:
        values = []
        for _ in range(max(3, min(batches, 20 * batches // size))):
            rows = torch.randperm(n, generator=generator)[:size]
            z = codes(rows)
            values.append(-minibatch_log_density(log_densities(z, means[rows]), n).mean())
        each = torch.stack(values)
        estimates.append(each.mean().item())
        errors.append((each.std() / math.sqrt(len(each))).item())

    z = codes(torch.randint(n, (max(n, 4000),), generator=generator))
    exact = -torch.cat([torch.logsumexp(log_densities(part, means), 1) for part in torch.split(z, 1000)])
    exact = exact + math.log(n)
    log_prior = -0.5 * (means.square().sum(1) + latents * deviation**2).mean() - 0.5 * latents * math.log(
        2 * math.pi
    )
    return EntropyBias(
        n=n,
        batch_sizes=tuple(batch_sizes),
        estimates=tuple(estimates),
        errors=tuple(errors),
        exact=exact.mean().item(),
        exact_error=(exact.std() / math.sqrt(len(exact))).item(),
        no_overlap=math.log(n) + own_entropy,
        divergence=(-exact.mean() - log_prior).item(),
        divergence_estimates=tuple(-value - log_prior.item() for value in estimates),
    )


def minibatch_log_density(log_densities: Tensor, n: int) -> Tensor:
    """The logarithm of ``q(z_b|x_b) / n + (n - 1) / (n (B - 1)) sum_b' q(z_b|x_b')`` over ``b' != b``, ``(B,)``.

    Args:
        log_densities: ``log q(z_b|x_b')``, ``(B, B)``.
        n: number of data points.

    Reference: DEC Eq. 10b.

    Example:
        >>> minibatch_log_density(torch.zeros(3, 3), 10).exp()  # all densities 1: so is their mixture
        tensor([1., 1., 1.])
    """
    size = len(log_densities)
    weights = torch.full_like(log_densities, math.log((n - 1) / (n * (size - 1))) if size > 1 else 0.0)
    weights.fill_diagonal_(-math.log(n) if size > 1 else 0.0)
    return torch.logsumexp(log_densities + weights, 1)
