"""Priors p(z): modules that return a distribution over codes with exact ``log_prob`` and ``sample``."""

from unweave.priors.gaussian import StandardNormal

PRIORS: dict[str, type] = {"StandardNormal": StandardNormal}

__all__ = ["PRIORS", "StandardNormal"]
