"""Mutual information of binned codes and factors, with its sampling error and bias."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from unweave.metrics.validation import check_count, check_pair, equal_width_bins, factor_classes


def mutual_information(codes: ArrayLike, factors: ArrayLike, *, bins: int = 20) -> NDArray[np.float64]:
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
    """JointCounts counts of every binned latent with every factor, and what follows from them.

    ``information`` (latents, K), ``entropies`` of the factors (K,) and ``code_entropies`` of the latents (latents,) are
    in nats. ``ratios`` and ``biases`` give the error of the information of a pair.

    Example:
        >>> v = np.arange(40)[:, None] % 2
        >>> joint = JointCounts.of(v.T, 2, v, (2,))
        >>> joint.information.round(4).tolist(), joint.entropies.round(4).tolist()
        ([[0.6931]], [0.6931])
    """

    binned: NDArray[np.int64]
    classes: NDArray[np.int64]
    counts: tuple[NDArray[np.int64], ...]
    information: NDArray[np.float64]
    entropies: NDArray[np.float64]
    code_entropies: NDArray[np.float64]

    @classmethod
    def of(
        cls, binned: NDArray[np.int64], bins: int, classes: NDArray[np.int64], sizes: tuple[int, ...]
    ) -> "JointCounts":
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
        of_codes = xlogy(rows_ := counts[0].sum(axis=2), rows_).sum(axis=1)
        of_factors = [float(xlogy(c, c).sum()) for c in (table[0].sum(axis=0) for table in counts)]
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

    def ratios(self, latent: int, factor: int) -> NDArray[np.float64]:
        """``log( p(z, v) / (p(z) p(v)) )`` of each sample, (n,); its mean is the information of the pair."""
        counts = self.counts[factor][latent].astype(np.float64)
        n = self.binned.shape[1]
        expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / n
        table = np.log(np.where(counts > 0, counts, 1.0) / np.where(counts > 0, expected, 1.0))
        # One flat index: a lookup by row and column costs several times as much.
        cells = self.binned[latent] * counts.shape[1]
        cells += self.classes[:, factor]
        looked_up: NDArray[np.float64] = table.ravel().take(cells)
        return looked_up

    def surprises(self, factor: int) -> NDArray[np.float64]:
        """``-log p(v)`` of each sample, (n,); its mean is the entropy of the factor."""
        counts = self.counts[factor][0].sum(axis=0)
        table = -np.log(np.maximum(counts, 1) / self.binned.shape[1])
        looked_up: NDArray[np.float64] = table.take(self.classes[:, factor])
        return looked_up

    def unbiased(self) -> NDArray[np.float64]:
        """The informations less the bias of counting, not below 0, (latents, K)."""
        latents, factors = self.information.shape
        free = [[self.freedoms(j, k) for k in range(factors)] for j in range(latents)]
        less: NDArray[np.float64] = self.information - np.array(free) / (2 * self.binned.shape[1])
        return np.maximum(less, 0.0)

    def freedoms(self, latent: int, factor: int) -> int:
        """Occupied cells - rows - columns + 1: over 2 n the bias of the pair's information (Miller-Madow)."""
        counts = self.counts[factor][latent]
        rows, columns = int(np.any(counts, axis=1).sum()), int(np.any(counts, axis=0).sum())
        return int((counts > 0).sum()) - rows - columns + 1


def _sum_xlogx(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Sum of c log c over the last two axes; most cells of a table are empty, so only the others are looked at."""
    flat = counts.reshape(len(counts), -1)
    latent, cell = np.nonzero(flat)
    full = flat[latent, cell].astype(np.float64)
    return np.bincount(latent, full * np.log(full), minlength=len(flat)).astype(np.float64)
