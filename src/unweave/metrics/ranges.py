"""How far codes reach, and how much that depends on their number and on the sample."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from unweave.metrics.information import counts_of
from unweave.metrics.validation import Floats, Integers, equal_width_bins, unit_of

TOP = 32
"""The codes at each end that say how it would move."""
FINE = 4
"""Parts of a bin in which codes are counted to find what a shift of its edges would change."""

HEAVY = 0.12
"""The largest error of an end of the range, as a share of the range, of which the effect is known: tails are heavy
beyond it (normal noise has 0.05, Student's t with 3 degrees of freedom 0.2 of 1,500 codes)."""
DECISIVE = 0.15
"""The share of one code in the variance of squares beyond which tails are heavy: that of normal codes is 0.04 of 1,500,
of Student's t with 3 degrees of freedom 0.7."""
HEAVY_VARIANCE = "a single code decides the variance of a latent: heavy tails"


def heavy_variance(codes: Floats) -> bool:
    """Whether one code makes up more than ``DECISIVE`` of the variance of the squares of a latent.

    Example:
        >>> heavy_variance(np.arange(101.0)[:, None]), heavy_variance(np.append(np.arange(101.0), 1e3)[:, None])
        (False, True)

    """
    z = codes / unit_of(codes)
    squares = ((z - z.mean(axis=0)) ** 2 - z.var(axis=0)) ** 2
    return bool(np.any(squares.max(axis=0) > DECISIVE * squares.sum(axis=0), where=squares.any(axis=0)))


@dataclass(frozen=True)
class Ends:
    """The codes at both ends of each latent: what they say of other samples.

    Args:
        away: (2, TOP, latents) how far below the mean the least codes are, and above it the largest, furthest first.
        mean: (latents,) of the codes.
        deviation: (latents,) of the codes.

    Example:
        >>> Ends.of(np.arange(101.0)[:, None]).wider().round().tolist()
        [[-1.0], [101.0]]
    """

    away: Floats
    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, codes: Floats) -> "Ends":
        """The ends of codes (n, latents)."""
        means, found, deviations = [], [], []
        for code in codes.T:
            means.append(float(code.mean()))
            away = code - means[-1]
            found.append(_furthest(away))
            unit = unit_of(found[-1].reshape(-1, 1))[0]
            away /= unit
            deviations.append(float(np.sqrt(away @ away / len(codes)) * unit))
        return cls(np.stack(found, axis=2), np.array(means), np.array(deviations))

    @property
    def range(self) -> Floats:
        """Of each latent, (latents,)."""
        return np.asarray(self.away[:, 0].sum(axis=0))

    def wider(self) -> Floats:
        """The least and the largest of 128 times as many codes, about, (2, latents).

        Of random halves the largest is sum_i x_(i) 2^-i on average, x_(i) being the i-th largest code, and of quarters
        sum_i x_(i) 3^(i-1) 4^-i. So a maximum grew by g from a half to the whole, and by r g from a quarter to a half:
        r = 2 if the codes end at an edge, 1 if they thin out exponentially. Seven more doublings add g (1/r + 1/r^2 +
        ... + 1/r^7). All latents and both ends share one r.
        """
        rank = np.arange(self.away.shape[1])
        half, quarter = 0.5 ** (rank + 1), 0.75**rank / 4
        of_half = np.einsum("i,eij->ej", half, self.away) / half.sum()
        of_quarter = np.einsum("i,eij->ej", quarter, self.away) / quarter.sum()
        last, before = self.away[:, 0] - of_half, of_half - of_quarter
        spread = np.maximum(self.range, 1e-300)
        ratio = max(float(np.sum(before / spread)) / max(float(np.sum(last / spread)), 1e-300), 0.8)
        reach = self.away[:, 0] + last * float(np.sum(ratio ** -np.arange(1.0, 8.0)))
        return np.stack([self.mean - reach[0], self.mean + reach[1]])

    def errors(self) -> Floats:
        """The standard deviation, over samples, of the least and of the largest code of each latent, (2, latents).

        Near its end a sample follows an extreme value distribution: with E_i sums of i exponential variables, the i-th
        largest is (E_i^c - 1) a / -c, where c = 1 if the codes end at an edge and c -> 0 if they thin out
        exponentially. So E(x_1 - x_m) = a / c (Gamma(m + c) / Gamma(m) - Gamma(1 + c)) and Var x_1 = a^2 / c^2
        (Gamma(1 + 2c) - Gamma(1 + c)^2). All ends have one c, from the share that x_1 - x_3 has in x_1 - x_11;
        a is each one's own.

        Since each comes from ten gaps, which are exponential variables, it is widened as
        Student's t with 20 degrees of freedom is beside the normal distribution.

        References:
            Weissman 1978, "Estimation of parameters and large quantiles based on the k largest observations".

        Example:
            >>> Ends.of(np.random.default_rng(0).uniform(size=(1000, 200))).errors().mean(axis=1).round(4).tolist()
            [0.0011, 0.0011]

        """
        top = np.concatenate(list(self.away[:, :11]), axis=1)
        return (
            float(scipy.special.stdtrit(20, 0.975))
            / 1.96
            * _errors_of_maxima(top, np.tile(self.deviation, 2)).reshape(2, -1)
        )

    def heavy(self, errors: Floats) -> bool:
        """Whether an end varies by more than ``HEAVY`` of the range.

        Example:
            >>> ends = Ends.of(np.random.default_rng(0).standard_t(2, size=(1000, 2)))
            >>> ends.heavy(ends.errors())
            True

        """
        return bool(np.any(errors > HEAVY * self.range))


