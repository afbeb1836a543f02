"""Intervals of scores that are functions of counted informations: MIG, modularity, InfoM and InfoC."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unweave.metrics.information import JointCounts, information_of
from unweave.metrics.ranges import Ends, fine_bins, moved_edges, shifted_counts, wider_bins
from unweave.metrics.score import AT_THIS_NUMBER, Span, clipped, no_span, span_of
from unweave.metrics.validation import Floats

STEADY = 0.4
"""The largest drift of a score, in standard errors, that its interval bears: it then covers 93 % and more."""
SHUFFLES = 24
"""Shuffles of a latent that knows nothing, for the variance of what its bins happen to count."""
ENOUGH = 4_000
"""Codes that give a standard error to one part in a hundred."""
FEWEST = 1_500
"""Codes below which there is no interval: those of 500 codes covered 98 % and more in several cases, and none
between was counted."""
TOO_FEW = f"fewer than {FEWEST:,} codes are too few for the error to be known"
HEAVY_TAILS = "the range of the codes, which the bins follow, changes too much between samples: heavy tails"


@dataclass(frozen=True)
class CountedScore(ABC):
    """A score of the informations of binned codes, and its interval.

    It is that of the value of infinitely many codes if this is within reach, and otherwise that of the mean over
    samples of this number of codes.

    * Infinitely many: the corrected value +- 1.96 standard errors, if codes are enough for their cells to be counted,
      every latent is told from noise, and bins over :func:`~unweave.metrics.ranges.Ends.wider` leave it where it is.
    * This number: the plain value +- 1.96 standard errors, whose square is the sum of three parts: the counts in given
      bins, from the influence of each sample; the ends of the range, by moving each outward and inward by its
      error, see :class:`~unweave.metrics.ranges.Ends`; and latents that know nothing, whose bins count chance, from
      shuffles of them. There is none if tails are heavy.

    Args:
        codes: (n, latents) those that were counted.
        bins: of each.
        joint: their counts.
        sizes: of the factors.

    Example:
        >>> sorted(CountedScore.__abstractmethods__)  # what a score must say of itself
        ['corrected', 'plain', 'slopes']
    """

    codes: Floats
    bins: int
    joint: JointCounts
    sizes: tuple[int, ...]

    @abstractmethod
    def plain(self, information: Floats) -> Floats:
        """The score of each table of informations, (..., latents, K) -> (...)."""

    @abstractmethod
    def corrected(self, joint: JointCounts) -> float:
        """The score of counts less its bias."""

    @abstractmethod
    def slopes(self, information: Floats) -> tuple[Floats, Floats]:
        """The derivatives of the score by each information (latents, K), and by the entropy of each factor (K,)."""

    def uncertain(self, plain: float, corrected: float, error: float) -> bool:
        """Whether the correction itself is off by more than the interval bears."""
        return False

    @property
    def second_orders(self) -> Floats:
        """How much of the second order, freedoms / 2 n^2 for each information, adds to the first, (latents, K).

        An information that chance explains has the variance of chi-squared, of which the first order has twice as much.
        """
        return np.where(self.joint.likely, -1.0, 0.0)

    @property
    def at_an_end(self) -> bool:
        """Whether chance explains all that keeps the score from the end of its range.

        There an interval of the value of infinitely many codes would cover it always.
        """
        return False

    @property
    def silent(self) -> NDArray[np.bool_]:
        """Which latents know nothing, (latents,); the slopes by their informations do not count."""
        return ~self.joint.informed()[0]

    @property
    def nothing(self) -> NDArray[np.bool_]:
        """Which informations are 0 with infinitely many codes, (latents, K)."""
        return np.broadcast_to(self.silent[:, None], self.joint.information.shape)

    @property
    def moving(self) -> NDArray[np.intp]:
        """The latents whose range matters."""
        return np.arange(self.codes.shape[1])

    @cached_property
    def ends(self) -> Ends:
        """Of the latents whose range matters."""
        return Ends.of(self._moved())

    def _moved(self) -> Floats:
        """The codes of the latents whose range matters; a copy only if these are not all, and a latent in one piece."""
        moving = self.moving
        return self.codes if len(moving) == self.codes.shape[1] else self.codes.T[moving].T

    @property
    def _some(self) -> slice:
        """Codes that are enough for a variance, or for what a shift changes: 4,000 to 8,000 of more."""
        return slice(None, None, max(1, len(self.codes) // ENOUGH))

    def span(self, value: float, *, limit: bool = True) -> Span:
        """The interval; ``limit``: whether that of infinitely many codes may be tried."""
        if len(self.codes) < FEWEST:
            return no_span(TOO_FEW)
        if limit and not (self.joint.crowded or self.at_an_end or self.joint.informed()[1].any()):
            found = self._of_infinitely_many(value)
            if found is not None:
                return found
        return self._of_this_number(value)

    def _matters(self, slopes: Floats) -> NDArray[np.bool_]:
        """Which informations make up the variance, but for less than a hundredth of it, (latents, K).

        That of a small information I is 2 I / n.
        """
        parts = np.where(self.silent[:, None], 0.0, slopes**2 * self.joint.information)
        return np.asarray(parts > 1e-2 / parts.size * parts.sum())

    def variance(self, information: Floats) -> float:
        """Of the score in given bins: that of the mean of one term a sample.

        It is at least that of latents which know nothing: 2 n I is chi-squared there.
        """
        n = len(self.codes)
        by_information, by_entropy = self.slopes(information)
        by_information = np.where(self._matters(by_information), by_information, 0.0)
        own = float(np.var(self.joint.influence(by_information, by_entropy, self._some))) / n
        seconds = by_information**2 * np.maximum(self.joint.freedoms, 0.0) / (2 * n * n)
        return max(own + float(np.sum(self.second_orders * seconds)), float(np.sum(seconds)))

    def _of_infinitely_many(self, value: float) -> Span | None:
        """None if the score has no limit within reach."""
        moving = self.moving
        moved = wider_bins(self._moved(), self.ends, self.bins)
        if moved is None:
            return None
        unbiased = np.where(self.nothing, 0.0, self.joint.unbiased())
        centre, error = self.corrected(self.joint), float(np.sqrt(self.variance(unbiased)))
        binned = self.joint.binned.copy()
        binned[moving] = moved
        wider = JointCounts.of(binned, self.bins, self.joint.classes, self.sizes)
        if abs(self.corrected(wider) - centre) > STEADY * error or self.uncertain(value, centre, error):
            return None
        return span_of(value, float(np.clip(centre, 0.0, 1.0)), *_limits(centre, error, len(self.codes)))

    def _of_this_number(self, value: float) -> Span:
        errors = self.ends.errors()
        if self.ends.heavy(errors):
            return no_span(HEAVY_TAILS)
        variance = self.variance(self.joint.information)
        variance += self._of_ends(errors) + self._of_silent()
        low, high = _limits(value, float(np.sqrt(variance)), len(self.codes))
        return Span(low=low, high=high, corrected=None, no_interval="", covers=AT_THIS_NUMBER)

    def _of_ends(self, errors: Floats) -> float:
        """The variance that the ends of the range bring: moving each by its error out and in has twice its effect."""
        moving = self.moving
        matters = self._matters(self.slopes(self.joint.information)[0])[moving]
        outward = errors / np.maximum(self.ends.range, 1e-300)
        shifts = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]]) * outward.T[:, None]
        edges = moved_edges(self.bins, shifts)
        low = self.ends.mean - self.ends.away[0, 0]
        codes, spans = self._moved()[self._some], self.ends.range
        moved = np.repeat(self.joint.information[None, moving], 4, axis=0)
        classes = np.ascontiguousarray(self.joint.classes[self._some].T)
        for row in np.flatnonzero(matters.any(axis=1)):
            factors = np.flatnonzero(matters[row])
            sizes = [self.sizes[k] for k in factors]
            fine = fine_bins(codes[:, row], self.bins, float(low[row]), float(spans[row]))
            counts = shifted_counts(fine, edges[row], classes[factors], sizes)
            found = information_of(counts, sizes)
            moved[:2, row, factors] += (found[:2] - found[2:]) / 2
            moved[2:, row, factors] -= (found[:2] - found[2:]) / 2
        tables = np.tile(self.joint.information, (4, len(moving), 1, 1))
        tables[:, np.arange(len(moving)), moving] = moved
        scores = self.plain(tables)
        return float(np.sum((scores[:2] - scores[2:]) ** 2)) / 4

    def _of_silent(self) -> float:
        """The variance that latents bring which know nothing."""
        rng, total = np.random.default_rng(0), 0.0
        unsure = self.silent | self.joint.informed()[1]
        for j in np.flatnonzero(unsure):
            if not self.joint.binned[j].any():
                continue  # constant
            shuffled = np.stack([rng.permutation(self.joint.binned[j]) for _ in range(SHUFFLES)])
            counted = JointCounts.of(shuffled, self.bins, self.joint.classes, self.sizes)
            tables = np.tile(self.joint.information, (SHUFFLES, 1, 1))
            tables[:, j] = counted.information
            total += float(np.var(self.plain(tables), ddof=1))
        return total


def _limits(centre: float, error: float, n: int) -> tuple[float, float]:
    """1.96 errors to both sides; where nothing varies, as wide as for a share of 0 or 1 of n trials."""
    return clipped(centre, 1.96 * error if error > 0 else 1.96**2 / (n + 1.96**2))
