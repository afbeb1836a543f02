"""IRS: how little a latent moves when everything but its factor is changed."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, check_choice
from unweave.metrics.ranges import Ends, maximum_errors
from unweave.metrics.score import AT_THIS_NUMBER, Score, Span, clipped, no_span
from unweave.metrics.validation import Floats, Integers, check_pair, equal_width_bins, factor_classes

Mode = Literal["paper", "disentanglement_lib", "ubisoft"]
MODES: dict[str, tuple[float, int | None]] = {
    "paper": (1.0, None),
    "disentanglement_lib": (0.99, 20),
    "ubisoft": (1.0, 10),
}
"""Definitions in use: the quantile of deviations, and the bins of the factors."""
LEAST = 200
"""Fewer codes than these have no interval."""
BEYOND = 2.3
"""Codes of a value beyond the quantile, on average, below which its error is underestimated (196 codes, two beyond the
0.99 quantile, cover 91 %)."""
ENDING = 0.02
"""The largest error of an end, as a share of the range, of codes that have an end: bounded noise has at most 0.02 of
1,500 codes, normal noise at least 0.02 of 20,000, and 0.04 on average; there intervals covered 90 %, since large maxima
make both the score and its error large."""


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

    The interval covers the mean of the score over samples of this number of codes. It is 1.96 standard errors of
    IRS = 1 - sum_j d_j / sum_j w_j, from the effect of each sample on both sums:

    * on a quantile, (quantile - [deviation <= d]) / density;
    * on a maximum, that of the largest code alone, whose standard deviation is that of the extreme value distribution
      which the gaps between the eleven largest follow (see
      :func:`~unweave.metrics.ranges.maximum_errors`);
    * on w_j, if both ends of latent j are equally far from its mean (within sqrt(log n) standard errors): the larger of
      two equals has 1 - 2 / pi of the variance that their difference brings.

    Where codes have no end, w_j, a maximum, grows with their number without limit, and the score with it: compare equal
    numbers of codes only. There is no interval then, nor if a value has fewer codes than the quantile needs.

    Modes: ``disentanglement_lib``: quantile 0.99, factors cut into 20 bins; ``paper``: quantile 1, the largest
    deviation, factors as they are; ``ubisoft``: quantile 1, factors cut into 10 bins.

    Args:
        codes: (n, latents) posterior means, 20 or more.
        factors: (n, K) factor values; continuous ones are always cut into 20 bins.
        mode: whose definition.
        quantile: of the deviations; the mode's own by default.
        interval: whether to compute one.

    References:
        Suter et al. 2019, "Robustly disentangled causal mechanisms". For sqrt(log n): Andrews & Soares 2010, "Inference
        for parameters defined by moment inequalities using generalized moment selection".

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
    span = no_span()
    if interval and not alive.any():
        span = Span(low=0.0, high=0.0, corrected=None, no_interval="")  # without a latent that varies
    elif interval:
        chosen = [groups[k] for k in deviations[alive].argmin(axis=1)]
        span = _span(value, codes if alive.all() else codes[:, alive], chosen, share)
    return Score("irs", value, range=(-1.0, 1.0), reference="Suter et al. 2019", constants=constants, **span)


def _weights(codes: Floats) -> Floats:
    """The largest deviation of each latent from its mean, 0 for one that is constant but for rounding."""
    mean, least, most = codes.mean(axis=0), codes.min(axis=0), codes.max(axis=0)
    weights = np.maximum(most - mean, mean - least)
    return np.where(weights > 1e-9 * np.maximum(np.maximum(most, -least), 1e-30), weights, 0.0)


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

    def quantiles(self, values: Floats, shares: Floats) -> Floats:
        """The quantiles of each value's own ``values`` (n,), which lie in ``order``, (shares, values)."""
        ranked = values.copy()
        for start, count in zip(self.starts.tolist(), self.counts.tolist(), strict=True):
            ranked[start : start + count].sort()
        place = self.starts + shares[:, None] * (self.counts - 1)
        low = place.astype(np.int64)
        high = np.minimum(low + 1, len(ranked) - 1)
        return np.asarray(ranked[low] + (place - low) * (ranked[high] - ranked[low]))


def _deviations(codes: Floats, groups: list[_Groups], share: float) -> Floats:
    """Of each latent and factor, (latents, K)."""
    work = np.empty(codes.shape), np.empty(codes.T.shape)
    return np.stack([each.deviations(codes, share, work) for each in groups], axis=1)


