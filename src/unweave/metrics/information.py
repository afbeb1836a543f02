"""Mutual information of binned codes and factors, with its sampling error and bias."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.metrics.validation import (
    CONTINUOUS_VALUES,
    Floats,
    Integers,
    check_count,
    check_pair,
    equal_width_bins,
    factor_classes,
)


def mutual_information(codes: ArrayLike, factors: ArrayLike, *, bins: int = 20) -> Floats:
    """Mutual information I(z_j; v_k) in nats of each binned latent and each factor, (latents, K).

    I(z; v) = sum_{z, v} p(z, v) log( p(z, v) / (p(z) p(v)) ) with p counted after cutting each latent into
    ``bins`` equal-width bins over its own range. Continuous factors are cut the same way.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values.
        bins: number of bins of each latent.

    Example:
        >>> v = np.arange(40)[:, None] % 2
        >>> mutual_information(np.hstack([v, 0 * v]), v).round(4).tolist()   # log 2 and nothing
        [[0.6931], [0.0]]

    """
    bins = check_count("bins", bins, 2)
    codes, table = check_pair(codes, factors, least=bins)
    return JointCounts.of(equal_width_bins(codes, bins), bins, *factor_classes(table, bins)).information


@dataclass(frozen=True)
class JointCounts:
    """Counts of every binned latent with every factor, and what follows from them.

    ``information`` (latents, K), ``entropies`` of the factors (K,) and ``code_entropies`` of the latents (latents,) are
    in nats. ``ratios`` and ``freedoms`` give the error of the information of a pair.

    Example:
        >>> v = np.arange(40)[:, None] % 2
        >>> joint = JointCounts.of(v.T, 2, v, (2,))
        >>> joint.information.round(4).tolist(), joint.entropies.round(4).tolist()
        ([[0.6931]], [0.6931])
    """

    binned: Integers
    classes: Integers
    counts: tuple[Integers, ...]
    information: Floats
    entropies: Floats
    code_entropies: Floats

    @classmethod
    def of(cls, binned: Integers, bins: int, classes: Integers, sizes: tuple[int, ...]) -> "JointCounts":
        """Count codes in bins 0 .. bins-1, (latents, n), against classes (n, K) of the given sizes."""
        latents = len(binned)
        rows = binned + bins * np.arange(latents)[:, None]
        values, cells = np.ascontiguousarray(classes.T), np.empty_like(rows)
        counts = []
        for k, size in enumerate(sizes):
            # In place: fresh memory for every factor would cost more than counting.
            np.multiply(rows, size, out=cells)
            cells += values[k]
            table = np.bincount(cells.ravel(), minlength=latents * bins * size)
            counts.append(table.reshape(latents, bins, size))
        n = binned.shape[1]
        of_codes = scipy.special.xlogy(rows_ := counts[0].sum(axis=2), rows_).sum(axis=1)
        of_factors = [
            float(scipy.special.xlogy(c, c).sum()) for c in (table[0].sum(axis=0) for table in counts)
        ]
        information = np.stack(
            [
                (_sum_xlogx(table) - of_codes - of_factor) / n + np.log(n)
                for table, of_factor in zip(counts, of_factors, strict=True)
            ],
            axis=1,
        )
        return cls(
            binned=binned,
            classes=classes,
            counts=tuple(counts),
            information=np.maximum(information, 0.0),
            entropies=np.log(n) - np.array(of_factors) / n,
            code_entropies=np.log(n) - of_codes / n,
        )

    def ratios(self, latent: int, factor: int) -> Floats:
        """``log( p(z, v) / (p(z) p(v)) )`` of each sample, (n,); its mean is the information of the pair."""
        counts = self.counts[factor][latent].astype(np.float64)
        n = self.binned.shape[1]
        expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / n
        table = np.log(np.where(counts > 0, counts, 1.0) / np.where(counts > 0, expected, 1.0))
        # One flat index: a lookup by row and column costs several times as much.
        cells = self.binned[latent] * counts.shape[1]
        cells += self.classes[:, factor]
        return np.asarray(table.ravel().take(cells))

    def surprises(self, factor: int) -> Floats:
        """``-log p(v)`` of each sample, (n,); its mean is the entropy of the factor."""
        counts = self.counts[factor][0].sum(axis=0)
        table = -np.log(np.maximum(counts, 1) / self.binned.shape[1])
        return np.asarray(table.take(self.classes[:, factor]))

    def unbiased(self) -> Floats:
        """The informations less the bias of counting, (latents, K); below 0 where that is larger."""
        return np.asarray(self.information - self.freedoms / (2 * self.binned.shape[1]))

    @cached_property
    def freedoms(self) -> Floats:
        """Occupied cells - rows - columns + 1, (latents, K): over 2 n the bias of an information (Miller-Madow)."""
        found = np.empty(self.information.shape)
        for k, counts in enumerate(self.counts):
            held = counts > 0
            rows, columns = held.any(axis=2).sum(axis=1), held.any(axis=1).sum(axis=1)
            found[:, k] = held.sum(axis=(1, 2)) - rows - columns + 1
        return found

    def informed(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which latents know something of a factor beyond doubt, and which perhaps, (latents,) each.

        2 n I of independent variables follows a chi-squared distribution with as many degrees of freedom as
        :attr:`freedoms` counts: a latent is informed if its largest one would come by chance less often than once in
        10,000 times, and perhaps informed if it would come more often than once in a billion times all the same.
        """
        chance = scipy.special.chdtrc(
            np.maximum(self.freedoms, 1.0), 2 * self.binned.shape[1] * self.information
        )
        least = chance.min(axis=1) * chance.shape[1]
        return least < 1e-4, (least < 1e-4) & (least > 1e-9)

    @property
    def crowded(self) -> bool:
        """Whether codes are so few that their bias is not known: fewer than 3 for an occupied cell, 20 for a value."""
        if min(int(counts[0].sum(axis=0).min()) for counts in self.counts) < 20:
            return True
        cells = max(int((counts > 0).sum(axis=(1, 2)).max()) for counts in self.counts)
        return int(self.binned.shape[1]) < 3 * cells


