"""The parts of the mean KL to the prior, and the total correlation of codes by several estimates."""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from unweave.errors import UnweaveError, check_choice
from unweave.metrics.aggregate import LOG_2PI, log_joint, log_marginals
from unweave.metrics.interval_limits import uncounted
from unweave.metrics.score import Score, Span, clipped, decided_by_one, interval_of_mean, no_span, span_of
from unweave.metrics.validation import Floats, check_codes, check_count, check_scales, standardised, unit_of

Estimator = Literal["exact", "batch", "weighted"]

_REFERENCES = {
    "index_code_mi": "Chen et al. 2018, Eq. 2",
    "total_correlation": "Kim & Mnih 2018, section 3 and appendix D",
    "dimension_wise_kl": "Chen et al. 2018, Eq. 2",
}


def decomposition(
    means: ArrayLike,
    scales: ArrayLike,
    rng: np.random.Generator,
    *,
    estimator: Estimator = "exact",
    samples: int = 2_000,
    batch: int = 1_000,
    interval: bool = True,
) -> dict[str, Score]:
    """``index_code_mi``, ``total_correlation`` and ``dimension_wise_kl``, nats; they add up to the mean KL to N(0, I).

        I(n; z) = E log q(z|x_n)/q(z),   TC = E log q(z)/prod_j q(z_j),   E log prod_j q(z_j)/p(z_j),

    over z ~ q(z | x_n), n uniform. ``exact`` evaluates q(z) as the mixture over *all* N images given, so the only error
    is that of averaging ``samples`` draws; intervals are those of the averages. The other two show
    the error of estimates from few images:

    * ``batch``: q(z) from the mixture over ``batch`` other images only. TC can be far below zero (FAC appendix D);
    * ``weighted``: minibatch-weighted sampling, batches of M = ``batch`` draws; log q(z) = log sum_m q(z|x_m) - log NM.

    Args:
        means: (N, latents) posterior means of the whole data set.
        scales: (N, latents) posterior standard deviations.
        rng: source of the draws.
        estimator: of q(z).
        samples: draws of z.
        batch: images in the mixture of the last two.
        interval: whether to compute intervals.

    References:
        Hoffman & Johnson 2016; Chen et al. 2018, Eq. 2; Kim & Mnih 2018 (FAC), appendices C and D.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> mu = rng.normal(size=(500, 1)) @ np.ones((1, 2))
        >>> scores = decomposition(mu, 0 * mu + 0.3, rng)
        >>> scores["total_correlation"].value > 0.5
        True

    """
    check_choice("estimator of decomposition", estimator, ("exact", "batch", "weighted"))
    mu = check_codes(means, "means")
    sd = check_scales(scales, mu)
    samples, batch = check_count("samples", samples, 2), check_count("batch", batch, 2)
    if len(mu) < 2:
        raise UnweaveError("decomposition needs the posteriors of two images or more, got 1")
    terms = _terms(mu, sd, rng, estimator, samples, batch)
    constants = {"estimator": estimator, "unit": "nats per image", "samples": samples, "images": len(mu)}
    if estimator != "exact":
        constants["batch"] = batch
    possible = (0.0 if estimator == "exact" else None, None)
    scores = {}
    for name, reference in _REFERENCES.items():
        mean, *ends = interval_of_mean(terms[name])
        low, high = ends if interval else (None, None)
        scores[name] = Score(name, mean, low, high, possible, False, reference, constants)
    # Terms of the prior grow with the square of a code: if one image has much of them, draws say little of the mean.
    if interval and decided_by_one(np.sum(mu**2, axis=1)):
        why = "a single image decides how far the marginals are from the prior: heavy tails"
        of_prior = scores["dimension_wise_kl"]
        scores["dimension_wise_kl"] = replace(of_prior, low=None, high=None, no_interval=why)
    return scores