def _span(value: float, codes: Floats, groups: list[_Groups], share: float) -> Span:
    """The interval of codes that vary, ``groups`` being those of the factor of each latent; or why there is none."""
    needed = 12 if share == 1 else round(BEYOND / (1 - share))
    if len(codes) < LEAST or min(int(each.counts.min()) for each in groups) < needed:
        return no_span(f"a value has fewer than {needed} codes")
    ends = Ends.of(codes)
    errors = ends.errors()
    if np.any(errors > ENDING * ends.range):
        return no_span(
            "codes thin out towards their ends: the largest deviation changes too much between samples"
        )
    low, high = clipped(value, 1.96 * _error(codes, groups, share, errors[::-1]), (-1.0, 1.0))
    return Span(low=low, high=high, corrected=None, no_interval="", covers=AT_THIS_NUMBER)


def _error(codes: Floats, groups: list[_Groups], share: float, ends: Floats) -> float:
    """The standard error of the score; ``ends`` are those of the largest and the least code, (2, latents)."""
    n = len(codes)
    equal = float(np.sqrt(np.log(n)))
    moved, moves = 0.0, np.zeros(n)
    spread, spreads = 0.0, np.zeros(n)
    for j, (column, centre) in enumerate(zip(codes.T, codes.mean(axis=0), strict=True)):
        code = column - centre
        size, effect = _deviation(code, groups[j], share, equal)
        moved, moves = moved + size, moves + effect
        first, last = int(code.argmax()), int(code.argmin())
        high, low = float(code[first]), float(-code[last])
        # Half the difference of the effects on both ends: a code moves the mean, which moves both.
        difference = -code
        difference[first] += n * ends[0, j] / 2
        difference[last] -= n * ends[1, j] / 2
        tied = abs(high - low) <= equal * 2 * float(np.std(difference)) / np.sqrt(n)
        part = float(np.sqrt(1 - 2 / np.pi)) if tied else 1.0
        spread += max(high, low)
        spreads += (part if high > low else -part) * difference
        spreads[first] += n * ends[0, j] / 2
        spreads[last] += n * ends[1, j] / 2
    ratio = moved / spread
    return float(np.sqrt(np.mean((moves - ratio * spreads) ** 2) / n)) / spread


def _deviation(code: Floats, groups: _Groups, share: float, equal: float) -> tuple[float, Floats]:
    """The mean over values of the quantile of deviations, and the effect of each sample on it, (n,)."""
    starts, counts = groups.starts, groups.counts
    value = np.repeat(np.arange(len(counts)), counts)
    centred = code[groups.order]
    centred -= (np.add.reduceat(centred, starts) / counts)[value]
    away = np.abs(centred)
    if share == 1:
        size = np.maximum.reduceat(away, starts)
        side, own = _of_maxima(centred, away, groups)
    else:
        width = min(share, 1 - share) / 2
        below, size, above = groups.quantiles(away, np.array([share - width, share, share + width]))
        own = (share - (away <= size[value])) * ((above - below) / (2 * width))[value]
        # Where deviations to one side outnumber the others, an error of the mean shifts the quantile too.
        near = (away >= below[value]) & (away <= above[value])
        sides, found = (
            np.add.reduceat(x, starts) for x in (np.sign(centred) * near, near.astype(np.float64))
        )
        side = np.where(np.abs(sides) > equal * np.sqrt(found), sides / np.maximum(found, 1.0), 0.0)
    effects = np.empty(len(code))
    effects[groups.order] = (len(code) / counts / len(counts))[value] * (own - side[value] * centred)
    return float(size.mean()), effects


def _of_maxima(centred: Floats, away: Floats, groups: _Groups) -> tuple[Floats, Floats]:
    """For each value the side of its largest deviation, and the effect of each sample on that deviation, (n,)."""
    side, own = np.zeros(len(groups.counts)), np.zeros(len(away))
    for v, (start, count) in enumerate(zip(groups.starts.tolist(), groups.counts.tolist(), strict=True)):
        of_value = away[start : start + count]
        last = start + int(of_value.argmax())
        side[v], own[last] = np.sign(centred[last]), count * maximum_errors(of_value[:, None])[0]
    return side, own
