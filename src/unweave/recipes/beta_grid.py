"""Grids of methods and weights of the KL, as ISA and DEC compare them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

FACTOR_VAE = "FactorVAE"
"""The method whose weight is gamma, that of the total correlation, and not beta."""


class Model(NamedTuple):
    """A method at a weight of the KL; FactorVAE at a weight of the total correlation.

    Example:
        >>> Model("ISA-VAE", 2.0).label, Model("FactorVAE", 5.0).label
        ('ISA-VAE, β = 2', 'FactorVAE, γ = 5')
    """

    method: str
    beta: float

    @property
    def label(self) -> str:
        """The name of the variant."""
        return f"{self.method}, {'γ' if self.method == FACTOR_VAE else 'β'} = {self.beta:g}"


def grid(methods: Sequence[str], betas: Sequence[float]) -> list[Model]:
    """Every method at every beta; at beta 1 the TC-VAEs are the VAEs, and are omitted.

    Example:
        >>> [model.label for model in grid(["β-VAE", "β-TCVAE"], [1.0, 2.0])]
        ['β-VAE, β = 1', 'β-VAE, β = 2', 'β-TCVAE, β = 2']
    """
    return [Model(name, beta) for name in methods for beta in betas if beta != 1 or "TC" not in name]


def variants(models: Sequence[Model], methods: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The variants of a study of models; ``methods`` gives the settings of each method, its objective by name.

    An objective with options is a mapping, as in a config.

    Example:
        >>> methods = {"β-VAE": {"objective": "BetaVAE", "prior": "StandardNormal"}}
        >>> variants([Model("β-VAE", 2.0)], methods)
        {'β-VAE, β = 2': {'objective': {'name': 'BetaVAE', 'beta': 2.0}, 'prior': 'StandardNormal'}}
    """
    pairs = [(model, methods[model.method]) for model in models]
    return {model.label: {**own, "objective": _weighted(model, own["objective"])} for model, own in pairs}


def _weighted(model: Model, objective: str | Mapping[str, Any]) -> dict[str, Any]:
    """The objective of a model with its weight."""
    named = {"name": objective} if isinstance(objective, str) else dict(objective)
    return {**named, "gamma" if model.method == FACTOR_VAE else "beta": model.beta}
