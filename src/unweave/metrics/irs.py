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
    """Interventional robustness score, in [0, 1]: 1 if each latent stands still while its factor does.

    With m_j(v) the mean of latent j over the codes whose factor k has value v, and d_jk the mean over v of the
    ``quantile`` of |z_j - m_j(v)| among them,

        IRS = sum_j w_j max_k ( 1 - d_jk / w_j ) / sum_j w_j,    w_j = max |z_j - mean z_j|.

    A constant latent has no weight. With few codes for a value the deviations within it are underestimated, so give
    many.

    The interval covers the value of infinitely many codes, for codes that end at an edge. IRS = 1 - sum_j d_j /
    sum_j w_j; the effect of each sample on both sums gives the standard error, and the centre is free of what few
    samples do to each part, so it may lie beside the value:

    * the largest code lies below the edge by as much, on average, as above the second largest; this gap is added, and
      is the effect of that one sample (Quenouille's jackknife);
    * a quantile moves by (quantile - [deviation <= d]) / density for each sample; it is taken at rank
      ``quantile`` (n + 1), where its share of the distribution is right on average;
    * factors, and the two ends of a latent, that are within sqrt(log n) standard errors of the extreme one may be
      equal to it, and the largest of equals comes out too large: their mean is taken (Andrews & Soares 2010).

    Codes that thin out towards their extremes (normal noise) have no such value, since w_j grows for ever: what is
    covered is then about the value of e = 2.7 times as many codes.

    Modes: ``disentanglement_lib``: quantile 0.99; ``paper`` and ``ubisoft``: quantile 1, the largest deviation.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into 20 bins.
        mode: whose definition.
        quantile: of the deviations; the mode's own by default.
        intervals: 0 for no interval.

    References:
        Suter et al. 2019, "Robustly disentangled causal mechanisms". Of the interval: Quenouille 1949, "Approximate
        tests of correlation in time-series"; Andrews & Soares 2010, "Inference for parameters defined by moment
        inequalities using generalized moment selection".

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
    centre = value
    if not weights.any():
        low = high = value  # nothing moves, so nothing can vary
    elif intervals and len(codes) >= LEAST:
        centre, error = _limit(codes[:, weights > 0], classes, share)
        low, high = np.clip(centre + 1.96 * error * np.array([-1.0, 1.0]), 0.0, 1.0).tolist()
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
            "bias": value - centre,
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


def _limit(codes: Floats, classes: NDArray[np.int64], share: float) -> tuple[float, float]:
    """The score of infinitely many codes, as far as these tell, and its standard error."""
    n = len(codes)
    groups = []
    for column in classes.T:
        order = np.argsort(column, kind="stable")
        groups.append(np.split(order, np.flatnonzero(np.diff(column[order])) + 1))
    equal = float(np.sqrt(np.log(n)))
    moved, moves = 0.0, np.zeros(n)
    spread, spreads = 0.0, np.zeros(n)
    for code in codes.T:
        found = [_deviation(code, rows, share, equal) for rows in groups]
        sizes, effects = np.array([size for size, _ in found]), np.stack([effect for _, effect in found])
        best = sizes.argmin()
        tied = sizes - sizes[best] <= equal * np.std(effects - effects[best], axis=1) / np.sqrt(n)
        moved, moves = moved + float(sizes[tied].mean()), moves + effects[tied].mean(axis=0)
        centred = code - code.mean()
        (high, above), (low, below) = _edge(centred), _edge(-centred)
        above, below = above - centred, below + centred
        upper = float(high > low)
        if abs(high - low) <= equal * float(np.std(above - below)) / np.sqrt(n):
            upper = 0.5
        spread, spreads = (
            spread + upper * high + (1 - upper) * low,
            spreads + upper * above + (1 - upper) * below,
        )
    ratio = moved / spread
    return 1 - ratio, float(np.sqrt(np.mean((moves - ratio * spreads) ** 2) / n)) / spread


def _edge(values: Floats) -> tuple[float, Floats]:
    """Where ``values`` (n,) end, and the effect of each on that."""
    first = int(values.argmax())
    gap = float(values[first] - np.max(np.delete(values, first), initial=-np.inf)) if len(values) > 1 else 0.0
    effect = np.zeros(len(values))
    effect[first] = len(values) * gap
    return float(values[first]) + gap, effect


def _deviation(
    code: Floats, groups: list[NDArray[np.intp]], share: float, equal: float
) -> tuple[float, Floats]:
    """The mean over ``groups`` of rows of the quantile of deviations, and the effect of each sample on it, (n,)."""
    total, effect = 0.0, np.zeros(len(code))
    for rows in groups:
        centred = code[rows] - code[rows].mean()
        away, weight = np.abs(centred), len(code) / len(rows) / len(groups)
        if share == 1:
            size, own = _edge(away)
            side = float(np.sign(centred[away.argmax()]))
        else:
            width = min(share, 1 - share) / 2
            levels = [share - width, share, share + width]
            below, size, above = np.quantile(away, levels, method="weibull").tolist()
            own = (share - (away <= size)) * (above - below) / (2 * width)
            # Where deviations to one side outnumber the others, an error of the mean shifts the quantile too.
            near = np.sign(centred[(away >= below) & (away <= above)])
            side = float(near.mean()) if abs(near.sum()) > equal * np.sqrt(len(near)) else 0.0
        total += size / len(groups)
        effect[rows] = weight * (own - side * centred)
    return total, effect