def _furthest(code: Floats) -> Floats:
    """How far the codes at both ends are from 0, (2, TOP), the furthest first."""
    count = min(TOP, len(code))
    some = code[:: max(1, len(code) // 1_000)]
    # As many of some codes are as far out, so those of all are further: few need to be sorted.
    edges = np.partition(some, [count - 1, len(some) - count]) if len(some) >= count else np.sort(code)
    low, high = np.sort(code[code <= edges[count - 1]]), np.sort(code[code >= edges[-count]])
    return np.stack([-low[:count], high[::-1][:count]])


def wider_bins(codes: Floats, ends: Ends, bins: int) -> Integers | None:
    """Bins of the codes, (latents, n), over :meth:`Ends.wider`; None if that is wider by more than a tenth.

    Where a score differs between these bins and its own, it has no large-sample limit within reach.

    Example:
        >>> codes = np.arange(100.0)[:, None]
        >>> wider_bins(codes, Ends.of(codes), 2).sum()
        np.int64(50)

    """
    wider = ends.wider()
    if np.any(np.ptp(wider, axis=0) > 1.1 * ends.range):
        return None
    return equal_width_bins(codes, bins, wider)


def fine_bins(code: Floats, bins: int, low: float, span: float) -> Integers:
    """The part, 0 .. bins * FINE - 1, in which each code of a latent (n,) lies if its range is cut so finely.

    Example:
        >>> fine_bins(np.array([0.0, 1.0, 4.0]), 2, 0.0, 4.0).tolist()
        [0, 2, 7]

    """
    parts = bins * FINE
    scaled = (code - low) * (parts / max(span, 1e-300))
    return np.clip(scaled, 0.0, parts - 1, out=scaled).astype(np.int64)


def moved_edges(bins: int, outward: Floats) -> Floats:
    """The edges of bins, in the parts of :func:`fine_bins`, if the ends of the range are moved, (..., bins + 1).

    Edges move the more the nearer they are to that end; the outer ones hold all codes all the same.

    Args:
        bins: of a latent.
        outward: (..., 2) by which share of the range the least and the largest code are moved.

    Example:
        >>> moved_edges(2, np.array([[0.0, 0.0], [0.0, 0.5]])).tolist()
        [[0.0, 4.0, 8.0], [0.0, 6.0, 8.0]]

    """
    way = np.arange(bins + 1) / bins
    edges: Floats = (way - (1 - way) * outward[..., :1] + way * outward[..., 1:]) * (bins * FINE)
    edges[..., 0], edges[..., -1] = 0.0, bins * FINE
    return np.clip(edges, 0.0, bins * FINE, out=edges)


def shifted_counts(fine: Integers, edges: Floats, classes: Integers, sizes: Sequence[int]) -> Floats:
    """Counts of the codes of a latent in bins whose ends are moved outward, (shifts, bins, sum of sizes).

    Codes count as evenly distributed within a part. The tables of the factors stand side by side.

    Args:
        fine: (n,) a latent of :func:`fine_bins`.
        edges: (shifts, bins + 1) of :func:`moved_edges`.
        classes: (K, n) of the factors.
        sizes: numbers of their classes.

    Example:
        >>> one, fine = np.zeros((1, 8), int), fine_bins(np.arange(8.0), 2, 0.0, 7.0)
        >>> shifted_counts(fine, moved_edges(2, np.array([[0.0, 0.0], [0.0, 1.0]])), one, (1,))[..., 0].tolist()
        [[4.0, 4.0], [8.0, 0.0]]

    """
    parts, start = (edges.shape[1] - 1) * FINE, 0
    total = np.zeros((parts + 1, sum(sizes)))
    for counted in counts_of(fine[None], parts, classes, tuple(sizes)):
        total[1:, start : start + counted.shape[2]] = counted[0]
        start += counted.shape[2]
    np.cumsum(total, axis=0, out=total)
    at = np.minimum(edges.astype(np.int64), parts - 1)
    below: Floats = total.take(at, axis=0)
    above: Floats = total.take(at + 1, axis=0)
    above -= below
    above *= (edges - at)[..., None]
    above += below
    return above[:, 1:] - above[:, :-1]


def _errors_of_maxima(top: Floats, deviation: Floats) -> Floats:
    """From the eleven largest of each column, (11, columns), and the deviation of the column."""
    from scipy.special import gamma

    whole = top[0] - top[10]
    c = np.linspace(1, 0.01, 100)
    to_third, to_eleventh = (gamma(m + c) / gamma(m) - gamma(1 + c) for m in (3, 11))
    scale = np.where(deviation > 0, deviation, 1.0)
    share = np.sum((top[0] - top[2]) / scale) / max(float(np.sum(whole / scale)), 1e-300)
    c = np.interp(share, to_third / to_eleventh, c)
    a = whole * c / (gamma(11 + c) / gamma(11) - gamma(1 + c))
    return np.asarray(a / c * np.sqrt(gamma(1 + 2 * c) - gamma(1 + c) ** 2))