def _terms(
    mu: Floats, sd: Floats, rng: np.random.Generator, estimator: Estimator, samples: int, batch: int
) -> dict[str, Floats]:
    """Of each part the log ratio of each draw, whose mean it is."""
    rows = rng.integers(0, len(mu), samples)
    z = mu[rows] + sd[rows] * rng.normal(size=(samples, mu.shape[1]))
    conditional = np.sum(_log_normal(z, mu[rows], sd[rows]), axis=1)
    prior = np.sum(-0.5 * (z**2 + LOG_2PI), axis=1)
    if estimator == "exact":
        joint, product = log_joint(z, mu, sd), log_marginals(z, mu, sd).sum(axis=1)
    elif estimator == "batch":
        others = rng.choice(len(mu), min(batch, len(mu)), replace=False)
        joint = log_joint(z, mu[others], sd[others])
        product = log_marginals(z, mu[others], sd[others]).sum(axis=1)
    else:
        joint, product = _weighted(z, mu[rows], sd[rows], batch, len(mu))
    if mu.shape[1] == 1:  # one marginal is the whole; computed in two ways they differ by rounding
        product = joint
    return {
        "index_code_mi": conditional - joint,
        "total_correlation": joint - product,
        "dimension_wise_kl": product - prior,
    }


def mixture_total_correlation(
    means: ArrayLike, scales: ArrayLike, rng: np.random.Generator, *, samples: int = 2_000
) -> Score:
    """Total correlation KL(q(z) || prod_j q(z_j)) in nats, with q(z) the exact mixture over all images given.

    Args:
        means: (N, latents) posterior means.
        scales: (N, latents) posterior standard deviations.
        rng: source of the draws.
        samples: draws of z.

    References:
        Kim & Mnih 2018 (FAC), section 3 and figure 18.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> abs(mixture_total_correlation(np.zeros((10, 2)), np.ones((10, 2)), rng).value) < 1e-4
        True

    """
    return decomposition(means, scales, rng, samples=samples)["total_correlation"]


def gaussian_total_correlation(codes: ArrayLike, *, interval: bool = True) -> Score:
    """Total correlation, in nats, of the Gaussian with the covariance of the codes: -1/2 log det of the correlations.

    Constant latents take no part. Cheap, blind to everything but correlations.

    The interval covers the value of infinitely many codes. It is the jackknife's: with w_i the standardised code i of
    n, C the correlations and m = n - 1, leaving code i out changes the value by exactly

        t_i = 1/2 ( sum_j log(1 - w_ij^2 / m) - log(1 - w_i' C^-1 w_i / m) ),

    so that m mean(t) is the bias, which is subtracted from the corrected value, and sqrt(m) sd(t) the standard error.
    There is none if a single code decides (see :func:`~unweave.metrics.score.decided_by_one`): with such tails the
    covariance itself has no error that a sample could show.

    Args:
        codes: (n, latents) posterior means or samples.
        interval: whether to compute one.

    References:
        Locatello et al. 2019, section 5.2 (unsupervised scores).

    Example:
        >>> z = np.random.default_rng(0).normal(size=(1000, 2))
        >>> gaussian_total_correlation(z).value < 0.01 < gaussian_total_correlation(z @ [[1, 1], [0, 1]]).value
        True

    """
    z = check_codes(codes)
    z = z / unit_of(z)
    z = z[:, z.std(axis=0) > 1e-9]
    value, span = 0.0, span_of(0.0, 0.0, 0.0, 0.0)
    if z.shape[1] > 1 and len(z) > z.shape[1] + 1:
        white = (z - z.mean(axis=0)) / z.std(axis=0)
        correlation = white.T @ white / len(z)
        # A floor on the eigenvalues: duplicated latents, which are infinitely dependent, give a finite value.
        eigen = np.maximum(np.linalg.eigvalsh(correlation), 1e-12)
        value = max(0.0, -0.5 * float(np.sum(np.log(eigen))))
        inverse = np.linalg.pinv(correlation, rcond=1e-12)
        left = len(z) - 1
        # The leverage of a code is n at most: a code alone in its direction would take the value with it.
        leverage = np.minimum(np.einsum("ni,ij,nj->n", white, inverse, white) / left, 1 - 1 / len(z))
        alone = np.minimum(white**2 / left, 1 - 1 / len(z))
        changes = 0.5 * (np.sum(np.log1p(-alone), axis=1) - np.log1p(-leverage))
        span = _jackknifed(value, changes)
    constants = {"unit": "nats", "samples": len(z), "latents": z.shape[1]}
    name, reference = "gaussian_total_correlation", "Locatello et al. 2019, section 5.2"
    why = uncounted(name, len(z)) if interval else ""
    span = span if interval and not why else no_span(why)
    return Score(
        name,
        value,
        range=(0.0, None),
        higher_is_better=False,
        reference=reference,
        constants=constants,
        **span,
    )


