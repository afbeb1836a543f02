"""How far codes reach, and how much that depends on their number and on the sample."""

import numpy as np

from unweave.metrics.validation import Floats, Integers, equal_width_bins

HEAVY = 0.125
"""The largest error of an end of the range, as a share of the range, of which the effect is known: tails are heavy
beyond it (normal noise has 0.05, Student's t with 3 degrees of freedom 0.2 of 1,500 codes)."""


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


def range_errors(codes: Floats) -> Floats:
    """The standard deviation, over samples, of the least and of the largest code of each latent, (2, latents).

    Example:
        >>> codes = np.random.default_rng(0).uniform(size=(1000, 200))
        >>> range_errors(codes).mean(axis=1).round(4).tolist()
        [0.001, 0.001]

    """
    centred = codes - codes.mean(axis=0)
    return maximum_errors(np.hstack([-centred, centred])).reshape(2, -1)


def heavy_tailed(codes: Floats, errors: Floats) -> bool:
    """Whether an end of the range of a latent varies by more than ``HEAVY`` of the range.

    Example:
        >>> codes = np.random.default_rng(0).standard_t(2, size=(1000, 2))
        >>> heavy_tailed(codes, range_errors(codes))
        True

    """
    return bool(np.any(errors > HEAVY * np.ptp(codes, axis=0)))


def shifted_bins(codes: Floats, bins: int, errors: Floats) -> Integers:
    """Bins of the codes with one end moved outward or inward by its error, (2 directions, 2 ends, latents, n).

    Codes beyond an end count with its bin.

    Example:
        >>> codes = np.arange(8.0)[:, None]
        >>> shifted_bins(codes, 2, np.array([[0.0], [4.0]]))[:, 1, 0].tolist()
        [[0, 0, 0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 1, 1, 1, 1]]

    """
    rows = np.ascontiguousarray(codes.T)
    low, high = rows.min(axis=1), rows.max(axis=1)
    found = np.empty((2, 2, *rows.shape), dtype=np.int64)
    work = np.empty_like(rows)
    for d, outward in enumerate((1.0, -1.0)):
        for end in (0, 1):
            least, most = low - outward * errors[0] * (end == 0), high + outward * errors[1] * (end == 1)
            width = np.where(most > least, most - least, 1.0)
            np.subtract(rows, least[:, None], out=work)
            work *= (bins / width)[:, None]
            np.clip(work, 0.0, bins - 0.5, out=work)
            found[d, end] = work
    return found


def maximum_errors(values: Floats) -> Floats:
    """The standard deviation, over samples, of the maximum of each column of ``values`` (n, columns), (columns,).

    Near its end a sample follows an extreme value distribution: with E_i sums of i exponential variables, the i-th
    largest is (E_i^c - 1) a / -c, where c = 1 if the codes end at an edge and c -> 0 if they thin out exponentially.
    So E(x_1 - x_m) = a / c (Gamma(m + c) / Gamma(m) - Gamma(1 + c)) and Var x_1 = a^2 / c^2 (Gamma(1 + 2c) -
    Gamma(1 + c)^2). All columns have one c, from the share that x_1 - x_3 has in x_1 - x_11; a is each one's own.

    Args:
        values: (n, columns), more than 11 rows.

    References:
        Weissman 1978, "Estimation of parameters and large quantiles based on the k largest observations".

    Example:
        >>> rng = np.random.default_rng(0)
        >>> flat = maximum_errors(rng.uniform(size=(1000, 200))).mean()
        >>> normal = maximum_errors(rng.normal(size=(1000, 200))).mean()
        >>> round(float(flat), 4), round(float(normal), 1)
        (0.001, 0.3)

    """
    from scipy.special import gamma

    top = -np.sort(-np.partition(values, len(values) - 11, axis=0)[-11:], axis=0)
    whole = top[0] - top[10]
    c = np.linspace(1, 0.01, 100)
    to_third, to_eleventh = (gamma(m + c) / gamma(m) - gamma(1 + c) for m in (3, 11))
    scale = np.where(values.std(axis=0) > 0, values.std(axis=0), 1.0)
    share = np.sum((top[0] - top[2]) / scale) / max(float(np.sum(whole / scale)), 1e-300)
    c = np.interp(share, to_third / to_eleventh, c)
    a = whole * c / (gamma(11 + c) / gamma(11) - gamma(1 + c))
    return np.asarray(a / c * np.sqrt(gamma(1 + 2 * c) - gamma(1 + c) ** 2))
