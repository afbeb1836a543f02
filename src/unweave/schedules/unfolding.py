"""Latents that open a few at a time, turned to independent directions while they are few."""

import math
from typing import final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.distributions import Independent, Normal

from unweave.errors import UnweaveError, check_at_least
from unweave.objectives import Progress
from unweave.posteriors import example_posteriors
from unweave.schedules.code_layers import CodeLayers
from unweave.schedules.core import Schedule, Stage
from unweave.schedules.rates import check_fall, check_warmup, line, warm_up
from unweave.vae import VAE

Floats = NDArray[np.float64]

_TURN_IMAGES = 4096
_ANGLES = np.linspace(-np.pi / 4, np.pi / 4, 46)
_USED = 0.3
"""Nats from which a latent counts as used."""


@final
class Unfolding(Schedule):
    """Two latents first, then a third, then all; the KL weighs most at the beginning. Ours, for any objective.

    While only a few latents are open and the KL weighs ``start`` times as much, they hold the strongest factors of the
    data (for sprites: both positions), and the map from factors to codes is nearly linear: what remains is the angle.
    At a few moments the code is *turned*: pairs of latents are rotated to where the entropy of their marginals is
    least (independent component analysis, without labels), in the two layers that face the code, so that the model
    computes the same images as before. Then the weight of the KL falls to that of the objective, and all latents open.

    With ``colours``, two of the latents that open last are *taught* the mean colour of an image for a while, as a
    target of their means. A colour that is worth little beside outlines is learned by neither half of the model before
    the other (docs/learning.md): the decoder paints it soon after the code tells it, and keeps it afterwards.

    Args:
        opens: points ``[fraction of all steps, number of open latents]``; behind the last all are open.
        all_open: fraction of all steps from which all latents are open.
        weights: points ``[fraction of all steps, factor of the KL]``, geometric between; 1 behind the last.
        turns: fractions of all steps at which the code is turned.
        least_gain: nats that a turn must gain.
        log_variance: bias of the posterior's log-variance at the beginning, so that codes are clear from the start.
        warmup: steps in which the learning rate grows linearly to its full value.
        hold: fraction of all steps after which it falls along a straight line.
        final: the factor of the learning rate at the end.
        colours: fraction of all steps until which, from ``all_open`` on, the mean colour is taught; none: it is not.
        colours_weight: nats that an error of one standard deviation costs in the lesson, doubled.

    Example:
        >>> schedule = Unfolding()
        >>> [schedule.open_latents(Progress(step, 100), 10) for step in (0, 20, 50)]
        [2, 3, 10]
        >>> round(schedule.kl_weight(Progress(0, 100)), 1), schedule.kl_weight(Progress(50, 100))
        (16.0, 1.0)
    """

    def __init__(
        self,
        *,
        opens: tuple[tuple[float, int], ...] = ((0.0, 2), (0.133, 3)),
        all_open: float = 0.3,
        weights: tuple[tuple[float, float], ...] = ((0.0, 16.0), (0.133, 16.0), (0.22, 10.0), (0.28, 1.0)),
        turns: tuple[float, ...] = (0.093, 0.113, 0.131, 0.17, 0.2, 0.218),
        least_gain: float = 0.01,
        log_variance: float | None = -5.0,
        warmup: int = 50,
        hold: float = 0.5,
        final: float = 0.02,
        colours: float | None = None,
        colours_weight: float = 50.0,
    ) -> None:
        places = [place for place, _ in (*opens, *weights)] + [*turns, all_open]
        if not all(0 <= place <= 1 for place in places):
            raise UnweaveError(
                "schedule.opens, schedule.weights, schedule.turns and schedule.all_open are fractions of all steps, "
                "from 0 to 1"
            )
        if any(weight <= 0 for _, weight in weights) or any(count < 1 for _, count in opens):
            raise UnweaveError("schedule.weights must be greater than 0 and schedule.opens at least 1")
        if colours is not None and not all_open < colours <= 1:
            raise UnweaveError(
                f"schedule.colours must lie between schedule.all_open = {all_open:g} and 1, got {colours:g}"
            )
        check_at_least("schedule.colours_weight", colours_weight, 0)
        self.colours, self.colours_weight = colours, colours_weight
        self.opens, self.all_open, self.weights = opens, all_open, weights
        self.turns, self.least_gain, self.log_variance = turns, least_gain, log_variance
        self.warmup, self.hold, self.final = check_warmup(warmup), *check_fall(hold, final)

    def rate(self, progress: Progress) -> float:
        """Warm-up, a constant, a straight line."""
        return warm_up(progress, self.warmup) * line(progress, self.hold, self.final)

    def kl_weight(self, progress: Progress) -> float:
        """Geometric between the points."""
        if not self.weights or progress.fraction >= self.weights[-1][0]:
            return self.weights[-1][1] if self.weights else 1.0
        places, weights = zip(*self.weights, strict=True)
        return float(np.exp(np.interp(progress.fraction, places, np.log(weights))))

    def lesson(self, model: VAE, images: Tensor, progress: Progress) -> Tensor | None:
        """Half the squared distance of two latents from the mean colour, times its weight, while that is taught."""
        if self.colours is None or not self.all_open <= progress.fraction < self.colours:
            return None
        first = self._first_taught
        errors = model.encode(images).mean[:, first : first + 2] - opponent_colours(images)
        return 0.5 * self.colours_weight * errors.square().sum(1).mean()

    @property
    def _first_taught(self) -> int:
        """The first latent of those that open last."""
        return max((count for _, count in self.opens), default=0)

    def open_latents(self, progress: Progress, latents: int) -> int:
        """How many latents are open at this step."""
        if progress.fraction >= self.all_open:
            return latents
        open_now = [count for place, count in self.opens if progress.fraction >= place]
        return min(latents, max(open_now, default=latents))

    def check(self, model: VAE) -> None:
        """The posterior must be a product of Gaussians, and the two layers that face the code must be found."""
        if not isinstance(model, VAE):
            raise UnweaveError(
                "schedule=Unfolding opens the latents of a VAE: choose schedule=Linear, or model=VAE"
            )
        q = example_posteriors(model.posterior, model.device)
        if not (isinstance(q, Independent) and isinstance(q.base_dist, Normal)):
            raise UnweaveError(
                "schedule=Unfolding needs a Gaussian posterior: choose posterior=DiagonalNormal or schedule=Linear"
            )
        CodeLayers.of(model)
        if self.colours is not None and model.image_shape[0] != 3:
            raise UnweaveError(
                f"schedule.colours needs images of three channels, these have {model.image_shape[0]}: omit it"
            )
        if self.colours is not None and model.latents < self._first_taught + 2:
            raise UnweaveError(
                f"schedule.colours teaches two latents that open last: latents must be at least "
                f"{self._first_taught + 2}, got {model.latents}"
            )

    def start(self, model: VAE) -> None:
        """Clear codes: small deviations of the posterior."""
        if self.log_variance is not None:
            bias = CodeLayers.of(model).head.bias
            if bias is not None:
                with torch.no_grad():
                    bias[model.latents :] = self.log_variance

    def before_step(self, stage: Stage) -> None:
        """Open latents, and turn the code if this step is one of the turns."""
        model, progress = stage.model, stage.progress
        count = self.open_latents(progress, model.latents)
        model.open_latents = None if count == model.latents else count
        if progress.step in {int(turn * progress.steps) for turn in self.turns}:
            self._turn(stage, count)

    @torch.no_grad()
    def _turn(self, stage: Stage, count: int) -> None:
        model = stage.model
        blocks = torch.split(stage.draw(_TURN_IMAGES), 256)
        posteriors = [model.encode(block) for block in blocks]
        means = torch.cat([q.mean for q in posteriors]).double().cpu().numpy()[:, :count]
        scales = torch.cat([q.stddev for q in posteriors]).double().cpu().numpy()[:, :count]
        turned = independent_directions(means, scales, self.least_gain)
        if turned is not None:
            rotation = np.eye(model.latents)
            rotation[:count, :count] = turned
            CodeLayers.of(model).rotate(torch.from_numpy(rotation), stage.optimizer)
            if stage.average is not None:
                CodeLayers.of(stage.average).rotate(torch.from_numpy(rotation))


