"""Mutual information gap: whether each factor has one latent of its own."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from unweave.metrics.score import Score
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
    return _informations(equal_width_bins(codes, bins), *factor_classes(table, bins), bins)[0]


def mig(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    bins: int = 20,
    intervals: int = 100,
    rng: np.random.Generator | None = None,
) -> Score:
    """Mutual information gap from binned codes, in [0, 1]: 1 if each factor sits in exactly one latent.

    MIG = mean_k ( I_(1)k - I_(2)k ) / H(v_k), with I_(1)k and I_(2)k the largest and second largest
    mutual information of factor k with any latent (0 where there is no second latent). It compares single
    latents with single factors, so it is blind to structure that is only rotated (SBD app. H).

    The interval is value +- 1.96 standard deviations over bootstrap resamples of whole samples, in which the
    two leading latents of each factor stay those of the full data. (Percentiles of the resamples would be
    biased upwards, as every count-based mutual information is.)

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; each must take two values or more.
        bins: number of equal-width bins of each latent.
        intervals: number of resamples; 0 for no interval.
        rng: source of the resamples; ``np.random.default_rng(0)`` by default.

    References:
        Chen et al. 2018, "Isolating sources of disentanglement in variational autoencoders", Eq. 6;
        binned as by Locatello et al. 2019.

    Example:
        >>> v = np.stack(np.meshgrid(range(10), range(10)), -1).reshape(-1, 2)
        >>> round(mig(v, v).value, 6), mig(v @ [[1, 1], [1, -1]], v).value < 0.1
        (1.0, True)

    """
    bins, intervals = check_count("bins", bins, 2), check_count("intervals", intervals, 0)
    codes, table = check_pair(codes, factors, least=bins)
    binned = equal_width_bins(codes, bins)
    classes, sizes = factor_classes(table, bins)
    information, entropies = _informations(binned, classes, sizes, bins)
    order = np.argsort(-information, axis=0, kind="stable")[:2]
    leading = np.take_along_axis(information, order, axis=0)
    gaps = (leading[0] - (leading[1] if len(leading) > 1 else 0.0)) / entropies
    value, low, high = float(np.mean(gaps)), None, None
    if intervals:
        rng = np.random.default_rng(0) if rng is None else rng
        half = 1.96 * float(np.std(_resampled(binned, classes, sizes, bins, order, intervals, rng), ddof=0))
        low, high = max(0.0, value - half), min(1.0, value + half)
    return Score(
        "mig",
        value,
        low,
        high,
        reference="Chen et al. 2018, Eq. 6, from binned posterior means",
        constants={
            "bins": bins,
            "samples": len(codes),
            "resamples": intervals,
            "gaps": gaps.tolist(),
            "leading_latents": order[0].tolist(),
            "entropies": entropies.tolist(),
            "mutual_information": information.tolist(),
        },
    )


def _informations(
    binned: NDArray[np.int64], classes: NDArray[np.int64], sizes: tuple[int, ...], bins: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mutual information (latents, K) and factor entropies (K,)."""
    latents = len(binned)
    rows = binned + bins * np.arange(latents)[:, None]
    values, cells = np.ascontiguousarray(classes.T), np.empty_like(rows)
    pairs = []
    for k, size in enumerate(sizes):
        np.multiply(
            rows, size, out=cells
        )  # in place: fresh memory for every factor would cost more than counting
        cells += values[k]
        counts = np.bincount(cells.ravel(), minlength=latents * bins * size)
        pairs.append(_information(counts.reshape(latents, bins, size)))
    return np.stack([i for i, _ in pairs], axis=1), np.array([h[0] for _, h in pairs])


def _information(counts: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mutual information of joint counts (..., codes, values), and the entropy of the values; nats."""
    n = counts.sum(axis=(-2, -1))
    rows, columns = counts.sum(axis=-1), counts.sum(axis=-2)
    joint = xlogy(counts, counts).sum(axis=(-2, -1))
    of_rows, of_columns = xlogy(rows, rows).sum(axis=-1), xlogy(columns, columns).sum(axis=-1)
    information = (joint - of_rows - of_columns) / n + np.log(n)
    return np.maximum(information, 0.0), np.log(n) - of_columns / n


def _resampled(
    binned: NDArray[np.int64],
    classes: NDArray[np.int64],
    sizes: tuple[int, ...],
    bins: int,
    order: NDArray[np.intp],
    resamples: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """The gap of bootstrap resamples, (resamples,)."""
    n, leads = len(classes), len(order)
    starts = np.concatenate([[0], np.cumsum([leads * bins * size for size in sizes])])
    cells = np.concatenate(
        [
            starts[k] + (lead * bins + binned[j]) * size + classes[:, k]
            for k, size in enumerate(sizes)
            for lead, j in enumerate(order[:, k])
        ]
    )
    gaps = np.empty(resamples)
    for r in range(resamples):
        weights = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
        counts = np.bincount(cells, np.tile(weights, leads * len(sizes)), minlength=starts[-1])
        parts = []
        for k, size in enumerate(sizes):
            information, entropies = _information(
                counts[starts[k] : starts[k + 1]].reshape(leads, bins, size)
            )
            gap = information[0] - (information[1] if leads > 1 else 0.0)
            # A tiny resample may hold one value of the factor only; it then tells nothing.
            parts.append(gap / entropies[0] if entropies[0] > 1e-12 else 0.0)
        gaps[r] = np.mean(parts)
    return gaps
