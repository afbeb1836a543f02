"""SAP: how much better the best single latent predicts a factor than the second best."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import check_choice
from unweave.metrics.interval_limits import uncounted
from unweave.metrics.learned import FEWEST, Trial
from unweave.metrics.mig import leading_gaps
from unweave.metrics.ranges import HEAVY_VARIANCE, heavy_variance
from unweave.metrics.score import (
    AT_THIS_NUMBER,
    Score,
    Span,
    interval_of_held_out,
    interval_of_terms,
    no_span,
)
from unweave.metrics.thresholds import envelope, fit_thresholds
from unweave.metrics.validation import (
    Floats,
    Integers,
    check_pair,
    equal_width_bins,
    factor_classes,
    standardised,
)

Mode = Literal["disentanglement_lib", "dcf", "ubisoft", "latte"]
MODES = ("disentanglement_lib", "dcf", "ubisoft", "latte")
_REFERENCE = "Kumar et al. 2018, section 3"
HALF_SAMPLES = 6
"""Random halves of the training codes, for the variance of machines between training sets."""
_LED_BY_CHANCE = "the best latent of some factor is not told from the second: which one leads is chance"


def sap(
    codes: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator | None = None,
    *,
    mode: Mode = "disentanglement_lib",
    test: float = 1 / 3,
    interval: bool = True,
) -> Score:
    """Separated attribute predictability, in [0, 1]: the mean gap of the two most predictive single latents.

    SAP = mean_k ( S_(1)k - S_(2)k ), with S_jk the accuracy, on codes held out, of a linear support vector machine that
    guesses factor k from latent j alone.

    The interval covers the mean of the score over samples of this number of codes (``Score.covers`` says so): the limit
    is out of reach, since machines minimise a penalty plus a sum over codes, and a latent that knows little of a factor
    has machines that nearly tie, whose guesses go on changing with the number of codes. It counts the held-out codes,
    and by how much machines trained on random halves of the training codes differ, see
    :func:`~unweave.metrics.score.interval_of_held_out`. There is none if a value has fewer than 20 codes on either
    side, if tails are heavy, if the best latent of some factor is not told from the second (such intervals covered
    98 to 100 %), and none for ``latte``, which tests on the training codes. That of ``ubisoft`` covers the value of
    infinitely many codes, by the influence of each sample; with heavy tails there is none (it covered 91 %).

    Modes, by the library whose definition they are:

    * ``disentanglement_lib``: C = 0.01, classes balanced, ``test`` held out;
    * ``dcf``: the same on codes and factors cut into 20 bins;
    * ``latte``: C = 1, tested on the training codes;
    * ``ubisoft``: S_jk is the R^2 of a linear regression, which is the squared correlation, of numbers, not classes.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into 20 bins (``ubisoft``: taken as they are).
        rng: splits the samples into training and test; ``np.random.default_rng(0)`` by default.
        mode: whose definition.
        test: share of the samples held out.
        interval: whether to compute one.

    References:
        Kumar et al. 2018, section 3; Locatello et al. 2019.

    Example:
        >>> v = np.stack(np.meshgrid(range(2), range(2)), -1).reshape(-1, 2).repeat(50, axis=0)
        >>> sap(v * 2.0 - 1, v).value > 0.3
        True

    """
    check_choice("mode of sap", mode, MODES)
    codes, table = check_pair(codes, factors, least=20)
    rng = np.random.default_rng(0) if rng is None else rng
    if mode == "ubisoft":
        factor_classes(table)  # for its errors
        return _correlations(codes, table.astype(np.float64), interval)
    if mode == "dcf":
        codes = equal_width_bins(codes, 20).T.astype(np.float64)
        table = equal_width_bins(table.astype(np.float64), 20).T
    classes = factor_classes(table)[0]
    trial = Trial.of(codes, classes, rng, test)
    if mode == "latte":
        trial = replace(trial, train=np.arange(len(codes)), held_out=np.arange(len(codes)))
    penalty = 1.0 if mode == "latte" else 0.01
    machines = _machines(trial, trial.train, penalty)
    right = _right(trial, trial.held_out, machines)
    accuracy = right.mean(axis=2)
    order, gaps = leading_gaps(accuracy)
    value = float(np.mean(gaps))
    span = no_span()
    if interval:
        span = _span(trial, machines, penalty, right, order)
    constants = {
        "mode": mode,
        "training_samples": len(trial.train),
        "test_samples": len(trial.held_out),
        "gaps": gaps.tolist(),
        "accuracies": accuracy.tolist(),
    }
    return Score("sap", value, reference=_REFERENCE, constants=constants, **span)


@dataclass(frozen=True)
class _Machine:
    """What guesses a factor from a latent: the values that occurred, and the line of each; none if it was one value."""

    present: Integers
    lines: tuple[Floats, Floats] | None

    def guess(self, code: Floats) -> Integers:
        if self.lines is None:
            return np.full(len(code), self.present[0])
        breaks, lines = envelope(*self.lines)
        return np.asarray(self.present[lines[np.searchsorted(breaks, code)]])


_Machines = dict[tuple[int, int], _Machine]
"""By latent and factor."""


def _span(
    trial: Trial, machines: _Machines, penalty: float, right: NDArray[np.bool_], order: NDArray[np.intp]
) -> Span:
    """The interval: ``right`` (latents, K, held out) is what the machines guess, ``order`` the latents that lead."""
    if why := uncounted("sap", len(trial.codes)):
        return no_span(why)
    if heavy_variance(trial.codes):
        return no_span(HEAVY_VARIANCE)
    if np.array_equal(trial.train, trial.held_out):
        return no_span("machines are tested on the codes they were trained on")
    if trial.fewest(trial.train, trial.held_out) < FEWEST:
        return no_span(f"a value has fewer than {FEWEST} codes to train or test on")
    if _led_by_chance(right, order):
        return no_span(_LED_BY_CHANCE)
    of_halves = []
    for _ in range(HALF_SAMPLES):
        again = _machines(trial, trial.random_half(), penalty, order, machines)
        of_halves.append(_gap_of_leaders(_right(trial, trial.held_out, again), order))
    low, high = interval_of_held_out(_gap_of_leaders(right, order), of_halves)
    return Span(low=low, high=high, corrected=None, no_interval="", covers=AT_THIS_NUMBER)


def _led_by_chance(right: NDArray[np.bool_], order: NDArray[np.intp]) -> bool:
    """Whether the best latent of some factor is not better than the second by four standard errors.

    Then others may lead in the next sample, and the gap that is left of it varies less than that of two given latents.
    """
    if len(order) < 2:
        return False
    factors = np.arange(right.shape[1])
    terms = right[order[0], factors].astype(np.float64) - right[order[1], factors]
    errors = terms.std(axis=1) / np.sqrt(terms.shape[1])
    return bool(np.any(terms.mean(axis=1) <= 4 * errors))


def _gap_of_leaders(right: NDArray[np.bool_], order: NDArray[np.intp]) -> Floats:
    """By how much the first of two latents guesses each held-out code better than the second, a mean over factors."""
    factors = np.arange(right.shape[1])
    terms = right[order[0], factors].astype(np.float64)
    if len(order) > 1:
        terms -= right[order[1], factors]
    return np.asarray(terms.mean(axis=0))


def _machines(
    trial: Trial,
    rows: Integers,
    penalty: float,
    only: NDArray[np.intp] | None = None,
    starts: _Machines | None = None,
) -> _Machines:
    """The machines trained on some rows; ``only`` (m, K): of these latents alone for each factor.

    ``starts`` are machines of nearly the same rows, where to begin.
    """
    found: _Machines = {}
    codes = np.ascontiguousarray(trial.codes[rows].T)
    for k, column in enumerate(trial.classes[rows].T):
        present, labels = np.unique(column, return_inverse=True)
        for j, code in enumerate(codes):
            if only is not None and j not in only[:, k]:
                continue
            lines = None
            if len(present) > 1:
                near = None if starts is None else starts[j, k]
                start = near.lines if near is not None and len(near.present) == len(present) else None
                lines = fit_thresholds(code, labels.reshape(-1), len(present), penalty=penalty, start=start)
            found[j, k] = _Machine(present, lines)
    return found


def _right(trial: Trial, rows: Integers, machines: _Machines) -> NDArray[np.bool_]:
    """Which of some codes each latent guesses rightly, (latents, K, rows); one without a machine guesses nothing."""
    codes, classes = np.ascontiguousarray(trial.codes[rows].T), np.ascontiguousarray(trial.classes[rows].T)
    right = np.zeros((len(codes), len(classes), len(rows)), dtype=bool)
    for (j, k), machine in machines.items():
        np.equal(machine.guess(codes[j]), classes[k], out=right[j, k])
    return right


def _correlations(codes: Floats, factors: Floats, interval: bool) -> Score:
    z = standardised(codes)
    v = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    explained = (z.T @ v / len(z)) ** 2
    order, gaps = leading_gaps(explained)
    value = float(np.mean(gaps))
    why = uncounted("sap mode=ubisoft", len(codes)) or (HEAVY_VARIANCE if heavy_variance(codes) else "")
    span = no_span(why if interval else "")
    if interval and not why:
        low, high = interval_of_terms(value, _influence(z, v, order))
        span = Span(low=low, high=high, corrected=None, no_interval="")
    reference = f"{_REFERENCE}, with squared correlations"
    constants = {
        "mode": "ubisoft",
        "samples": len(z),
        "gaps": gaps.tolist(),
        "accuracies": explained.tolist(),
    }
    return Score("sap", value, reference=reference, constants=constants, **span)


def _influence(z: Floats, v: Floats, order: NDArray[np.intp]) -> Floats:
    """The effect of each sample on the gap of squared correlations, (n,)."""
    # d r^2 = 2 r dr, and the influence of a sample on r is z v - r (z^2 + v^2) / 2.
    influence = np.zeros(len(z))
    for sign, leading in zip((1, -1), order, strict=False):
        for k, j in enumerate(leading):
            r = float(z[:, j] @ v[:, k]) / len(z)
            effect = z[:, j] * v[:, k] - r * (z[:, j] ** 2 + v[:, k] ** 2) / 2
            influence += sign * 2 * r * effect / v.shape[1]
    return influence
