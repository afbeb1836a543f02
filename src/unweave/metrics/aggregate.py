"""The aggregate posterior q(z) = (1/N) sum_n q(z | x_n) of a whole data set: densities, total correlation."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, unknown
from unweave.metrics.score import Score, interval_of_mean
from unweave.metrics.validation import check_codes, check_count, check_scales

Floats = NDArray[np.float64]

_LOG_2PI = float(np.log(2 * np.pi))
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
    offsets = -0.5 * np.sum((m / s) ** 2 + 2 * np.log(s) + _LOG_2PI, axis=1)
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
        result: Floats = np.log(np.maximum(density, 1e-300)) - np.log(total) - 0.5 * _LOG_2PI
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


Estimator = Literal["exact", "batch", "weighted"]


def decomposition(
    means: ArrayLike,
    scales: ArrayLike,
    rng: np.random.Generator,
    *,
    estimator: Estimator = "exact",
    samples: int = 2_000,
    batch: int = 1_000,
) -> dict[str, Score]:
    """``index_code_mi``, ``total_correlation`` and ``dimension_wise_kl``, nats; they add up to the mean KL to N(0, I).

        I(n; z) = E log q(z|x_n)/q(z),   TC = E log q(z)/prod_j q(z_j),   E log prod_j q(z_j)/p(z_j),

    over z ~ q(z | x_n), n uniform. ``exact`` evaluates q(z) as the mixture over *all* N images given, so the only error
    is that of averaging ``samples`` draws; intervals are those of the averages. The other two show what goes wrong:

    * ``batch``: q(z) from the mixture over ``batch`` other images only. TC can come out far below zero (FAC app. D);
    * ``weighted``: minibatch-weighted sampling, batches of M = ``batch`` draws; log q(z) = log sum_m q(z|x_m) - log NM.

    Args:
        means: (N, latents) posterior means of the whole data set.
        scales: (N, latents) posterior standard deviations.
        rng: source of the draws.
        estimator: of q(z).
        samples: draws of z.
        batch: images in the mixture of the last two.

    References:
        Hoffman & Johnson 2016; Chen et al. 2018, Eq. 2; Kim & Mnih 2018 (FAC), appendices C and D.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> mu = rng.normal(size=(500, 1)) @ np.ones((1, 2))
        >>> scores = decomposition(mu, 0 * mu + 0.3, rng)
        >>> scores["total_correlation"].value > 0.5
        True

    """
    if estimator not in ("exact", "batch", "weighted"):
        raise unknown("estimator of decomposition", estimator, ("exact", "batch", "weighted"))
    mu = check_codes(means, "means")
    sd = check_scales(scales, mu)
    samples, batch = check_count("samples", samples, 2), check_count("batch", batch, 2)
    if len(mu) < 2:
        raise UnweaveError("decomposition needs the posteriors of two images or more, got 1")
    rows = rng.integers(0, len(mu), samples)
    z = mu[rows] + sd[rows] * rng.normal(size=(samples, mu.shape[1]))
    conditional = np.sum(_log_normal(z, mu[rows], sd[rows]), axis=1)
    prior = np.sum(-0.5 * (z**2 + _LOG_2PI), axis=1)
    if estimator == "exact":
        joint, product = log_joint(z, mu, sd), log_marginals(z, mu, sd).sum(axis=1)
    elif estimator == "batch":
        others = rng.choice(len(mu), min(batch, len(mu)), replace=False)
        joint = log_joint(z, mu[others], sd[others])
        product = log_marginals(z, mu[others], sd[others]).sum(axis=1)
    else:
        joint, product = _weighted(z, mu[rows], sd[rows], batch, len(mu))
    parts = {
        "index_code_mi": (conditional - joint, "Chen et al. 2018, Eq. 2", None),
        "total_correlation": (joint - product, "Kim & Mnih 2018, section 3 and appendix D", False),
        "dimension_wise_kl": (product - prior, "Chen et al. 2018, Eq. 2", False),
    }
    constants = {"estimator": estimator, "unit": "nats per image", "samples": samples, "images": len(mu)}
    if estimator != "exact":
        constants["batch"] = batch
    lowest = 0.0 if estimator == "exact" else None
    return {
        name: Score(name, *interval_of_mean(terms), (lowest, None), bool(better), reference, constants)
        for name, (terms, reference, better) in parts.items()
    }


def total_correlation(
    means: ArrayLike, scales: ArrayLike, rng: np.random.Generator, *, samples: int = 2_000
) -> Score:
    """Total correlation KL(q(z) || prod_j q(z_j)) in nats, with q(z) the exact mixture over all images given.

    Args:
        means: (N, latents) posterior means.
        scales: (N, latents) posterior standard deviations.
        rng: source of the draws.
        samples: draws of z.

    References:
        Kim & Mnih 2018 (FAC), section 3 and figure 18.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> abs(total_correlation(np.zeros((10, 2)), np.ones((10, 2)), rng).value) < 1e-4
        True

    """
    return decomposition(means, scales, rng, samples=samples)["total_correlation"]


def gaussian_total_correlation(codes: ArrayLike) -> Score:
    """Total correlation, in nats, of the Gaussian with the covariance of the codes: -1/2 log det of the correlations.

    Constant latents take no part. Cheap, blind to everything but correlations.

    The interval covers the value of infinitely many codes. It is the jackknife's: with w_i the standardised code i of
    n, C the correlations and m = n - 1, leaving code i out changes the value by exactly

        t_i = 1/2 ( sum_j log(1 - w_ij^2 / m) - log(1 - w_i' C^-1 w_i / m) ),

    so that m mean(t) is the bias, which is taken off, and sqrt(m) sd(t) the standard error.

    Args:
        codes: (n, latents) posterior means or samples.

    References:
        Locatello et al. 2019, section 5.2 (unsupervised scores).

    Example:
        >>> z = np.random.default_rng(0).normal(size=(1000, 2))
        >>> gaussian_total_correlation(z).value < 0.01 < gaussian_total_correlation(z @ [[1, 1], [0, 1]]).value
        True

    """
    z = check_codes(codes)
    spread = z.std(axis=0)
    z = z[:, spread > 1e-9 * np.maximum(np.abs(z).max(axis=0), 1e-30)]
    value, low, high = 0.0, 0.0, 0.0
    if z.shape[1] > 1 and len(z) > z.shape[1] + 1:
        white = (z - z.mean(axis=0)) / z.std(axis=0)
        correlation = white.T @ white / len(z)
        # A floor on the spectrum: duplicated latents are infinitely dependent, and say 27 nats here.
        eigen = np.maximum(np.linalg.eigvalsh(correlation), 1e-12)
        value = max(0.0, -0.5 * float(np.sum(np.log(eigen))))
        inverse = np.linalg.pinv(correlation, rcond=1e-12)
        left = len(z) - 1
        # The leverage of a code is n at most: a code alone in its direction would take the value with it.
        leverage = np.minimum(np.einsum("ni,ij,nj->n", white, inverse, white) / left, 1 - 1 / len(z))
        alone = np.minimum(white**2 / left, 1 - 1 / len(z))
        changes = 0.5 * (np.sum(np.log1p(-alone), axis=1) - np.log1p(-leverage))
        centre = value - left * float(np.mean(changes))
        half = 1.96 * float(np.std(changes)) * float(np.sqrt(left))
        low, high = max(0.0, centre - half), max(0.0, centre + half)
    return Score(
        "gaussian_total_correlation",
        value,
        low,
        high,
        (0.0, None),
        False,
        "Locatello et al. 2019, section 5.2",
        {"unit": "nats", "samples": len(z), "latents": z.shape[1]},
    )


def classifier_total_correlation(
    samples: ArrayLike, rng: np.random.Generator, *, hidden: tuple[int, ...] = (128, 128), steps: int = 60
) -> Score:
    """Total correlation of samples of q(z), in nats, by the density-ratio trick of FactorVAE.

    A network learns to tell codes from codes whose latents were shuffled apart from each other; TC = E[logit] on codes
    held out. It sees samples only, so it works without scales, and like every discriminator it underestimates.

    Args:
        samples: (n, latents) samples of q(z), not means.
        rng: shuffles, splits and seeds.
        hidden: sizes of the network's layers.
        steps: passes over the data.

    References:
        Kim & Mnih 2018 (FAC), Eq. 3 and algorithm 2.

    Example:
        >>> z = np.random.default_rng(0).normal(size=(400, 2))
        >>> abs(classifier_total_correlation(z, np.random.default_rng(0), hidden=(16,), steps=5).value) < 0.3
        True

    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    z = check_codes(samples, "samples")
    spread = z.std(axis=0)
    z = (z - z.mean(axis=0)) / np.where(spread > 1e-12, spread, 1.0)
    shuffled = np.stack([rng.permutation(column) for column in z.T], axis=1)
    order = rng.permutation(len(z))
    test, train = np.array_split(order, [len(z) // 3])
    network = MLPClassifier(
        hidden, max_iter=steps, random_state=int(rng.integers(1 << 31)), early_stopping=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(np.vstack([z[train], shuffled[train]]), np.repeat([1, 0], len(train)))
    logs = network.predict_log_proba(z[test])
    logits = np.clip(logs[:, 1] - logs[:, 0], -50, 50)
    return Score(
        "classifier_total_correlation",
        *interval_of_mean(logits),
        (None, None),
        False,
        "Kim & Mnih 2018, Eq. 3",
        {"unit": "nats", "samples": len(z), "hidden": list(hidden), "steps": steps},
    )


def _log_normal(z: Floats, mu: Floats, sd: Floats) -> Floats:
    result: Floats = -0.5 * (((z - mu) / sd) ** 2 + _LOG_2PI) - np.log(sd)
    return result


def _weighted(z: Floats, mu: Floats, sd: Floats, batch: int, images: int) -> tuple[Floats, Floats]:
    from scipy.special import logsumexp

    joint, product = np.empty(len(z)), np.empty(len(z))
    for start in range(0, len(z), batch):
        part = slice(start, start + batch)
        logs = _log_normal(z[part][:, None], mu[part][None], sd[part][None])
        constant = np.log(images * logs.shape[1])
        joint[part] = logsumexp(logs.sum(axis=2), axis=1) - constant
        product[part] = np.sum(logsumexp(logs, axis=1) - constant, axis=1)
    return joint, product
