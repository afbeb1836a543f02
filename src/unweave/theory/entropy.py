"""The bias of the minibatch estimate of the entropy of the aggregate posterior (DEC appendix C)."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent, Normal

from unweave.functional import aggregate, mixture_weights


@dataclass(frozen=True)
class EntropyBias:
    """The estimate of the entropy of ``q(z)`` by DEC Eq. 10, for several batch sizes.

    All in nats. ``estimates`` are means over batches and ``errors`` their standard errors; ``exact`` is the entropy of
    the mixture of all ``n`` encodings: its density is exact, the mean of ``-log q(z)`` is one over codes, without bias,
    and ``exact_error`` is its standard error; ``no_overlap = log n + E_x H[q(z|x)]`` is the value of the estimate when
    no two members of a batch overlap; ``divergence`` is ``KL(q(z) || p(z))`` to the standard normal from the same
    codes, and ``divergence_estimates`` are those that follow from ``estimates``; they may be negative.

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
    batch_sizes: tuple[int, ...] | None = None,
    batches: int = 100,
    seed: int = 0,
) -> EntropyBias:
    """Measure the bias of the minibatch entropy estimate in a case where everything is known.

    The encodings are ``q(z|x_i) = N(mean_i, deviation^2 I)`` whose means make ``q(z)`` close to ``N(0, I)``, as a
    well-regularised encoder encodes ``n`` data points. The estimate is :func:`minibatch_entropy`, averaged over random
    batches.

    Args:
        n: number of data points.
        latents: size of the code.
        deviation: of each encoding.
        batch_sizes: ``B``; at ``B = n`` the estimate is unbiased; none: 2, 8, 32, 128, 512, 2048 as far as there are
            data, and all of them.
        batches: how many batches of each size (fewer for large ones, but at least 3).
        seed: of the encodings, the batches and the codes.

    Reference: DEC appendix C, Eq. 10.

    Example:
        >>> entropy_bias(n=100, batch_sizes=(10,), batches=3).batch_sizes
        (10,)
    """
    encodings = _Encodings(n, latents, deviation, seed)
    sizes = batch_sizes or (*(size for size in (2, 8, 32, 128, 512, 2048) if size < n), n)
    moments = []
    for size in sizes:
        count = max(3, min(batches, 20 * batches // size))
        values = torch.stack([minibatch_entropy(*encodings.batch(size), n) for _ in range(count)])
        moments.append(_mean_and_error(values))
    estimates, errors = zip(*moments, strict=True)
    with torch.no_grad():
        q, z = encodings.all_with_codes(max(n, 4000))
        exact, exact_error = _mean_and_error(-aggregate(q, z).joint)
    log_prior = encodings.expected_log_prior()
    return EntropyBias(
        n=n,
        batch_sizes=sizes,
        estimates=estimates,
        errors=errors,
        exact=exact,
        exact_error=exact_error,
        no_overlap=math.log(n) + latents * (0.5 * math.log(2 * math.pi) + math.log(deviation) + 0.5),
        divergence=-exact - log_prior,
        divergence_estimates=tuple(-value - log_prior for value in estimates),
    )


class _Encodings:
    """``q(z|x_i) = N(mean_i, deviation^2 I)`` for ``n`` data points, with codes drawn from them."""

    def __init__(self, n: int, latents: int, deviation: float, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.deviation = torch.tensor(deviation, dtype=torch.float64)
        self.means = math.sqrt(1 - deviation**2) * self._noise(n, latents)

    def batch(self, size: int) -> "tuple[Independent[Normal], Tensor]":
        """The encodings of a random batch, and a code of each."""
        points = torch.randperm(len(self.means), generator=self.generator)[:size]
        return self._of(points), self._codes(points)

    def all_with_codes(self, count: int) -> "tuple[Independent[Normal], Tensor]":
        """All encodings, and codes of random data points."""
        points = torch.randint(len(self.means), (count,), generator=self.generator)
        return self._of(torch.arange(len(self.means))), self._codes(points)

    def expected_log_prior(self) -> float:
        """``E_q(z)[log N(z; 0, I)]`` in nats."""
        latents = self.means.shape[1]
        squares = self.means.square().sum(1).mean() + latents * self.deviation**2
        return -0.5 * squares.item() - 0.5 * latents * math.log(2 * math.pi)

    def _of(self, points: Tensor) -> "Independent[Normal]":
        return Independent(Normal(self.means[points], self.deviation), 1)

    def _codes(self, points: Tensor) -> Tensor:
        return self.means[points] + self.deviation * self._noise(len(points), self.means.shape[1])

    def _noise(self, count: int, latents: int) -> Tensor:
        return torch.randn(count, latents, generator=self.generator, dtype=torch.float64)


def _mean_and_error(values: Tensor) -> tuple[float, float]:
    """The mean and its standard error."""
    return values.mean().item(), (values.std() / math.sqrt(len(values))).item()


@torch.no_grad()
def minibatch_entropy(q: Distribution, z: Tensor, n: int) -> Tensor:
    """The estimate of the entropy of ``q(z)`` from a batch, in nats: the mean of ``-log q(z_b)`` with

    ``q(z_b) = q(z_b|x_b) / n + (n - 1) / (n (B - 1)) sum_b' q(z_b|x_b')`` over ``b' != b``.

    Args:
        q: the ``B`` encodings of the batch.
        z: a code of each, ``(B, latents)``.
        n: number of data points.

    Reference: DEC Eq. 10b.

    Example:
        >>> q = Independent(Normal(torch.zeros(3, 1), 1.0), 1)  # all encodings are the same: so is their mixture
        >>> minibatch_entropy(q, torch.zeros(3, 1), 10)  # log sqrt(2 pi)
        tensor(0.9189)
    """
    return -aggregate(q, z, mixture_weights("split", len(z), n)).joint.mean()
