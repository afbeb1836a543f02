"""Which factor sits in which latent: one page of numbers with names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unweave.metrics.information import JointCounts
from unweave.metrics.metric import Encoded
from unweave.metrics.score import Score
from unweave.metrics.statistics import standard_ranks
from unweave.metrics.validation import Floats, equal_width_bins, factor_classes

_TITLES = {
    "information": "mutual information, share of the factor's entropy",
    "importance": "importance in DCI, share of the factor",
    "correlation": "rank correlation",
}


@dataclass(frozen=True)
class Relations:
    """How each latent relates to each factor, (latents, K) each; ``importance`` is None if DCI was not computed.

    Example:
        >>> found = Relations(("z",), ("shape", "x"), np.array([[0.9, 0.0]]), None, np.array([[-1.0, 0.1]]))
        >>> found.tables()["rank correlation"]
        [['', 'shape', 'x'], ['z', '-1.00', '0.10']]
    """

    latent_names: tuple[str, ...]
    factor_names: tuple[str, ...]
    information: Floats
    importance: Floats | None
    correlation: Floats

    def tables(self) -> dict[str, list[list[str]]]:
        """A table of texts for each measure, with the names of factors above and of latents before it."""
        found = {}
        for key, title in _TITLES.items():
            values: Floats | None = getattr(self, key)
            if values is not None:
                rows = [
                    [n, *(f"{x:.2f}" for x in row)] for n, row in zip(self.latent_names, values, strict=True)
                ]
                found[title] = [["", *self.factor_names], *rows]
        return found

    def to_json(self) -> dict[str, Any]:
        """Names and plain lists.

        Example:
            >>> Relations(("z",), ("x",), np.array([[1.0]]), None, np.array([[1.0]])).to_json()["information"]
            [[1.0]]

        """
        return {
            key: value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in vars(self).items()
        }


def relations(
    encoded: Encoded, scores: Mapping[str, Score] | None = None, *, bins: int = 20
) -> Relations | None:
    """Which factors sit in which latents; None if no factors are known.

    Three measures of each pair: I(z_j; v_k) / H(v_k) of binned codes, which sees every kind of dependence on a single
    latent; the weight of latent j in the predictor of factor k, R_jk / sum_j R_jk, if DCI is among the scores, which
    sees what latents tell together; Spearman's correlation, which has a sign. The first is biased upwards by about
    (bins - 1)(|V_k| - 1) / 2n nats.

    Args:
        encoded: the codes and their factors.
        scores: of :func:`unweave.metrics.score_all`, for the importances of DCI.
        bins: of the codes.

    References:
        Eastwood & Williams 2018 (importances); Chen et al. 2018, section 4 (mutual information).

    Example:
        >>> v = np.stack(np.meshgrid(range(8), range(8)), -1).reshape(-1, 2)
        >>> found = relations(Encoded.of(-v[:, ::-1] * 1.0, v, factor_names=["x", "y"]))
        >>> found.information.round(2).tolist(), found.correlation.round(2).tolist()
        ([[0.0, 1.0], [1.0, 0.0]], [[0.0, -1.0], [-1.0, 0.0]])

    """
    if encoded.factors is None:
        return None
    joint = JointCounts.of(
        equal_width_bins(encoded.codes, bins), bins, *factor_classes(encoded.factors, bins)
    )
    importance = None
    if scores is not None and "dci" in scores and "importance" in scores["dci"].constants:
        weights = np.asarray(scores["dci"].constants["importance"], dtype=np.float64)
        importance = weights / np.maximum(weights.sum(axis=0), 1e-300)
    correlation = standard_ranks(encoded.codes).T @ standard_ranks(encoded.factors.astype(np.float64))
    return Relations(
        encoded.latent_names,
        encoded.factor_names,
        joint.information / joint.entropies,
        importance,
        np.clip(correlation, -1.0, 1.0) + 0.0,
    )
