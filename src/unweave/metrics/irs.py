"""IRS: how little a latent moves when everything but its factor is changed."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, unknown
from unweave.metrics.score import Score
from unweave.metrics.validation import check_count, check_pair, factor_classes

Mode = Literal["paper", "disentanglement_lib", "ubisoft"]
Floats = NDArray[np.float64]
MODES: dict[str, float] = {"paper": 1.0, "disentanglement_lib": 0.99, "ubisoft": 1.0}
LEAST = 200
"""Fewer codes than these have no interval."""


def irs(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    mode: Mode = "disentanglement_lib",
    quantile: float | None = None,
    intervals: int = 1,
) -> Score:
    """Interventional robustness score, in [0, 1]: 1 if each latent stays constant while its factor does.

    With m_j(v) the mean of latent j over the codes whose factor k has value v, and d_jk the mean over v of the
    ``quantile`` of |z_j - m_j(v)| among them,

        IRS = sum_j w_j max_k ( 1 - d_jk / w_j ) / sum_j w_j,    w_j = max |z_j - mean z_j|.

    A constant latent has no weight. With few codes for a value the deviations within it are underestimated, so
    encode many images.

    The interval covers the mean of the score over samples of this number of codes: w_j, a maximum, grows with the
    number without limit unless the codes are bounded, so there need not be a value of infinitely many. It is 1.96
    standard errors of IRS = 1 - sum_j d_j / sum_j w_j, from the effect of each sample on both sums:

    * on a quantile, (quantile - [deviation <= d]) / density;
    * on a maximum, that of the largest code alone, whose standard deviation is that of the extreme value distribution
      which the gaps between the eleven largest follow (see :func:`maximum_errors`);
    * on w_j, if both ends of latent j are equally far from its mean (within sqrt(log n) standard errors): the larger of
      two equals has 1 - 2 / pi of the variance that their difference brings.

    Modes: ``disentanglement_lib``: quantile 0.99; ``paper`` and ``ubisoft``: quantile 1, the largest deviation.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into 20 bins.
        mode: whose definition.
        quantile: of the deviations; the mode's own by default.
        intervals: 0 for no interval.

    References:
        Suter et al. 2019, "Robustly disentangled causal mechanisms". For sqrt(log n): Andrews & Soares 2010, "Inference
        for parameters defined by moment inequalities using generalized moment selection".

    Example:
        >>> v = np.stack(np.meshgrid(range(5), range(5)), -1).reshape(-1, 2)
        >>> irs(v, v).value, round(irs(v @ [[1, 1], [1, -1]], v).value, 2)
        (1.0, 0.5)

    """
    if mode not in MODES:
        raise unknown("mode of irs", mode, MODES)
    share = MODES[mode] if quantile is None else quantile
    if not 0 < share <= 1:
        raise UnweaveError(f"quantile must be above 0 and at most 1, got {quantile!r}")
    intervals = check_count("intervals", intervals, 0)
    codes, table = check_pair(codes, factors)
    classes, _ = factor_classes(table)
    value, robust, weights = _robustness(codes, classes, share)
    low = high = None
    if not weights.any():
        low = high = value  # no latent varies, so the score cannot either
    elif intervals and len(codes) >= LEAST:
        half = 1.96 * _error(codes[:, weights > 0], classes, share)
        low, high = max(0.0, value - half), min(1.0, value + half)
    return Score(
        "irs",
        value,
        low,
        high,
        reference="Suter et al. 2019",
        constants={
            "mode": mode,
            "quantile": share,
            "samples": len(codes),
            "robustness": robust.tolist(),
            "weights": weights.tolist(),
        },
    )


def _robustness(
    codes: NDArray[np.float64], classes: NDArray[np.int64], share: float
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    weights = np.abs(codes - codes.mean(axis=0)).max(axis=0)
    weights = np.where(weights > 1e-9 * np.maximum(np.abs(codes).max(axis=0), 1e-30), weights, 0.0)
    deviations = np.zeros((codes.shape[1], classes.shape[1]))
    for k, column in enumerate(classes.T):
        order = np.argsort(column, kind="stable")
        groups = np.split(codes[order], np.flatnonzero(np.diff(column[order])) + 1)
        for group in groups:
            deviations[:, k] += np.quantile(np.abs(group - group.mean(axis=0)), share, axis=0)
        deviations[:, k] /= len(groups)
    robust = 1 - deviations / np.where(weights > 0, weights, 1.0)[:, None]
    robust = np.where(weights[:, None] > 0, np.clip(robust, 0.0, 1.0), 0.0)
    if not weights.any():
        return 0.0, robust, weights
    return float(np.average(robust.max(axis=1), weights=weights)), robust, weights


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
    errors: Floats = a / c * np.sqrt(gamma(1 + 2 * c) - gamma(1 + c) ** 2)
    return errors


def _error(codes: Floats, classes: NDArray[np.int64], share: float) -> float:
    """The standard error of the score."""
    n = len(codes)
    groups = []
    for column in classes.T:
        order = np.argsort(column, kind="stable")
        groups.append(np.split(order, np.flatnonzero(np.diff(column[order])) + 1))
    equal = float(np.sqrt(np.log(n)))
    centred = codes - codes.mean(axis=0)
    ends = maximum_errors(np.hstack([centred, -centred])).reshape(2, -1)
    moved, moves = 0.0, np.zeros(n)
    spread, spreads = 0.0, np.zeros(n)
    for j, code in enumerate(centred.T):
        size, effect = min((_deviation(code, rows, share, equal) for rows in groups), key=lambda d: d[0])
        moved, moves = moved + size, moves + effect
        above, below = -code, code.copy()
        above[code.argmax()] += n * ends[0, j]
        below[code.argmin()] += n * ends[1, j]
        high, low = float(code.max()), float(-code.min())
        mean, difference = (above + below) / 2, (above - below) / 2
        tied = abs(high - low) <= equal * 2 * float(np.std(difference)) / np.sqrt(n)
        part = float(np.sqrt(1 - 2 / np.pi)) if tied else 1.0
        spread += max(high, low)
        spreads += mean + (part if high > low else -part) * difference
    ratio = moved / spread
    return float(np.sqrt(np.mean((moves - ratio * spreads) ** 2) / n)) / spread


def _deviation(
    code: Floats, groups: list[NDArray[np.intp]], share: float, equal: float
) -> tuple[float, Floats]:
    """The mean over ``groups`` of rows of the quantile of deviations, and the effect of each sample on it, (n,)."""
    total, effect = 0.0, np.zeros(len(code))
    for rows in groups:
        centred = code[rows] - code[rows].mean()
        away, weight = np.abs(centred), len(code) / len(rows) / len(groups)
        if len(rows) < 2:
            continue
        if share == 1:
            size, side, own = float(away.max()), float(np.sign(centred[away.argmax()])), np.zeros(len(rows))
            own[away.argmax()] = len(rows) * (maximum_errors(away[:, None])[0] if len(rows) > 11 else 0.0)
        else:
            width = min(share, 1 - share) / 2
            below, size, above = np.quantile(away, [share - width, share, share + width]).tolist()
            own = (share - (away <= size)) * (above - below) / (2 * width)
            # Where deviations to one side outnumber the others, an error of the mean shifts the quantile too.
            near = np.sign(centred[(away >= below) & (away <= above)])
            side = float(near.mean()) if abs(near.sum()) > equal * np.sqrt(len(near)) else 0.0
        total += size / len(groups)
        effect[rows] = weight * (own - side * centred)
    return total, effect
