"""InfoMEC: modularity, compactness and explicitness in one unit, shares of information."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import unknown
from unweave.metrics.information import JointCounts
from unweave.metrics.linear import fit_softmax
from unweave.metrics.score import Score, interval_of_terms
from unweave.metrics.validation import check_count, check_pair, equal_width_bins, factor_classes, standardised

ACTIVE_SHARE = 1 / 8
"""A latent is active if its range exceeds this share of the largest range."""

Estimator = Literal["bins", "neighbours"]


def infomec(
    codes: ArrayLike,
    factors: ArrayLike,
    *,
    estimator: Estimator = "bins",
    bins: int = 20,
) -> dict[str, Score]:
    """InfoMEC: ``infomec_modularity``, ``infomec_compactness`` and ``infomec_explicitness``, each in [0, 1].

    With N_jk = I(z_j; v_k) / H(v_k) over the J active latents and K factors,

        modularity  = mean_j ( max_k N_jk / sum_k N_jk - 1/K ) / (1 - 1/K)
        compactness = mean_k ( max_j N_jk / sum_j N_jk - 1/J ) / (1 - 1/J)
        explicitness = mean_k ( H_0 - H_k ) / H_0,

    H_k being the cross-entropy of an unpenalised multinomial logistic regression of factor k on all codes, classes
    balanced and in-sample, and H_0 that of one without codes. A latent is active if its range exceeds an eighth of the
    largest. Intervals are 1.96 standard errors: those of the first two from the influence of each sample on what is
    counted, around the score of the informations less their bias (none for neighbours), that of the last from its mean.

    Args:
        codes: (n, latents) posterior means.
        factors: (n, K) factor values; continuous ones are cut into 20 bins.
        estimator: of the mutual information: ``bins`` or, as its authors recommend, nearest ``neighbours`` (slower).
        bins: of the first.

    References:
        Hsu et al. 2023, "Disentanglement via latent quantization", section 4.

    Example:
        >>> v = np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2)
        >>> {name: round(score.value, 1) for name, score in infomec(v, v).items()}
        {'infomec_modularity': 1.0, 'infomec_compactness': 1.0, 'infomec_explicitness': 1.0}

    """
    if estimator not in ("bins", "neighbours"):
        raise unknown("estimator of infomec", estimator, ("bins", "neighbours"))
    bins = check_count("bins", bins, 2)
    codes, table = check_pair(codes, factors, least=bins)
    classes, sizes = factor_classes(table, bins)
    spans = np.ptp(codes, axis=0)
    active = spans > spans.max() * ACTIVE_SHARE
    kept = codes[:, active]
    shares, joint = _shares(kept, classes, sizes, estimator, bins)
    values = _focus(shares.T), _focus(shares)
    intervals: list[tuple[float | None, float | None]] = [(None, None), (None, None)]
    if joint is None:
        intervals = [(0.0, 0.0), (0.0, 0.0)]
    elif estimator == "bins":
        entropies = np.where(joint.entropies > 1e-12, joint.entropies, 1.0)
        unbiased = joint.unbiased() / entropies
        intervals = [
            interval_of_terms(_focus(unbiased.T), _influence(joint, _slopes(shares.T).T)),
            interval_of_terms(_focus(unbiased), _influence(joint, _slopes(shares))),
        ]
    explicit, terms, optimism = _explicitness(kept, classes)
    constants = {
        "estimator": estimator,
        "bins": bins,
        "samples": len(codes),
        "active_latents": np.flatnonzero(active).tolist(),
        "information_shares": shares.tolist(),
    }
    reference = "Hsu et al. 2023, section 4"
    names = ("infomec_modularity", "infomec_compactness")
    scores = {
        name: Score(name, value, *interval, reference=reference, constants=constants)
        for name, value, interval in zip(names, values, intervals, strict=True)
    }
    low, high = interval_of_terms(explicit - optimism, terms)
    scores["infomec_explicitness"] = Score(
        "infomec_explicitness", explicit, low, high, reference=reference, constants=constants
    )
    return scores


def _shares(
    codes: NDArray[np.float64], classes: NDArray[np.int64], sizes: tuple[int, ...], estimator: str, bins: int
) -> tuple[NDArray[np.float64], JointCounts | None]:
    """I(z_j; v_k) / H(v_k), (active latents, K), and the counts it came from."""
    if codes.shape[1] == 0:
        return np.zeros((0, len(sizes))), None
    joint = JointCounts.of(equal_width_bins(codes, bins), bins, classes, sizes)
    information = joint.information
    if estimator == "neighbours":
        from sklearn.feature_selection import mutual_info_classif

        columns = [mutual_info_classif(codes, column, random_state=0) for column in classes.T]
        information = np.stack(columns, axis=1)
    return information / np.where(joint.entropies > 1e-12, joint.entropies, 1.0), joint


def _slopes(shares: NDArray[np.float64]) -> NDArray[np.float64]:
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
    result: NDArray[np.float64] = slopes / (1 - 1 / rows) / columns
    return result


def _influence(joint: JointCounts, slopes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The effect of each sample on a score with these slopes by I_jk / H_k, (n,), up to a constant."""
    influence = np.zeros(joint.binned.shape[1])
    for k, entropy in enumerate(joint.entropies):
        if entropy <= 1e-12:
            continue
        surprise = joint.surprises(k)
        for j, slope in enumerate(slopes[:, k]):
            if slope:
                share = joint.information[j, k] / entropy
                influence += slope * (joint.ratios(j, k) - share * surprise) / entropy
    return influence


def _focus(shares: NDArray[np.float64]) -> float:
    """The mean over columns of (largest entry / sum - 1/rows) / (1 - 1/rows); 1 if there is one row, 0 if none."""
    rows = len(shares)
    if rows == 0 or shares.shape[1] == 0:
        return 0.0
    totals = shares.sum(axis=0)
    top = np.where(totals > 1e-12, shares.max(axis=0) / np.where(totals > 1e-12, totals, 1.0), 1 / rows)
    if rows == 1:
        return float(np.mean(totals > 1e-12))
    return float(np.clip(np.mean((top - 1 / rows) / (1 - 1 / rows)), 0.0, 1.0))


def _explicitness(
    codes: NDArray[np.float64], classes: NDArray[np.int64]
) -> tuple[float, NDArray[np.float64], float]:
    """The score, the effect of each sample on it, and how much of it is due to testing on the training codes."""
    n = len(codes)
    z = standardised(codes)
    values, terms, optimism = [], np.zeros(n), 0.0
    for column in classes.T:
        present, labels = np.unique(column, return_inverse=True)
        labels = labels.reshape(-1)
        weights = (n / (len(present) * np.bincount(labels)))[labels]
        # A small penalty bounds the weights where the classes can be separated without error.
        model = fit_softmax(z, labels, len(present), ridge=1e-3, sample_weights=weights)
        losses = -model.log_probabilities(z)[np.arange(n), labels]
        null = np.log(len(present))
        values.append(1 - float(np.mean(weights * losses)) / null)
        # A maximum of the likelihood lies above its large-sample value by half a nat per free weight.
        optimism += (
            min((z.shape[1] + 1) * (len(present) - 1) / (2 * n), 1 - values[-1]) / null / classes.shape[1]
        )
        terms -= weights * (losses - np.mean(weights * losses)) / null / classes.shape[1]
    return float(np.clip(np.mean(values), 0.0, 1.0)), terms, optimism
