"""Log-likelihood of images under a VAE, by importance sampling with many particles."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unweave.errors import UnweaveError
from unweave.likelihoods import Likelihood
from unweave.metrics import Score
from unweave.metrics.score import interval_of_mean
from unweave.model_metrics.model_metric import Evaluated, ModelMetric
from unweave.vae import VAE, as_tensor

PARTICLES = 5_000
"""Particles per image, as in FAC appendix E."""


@torch.no_grad()
def iwae(vae: VAE, images: Tensor, *, particles: int = PARTICLES, block: int = 250) -> tuple[Tensor, Tensor]:
    """The importance-weighted bound on ``log p(x)`` of each image in nats, ``(n,)``, and its effective particles.

        log p(x) >= log (1/K) sum_k w_k,   w_k = p(x|z_k) p(z_k) / q(z_k|x),   z_k ~ q(z|x),

    for any prior, decoder and likelihood. Particles are decoded ``block`` at a time and summed as logarithms in double
    precision, so neither memory nor the size of the weights sets a limit. The effective number of particles is
    (sum w)^2 / sum w^2. Near 1, a single particle dominates and the bound is loose.

    Args:
        vae: the model.
        images: (n, *image_shape) in [0, 1].
        particles: K.
        block: particles decoded at a time.

    Reference: FAC appendix E; Burda et al. 2016, Eq. 8.

    Example:
        >>> bound, effective = iwae(VAE.assemble((1, 32, 32), 2), torch.zeros(3, 1, 32, 32), particles=10)
        >>> bound.shape, bool((effective >= 1).all())
        (torch.Size([3]), True)
    """
    if particles < 1 or block < 1:
        raise UnweaveError(f"particles and block must be at least 1, got {particles} and {block}")
    prior = vae.prior()
    bounds, effective = [], []
    for image in torch.split(images, 1):
        q = vae.encode(image)
        total = squares = torch.full((), -math.inf, dtype=torch.float64, device=image.device)
        for start in range(0, particles, block):
            z = q.sample(torch.Size([min(block, particles - start)]))
            p = vae.decode(z.flatten(0, 1))
            logs = p.log_prob(image.expand(len(z), *image.shape[1:])).double()
            logs += (prior.log_prob(z) - q.log_prob(z)).double().flatten()
            total = torch.logaddexp(total, logs.logsumexp(0))
            squares = torch.logaddexp(squares, (2 * logs).logsumexp(0))
        bounds.append(total - math.log(particles))
        effective.append((2 * total - squares).exp())
    return torch.stack(bounds), torch.stack(effective)


def log_likelihood(
    vae: object,
    images: NDArray[Any],
    *,
    particles: int = PARTICLES,
    seed: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> Score:
    """The mean importance-weighted bound on ``log p(x)`` in nats per image, with the interval of that mean.

    A likelihood that is a loss without its constant (MSE, overlap losses) gives a number for comparison only;
    ``constants["normalised"]`` is then ``False``. With standardised images it is the density of those.

    Args:
        vae: a VAE; a GAN has no likelihood, which is an error.
        images: (n, channels, height, width).
        particles: of each image.
        seed: of the particles.
        tell: called with a line of text for each image.

    Example:
        >>> score = log_likelihood(VAE.assemble((1, 32, 32), 2), np.zeros((2, 1, 32, 32), np.uint8), particles=5)
        >>> score.value < 0
        True
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return _log_likelihood(vae, images, particles, tell)


@final
@dataclass(frozen=True)
class LogLikelihood(ModelMetric):
    """The importance-weighted bound on ``log p(x)`` of a few images, which takes minutes.

    Args:
        particles: of each image.
        images: how many.

    Example:
        >>> from unweave.data import XYSquares
        >>> vae, squares, rng = VAE.assemble((3, 64, 64), latents=2), XYSquares(), np.random.default_rng(0)
        >>> metric = LogLikelihood(particles=5, images=2)
        >>> metric.compute(Evaluated(vae, squares, None), rng).constants["images"]
        2
    """

    particles: int = PARTICLES
    images: int = 64

    name = "log_likelihood"
    sentence = "Importance-weighted bound on log p(x), 5000 particles; takes minutes."

    def compute(self, evaluated: Evaluated, rng: np.random.Generator) -> Score:
        """From different images of the data set."""
        dataset = evaluated.dataset
        if dataset.count is None:
            images = dataset.sample(self.images, rng).images
        else:
            rows = rng.choice(dataset.count, min(self.images, dataset.count), replace=False)
            images = dataset.at(rows)
        return _log_likelihood(evaluated.model, images, self.particles, evaluated.tell)


def _log_likelihood(vae: object, images: NDArray[Any], particles: int, tell: Callable[[str], None]) -> Score:
    if not isinstance(vae, VAE):
        raise UnweaveError(f"log_likelihood needs a model with a likelihood, {type(vae).__name__} has none")
    bounds, effective = [], []
    for i in range(len(images)):
        tell(f"log-likelihood: image {i + 1} of {len(images)}, {particles} particles each")
        bound, used = iwae(vae, as_tensor(images[i : i + 1], vae.device), particles=particles)
        bounds.append(float(bound))
        effective.append(float(used))
    return Score(
        "log_likelihood",
        *interval_of_mean(np.array(bounds)),
        (None, None),
        True,
        "Kim & Mnih 2018 (FAC), appendix E; Burda et al. 2016, Eq. 8",
        {
            "unit": "nats per image",
            "particles": particles,
            "images": len(images),
            "effective_particles": float(np.mean(effective)),
            "normalised": vae.likelihood.normalised,
            "likelihood": " of ".join(
                type(part).__name__ for part in vae.likelihood.modules() if isinstance(part, Likelihood)
            ),
        },
    )
