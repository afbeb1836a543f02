"""The aggregate posterior q(z) = (1/N) sum_n q(z | x_n) of a whole data set: its joint and marginal log densities.

In numpy, on purpose: metrics score plain arrays and must not import torch. The torch estimates from batches, with
gradients and for any posterior that factorises, are in :mod:`unweave.functional.aggregate_posterior`; here posteriors
are Gaussian and all N are known, so that marginals can be read off grids. A test compares the two.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.metrics.validation import check_codes, check_scales

Floats = NDArray[np.float64]

LOG_2PI = float(np.log(2 * np.pi))
"""log 2 pi, the constant of Gaussian densities."""
_REACH = 6.0
"""Components are followed to this many standard deviations; beyond lies a share of 2e-9."""
_RATIO = 1.25
"""Components whose scales differ by less share a grid."""
_FINE = 4
"""Grid points per standard deviation of the narrowest component of a grid."""
_NARROW = 1e-5
"""Scales below this share of the spread of the means are taken as this share."""


def log_joint(z: ArrayLike, means: ArrayLike, scales: ArrayLike, *, block: int = 1 << 21) -> Floats:
    """``log q(z) = log (1/N) sum_n prod_j N(z_j; mean_nj, scale_nj^2)`` of codes (s, latents), exactly, (s,).

    The exponents of a block of codes and components are one matrix product, [z^2, z] times [-1/(2 scale^2),
    mean / scale^2], and blocks are summed up as logarithms, so memory stays at ``block`` numbers.

    Args:
        z: (s, latents) where to evaluate.
        means: (N, latents).
        scales: (N, latents).
        block: numbers in memory at a time.

    Example:
        >>> log_joint([[0.0, 0.0]], [[0.0, 0.0]], [[1.0, 1.0]]).round(4).tolist()   # -log 2 pi
        [-1.8379]

    """
    codes, mu = check_codes(z, "z"), check_codes(means, "means")
    sd = check_scales(scales, mu)
    # Centred and scaled codes keep the difference of large squares small.
    centre, unit = mu.mean(axis=0), np.sqrt(mu.var(axis=0) + np.mean(sd**2, axis=0))
    x, m, s = (codes - centre) / unit, (mu - centre) / unit, sd / unit
    features = np.hstack([x**2, x])
    slopes = np.hstack([-0.5 / s**2, m / s**2])
    offsets = -0.5 * np.sum((m / s) ** 2 + 2 * np.log(s) + LOG_2PI, axis=1)
    rows = max(1, min(len(x), 512))
    columns = max(1, block // rows)
    total = np.full(len(x), -np.inf)
    for top in range(0, len(x), rows):
        part = slice(top, top + rows)
        running = np.full(len(x[part]), -np.inf)
        for left in range(0, len(m), columns):
            logs = features[part] @ slopes[left : left + columns].T
            logs += offsets[left : left + columns]
            peak = logs.max(axis=1)
            logs -= peak[:, None]
            running = np.logaddexp(running, peak + np.log(np.exp(logs, out=logs).sum(axis=1)))
        total[part] = running
    result: Floats = total - np.log(len(m)) - np.sum(np.log(unit))
    return result


def log_marginals(z: ArrayLike, means: ArrayLike, scales: ArrayLike) -> Floats:
    """``log q(z_j) = log (1/N) sum_n N(z_j; mean_nj, scale_nj^2)`` of each latent, (s, latents), to 1e-4.

    A mixture in one dimension is smooth on the scale of its narrowest component: each component is added up, out to
    six deviations, on a grid four times as fine as that, and read off by interpolation of order 5.

    Args:
        z: (s, latents) where to evaluate.
        means: (N, latents).
        scales: (N, latents).

    Example:
        >>> log_marginals([[0.0, 1.0]], [[0.0, 0.0]], [[1.0, 1.0]]).round(3).tolist()
        [[-0.919, -1.419]]

    """
    codes, mu = check_codes(z, "z"), check_codes(means, "means")
    sd = check_scales(scales, mu)
    one = np.zeros((len(mu), 1), dtype=np.int64)
    columns = [
        Mixture(mu[:, j], sd[:, j], one, (1,)).log_density(codes[:, j], 0, np.zeros(len(codes), np.int64))
        for j in range(mu.shape[1])
    ]
    return np.stack(columns, axis=1)


class Mixture:
    """The Gaussian mixtures, in one latent, of all images and of those with each value of each factor.

    Args:
        means: (N,).
        scales: (N,).
        classes: (N, K) the factors' values, 0 .. size-1.
        sizes: number of values of each factor.

    Example:
        >>> two = Mixture(np.array([0.0, 5.0]), np.ones(2), np.array([[0], [1]]), (2,))
        >>> two.log_density(np.array([5.0, 5.0]), 0, np.array([0, 1])).round(2).tolist()
        [-13.42, -0.92]
    """

    def __init__(
        self, means: Floats, scales: Floats, classes: NDArray[np.int64], sizes: tuple[int, ...]
    ) -> None:
        self.means, self.classes, self.sizes = means, classes, sizes
        floor = _NARROW * float(np.ptp(means))
        self.scales = np.maximum(scales, floor)
        self.counts = [np.bincount(classes[:, k], minlength=size) for k, size in enumerate(sizes)]
        narrowest = float(self.scales.min())
        steps = np.floor(np.log(self.scales / narrowest) / np.log(_RATIO) + 1e-9).astype(np.int64)
        self.grids = [
            self._grid(np.flatnonzero(steps == step), narrowest * _RATIO**step) for step in np.unique(steps)
        ]

    def _grid(self, rows: NDArray[np.int64], narrowest: float) -> tuple[float, float, list[Floats]]:
        """Origin, spacing and the summed components (values, points) of each factor."""
        mu, sd = self.means[rows], self.scales[rows]
        spacing = narrowest / _FINE
        reach = int(np.ceil(_REACH * _RATIO * _FINE))
        origin = float(mu.min()) - (reach + 4) * spacing
        points = int(np.ceil((float(mu.max()) - origin) / spacing)) + reach + 6
        tables = [np.zeros(size * points) for size in self.sizes]
        offsets = np.arange(-reach, reach + 1)
        block = max(1, (1 << 22) // len(offsets))
        for start in range(0, len(rows), block):
            part = slice(start, start + block)
            nearest = np.rint((mu[part] - origin) / spacing).astype(np.int64)
            where = nearest[:, None] + offsets
            x = where * spacing
            x += (origin - mu[part])[:, None]
            x /= sd[part][:, None]
            x *= x
            x *= -0.5
            np.exp(x, out=x)
            x /= sd[part][:, None]
            flat = x.ravel()
            for k, table in enumerate(tables):
                cells = where + (self.classes[rows[part], k] * points)[:, None]
                table += np.bincount(cells.ravel(), flat, minlength=len(table))
        return origin, spacing, [t.reshape(size, points) for t, size in zip(tables, self.sizes, strict=True)]

    def log_density(self, z: Floats, factor: int | None, values: NDArray[np.int64] | None) -> Floats:
        """``log q(z | v_factor = value)`` of each z (s,) with its own value (s,); ``log q(z)`` without a factor."""
        density = np.zeros(len(z))
        for origin, spacing, tables in self.grids:
            table = tables[0].sum(axis=0, keepdims=True) if factor is None else tables[factor]
            row = 0 if values is None else values
            position = (z - origin) / spacing
            inside = (position >= 2) & (position < table.shape[1] - 4)
            left = np.where(inside, np.floor(position), 2).astype(np.int64)
            t = np.where(inside, position - left, 0.0)
            part = np.zeros(len(z))
            for offset, weight in zip(range(-2, 4), _lagrange(t), strict=True):
                part += weight * table[row, left + offset]
            density += np.where(inside, part, 0.0)
        total = len(self.means) if factor is None else self.counts[factor][values]
        # Far from every component the grid is too coarse or has ended: sum those few directly.
        far = np.flatnonzero(density * float(self.scales.max()) < 1e-6)
        for i in far:
            chosen = slice(None) if factor is None or values is None else self.classes[:, factor] == values[i]
            m, s = self.means[chosen], self.scales[chosen]
            logs = -0.5 * ((z[i] - m) / s) ** 2 - np.log(s)
            peak = float(logs.max())
            density[i] = np.exp(max(peak, -700.0)) * float(np.exp(logs - peak).sum())
        result: Floats = np.log(np.maximum(density, 1e-300)) - np.log(total) - 0.5 * LOG_2PI
        return result


def _lagrange(t: Floats) -> list[Floats]:
    """Weights of the points -2 .. 3 for the value at t in [0, 1], exact for polynomials of degree 5."""
    points = range(-2, 4)
    weights = []
    for i in points:
        w = np.ones_like(t)
        for j in points:
            if j != i:
                w *= (t - j) / (i - j)
        weights.append(w)
    return weights