def neighbour_information(codes: Floats, classes: Integers) -> Floats:
    """I(z_j; v_k) in nats by the distance to the third nearest code of the same class, (latents, K).

    A latent with at most 64 values is one of classes, whose frequencies are counted. Distances between copies of a
    continuous code are 0, from which nothing can be estimated: copies are an error.

    References:
        Ross 2014, "Mutual information between discrete and continuous data sets", as in scikit-learn.

    Example:
        >>> v = np.arange(40)[:, None] % 2
        >>> neighbour_information(v * 1.0, v).round(4).tolist()
        [[0.6931]]

    """
    from sklearn.feature_selection import mutual_info_classif

    information = np.empty((codes.shape[1], classes.shape[1]))
    for j, code in enumerate(codes.T):
        values, cells = np.unique(code, return_inverse=True)
        if len(values) <= CONTINUOUS_VALUES:
            binned = cells.reshape(1, -1).astype(np.int64)
            sizes = tuple(int(size) + 1 for size in classes.max(axis=0))
            information[j] = JointCounts.of(binned, len(values), classes, sizes).information[0]
            continue
        if len(values) < 0.9 * len(code):
            raise UnweaveError(
                f"nearest neighbours need codes that differ, latent {j} has {len(values)} values in {len(code)} "
                f"samples: give every image once, or count bins"
            )
        for k, column in enumerate(classes.T):
            information[j, k] = mutual_info_classif(code[:, None], column, random_state=0)[0]
    return information


def class_entropies(classes: Integers) -> Floats:
    """The entropy of each column of classes (n, K) in nats, (K,).

    Example:
        >>> class_entropies(np.array([[0, 0], [1, 1]])).round(4).tolist()
        [0.6931, 0.6931]

    """
    shares = [np.bincount(column) / len(column) for column in classes.T]
    return np.array([-float(np.sum(scipy.special.xlogy(p, p))) for p in shares])


def wider_range(codes: Floats) -> Floats:
    """The least and the largest of 128 times as many codes, about, (2, latents).

    Of random halves the largest is sum_i x_(i) 2^-i on average, x_(i) being the i-th largest code, and of quarters
    sum_i x_(i) 3^(i-1) 4^-i. So a maximum grew by g from a half to the whole, and by r g from a quarter to a half: r =
    2 if the codes end at an edge, 1 if they thin out exponentially. Seven more doublings add g (1/r + 1/r^2 + ... +
    1/r^7). All latents and both ends share one r.

    Example:
        >>> wider_range(np.arange(101.0)[:, None]).round().tolist()
        [[-1.0], [101.0]]

    """
    count = min(32, len(codes))
    rank = np.arange(count)
    half, quarter = 0.5 ** (rank + 1), 0.75**rank / 4
    ends, grown = [], []
    for sign in (-1, 1):
        top = -np.sort(-np.partition(sign * codes, len(codes) - count, axis=0)[-count:], axis=0)
        of_half, of_quarter = half @ top / half.sum(), quarter @ top / quarter.sum()
        ends.append(top[0])
        grown.append((top[0] - of_half, of_half - of_quarter))
    last, before = np.array(grown).transpose(1, 0, 2)
    spread = np.maximum(np.ptp(codes, axis=0), 1e-300)
    ratio = max(float(np.sum(before / spread)) / max(float(np.sum(last / spread)), 1e-300), 0.8)
    more = last * float(np.sum(ratio ** -np.arange(1.0, 8.0)))
    return np.stack([-ends[0] - more[0], ends[1] + more[1]])


def wider_bins(codes: Floats, bins: int) -> Integers | None:
    """Bins of the codes, (latents, n), over :func:`wider_range`; None if that is wider by more than a tenth.

    Where a score differs between these bins and its own, it has no large-sample limit within reach.

    Example:
        >>> wider_bins(np.arange(100.0)[:, None], 2).sum()
        np.int64(50)

    """
    ends = wider_range(codes)
    if np.any(np.ptp(ends, axis=0) > 1.1 * np.ptp(codes, axis=0)):
        return None
    return equal_width_bins(np.vstack([codes, ends]), bins)[:, :-2]


UNSTEADY = "the bins follow the range of the codes, which grows with their number, and the score with it"
CROWDED = "the codes are too few for so many cells to be counted"
DOUBTFUL = "a latent can hardly be told from noise"
STEADY = 0.4
"""The largest drift of a score, in standard errors, that its interval bears: it then covers 93 % and more."""


def _sum_xlogx(counts: NDArray[Any]) -> Floats:
    """Sum of c log c over the last two axes; most cells of a table are empty, so only the others are looked at."""
    flat = counts.reshape(len(counts), -1)
    latent, cell = np.nonzero(flat)
    full = flat[latent, cell].astype(np.float64)
    return np.bincount(latent, full * np.log(full), minlength=len(flat)).astype(np.float64)
