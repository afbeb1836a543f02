"""InfoMEC: modularity, compactness and explicitness in one unit, shares of information."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import check_choice
from unweave.metrics.counted import FEWEST as LEAST
from unweave.metrics.counted import STEADY, TOO_FEW, CountedScore
from unweave.metrics.information import JointCounts, neighbour_information
from unweave.metrics.interval_limits import uncounted
from unweave.metrics.linear import AS_GOOD, Loss, Softmax, fit_softmax
from unweave.metrics.ranges import HEAVY_VARIANCE, Ends, heavy_variance
from unweave.metrics.score import (
    SINGLE_FACTOR,
    SINGLE_LATENT,
    Score,
    Span,
    interval_of_terms,
    no_span,
    span_of,
)
from unweave.metrics.validation import (
    Floats,
    Integers,
    check_count,
    check_pair,
    equal_width_bins,
    factor_classes,
    standardised,
)

ACTIVE_SHARE = 1 / 8
"""A latent is active if its range exceeds this share of the largest range."""

Estimator = Literal["bins", "neighbours"]
_REFERENCE = "Hsu et al. 2023, section 4"


def infomec(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    estimator: Estimator = "bins",
    bins: int = 20,
    interval: bool = True,
) -> dict[str, Score]:
    """InfoMEC: ``infomec_modularity``, ``infomec_compactness`` and ``infomec_explicitness``, each in [0, 1].

    With N_jk = I(z_j; v_k) / H(v_k) over the J active latents and K factors,

        modularity  = mean_j ( max_k N_jk / sum_k N_jk - 1/K ) / (1 - 1/K)
        compactness = mean_k ( max_j N_jk / sum_j N_jk - 1/J ) / (1 - 1/J)
        explicitness = mean_k ( H_0 - H_k ) / H_0,

    H_k being the mean loss, over the codes it was fitted to, of an unpenalised multinomial logistic regression of
    factor k on all active codes with balanced classes, and H_0 = log |V_k| that of one without codes. A latent is
    active if its range exceeds an eighth of the largest. The authors stop the regression after 100 steps; here it is
    solved.

    Corrected values are those of infinitely many codes: the first two of the informations less their bias, where
    latents that independence explains count nothing, the last less its optimism, (V_a + V_b) / 2 - V for the values of
    two halves of the codes. Intervals are 1.96 standard errors, from the influence of each sample. Those of the
    first two are of the mean over samples of *this number of codes* (``Score.covers`` says so) if codes are few for the
    cells, if the range of the codes moves the bins or the active latents, or if a latent can hardly be told from noise,
    and there are none of fewer than 1,500 codes, with heavy tails, or a latent that is active in some samples only, see
    :class:`~unweave.metrics.counted.CountedScore`. Neighbours have none; the last has none if a value has fewer than
    thirty codes for a weight of its classifier.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into 20 bins.
        estimator: of the mutual information: ``bins`` or, as its authors recommend, nearest ``neighbours`` (slower).
        bins: of the first.
        interval: whether to compute intervals.

    References:
        Hsu et al. 2023, "Disentanglement via latent quantization", section 4.

    Example:
        >>> v = np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2)
        >>> {name: round(score.value, 3) for name, score in infomec(v, v).items()}
        {'infomec_modularity': 1.0, 'infomec_compactness': 1.0, 'infomec_explicitness': 1.0}

    """
    check_choice("estimator of infomec", estimator, ("bins", "neighbours"))
    bins = check_count("bins", bins, 2)
    codes, table = check_pair(codes, factors, least=bins)
    classes, sizes = factor_classes(table, bins)
    spans = np.ptp(codes, axis=0)
    active = spans > spans.max() * ACTIVE_SHARE
    kept = codes[:, active]
    shares, joint = _shares(kept, classes, sizes, estimator, bins)
    constants = {
        "estimator": estimator,
        "bins": bins,
        "samples": len(codes),
        "active_latents": np.flatnonzero(active).tolist(),
        "information_shares": shares.tolist(),
    }
    spans_of: tuple[Span, Span] = (no_span(_NEIGHBOURS if interval else ""),) * 2
    if joint is None:
        spans_of = (span_of(0.0, 0.0, 0.0, 0.0),) * 2
    elif interval and estimator == "bins":
        spans_of = _spans(codes, active, joint, sizes, bins)
    if len(sizes) == 1:
        spans_of = no_span(SINGLE_FACTOR), spans_of[1]
    if len(shares) == 1:
        spans_of = spans_of[0], no_span(SINGLE_LATENT)
    values = {
        "infomec_modularity": float(_focus(shares.T)),
        "infomec_compactness": float(_focus(shares)),
    }
    scores = {
        name: Score(name, value, reference=_REFERENCE, constants=constants, **span)
        for (name, value), span in zip(values.items(), spans_of, strict=True)
    }
    name = "infomec_explicitness"
    explicit, span = _explicitness(kept, classes, interval)
    scores[name] = Score(name, explicit, reference=_REFERENCE, constants=constants, **span)
    return scores


_NEIGHBOURS = "the error of nearest neighbours is not known"
_HARDLY_ACTIVE = (
    "the range of a latent is so near an eighth of the largest that it is active in some samples only"
)


@dataclass(frozen=True)
class _Focused(CountedScore):
    """Modularity (``of_latents``) or compactness as a function of informations."""

    of_latents: bool

    def _turned(self, table: Floats) -> Floats:
        return np.swapaxes(table, -1, -2) if self.of_latents else table

    def plain(self, information: Floats) -> Floats:
        return _focus(self._turned(information / _entropies(self.joint)))

    def corrected(self, joint: JointCounts) -> float:
        known = np.where(self.nothing, 0.0, joint.unbiased())
        return float(_focus(self._turned(known / _entropies(joint))))

    @property
    def at_an_end(self) -> bool:
        known = np.where(self.nothing, 0.0, self.joint.information / _entropies(self.joint))
        rest, turned = ~self.nothing, self._turned(known)
        pairs = rest.T if self.of_latents else rest
        pairs[turned.argmax(axis=0), np.arange(turned.shape[1])] = False
        return self.joint.by_chance(rest)

    @property
    def nothing(self) -> NDArray[np.bool_]:
        """All that chance explains: of 0 / 0 for a factor that no latent knows, what is counted would decide."""
        return self.silent[:, None] | ~self.joint.represented()[0]

    def uncertain(self, plain: float, corrected: float, error: float) -> bool:
        """The score is a ratio of informations: what is left of their bias is about the square of the correction.

        That chance counts nothing is no part of it.
        """
        biased = float(self.plain(np.where(self.nothing, 0.0, self.joint.information)))
        return (biased - corrected) ** 2 > STEADY * error

    def slopes(self, information: Floats) -> tuple[Floats, Floats]:
        entropies = _entropies(self.joint)
        by_share = self._turned(_slopes(self._turned(information / entropies)))
        return by_share / entropies, -np.sum(by_share * self.joint.information, axis=0) / entropies**2


def _spans(
    codes: Floats, active: NDArray[np.bool_], joint: JointCounts, sizes: tuple[int, ...], bins: int
) -> tuple[Span, Span]:
    """The intervals of modularity and compactness, or why there are none."""
    if len(codes) < LEAST:
        return no_span(TOO_FEW), no_span(TOO_FEW)
    ends = Ends.of(codes)
    spans, errors = ends.range, ends.errors()
    least = ACTIVE_SHARE * spans.max()
    if np.any(np.abs(spans - least) < 3 * np.hypot(*errors)):
        return no_span(_HARDLY_ACTIVE), no_span(_HARDLY_ACTIVE)
    grown = np.ptp(ends.wider(), axis=0)
    limit = np.array_equal(active, grown > grown.max() * ACTIVE_SHARE) and not joint.represented()[1].any()
    plain, found = _known(joint), []
    for of_latents in (True, False):
        value = float(_focus(plain.T if of_latents else plain))
        why = uncounted(f"infomec_{'modularity' if of_latents else 'compactness'}", len(codes))
        scored = _Focused(codes[:, active], bins, joint, sizes, of_latents)
        found.append(no_span(why) if why else scored.span(value, limit=limit))
    return found[0], found[1]


def _entropies(joint: JointCounts) -> Floats:
    """Of the factors; 1 for those that do not vary, which nobody can know of."""
    return np.where(joint.entropies > 1e-12, joint.entropies, 1.0)


def _known(joint: JointCounts) -> Floats:
    """I(z_j; v_k) / H(v_k), (active latents, K)."""
    return np.asarray(joint.information / _entropies(joint))


def _shares(
    codes: Floats, classes: Integers, sizes: tuple[int, ...], estimator: str, bins: int
) -> tuple[Floats, JointCounts | None]:
    """I(z_j; v_k) / H(v_k), (active latents, K), and the counts it came from."""
    if codes.shape[1] == 0:
        return np.zeros((0, len(sizes))), None
    joint = JointCounts.of(equal_width_bins(codes, bins), bins, classes, sizes)
    if estimator == "bins":
        return _known(joint), joint
    return neighbour_information(codes, classes) / _entropies(joint), joint


def _slopes(shares: Floats) -> Floats:
    """The derivative of :func:`_focus` by each share, (rows, columns)."""
    rows, columns = shares.shape
    totals = shares.sum(axis=0)
    if rows < 2:
        return np.zeros_like(shares)
    top = shares.max(axis=0)
    alive = totals > 1e-12
    safe = np.where(alive, totals, 1.0)
    slopes = np.where(alive, -top / safe**2, 0.0) * np.ones((rows, 1))
    slopes[shares.argmax(axis=0), np.arange(columns)] += np.where(alive, 1 / safe, 0.0)
    return np.asarray(slopes / (1 - 1 / rows) / columns)


def _focus(shares: Floats) -> Floats:
    """The mean over columns of (largest entry / sum - 1/rows) / (1 - 1/rows), (..., rows, columns) -> (...).

    1 if there is one row, 0 if none.
    """
    rows, columns = shares.shape[-2:]
    if rows == 0 or columns == 0:
        return np.zeros(shares.shape[:-2])
    best = shares.max(axis=-2)
    totals = np.maximum(shares.sum(axis=-2), best)  # informations less their bias may lie a little below 0
    alive = totals > 1e-12
    if rows == 1:
        return np.asarray(alive.mean(axis=-1))
    top = np.where(alive, best / np.where(alive, totals, 1.0), 1 / rows)
    return np.asarray(np.clip(((top - 1 / rows) / (1 - 1 / rows)).mean(axis=-1), 0.0, 1.0))


FEWEST = 30
"""Codes of a value for each weight of its classifier, below which the optimism of a fit is not known well enough."""
FEWEST_SEPARATED = 10
"""Likewise where classes are separated, which so many codes are not by chance."""


def _explicitness(codes: Floats, classes: Integers, interval: bool) -> tuple[float, Span]:
    """The score and its interval."""
    if not codes.shape[1]:
        return 0.0, span_of(0.0, 0.0, 0.0, 0.0)  # nothing is known of any factor
    n, z = len(codes), standardised(codes)
    fits = [_fit(z, column) for column in classes.T]
    value = float(np.clip(np.mean([fit.value for fit in fits]), 0.0, 1.0))
    why = uncounted("infomec_explicitness", n) if interval else ""
    if why or not interval:
        return value, no_span(why)
    fewest = min(int(np.bincount(fit.labels).min()) for fit in fits)
    separated = all(fit.separated for fit in fits)
    if fewest < (FEWEST_SEPARATED if separated else FEWEST) * (z.shape[1] + 1):
        return value, no_span("a value has too few codes for the weights of its classifier")
    if heavy_variance(codes):
        return value, no_span(HEAVY_VARIANCE)
    order = np.random.default_rng(0).permutation(n)
    halves = [
        np.mean([_fit(z[rows], fit.labels[rows], fit.model).value for fit in fits])
        for rows in (order[: n // 2], order[n // 2 :])
    ]
    centre = float(np.clip(2 * value - np.mean(halves), 0.0, 1.0))
    influence = np.mean([_effect(z, fit) for fit in fits], axis=0)
    if separated:
        centre, influence = 1.0, np.zeros(n)
    return value, span_of(value, centre, *interval_of_terms(centre, influence))


@dataclass(frozen=True)
class _Fit:
    """A regression of one factor: the share of its entropy that the codes explain, and the loss of each code."""

    model: Softmax
    labels: Integers
    weights: Floats
    losses: Floats
    value: float

    @property
    def separated(self) -> bool:
        """Whether every code is read rightly: then nothing but the penalty keeps the loss from 0."""
        return bool(np.all(self.losses < np.log(2)))


def _fit(z: Floats, column: Integers, start: Softmax | None = None) -> _Fit:
    present, labels = np.unique(column, return_inverse=True)
    labels = labels.reshape(-1)
    weights = (len(z) / (len(present) * np.bincount(labels)))[labels]
    # So small a penalty changes nothing but that weights stay finite where classes can be separated.
    enough = 1e-9 if start is None else AS_GOOD
    model = fit_softmax(
        z, labels, len(present), ridge=1e-9, sample_weights=weights, start=start, enough=enough
    )
    losses = -model.log_probabilities(z)[np.arange(len(z)), labels]
    return _Fit(model, labels, weights, losses, 1 - float(np.mean(losses)) / float(np.log(len(present))))


def _effect(z: Floats, fit: _Fit) -> Floats:
    """The effect of each sample on the share, (n,): by its own loss, and by moving the weights of all the others.

    The weights minimise the balanced loss, not the plain one, whose gradient at them is therefore not 0.
    """
    n, classes = len(z), fit.model.weights.shape[1]
    loss = Loss(z, fit.labels, fit.weights, np.full((z.shape[1] + 1, 1), 1e-9), classes, np.float64)
    beta = np.vstack([fit.model.weights, fit.model.intercepts])
    loss.scale = fit.model.scale
    loss.cost(beta)
    plain = loss.design.T @ (loss.errors() / fit.weights[:, None]) / n
    moved = loss.solve(plain)
    pull = np.einsum("nk,nk->n", loss.errors(), loss.design @ moved)
    return np.asarray((n * pull - (fit.losses - fit.losses.mean())) / np.log(classes))