def opponent_colours(images: Tensor) -> Tensor:
    """The mean colours of a batch, (n, 2), whatever the brightness: red against green, and both against blue.

    Shares of the three channels in the sum of an image, along two axes that grey lies at the middle of; each in
    standard deviations from the mean of the batch.

    Example:
        >>> red, green, blue = torch.eye(3)[:, :, None, None]
        >>> opponent_colours(torch.stack([red, 0.2 * green, blue])).round(decimals=2)
        tensor([[ 1.0000,  0.5800],
                [-1.0000,  0.5800],
                [ 0.0000, -1.1500]])
    """
    sums = images.sum((2, 3))
    red, green, blue = (sums / sums.sum(1, keepdim=True).clamp_min(1e-6)).unbind(1)
    axes = torch.stack([red - green, red + green - 2 * blue], 1)
    return (axes - axes.mean(0)) / axes.std(0).clamp_min(1e-3)


def independent_directions(means: Floats, scales: Floats, least_gain: float) -> Floats | None:
    """The rotation of codes to where the entropies of their marginals are least; none if no pair gains enough.

    Minimises ``sum_j H(mean_j) + 1/2 log E[variance_j]`` over rotations of pairs of used latents: the sum of entropies
    is least where latents are independent, and the second term is what a diagonal posterior loses by a rotation.

    Args:
        means: of posteriors, ``(n, latents)``.
        scales: standard deviations of posteriors, ``(n, latents)``.
        least_gain: nats that the rotation of a pair must gain.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> square = rng.uniform(-1, 1, (4000, 2))
        >>> c, s = np.cos(0.5), np.sin(0.5)
        >>> codes = square @ np.array([[c, s], [-s, c]])
        >>> back = independent_directions(codes, np.full((4000, 2), 0.1), 0.01)
        >>> round(abs(np.corrcoef((codes @ back.T)[:, 0], square[:, 0])[0, 1]), 2)
        np.float64(1.0)
    """
    codes, variances = means.copy(), np.mean(scales**2, axis=0)
    kl = np.mean(0.5 * (means**2 + scales**2 - 1) - np.log(scales), axis=0)
    used = np.flatnonzero(kl > _USED)
    total = np.eye(codes.shape[1])
    gained = False
    for _ in range(5):
        before = total
        for a, i in enumerate(used):
            for j in used[a + 1 :]:
                rotation = _best_rotation(codes, variances, int(i), int(j), least_gain)
                if rotation is not None:
                    codes, variances, total = codes @ rotation.T, rotation**2 @ variances, rotation @ total
                    gained = True
        if total is before:
            break
    return total if gained else None


