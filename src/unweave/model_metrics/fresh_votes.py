"""The FactorVAE and the beta-VAE score with fresh images for every vote, as their papers define them."""

from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np

from unweave.metrics import Score, beta_vae_score_of, factor_vae_score_of
from unweave.metrics.metric import Option, options_of_function, suffix_of
from unweave.model_metrics.model_metric import Evaluated, ModelMetric


@final
class FreshVotes(ModelMetric):
    """A score of votes for which images are drawn and encoded anew; nothing where no factors are known.

    Args:
        function: of an encoder, a data set and a source of draws.
        label: of the score.
        chosen: options that are not the function's defaults.

    Example:
        >>> FreshVotes(factor_vae_score_of, "FactorVAE score").name
        'factor_vae_score_of'
    """

    sentence = "As the score without fresh, but every vote has images of its own; takes a while."

    def __init__(
        self, function: Callable[..., Score], label: str, chosen: Mapping[str, Any] | None = None
    ) -> None:
        self.function = function
        self.name = function.__name__
        self.label = label
        self.chosen = dict(chosen or {})
        self.suffix = suffix_of(self.chosen)

    @property
    def labels(self) -> Mapping[str, str]:
        """One score."""
        return {self.name: f"{self.label}, fresh images"}

    @property
    def options(self) -> dict[str, Option]:
        """The keyword arguments of the function."""
        return options_of_function(self.function)

    def with_options(self, given: Mapping[str, Any]) -> "FreshVotes":
        """The same function with other options."""
        return FreshVotes(self.function, self.label, self.changed_options(given))

    def compute(self, evaluated: Evaluated, rng: np.random.Generator) -> dict[str, Score]:
        """Draws and encodes votes times samples images."""
        if evaluated.dataset.space is None or evaluated.codes.varying_factors is None:
            return {}
        score = self.function(evaluated.model.codes, evaluated.dataset, rng, **self.chosen)
        return {self.name: score}


FRESH = (FreshVotes(factor_vae_score_of, "FactorVAE score"), FreshVotes(beta_vae_score_of, "beta-VAE score"))
"""Both of them."""
