"""Explicitness and size, by which DCI-ES extends DCI: how powerful a predictor must be, and how long the code is."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from unweave.errors import UnweaveError, check_choice
from unweave.metrics.learned import Trial
from unweave.metrics.score import Score, no_span
from unweave.metrics.validation import Floats, check_count, check_pair, factor_classes, standardised

_REFERENCE = "Eastwood et al. 2023, section 4"
RIDGE = 1e-6
"""Penalty of the squared weights for each training code, so small that it only makes the solution unique."""

NOTHING = 0.01
"""Shares of variance below this are not explained: a curve of losses that ends so high says nothing."""

Mode = Literal["paper", "published_code"]
MODES = ("paper", "published_code")


def dci_es(
    codes: ArrayLike,
    factors: ArrayLike,
    rng: np.random.Generator | None = None,
    *,
    mode: Mode = "paper",
    capacities: Sequence[int] = (0, 8, 16, 32, 64, 128, 256),
    test: float = 1 / 3,
    interval: bool = True,
) -> dict[str, Score]:
    """``dci_explicitness``, in [-1, 1], and ``dci_size``; D, C and I are those of :func:`~unweave.metrics.dci`.

    With l_k(c) the least loss, on codes held out, of predictors of factor k of capacity c or less, 1 that of predicting
    the mean, and l_k* the least of all capacities c_1 < ... < c_m, the area between the loss and l_k* is compared with
    the triangle under a loss that falls evenly from 1 at c_1 to l_k* at c_m:

        explicitness = mean_k ( 1 - A_k / Z_k ),  A_k = int ( l_k(c) - l_k* ) dc,  Z_k = ( 1 - l_k* ) (c_m - c_1) / 2
        size         = K / latents

    So explicitness is 1 if the least capacity, a linear predictor, is as good as any, 0 if the loss falls evenly, and
    -1 if only the largest capacity predicts anything. A factor of which no capacity explains a hundredth counts 0.
    The code that the authors published (``mode="published_code"``), and, as it says, the numbers of their paper, have
    Z_k = (c_m - c_1) / 2, as if l_k* were 0, and so 1 for a factor of which nothing is explained.

    A capacity is, as there, the logarithm of the number of weights. The family of predictors is a choice, which the
    definition leaves open. Here they are least squares regressions of the indicators of a factor's values, on the
    standardised codes and on some random cosines of them (Rahimi & Recht 2007; frequencies normal with variance 1 /
    latents), which is one of the authors' three families; those of a capacity include those of a smaller one. The loss
    is the unexplained share of the variance of the indicators (theirs: of ordered values, or the share of wrong
    classes). Compare equal capacities only.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into 20 bins.
        rng: draws the split and the cosines; ``np.random.default_rng(0)`` by default.
        mode: whose Z_k.
        capacities: numbers of cosines, ascending; two or more.
        test: share of the samples held out.
        interval: there is none of explicitness, which says why; size is no estimate.

    References:
        Eastwood et al. 2023, "DCI-ES: an extended disentanglement framework with connections to identifiability",
        section 4; Z_k as its authors draw it and as their code (github.com/andreinicolicioiu/DCI-ES) has it.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> z = rng.uniform(-1, 1, size=(600, 2))
        >>> scores = dci_es(z, (z[:, :1] > 0) * (z[:, 1:] > 0) + 0)
        >>> round(scores["dci_explicitness"].value, 1), scores["dci_size"].value
        (0.8, 0.5)

    """
    check_choice("mode of dci_es", mode, MODES)
    codes, table = check_pair(codes, factors, least=20)
    steps = _ascending(capacities)
    rng = np.random.default_rng(0) if rng is None else rng
    trial = Trial.of(codes, factor_classes(table)[0], rng, test)
    z = standardised(codes, codes[trial.train])
    losses = _losses(z, trial, steps, rng)
    weights = np.log(1 + z.shape[1] + np.array(steps))
    each = [explicitness_of(weights, curve, mode=mode) for curve in losses]
    constants = {
        "mode": mode,
        "capacities": steps,
        "training_samples": len(trial.train),
        "test_samples": len(trial.held_out),
        "of_factors": each,
        "losses": losses.tolist(),
    }
    span = no_span("the error of the area under a curve of losses is not known" if interval else "")
    explicit = Score("dci_explicitness", float(np.mean(each)), range=(-1.0, 1.0), constants=constants, **span)
    size = _size(trial.classes.shape[1], z.shape[1], interval)
    return {score.name: replace(score, reference=_REFERENCE) for score in (explicit, size)}


def _ascending(capacities: Sequence[int]) -> list[int]:
    steps = [check_count("capacities", c, 0) for c in capacities]
    if len(steps) < 2 or any(b <= a for a, b in itertools.pairwise(steps)):
        raise UnweaveError(f"capacities must be two or more ascending numbers of cosines, got {capacities!r}")
    return steps


def _size(factors: int, latents: int, interval: bool) -> Score:
    size, constants = factors / latents, {"factors": factors, "latents": latents}
    span = no_span("it is no estimate" if interval else "")
    return Score("dci_size", size, range=(0.0, None), constants=constants, **span)


def explicitness_of(capacities: ArrayLike, losses: ArrayLike, *, mode: Mode = "paper") -> float:
    """``1 - A / Z`` of the losses (m,) of ascending capacities (m,), 1 being the loss of no predictor.

    Example:
        >>> explicitness_of([0, 1, 2], [0.2, 0.2, 0.2]), explicitness_of([0, 1, 2], [1.0, 0.5, 0.0])
        (1.0, 0.0)

    """
    best = np.minimum.accumulate(np.minimum(np.asarray(losses, dtype=np.float64), 1.0))
    least, steps = float(best[-1]), np.diff(np.asarray(capacities, dtype=np.float64))
    above = best - least
    area = float(np.sum((above[1:] + above[:-1]) / 2 * steps))
    if mode == "published_code":
        return 1 - 2 * area / float(steps.sum())
    return 1 - 2 * area / float(steps.sum()) / (1 - least) if 1 - least >= NOTHING else 0.0


def _losses(z: Floats, trial: Trial, capacities: Sequence[int], rng: np.random.Generator) -> Floats:
    """The share of the variance of each factor's indicators that remains at each capacity, (K, capacities)."""
    largest, latents = capacities[-1], z.shape[1]
    turned = z @ (rng.normal(size=(latents, largest)) / np.sqrt(latents)) + rng.uniform(0, 2 * np.pi, largest)
    features = np.hstack([np.ones((len(z), 1)), z, np.cos(turned)])
    train, held_out = features[trial.train], features[trial.held_out]
    inner = train.T @ train
    inner[np.diag_indices_from(inner)] += RIDGE * len(train)
    found = np.empty((trial.classes.shape[1], len(capacities)))
    for k, column in enumerate(trial.classes.T):
        indicators = np.eye(int(column.max()) + 1)[column]
        truth, mean = indicators[trial.held_out], indicators[trial.train].mean(axis=0)
        outer = train.T @ indicators[trial.train]
        whole = max(float(np.sum((truth - mean) ** 2)), 1e-300)
        for i, capacity in enumerate(capacities):
            used = slice(1 + latents + capacity)
            weights = np.linalg.solve(inner[used, used], outer[used])
            found[k, i] = float(np.sum((truth - held_out[:, used] @ weights) ** 2)) / whole
    return found