def _best_rotation(codes: Floats, variances: Floats, i: int, j: int, least_gain: float) -> Floats | None:
    def cost(angle: float) -> float:
        c, s = math.cos(angle), math.sin(angle)
        entropy = _entropy(c * codes[:, i] + s * codes[:, j]) + _entropy(c * codes[:, j] - s * codes[:, i])
        one, two = c * c * variances[i] + s * s * variances[j], s * s * variances[i] + c * c * variances[j]
        return entropy + 0.5 * math.log(one * two)

    costs = [cost(angle) for angle in _ANGLES]
    best = int(np.argmin(costs))
    if cost(0.0) - costs[best] <= least_gain:
        return None
    c, s = math.cos(_ANGLES[best]), math.sin(_ANGLES[best])
    rotation = np.eye(codes.shape[1])
    rotation[[i, j], [i, j]] = c
    rotation[i, j], rotation[j, i] = s, -s
    return rotation


def _entropy(values: Floats) -> float:
    """Vasicek's estimate of the entropy of numbers (n,) from their spacings."""
    ordered = np.sort(values)
    m = round(math.sqrt(len(ordered)))
    spacings = np.maximum(ordered[2 * m :] - ordered[: -2 * m], 1e-12)
    return float(np.mean(np.log(spacings * len(ordered) / (2 * m))))
