"""Agreement between models that differ only in their seed: a score of disentanglement without labels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unweave.errors import UnweaveError
from unweave.metrics.score import Score
from unweave.metrics.statistics import standard_ranks
from unweave.metrics.validation import Floats, check_codes

INFORMATIVE = 0.01
"""A latent counts if its mean KL is above this, in nats (Duan et al. 2020, section 4)."""


def udr(codes: Sequence[ArrayLike], kl: Sequence[ArrayLike]) -> Score:
    """Unsupervised disentanglement ranking: do models agree on their latents, up to order and sign?

    ``R[a, b]`` is the absolute rank correlation of latent a of one model with latent b of another, informative
    latents only. Of the pair,

        UDR_ij = (sum_b max_a R[a, b]^2 / sum_a R[a, b] + sum_a max_b R[a, b]^2 / sum_b R[a, b]) / (d_a + d_b),

    1 if each latent has exactly one counterpart. A model's value is the median over the others, the score the mean
    of the models' values.

    Args:
        codes: of each model (n, latents), of the same images in the same order; two models or more.
        kl: of each model (latents,), the mean KL of each latent in nats.

    References:
        Duan et al. 2020, "Unsupervised model selection for variational disentangled representation learning",
        section 4, with Spearman's correlation (UDR_S).

    Example:
        >>> z = np.random.default_rng(0).normal(size=(500, 2))
        >>> round(udr([z, -z[:, ::-1]], [[1, 1], [1, 1]]).value, 2) > 0.9
        True

    """
    tables = [check_codes(table, "codes") for table in codes]
    if len(tables) < 2:
        raise UnweaveError(f"udr compares models of different seeds: it needs two or more, got {len(tables)}")
    if len(kl) != len(tables) or any(
        len(np.asarray(k)) != t.shape[1] for k, t in zip(kl, tables, strict=False)
    ):
        raise UnweaveError("kl must hold one value for each latent of each model")
    if len({len(table) for table in tables}) > 1:
        raise UnweaveError("codes of all models must be of the same images")
    ranked = [standard_ranks(t[:, np.asarray(k) > INFORMATIVE]) for t, k in zip(tables, kl, strict=True)]
    values = np.full((len(ranked), len(ranked)), np.nan)
    for i, one in enumerate(ranked):
        for j, two in enumerate(ranked):
            if i != j:
                values[i, j] = _pair(np.abs(one.T @ two))
    each = [float(np.median(np.delete(row, i))) for i, row in enumerate(values)]
    constants = {"models": each, "informative": [r.shape[1] for r in ranked], "threshold": INFORMATIVE}
    return Score("udr", float(np.mean(each)), reference="Duan et al. 2020, UDR_S", constants=constants)


def _pair(table: Floats) -> float:
    if 0 in table.shape:
        return 0.0  # nothing was learnt, so nothing is agreed upon
    down = table.max(axis=0) ** 2 / np.maximum(table.sum(axis=0), 1e-12)
    across = table.max(axis=1) ** 2 / np.maximum(table.sum(axis=1), 1e-12)
    return float((down.sum() + across.sum()) / sum(table.shape))