def _jackknifed(value: float, changes: Floats) -> Span:
    """The interval of a value that leaving code i out changes by ``changes[i]``."""
    n = len(changes)
    if decided_by_one(changes):
        return no_span("a single code decides: tails are too heavy for a covariance")
    centre = value - (n - 1) * float(np.mean(changes))
    half = 1.96 * float(np.std(changes)) * float(np.sqrt(n - 1))
    return span_of(value, max(0.0, centre), *clipped(centre, half, (0.0, np.inf)))


def classifier_total_correlation(
    samples: ArrayLike, rng: np.random.Generator, *, hidden: tuple[int, ...] = (128, 128), steps: int = 60
) -> Score:
    """Total correlation of samples of q(z), in nats, by the density-ratio trick of FactorVAE.

    A network learns to distinguish codes from codes whose latents were shuffled independently; TC = E[logit] on codes
    held out. It sees samples only, so it works without scales, and like every discriminator it underestimates.

    Args:
        samples: (n, latents) samples of q(z), not means.
        rng: shuffles, splits and seeds.
        hidden: sizes of the network's layers.
        steps: passes over the data.

    References:
        Kim & Mnih 2018 (FAC), Eq. 3 and algorithm 2.

    Example:
        >>> z = np.random.default_rng(0).normal(size=(400, 2))
        >>> abs(classifier_total_correlation(z, np.random.default_rng(0), hidden=(16,), steps=5).value) < 0.3
        True

    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    z = check_codes(samples, "samples")
    z = standardised(z)
    shuffled = np.stack([rng.permutation(column) for column in z.T], axis=1)
    order = rng.permutation(len(z))
    test, train = np.array_split(order, [len(z) // 3])
    network = MLPClassifier(
        hidden, max_iter=steps, random_state=int(rng.integers(1 << 31)), early_stopping=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(np.vstack([z[train], shuffled[train]]), np.repeat([1, 0], len(train)))
    logs = network.predict_log_proba(z[test])
    logits = np.clip(logs[:, 1] - logs[:, 0], -50, 50)
    constants = {"unit": "nats", "samples": len(z), "hidden": list(hidden), "steps": steps}
    name, reference = "classifier_total_correlation", "Kim & Mnih 2018, Eq. 3"
    return Score(name, *interval_of_mean(logits), (None, None), False, reference, constants)


def _log_normal(z: Floats, mu: Floats, sd: Floats) -> Floats:
    return -0.5 * (((z - mu) / sd) ** 2 + LOG_2PI) - np.log(sd)


def _weighted(z: Floats, mu: Floats, sd: Floats, batch: int, images: int) -> tuple[Floats, Floats]:
    from scipy.special import logsumexp

    joint, product = np.empty(len(z)), np.empty(len(z))
    for start in range(0, len(z), batch):
        part = slice(start, start + batch)
        logs = _log_normal(z[part][:, None], mu[part][None], sd[part][None])
        constant = np.log(images * logs.shape[1])
        joint[part] = logsumexp(logs.sum(axis=2), axis=1) - constant
        product[part] = np.sum(logsumexp(logs, axis=1) - constant, axis=1)
    return joint, product
