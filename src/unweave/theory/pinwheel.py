"""The effect of alpha and beta: the ablation of DEC figure 3, all models trained as one batched computation."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.distributions import Independent, Normal

from unweave.data import Pinwheel
from unweave.functional import aggregate
from unweave.functional.untyped import apply_function
from unweave.priors import GaussianMixture

ALPHAS = (0.0, 1.0, 3.0, 5.0, 8.0)
BETAS = (0.01, 0.1, 0.3, 0.6, 1.2)
"""The figure's values are not in the paper's text; these span the same range of behaviour."""

_LOG_VARIANCE = 12.0
_CHUNK = 4
_NEGLIGIBLE = -80.0
"""Below this the exponential is a denormal number, which processors compute twenty times slower."""


@dataclass(frozen=True)
class Ablation:
    """Encodings of the pinwheel under every ``alpha``, ``beta`` and seed, and their overlap and mismatch.

    Arrays over models have shape ``(alphas, betas, seeds)``: ``overlap``, the number of data points that a code may
    come from (``n exp(-I(x; z))``, from 1, a lookup table, to ``n``, no information); ``mismatch``,
    ``KL(p(z) || q(z))`` in nats. ``means`` and ``scales`` of the encodings have two more axes, ``(..., n, 2)``.

    Example:
        >>> done = ablation(alphas=(0.0, 5.0), betas=(0.1,), seeds=1, steps=3)
        >>> done.overlap.shape, done.means.shape
        ((2, 1, 1), (2, 1, 1, 400, 2))
    """

    alphas: tuple[float, ...]
    betas: tuple[float, ...]
    means: NDArray[Any]
    scales: NDArray[Any]
    overlap: NDArray[Any]
    mismatch: NDArray[Any]

    def density(self, alpha: int, beta: int, seed: int, points: NDArray[Any]) -> NDArray[Any]:
        """The aggregate posterior ``q(z) = 1/n sum_i q(z|x_i)`` of one model of the grid, at points ``(m, 2)``."""
        mean, scale = (torch.from_numpy(a[alpha, beta, seed]) for a in (self.means, self.scales))
        values: NDArray[Any] = (
            aggregate(_gaussians(mean, scale), torch.from_numpy(points)).joint.exp().numpy()
        )
        return values


def ablation(
    alphas: tuple[float, ...] = ALPHAS,
    betas: tuple[float, ...] = BETAS,
    *,
    seeds: int = 4,
    steps: int = 500,
    learning_rate: float = 1e-3,
    tell: Callable[[str], None] = lambda _: None,
) -> Ablation:
    """Train ``L(alpha, beta)`` of DEC Eq. 7 on the pinwheel for all combinations at once.

    Each model: encoder and decoder of one hidden layer of 100 (DEC table 1b), Gaussian likelihood with mean and
    variance from the decoder, mixture prior of Eq. 9, the divergence ``KL(p(z) || q(z))`` estimated with all ``n``
    encodings and ``n`` samples of the prior, AMSGrad at 1e-3, batch of all ``n`` points, 500 epochs. Models of one
    seed share their starting weights and noise, so that they differ in ``alpha`` and ``beta`` alone.

    Args:
        alphas: weights of the divergence.
        betas: weights of the KL.
        seeds: of each model.
        steps: of training.
        learning_rate: of training.
        tell: receives texts on the progress.

    Reference: DEC Eq. 7, section 6.2, appendix B.

    Example:
        >>> bool((ablation(alphas=(0.0,), betas=(0.1, 1.0), seeds=1, steps=2).overlap >= 1).all())
        True
    """
    models = _Models(torch.from_numpy(Pinwheel().points), alphas, betas, seeds)
    optimizer = torch.optim.Adam(models.weights, lr=learning_rate, amsgrad=True)
    for step in range(steps):
        loss = models.loss()
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        optimizer.step()
        if step % 10 == 9:
            tell(f"{len(models.beta)} models, step {step + 1} of {steps}")
    measured = models.measure()

    def array(values: Tensor) -> NDArray[Any]:
        return values.reshape(len(alphas), len(betas), seeds, *values.shape[1:]).double().numpy()

    arrays = {name: array(values) for name, values in measured.items()}
    return Ablation(tuple(alphas), tuple(betas), **arrays)


class _Models:
    """All models of a grid as one batch: their weights, their summed loss, and what is measured of them."""

    def __init__(self, x: Tensor, alphas: Sequence[float], betas: Sequence[float], seeds: int) -> None:
        grid = [(a, b, s) for a in alphas for b in betas for s in range(seeds)]
        self.x, self.inputs = x, x.expand(len(grid), *x.shape)
        self.alpha, self.beta = torch.tensor([g[0] for g in grid]), torch.tensor([g[1] for g in grid])
        self.seed_of = torch.tensor([g[2] for g in grid])
        self.generators = [torch.Generator().manual_seed(seed) for seed in range(seeds)]
        self.weights = [w.requires_grad_() for w in _start(self.generators, self.seed_of)]
        self.prior = GaussianMixture(2)()

    def encode(self) -> tuple[Tensor, Tensor]:
        """Means and log-variances of the encodings, ``(models, n, 2)`` each."""
        return _network(self.inputs, self.weights[:4])

    def code(self, mean: Tensor, log_variance: Tensor) -> tuple[Tensor, Tensor]:
        """A code of each encoding and the standard normal noise that it was drawn with, ``(models, n, 2)`` each."""
        noise = torch.stack([torch.randn(*self.x.shape, generator=g) for g in self.generators])[self.seed_of]
        return mean + (0.5 * log_variance).exp() * noise, noise

    def reconstruction(self, z: Tensor) -> Tensor:
        """``E[-log p(x|z)]``, ``(models,)``."""
        mean, log_variance = _network(z, self.weights[4:])
        losses = (self.x - mean).square() * (-log_variance).exp() + log_variance + math.log(2 * math.pi)
        return 0.5 * losses.sum(-1).mean(-1)

    def loss(self) -> Tensor:
        """The negative objective of DEC Eq. 7, summed over the models, of which none shares a weight with another."""
        mean, log_variance = self.encode()
        z, noise = self.code(mean, log_variance)
        reconstruction = self.reconstruction(z)
        rate = (_log_density(noise, log_variance) - self.prior.log_prob(z)).mean(-1)
        loss: Tensor = (reconstruction + self.beta * rate).sum()
        matched = self.alpha > 0
        if matched.any():
            wanted = _sample(self.prior, len(self.x), self.generators[0])
            fit = apply_function(_LogAggregate, mean[matched], log_variance[matched], wanted)
            loss = loss + (self.alpha[matched] * (self.prior.log_prob(wanted).mean() - fit)).sum()
        return loss

    @torch.no_grad()
    def measure(self) -> dict[str, Tensor]:
        """The fields of :class:`Ablation` that are computed from the trained models."""
        mean, log_variance = self.encode()
        scale = (0.5 * log_variance).exp()
        z, noise = self.code(mean, log_variance)
        wanted = _sample(self.prior, 2000, self.generators[0])
        encodings = [_gaussians(m, s) for m, s in zip(mean, scale, strict=True)]
        own = torch.stack([aggregate(q, at).joint.mean() for q, at in zip(encodings, z, strict=True)])
        fit = torch.stack([aggregate(q, wanted).joint.mean() for q in encodings])
        information = _log_density(noise, log_variance).mean(-1) - own
        return {
            "means": mean,
            "scales": scale,
            "overlap": len(self.x) * torch.exp(-information),
            "mismatch": self.prior.log_prob(wanted).mean() - fit,
        }


def _log_density(noise: Tensor, log_variance: Tensor) -> Tensor:
    """``log q(z|x)`` of codes drawn with that noise."""
    return -0.5 * (noise.square() + log_variance + math.log(2 * math.pi)).sum(-1)


def _start(generators: list[torch.Generator], seed_of: Tensor) -> list[Tensor]:
    """PyTorch's own starting weights of two linear layers, for the encoder and the decoder, a copy for each model."""
    weights = []
    for inputs, outputs in ((2, 100), (100, 4), (2, 100), (100, 4)):
        for rows in (inputs, 1):
            each = [torch.rand(rows, outputs, generator=g) * 2 - 1 for g in generators]
            weights.append(torch.stack(each)[seed_of] / math.sqrt(inputs))
    return weights


