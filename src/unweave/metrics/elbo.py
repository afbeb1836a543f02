"""The bound and its parts, averaged over images."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.metrics.score import Score, interval_of_mean
from unweave.metrics.validation import check_codes

USED_SCALE = 0.5
"""A latent is used for an image if its posterior standard deviation is below this (SBD appendix G)."""

_REFERENCE = "Watters et al. 2019 (SBD), appendix G"


def elbo_scores(nll: ArrayLike, kl_per_latent: ArrayLike, scales: ArrayLike) -> dict[str, Score]:
    """ELBO, NLL, KL (nats per image) and the number of latents used, with the 95 % intervals of their means.

    NLL = -E_q[log p(x|z)],  KL = sum_j KL_j,  ELBO = -(NLL + KL),  latents used = #{j : scale_j < 0.5}.
    (The tables of SBD print -ELBO.) ``kl`` carries the mean KL of each latent as ``constants["per_latent"]``, if the
    prior factorises.

    Args:
        nll: (n,) negative log-likelihood of each image.
        kl_per_latent: (n, latents) KL divergence of each posterior to the prior, or (n, 1), the whole, for a prior that
            does not factorise over latents.
        scales: (n, latents) posterior standard deviations.

    References:
        Watters et al. 2019 (SBD), appendix G.

    Example:
        >>> scores = elbo_scores([10.0, 12.0], [[2.0, 0.0], [4.0, 0.0]], [[0.1, 1.0], [0.2, 1.0]])
        >>> {name: score.value for name, score in scores.items()}
        {'elbo': -14.0, 'nll': 11.0, 'kl': 3.0, 'latents_used': 1.0}
        >>> scores["kl"].constants["per_latent"]
        [3.0, 0.0]

    """
    kl, sd = check_codes(kl_per_latent, "kl_per_latent"), check_codes(scales, "scales")
    cost = check_codes(np.reshape(np.asarray(nll), (-1, 1)), "nll")[:, 0]
    splits = kl.shape == sd.shape
    if not splits and kl.shape != (len(sd), 1):
        raise UnweaveError(f"kl_per_latent and scales must have one shape, got {kl.shape} and {sd.shape}")
    if len(cost) != len(kl):
        raise UnweaveError(f"nll must have one value per image, got {len(cost)} for {len(kl)} images")
    n, latents = sd.shape
    in_nats = {"unit": "nats per image", "samples": n}
    used = np.sum(sd < USED_SCALE, axis=1).astype(np.float64)
    counted = {"threshold": USED_SCALE, "samples": n, "latents": latents}
    total = kl.sum(axis=1)
    parts: list[tuple[str, NDArray[np.float64], float | None, float | None, bool, dict[str, Any]]] = [
        ("elbo", -cost - total, None, None, True, in_nats),
        ("nll", cost, None, None, False, in_nats),
        ("kl", total, 0.0, None, False, {**in_nats, **(_per_latent(kl) if splits else {})}),
        ("latents_used", used, 0.0, float(latents), True, counted),
    ]
    return {
        name: Score(name, *interval_of_mean(values), (low, high), better, _REFERENCE, constants)
        for name, values, low, high, better, constants in parts
    }


def _per_latent(kl: NDArray[np.float64]) -> dict[str, list[float | None]]:
    found = [interval_of_mean(column) for column in kl.T]
    return {
        "per_latent": [mean for mean, _, _ in found],
        "per_latent_low": [low for _, low, _ in found],
        "per_latent_high": [high for _, _, high in found],
    }
