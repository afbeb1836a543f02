"""The evidence lower bound of a model and its parts."""

from collections.abc import Mapping
from typing import final

import numpy as np

from unweave.metrics import Score, elbo_scores
from unweave.model_metrics.model_metric import Evaluated, ModelMetric


@final
class ELBO(ModelMetric):
    """ELBO, NLL, KL and latents used; nothing for a model without a likelihood.

    Example:
        >>> from unweave.model_metrics import Codes
        >>> codes = Codes(np.zeros((2, 1)), np.full((2, 1), 0.1), np.ones((2, 1)), None, np.array([10.0, 12.0]), 1)
        >>> ELBO().compute(Evaluated(None, None, codes), None)["elbo"].value
        -12.0
    """

    name = "elbo"
    sentence = "ELBO, NLL, KL and latents used."

    @property
    def labels(self) -> Mapping[str, str]:
        """Four scores."""
        return {"elbo": "ELBO", "nll": "NLL", "kl": "KL", "latents_used": "latents used"}

    def compute(self, evaluated: Evaluated, rng: np.random.Generator) -> dict[str, Score]:
        """From the images of the sample that were decoded as well."""
        codes = evaluated.codes
        n = len(codes.nll)
        return elbo_scores(codes.nll, codes.kl[:n], codes.scales[:n]) if n else {}
