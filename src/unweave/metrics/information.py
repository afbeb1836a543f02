"""Mutual information of binned codes and factors, with its sampling error and bias."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
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
    unit_of,
)

_MOST_CELLS = 4096
"""Cells of a table in which several factors are counted together: they stay in a processor's nearest memory."""


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
        counts = counts_of(binned, bins, np.ascontiguousarray(classes.T), sizes)
        n = binned.shape[1]
        of_codes = _xlogx(counts[0].sum(axis=2)).sum(axis=1)
        of_factors = [float(_xlogx(table[0].sum(axis=0)).sum()) for table in counts]
        information = np.stack(
            [
                (_xlogx(table).sum(axis=(1, 2)) - of_codes - of_factor) / n + np.log(n)
                for table, of_factor in zip(counts, of_factors, strict=True)
            ],
            axis=1,
        )
        entropies, code_entropies = np.log(n) - np.array(of_factors) / n, np.log(n) - of_codes / n
        most = np.minimum(entropies, code_entropies[:, None])  # but for rounding
        return cls(
            binned=binned,
            classes=classes,
            counts=counts,
            information=np.clip(information, 0.0, np.maximum(most, 0.0)),
            entropies=entropies,
            code_entropies=code_entropies,
        )

    def ratios(self, factor: int, latents: NDArray[np.intp]) -> Floats:
        """``log( p(z, v) / (p(z) p(v)) )`` of each cell, (latents, bins * values); 0 where it is empty.

        Its mean over the samples is the information of a pair.
        """
        counts = self.counts[factor][latents].astype(np.float64)
        n = self.binned.shape[1]
        expected = counts.sum(axis=2, keepdims=True) * counts.sum(axis=1, keepdims=True)
        empty = counts == 0
        counts[empty], expected[empty] = 1.0, n
        counts *= n
        counts /= expected
        return np.log(counts, out=counts).reshape(len(latents), -1)

    def surprises(self, factor: int) -> Floats:
        """``-log p(v)`` of each sample, (n,); its mean is the entropy of the factor."""
        counts = self.counts[factor][0].sum(axis=0)
        table = -np.log(np.maximum(counts, 1) / self.binned.shape[1])
        return np.asarray(table.take(self.classes[:, factor]))

    def influence(self, by_information: Floats, by_entropy: Floats, samples: slice = slice(None)) -> Floats:
        """The effect of each of the samples, up to a constant, on a score with slopes (latents, K) and (K,)."""
        influence = np.zeros(self.binned[0, samples].shape)
        for k in range(by_information.shape[1]):
            latents = np.flatnonzero(by_information[:, k])
            if not len(latents):
                continue
            tables = self.ratios(k, latents) * by_information[latents, k, None]
            size, column = self.counts[k].shape[2], np.ascontiguousarray(self.classes[samples, k])
            for table, j in zip(tables, latents, strict=True):
                # One flat index: a lookup by row and column costs several times as much.
                cells = self.binned[j, samples] * size
                cells += column
                influence += table.take(cells)
        for factor in np.flatnonzero(by_entropy).tolist():
            influence += by_entropy[factor] * self.surprises(factor)[samples]
        return influence

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

    @cached_property
    def _chances(self) -> Floats:
        """How often independence brings an information as large, of each latent and factor, (latents, K)."""
        return np.asarray(
            scipy.special.chdtrc(np.maximum(self.freedoms, 1.0), 2 * self.binned.shape[1] * self.information)
        )

    def informed(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which latents know something of a factor beyond doubt, and which perhaps, (latents,) each.

        2 n I of independent variables follows a chi-squared distribution with as many degrees of freedom as
        :attr:`freedoms` counts: a latent is informed if its largest one would come by chance less often than once in
        10,000 times, and perhaps informed if it would come more often than once in a billion times all the same.
        """
        least = self._chances.min(axis=1) * self._chances.shape[1]
        return least < 1e-4, (least < 1e-4) & (least > 1e-9)

    def represented(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Of which factors some latent knows something beyond doubt, and of which perhaps, (K,) each."""
        least = self._chances.min(axis=0) * self._chances.shape[0]
        return least < 1e-4, (least < 1e-4) & (least > 1e-9)

    @property
    def likely(self) -> NDArray[np.bool_]:
        """Which informations independence brings once in a hundred times and more, (latents, K)."""
        return np.asarray(self._chances > 0.01)

    def by_chance(self, pairs: NDArray[np.bool_]) -> bool:
        """Whether independence of some pairs (latents, K) brings as much in all once in a hundred times and more."""
        found = 2 * self.binned.shape[1] * float(self.information[pairs].sum())
        return bool(scipy.special.chdtrc(max(float(self.freedoms[pairs].sum()), 1.0), found) > 0.01)

    @property
    def crowded(self) -> bool:
        """Whether codes are so few that their bias is not known: fewer than 3 for an occupied cell, 20 for a value."""
        if min(int(counts[0].sum(axis=0).min()) for counts in self.counts) < 20:
            return True
        cells = max(int((counts > 0).sum(axis=(1, 2)).max()) for counts in self.counts)
        return int(self.binned.shape[1]) < 3 * cells


def counts_of(binned: Integers, bins: int, classes: Integers, sizes: tuple[int, ...]) -> tuple[Integers, ...]:
    """Counts of the binned latents (latents, n) with each of the factors (K, n), (latents, bins, size) of each factor.

    Factors of few classes are counted together and their tables summed: passing over the samples is what costs.

    Example:
        >>> counts_of(np.array([[0, 1, 1]]), 2, np.array([[0, 0, 1], [2, 0, 0]]), (2, 3))[1].tolist()
        [[[0, 0, 1], [2, 0, 0]]]

    """
    found: dict[int, Integers] = {}
    cells = np.empty(binned.shape[1], dtype=np.int64)
    for factors in _together(bins, sizes):
        shape = tuple(sizes[k] for k in factors)
        joined, column = math.prod(shape), classes[factors[0]]
        for k in factors[1:]:
            column = column * sizes[k] + classes[k]
        table = np.empty((len(binned), bins * joined), dtype=np.int64)
        # A latent at a time: fresh memory for all of them would cost more than counting.
        for code, counted in zip(binned, table, strict=True):
            np.multiply(code, joined, out=cells)
            cells += column
            counted[:] = np.bincount(cells, minlength=bins * joined)
        of_all = table.reshape(len(binned), bins, *shape)
        for place, k in enumerate(factors):
            others = tuple(2 + other for other in range(len(factors)) if other != place)
            found[k] = of_all.sum(axis=others) if others else of_all
    return tuple(found[k] for k in range(len(sizes)))


@lru_cache(maxsize=256)
def _together(bins: int, sizes: tuple[int, ...]) -> list[list[int]]:
    """Factors whose joint classes are few enough to be counted in one table with bins: the smallest of a table first.

    Sums along short innermost axes are slow.

    Example:
        >>> _together(20, (3, 6, 40, 32, 32))
        [[0, 2], [1, 3], [4]]

    """
    groups: list[list[int]] = []
    for k in sorted(range(len(sizes)), key=lambda k: -sizes[k]):
        for group in groups:
            if bins * sizes[k] * math.prod(sizes[other] for other in group) <= _MOST_CELLS:
                group.insert(0, k)
                break
        else:
            groups.append([k])
    return groups


def information_of(counts: Floats, sizes: Sequence[int]) -> Floats:
    """The informations in nats of a latent and several factors, (..., K), of counts, which need not be whole numbers.

    Args:
        counts: (..., bins, sum of sizes) the tables of the factors side by side.
        sizes: of the factors.

    Example:
        >>> information_of(np.array([[2.0, 0.0, 1.0, 1.0], [0.0, 2.0, 1.0, 1.0]]), (2, 2)).round(4).tolist()
        [0.6931, 0.0]

    """
    rows, columns = counts[..., : sizes[0]].sum(axis=-1), counts.sum(axis=-2)
    n = rows.sum(axis=-1)[..., None]
    of_cells = _xlogx(counts).sum(axis=-2)
    of_cells -= _xlogx(columns)
    own = np.add.reduceat(of_cells, np.cumsum([0, *sizes[:-1]]), axis=-1)
    return np.asarray((own - _xlogx(rows).sum(axis=-1)[..., None]) / n + np.log(n))


def neighbour_information(codes: Floats, classes: Integers) -> Floats:
    """I(z_j; v_k) in nats by the distance to the third nearest code of the same class, (latents, K).

    A latent with at most 64 values, most of them shared by samples, is one of classes, whose frequencies are counted.
    Distances between copies of a continuous code are 0, from which nothing can be estimated: copies are an error. So
    are few rows, each of them given several times, if a latent has a value of its own for each row: counted as
    classes, every such latent would know all of every factor.

    References:
        Ross 2014, "Mutual information between discrete and continuous data sets", as in scikit-learn.

    Example:
        >>> v = np.arange(40)[:, None] % 2
        >>> neighbour_information(v * 1.0, v).round(4).tolist()
        [[0.6931]]

    """
    from sklearn.feature_selection import mutual_info_classif

    information = np.empty((codes.shape[1], classes.shape[1]))
    rows, combinations = len(np.unique(np.hstack([codes, classes]), axis=0)), len(np.unique(classes, axis=0))
    for j, code in enumerate(codes.T):
        values, cells = np.unique(code, return_inverse=True)
        differ = len(values) >= 0.9 * len(code)
        copied = len(values) == rows > combinations
        if len(values) <= CONTINUOUS_VALUES and not differ and not copied:
            binned = cells.reshape(1, -1).astype(np.int64)
            sizes = tuple(int(size) + 1 for size in classes.max(axis=0))
            information[j] = JointCounts.of(binned, len(values), classes, sizes).information[0]
            continue
        if not differ:
            raise UnweaveError(
                f"nearest neighbours need codes that differ, latent {j} has {len(values)} values in {len(code)} "
                f"samples: give every image once, or count bins"
            )
        sized = code / unit_of(code[:, None])[0]  # which does not take a spread below 1e-7 for one
        for k, column in enumerate(classes.T):
            information[j, k] = mutual_info_classif(sized[:, None], column, random_state=0)[0]
    return information


def class_entropies(classes: Integers) -> Floats:
    """The entropy of each column of classes (n, K) in nats, (K,).

    Example:
        >>> class_entropies(np.array([[0, 0], [1, 1]])).round(4).tolist()
        [0.6931, 0.6931]

    """
    shares = [np.bincount(column) / len(column) for column in classes.T]
    return np.array([-float(np.sum(scipy.special.xlogy(p, p))) for p in shares])


def _xlogx(x: NDArray[Any]) -> Floats:
    """``x log x``, 0 at 0; several times as fast as looking for zeros, or as ``xlogy``, where few are 0."""
    found: Floats = np.maximum(x, 1e-300)
    np.log(found, out=found)
    found *= x
    return found
