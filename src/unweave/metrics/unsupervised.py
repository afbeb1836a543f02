"""Agreement between models that differ only in their seed: a score of disentanglement without labels."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from unweave.errors import UnweaveError, check_choice
from unweave.metrics.score import Score
from unweave.metrics.statistics import standard_ranks
from unweave.metrics.validation import Floats, check_codes, standardised

Kind = Literal["spearman", "lasso"]

INFORMATIVE = 0.01
"""A latent counts if its mean KL is above this, in nats (Duan et al. 2020, section 4)."""


def udr(codes: Sequence[ArrayLike], kl: Sequence[ArrayLike], *, kind: Kind = "spearman") -> Score:
    """Unsupervised disentanglement ranking: do models agree on their latents, up to order and sign?

    ``R[a, b]`` is the absolute rank correlation of latent a of one model with latent b of another, informative
    latents only; with ``lasso`` it is the absolute weight of latent a in a lasso (alpha = 0.1, standardised codes) that
    predicts latent b. Of the pair,

        UDR_ij = (sum_b max_a R[a, b]^2 / sum_a R[a, b] + sum_a max_b R[a, b]^2 / sum_b R[a, b]) / (d_a + d_b),

    1 if each latent has exactly one counterpart. A model's value is the median over the others, the score the mean
    of the models' values.

    Args:
        codes: of each model (n, latents), of the same images in the same order; two models or more.
        kl: of each model (latents,), the mean KL of each latent in nats.
        kind: of the relation between latents: ``spearman`` (UDR_S) or ``lasso`` (UDR_L).

    References:
        Duan et al. 2020, "Unsupervised model selection for variational disentangled representation learning",
        section 4: UDR_S and UDR_L.

    Example:
        >>> z = np.random.default_rng(0).normal(size=(500, 2))
        >>> round(udr([z, -z[:, ::-1]], [[1, 1], [1, 1]]).value, 2) > 0.9
        True

    """
    check_choice("kind of udr", kind, ("spearman", "lasso"))
    tables = [check_codes(table, "codes") for table in codes]
    if len(tables) < 2:
        raise UnweaveError(f"udr compares models of different seeds: it needs two or more, got {len(tables)}")
    if len(kl) != len(tables) or any(
        len(np.asarray(k)) != t.shape[1] for k, t in zip(kl, tables, strict=False)
    ):
        raise UnweaveError("kl must hold one value for each latent of each model")
    if len({len(table) for table in tables}) > 1:
        raise UnweaveError("codes of all models must be of the same images")
    kept = [t[:, np.asarray(k) > INFORMATIVE] for t, k in zip(tables, kl, strict=True)]
    ranked = [standard_ranks(table) if kind == "spearman" else standardised(table) for table in kept]
    values = np.full((len(ranked), len(ranked)), np.nan)
    for i, one in enumerate(ranked):
        for j, two in enumerate(ranked):
            if i != j:
                values[i, j] = _pair(np.abs(one.T @ two) if kind == "spearman" else _weights(one, two))
    each = [float(np.median(np.delete(row, i))) for i, row in enumerate(values)]
    constants = {
        "kind": kind,
        "models": each,
        "informative": [r.shape[1] for r in ranked],
        "threshold": INFORMATIVE,
    }
    return Score(
        "udr", float(np.mean(each)), reference=f"Duan et al. 2020, UDR_{kind[0].upper()}", constants=constants
    )


def _weights(one: Floats, two: Floats) -> Floats:
    """The absolute weight of each latent of one model in the prediction of each of another, (latents, latents)."""
    from sklearn.linear_model import Lasso

    if not one.shape[1] or not two.shape[1]:
        return np.zeros((one.shape[1], two.shape[1]))
    weights = np.atleast_2d(Lasso(alpha=0.1).fit(one, two).coef_)
    return np.asarray(np.abs(weights).T, dtype=np.float64)


def _pair(table: Floats) -> float:
    if 0 in table.shape:
        return 0.0  # nothing was learnt, so nothing is agreed upon
    down = table.max(axis=0) ** 2 / np.maximum(table.sum(axis=0), 1e-12)
    across = table.max(axis=1) ** 2 / np.maximum(table.sum(axis=1), 1e-12)
    return float((down.sum() + across.sum()) / sum(table.shape))
