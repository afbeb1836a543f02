"""IRS: how little a latent moves when everything but its factor is changed."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, check_choice
from unweave.metrics.score import Score, Span, no_span
from unweave.metrics.validation import Floats, Integers, check_pair, equal_width_bins, factor_classes

Mode = Literal["paper", "disentanglement_lib", "ubisoft"]
MODES: dict[str, tuple[float, int | None]] = {
    "paper": (1.0, None),
    "disentanglement_lib": (0.99, 20),
    "ubisoft": (1.0, 10),
}
"""Definitions in use: the quantile of deviations, and the bins of the factors."""
NO_INTERVAL = "it rests on the largest deviations, of which a sample says too little"


def irs(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    mode: Mode = "disentanglement_lib",
    quantile: float | None = None,
    interval: bool = True,
) -> Score:
    """Interventional robustness score: 1 if each latent stays constant while its factor does, and -1 at the least.

    With m_j(v) the mean of latent j over the codes whose factor k has value v, and d_jk the mean over v of the
    ``quantile`` of |z_j - m_j(v)| among them,

        IRS = sum_j w_j max_k ( 1 - d_jk / w_j ) / sum_j w_j,    w_j = max |z_j - mean z_j|.

    A constant latent has no weight. Independent codes score little above 0; below 0 codes of one value deviate
    further from their own mean than from that of all. With few codes for a value the deviations within it are
    underestimated, so encode many images.

    There is no interval: the score rests on the largest deviations, of which a sample says too little. One from extreme
    value theory covered between 90 and 98.3 % of samples, depending on the codes. Where codes have no end, w_j, a
    maximum, grows with their number without limit, and the score with it: compare equal numbers of codes only.

    Modes: ``disentanglement_lib``: quantile 0.99, factors cut into 20 bins; ``paper``: quantile 1, the largest
    deviation, factors as they are; ``ubisoft``: quantile 1, factors cut into 10 bins.

    Args:
        codes: (n, latents) posterior means, 20 or more.
        factors: (n, K) factor values; continuous ones are always cut into 20 bins.
        mode: whose definition.
        quantile: of the deviations; the mode's own by default.
        interval: there is none, which the score says.

    References:
        Suter et al. 2019, "Robustly disentangled causal mechanisms".

    Example:
        >>> v = np.stack(np.meshgrid(range(5), range(5)), -1).reshape(-1, 2)
        >>> irs(v, v).value, round(irs(v @ [[1, 1], [1, -1]], v).value, 2)
        (1.0, 0.5)

    """
    check_choice("mode of irs", mode, MODES)
    share, bins = MODES[mode]
    share = share if quantile is None else quantile
    if not 0 < share <= 1:
        raise UnweaveError(f"quantile must be above 0 and at most 1, got {quantile!r}")
    codes, table = check_pair(codes, factors, least=20)
    factor_classes(table)  # for its errors
    if bins is not None:
        table = equal_width_bins(table.astype(np.float64), bins).T
    groups = [_Groups.of(column, k) for k, column in enumerate(factor_classes(table)[0].T)]
    weights = _weights(codes)
    deviations = _deviations(codes, groups, share)
    alive = weights > 0
    robust = 1 - deviations / np.where(alive, weights, 1.0)[:, None]
    robust = np.where(alive[:, None], robust, 0.0)
    value = float(np.average(robust.max(axis=1), weights=weights)) if alive.any() else 0.0
    constants = {
        "mode": mode,
        "quantile": share,
        **({} if bins is None else {"bins": bins}),
        "samples": len(codes),
        "robustness": robust.tolist(),
        "weights": weights.tolist(),
    }
    span = no_span(NO_INTERVAL if interval else "")
    if interval and not alive.any():
        span = Span(
            low=0.0, high=0.0, corrected=None, no_interval=""
        )  # no latent varies: the score cannot either
    return Score("irs", value, range=(-1.0, 1.0), reference="Suter et al. 2019", constants=constants, **span)


def _weights(codes: Floats) -> Floats:
    """The largest deviation of each latent from its mean, 0 for one that is constant but for rounding."""
    mean, least, most = codes.mean(axis=0), codes.min(axis=0), codes.max(axis=0)
    weights = np.maximum(most - mean, mean - least)
    return np.where(weights > 1e-9 * np.maximum(most, -least), weights, 0.0)


@dataclass(frozen=True)
class _Groups:
    """The rows of each value of a factor: ``order`` (n,) sorts them by value, ``starts`` is where each value begins."""

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    counts: NDArray[np.intp]

    @classmethod
    def of(cls, column: Integers, factor: int) -> "_Groups":
        """The groups of a column of classes."""
        counts = np.bincount(column)
        small = (
            column.astype(np.int16) if len(counts) < 30_000 else column
        )  # sorted by digits, not comparisons
        order = np.argsort(small, kind="stable")
        starts = np.cumsum(counts) - counts
        if counts.max() < 2:
            raise UnweaveError(
                f"every value of factor {factor} occurs only once, so no two codes share it: encode more images"
            )
        return cls(order, starts, counts)

    def deviations(self, codes: Floats, share: float, work: tuple[Floats, Floats]) -> Floats:
        """The mean over values of the quantile of deviations of codes (n, latents), (latents,).

        ``work``, (n, latents) and (latents, n), is overwritten: fresh memory costs more than arithmetic.
        """
        ordered, away = np.take(codes, self.order, axis=0, out=work[0], mode="clip"), work[1]
        means = np.add.reduceat(ordered, self.starts, axis=0) / self.counts[:, None]
        for start, count, mean in zip(self.starts.tolist(), self.counts.tolist(), means, strict=True):
            ordered[start : start + count] -= mean
        np.abs(ordered.T, out=away)
        if share == 1:
            return np.asarray(np.maximum.reduceat(away, self.starts, axis=1).mean(axis=1))
        place = share * (self.counts - 1)
        below = place.astype(np.int64)
        for start, count, rank in zip(
            self.starts.tolist(), self.counts.tolist(), below.tolist(), strict=True
        ):
            away[:, start : start + count].partition(rank, axis=1)
        at = self.starts + below
        low = away[:, at]
        # The next is the least of what a value has beyond; where it has none, the quantile is the last one.
        beyond = np.where(below + 1 < self.counts, at + 1, at)
        pairs = np.stack([beyond, np.append(self.starts[1:], away.shape[1] - 1)], axis=1).ravel()
        high = np.minimum.reduceat(away, pairs, axis=1)[:, ::2]
        high[:, -1] = np.minimum(high[:, -1], away[:, -1])  # which no pair can end behind
        return np.asarray((low + (place - below) * (high - low)).mean(axis=1))


def _deviations(codes: Floats, groups: list[_Groups], share: float) -> Floats:
    """Of each latent and factor, (latents, K)."""
    work = np.empty(codes.shape), np.empty(codes.T.shape)
    return np.stack([each.deviations(codes, share, work) for each in groups], axis=1)
