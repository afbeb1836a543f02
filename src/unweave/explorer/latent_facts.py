"""What the page says of each latent: its name, how much it holds, and between which values the prior puts it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unweave.gan import GAN
from unweave.models import TrainedModel
from unweave.vae import VAE

DRAWS = 256
"""Codes of the prior that the page carries."""

_MEASURED = 20_000
"""Codes of the prior from which its marginals are read."""

_TAIL = 0.005
"""Share of the prior beyond each end of a slider."""


@dataclass(frozen=True)
class LatentFacts:
    """The latents of a model, in their order.

    Args:
        names: what each is called.
        suggestions: the factor that sits in a latent, for those in which one does.
        kl: mean KL of each in nats; none: not known.
        measure: what ``kl`` is, in a few words.
        ranges: lowest and highest value of each slider.
        values: of a latent with classes, all its values.
        draws: codes of the prior ``(n, latents)``.

    Example:
        >>> facts = LatentFacts(("z0", "z1"), {}, np.array([0.1, 2.0]), "KL", [(-2, 2)] * 2, {}, np.zeros((1, 2)))
        >>> facts.order
        [1, 0]
    """

    names: tuple[str, ...]
    suggestions: dict[int, str]
    kl: NDArray[np.float64] | None
    measure: str
    ranges: Sequence[tuple[float, float]]
    values: dict[int, list[float]]
    draws: NDArray[np.float32]

    @property
    def order(self) -> list[int]:
        """The latents, largest KL first."""
        count = len(self.names)
        return list(range(count)) if self.kl is None else np.argsort(-self.kl, kind="stable").tolist()

    def to_json(self) -> list[dict[str, Any]]:
        """One mapping for each latent."""
        return [
            {
                "number": j,
                "name": name,
                "suggestion": self.suggestions.get(j),
                "kl": None if self.kl is None or not np.isfinite(self.kl[j]) else round(float(self.kl[j]), 4),
                "low": round(float(self.ranges[j][0]), 4),
                "high": round(float(self.ranges[j][1]), 4),
                "values": self.values.get(j),
            }
            for j, name in enumerate(self.names)
        ]


def latent_facts(
    model: TrainedModel,
    means: NDArray[Any] | None = None,
    scales: NDArray[Any] | None = None,
    kl: NDArray[Any] | None = None,
) -> LatentFacts:
    """The facts of a model's latents; the KL is that of its scores, else that of codes of its data.

    Args:
        model: of which.
        means: of codes of its data ``(n, latents)``, if they are known.
        scales: their deviations.
        kl: their KL, ``(n, latents)``, or ``(n, 1)`` if the prior does not factorise.

    Example:
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> [round(edge, 1) for edge in latent_facts(model).ranges[0]]  # 0.5 % of N(0, 1) lie below -2.58
        [-2.6, 2.6]
    """
    drawn = prior_draws(model, _MEASURED)
    values = _classes(model)
    ranges = [(float(low), float(high)) for low, high in np.quantile(drawn, [_TAIL, 1 - _TAIL], axis=0).T]
    for j, of_class in values.items():
        ranges[j] = (of_class[0], of_class[-1])
    found, measure = _kl(model, means, scales, kl, drawn)
    suggested = {j: name for j, name in model.suggested_names().items() if j not in model.names}
    return LatentFacts(model.latent_names, suggested, found, measure, ranges, values, drawn[:DRAWS])


def prior_draws(model: TrainedModel, n: int, seed: int = 0) -> NDArray[np.float32]:
    """``n`` codes of the model's prior ``(n, latents)``, whether it factorises or not.

    A model without a prior (one that is neither a VAE nor a GAN) gets even draws over the values that its pictures
    sweep.

    Example:
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> prior_draws(model, 5).shape
        (5, 2)
    """
    inside = model.model
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if isinstance(inside, VAE):
            return np.asarray(inside.prior().sample(torch.Size([n])).cpu().numpy(), np.float32)
        if isinstance(inside, GAN):
            drawn = inside.draw(n)
            columns = [drawn.continuous.cpu().numpy()]
            for k, size in enumerate(inside.categorical):
                columns.append(np.linspace(-1, 1, size)[drawn.classes[:, k : k + 1].cpu().numpy()])
            return np.concatenate(columns, axis=1).astype(np.float32)
    low, high = inside.span
    even = np.random.default_rng(seed).uniform(low, high, (n, model.latents))
    return even.astype(np.float32)


def _classes(model: TrainedModel) -> dict[int, list[float]]:
    if not isinstance(model.model, GAN):
        return {}
    sizes = model.model.categorical
    return {j: np.linspace(-1, 1, size).tolist() for j, size in zip(model.model.discrete, sizes, strict=True)}


def _kl(
    model: TrainedModel,
    means: NDArray[Any] | None,
    scales: NDArray[Any] | None,
    kl: NDArray[Any] | None,
    drawn: NDArray[np.float32],
) -> tuple[NDArray[np.float64] | None, str]:
    """Mean KL of each latent and what it is; of a prior that does not factorise, that to a Gaussian of its moments."""
    measure = "information" if isinstance(model.model, GAN) else "KL"
    if model.kl is not None:
        return model.kl, measure
    if means is None or scales is None or kl is None:
        return None, measure
    if kl.shape == means.shape:
        return np.asarray(kl.mean(axis=0), np.float64), measure
    middle, spread = drawn.mean(axis=0), np.maximum(drawn.std(axis=0), 1e-6)
    ratio = np.maximum(scales, 1e-6) / spread
    each = 0.5 * (ratio**2 + ((means - middle) / spread) ** 2 - 1) - np.log(ratio)
    return np.asarray(
        each.mean(axis=0), np.float64
    ), "KL to a Gaussian with the mean and variance of the prior"
