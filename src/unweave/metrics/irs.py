"""IRS: how little a latent moves when everything but its factor is changed."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, unknown
from unweave.metrics.score import Score
from unweave.metrics.validation import check_count, check_pair, factor_classes

Mode = Literal["paper", "disentanglement_lib", "ubisoft"]
MODES: dict[str, float] = {"paper": 1.0, "disentanglement_lib": 0.99, "ubisoft": 1.0}


def irs(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    mode: Mode = "disentanglement_lib",
    quantile: float | None = None,
    blocks: int = 10,
) -> Score:
    """Interventional robustness score, in [0, 1]: 1 if each latent stands still while its factor does.

    With m_j(v) the mean of latent j over the codes whose factor k has value v, and d_jk the mean over v of the
    ``quantile`` of |z_j - m_j(v)| among them,

        IRS = sum_j w_j max_k ( 1 - d_jk / w_j ) / sum_j w_j,    w_j = max |z_j - mean z_j|.

    A constant latent has no weight. With few codes for a value the deviations within it are underestimated, so give
    many; and w_j, being a maximum, grows with the number of codes if the codes are unbounded. The interval is 1.96
    standard errors of the value at this number of codes: IRS = 1 - sum_j d_j / sum_j w_j, the error of the first sum
    from disjoint blocks of the samples, that of the second from the spacings of the most extreme codes.

    Modes: ``disentanglement_lib``: quantile 0.99; ``paper`` and ``ubisoft``: quantile 1, the largest deviation.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into 20 bins.
        mode: whose definition.
        quantile: of the deviations; the mode's own by default.
        blocks: of the interval; 0 for none.

    References:
        Suter et al. 2019, "Robustly disentangled causal mechanisms".

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
    blocks = check_count("blocks", blocks, 0)
    codes, table = check_pair(codes, factors)
    classes, _ = factor_classes(table)
    value, robust, weights = _robustness(codes, classes, share)
    low = high = None
    if blocks > 1 and len(codes) >= 20 * blocks and weights.any():
        error = _error(codes, classes, share, blocks)
        low, high = max(0.0, value - 1.96 * error), min(1.0, value + 1.96 * error)
    if not weights.any():
        low = high = value  # nothing moves, so nothing can vary
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
            "blocks": blocks,
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


def _error(codes: NDArray[np.float64], classes: NDArray[np.int64], share: float, blocks: int) -> float:
    """The standard error of the score."""
    order = np.random.default_rng(0).permutation(len(codes))
    sums = []
    for part in np.array_split(order, blocks):
        _, robust, weights = _robustness(codes[part], classes[part], share)
        sums.append(float(np.sum(weights * (1 - robust.max(axis=1)))))
    _, robust, weights = _robustness(codes, classes, share)
    still, total = float(np.sum(weights * (1 - robust.max(axis=1)))), float(weights.sum())
    # A maximum varies by the mean excess of the few most extreme codes over the next: times 1 at an edge, times 1.28
    # for an exponential tail; light tails lie between.
    extreme = -np.sort(-np.abs(codes - codes.mean(axis=0)), axis=0)[:5]
    scales = (extreme[:-1] - extreme[-1]).mean(axis=0) * (weights > 0)
    of_sum = float(np.std(sums, ddof=1)) / np.sqrt(blocks)
    of_total = 1.13 * float(np.sqrt(np.sum(scales**2)))
    return float(np.hypot(of_sum / total, still * of_total / total**2))
