"""Modularity: whether each latent knows a single factor."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from unweave.errors import check_choice
from unweave.metrics.counted import CountedScore
from unweave.metrics.information import JointCounts
from unweave.metrics.score import SINGLE_FACTOR, Score, no_span
from unweave.metrics.validation import (
    Floats,
    check_count,
    check_pair,
    equal_width_bins,
    factor_classes,
)

Mode = Literal["disentanglement_lib", "dcf", "ubisoft"]
MODES: dict[str, int] = {"disentanglement_lib": 20, "dcf": 20, "ubisoft": 10}
_REFERENCE = "Ridgeway & Mozer 2018, section 3"


def modularity(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    mode: Mode = "disentanglement_lib",
    bins: int | None = None,
    interval: bool = True,
) -> Score:
    """Modularity, in [0, 1]: 1 if each latent has mutual information with one factor at most.

    modularity = mean_j ( 1 - sum_{k != k*} I_jk^2 / (I_jk*^2 (K - 1)) ), with k* the factor that latent j knows most
    of, from binned codes. A latent that knows nothing counts 0. Completeness does not matter: duplicated codes
    score 1.

    A latent of pure noise has 0 / 0: whatever its bins happen to count decides. So the corrected value, that of
    infinitely many codes, is made of the informations less their bias, and latents that independence explains count 0
    (see :meth:`~unweave.metrics.information.JointCounts.informed`). Its interval is 1.96 standard errors, from the
    influence of each sample on the frequencies that are counted. If codes are few for the cells, if their range moves
    the bins, or if a latent can hardly be told from noise, the interval is that of the mean over samples of *this
    number of codes* (``Score.covers`` says so). Heavy tails leave none. See
    :class:`~unweave.metrics.counted.CountedScore`.

    Modes: ``disentanglement_lib``: 20 bins for codes; ``dcf``: 20 bins for codes and factors; ``ubisoft``: 10 for both
    (the last two libraries divide 0 by 0 for a dead code; here it counts 0).

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values.
        mode: whose definition.
        bins: number of bins; the mode's own by default.
        interval: whether to compute one.

    References:
        Ridgeway & Mozer 2018, section 3.

    Example:
        >>> v = np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2)
        >>> round(modularity(v, v).value, 6), round(modularity(v.sum(1, keepdims=True), v).value, 6)
        (1.0, 0.0)

    """
    check_choice("mode of modularity", mode, MODES)
    bins = check_count("bins", MODES[mode] if bins is None else bins, 2)
    codes, table = check_pair(codes, factors, least=bins)
    codes = np.asfortranarray(codes)  # a latent in one piece
    if mode != "disentanglement_lib":
        table = equal_width_bins(table.astype(np.float64), bins).T
    classes, sizes = factor_classes(table, bins)
    joint = JointCounts.of(equal_width_bins(codes, bins), bins, classes, sizes)
    each = _modularities(joint.information)
    value = float(np.mean(each))
    constants = {
        "mode": mode,
        "bins": bins,
        "samples": len(codes),
        "of_latents": each.tolist(),
        "mutual_information": joint.information.tolist(),
    }
    span = no_span(SINGLE_FACTOR if len(sizes) == 1 else "")
    if interval and len(sizes) > 1:
        span = _Modularity(codes, bins, joint, sizes).span(value)
    return Score("modularity", value, reference=_REFERENCE, constants=constants, **span)


@dataclass(frozen=True)
class _Modularity(CountedScore):
    """The score as a function of informations."""

    def plain(self, information: Floats) -> Floats:
        return np.asarray(_modularities(information).mean(axis=-1))

    @property
    def at_an_end(self) -> bool:
        rest = np.broadcast_to(~self.silent[:, None], self.joint.information.shape).copy()
        rest[np.arange(len(rest)), self.joint.information.argmax(axis=1)] = False
        return self.joint.by_chance(rest)

    def corrected(self, joint: JointCounts) -> float:
        return float(np.mean(np.where(self.silent, 0.0, _modularities(joint.unbiased()))))

    def slopes(self, information: Floats) -> tuple[Floats, Floats]:
        latents, factors = information.shape
        slopes = np.zeros_like(information)
        if factors > 1:
            loud = np.flatnonzero(~self.silent)
            known, k = information[loud], information[loud].argmax(axis=1)
            best = known[np.arange(len(loud)), k]
            slopes[loud] = -2 * known / best[:, None] ** 2
            slopes[loud, k] = 2 * (np.sum(known**2, axis=1) - best**2) / best**3
        return slopes / (max(factors - 1, 1) * latents), np.zeros(factors)


def _modularities(information: Floats) -> Floats:
    """Of each latent, (..., latents, K) -> (..., latents)."""
    squares = information**2
    best = squares.max(axis=-1)
    alive = best > 1e-20
    factors = squares.shape[-1]
    if factors == 1:
        return np.asarray(alive, dtype=np.float64)
    rest = (squares.sum(axis=-1) - best) / np.where(alive, best * (factors - 1), 1.0)
    return np.where(alive, 1 - rest, 0.0)