def _network(inputs: Tensor, weights: list[Tensor]) -> tuple[Tensor, Tensor]:
    hidden = torch.baddbmm(weights[1], inputs, weights[0]).relu()
    first, second = torch.baddbmm(weights[3], hidden, weights[2]).chunk(2, -1)
    return first, second.clamp(-_LOG_VARIANCE, _LOG_VARIANCE)


def _sample(prior: torch.distributions.MixtureSameFamily, n: int, generator: torch.Generator) -> Tensor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
        drawn: Tensor = prior.sample((n,))
        return drawn


def _gaussians(means: Tensor, scales: Tensor) -> "Independent[Normal]":
    return Independent(Normal(means, scales, validate_args=False), 1)


class _LogAggregate(torch.autograd.Function):
    """The mean over codes of ``log q(z)`` as :func:`unweave.functional.aggregate` gives it, for many models at once.

    Training evaluates it 500 times for 80 models, which takes most of its time. So the gradient is computed together
    with the value: the log-densities of all codes under all encodings are a product of two thin matrices, needed for
    both, and for a few models at a time they stay in the processor's cache.
    """

    @staticmethod
    def forward(ctx: Any, mean: Tensor, log_variance: Tensor, z: Tensor) -> Tensor:
        precision = (-log_variance).exp()
        constant = -0.5 * (mean.square() * precision + log_variance + math.log(2 * math.pi)).sum(-1)
        linear = mean * precision
        of_codes = torch.cat([z.square(), z, torch.ones_like(z[:, :1])], 1)
        of_encodings = torch.cat([-0.5 * precision, linear, constant.unsqueeze(-1)], -1)
        values, gradients = [], []
        for part in torch.split(of_encodings, _CHUNK):
            logits = of_codes @ part.mT
            highest = logits.amax(-1, keepdim=True)
            weights = logits.sub_(highest).clamp_(min=_NEGLIGIBLE).exp_()
            sums = weights.sum(-1, keepdim=True)
            values.append((sums.log() + highest).squeeze(-1).mean(-1))
            gradients.append(weights.mT @ (of_codes / sums) / len(z))
        by_precision, by_linear, by_constant = torch.split(torch.cat(gradients), [2, 2, 1], -1)
        # by the chain rule through -1/2 e^-v, mean e^-v and the constant
        ctx.save_for_backward(
            precision * (by_linear - mean * by_constant),
            precision * (0.5 * by_precision - mean * by_linear + 0.5 * mean.square() * by_constant)
            - 0.5 * by_constant,
        )
        return torch.cat(values) - math.log(mean.shape[1])

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, Tensor, None]:
        by_mean, by_log_variance = ctx.saved_tensors
        outer = outer.view(-1, 1, 1)
        return outer * by_mean, outer * by_log_variance, None
