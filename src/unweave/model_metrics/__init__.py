"""Metrics that need a model: the bound and its parts, the image of a factor grid, the log-likelihood."""

from unweave.metrics import AnyMetric
from unweave.model_metrics.codes import Codes
from unweave.model_metrics.elbo import ELBO
from unweave.model_metrics.fresh_votes import FRESH, FreshVotes
from unweave.model_metrics.geometry import Geometry
from unweave.model_metrics.log_likelihood import LogLikelihood, iwae, log_likelihood
from unweave.model_metrics.model_metric import Evaluated, ModelMetric, installed_model_metrics

MODEL_METRICS: dict[str, ModelMetric] = {
    metric.name: metric for metric in (ELBO(), Geometry(), LogLikelihood(), *FRESH)
}
"""unweave's metrics that need a model, by name."""


def model_metrics() -> dict[str, AnyMetric]:
    """All metrics that need a model, by name: those of installed packages and unweave's own.

    Example:
        >>> list(model_metrics())
        ['elbo', 'geometry', 'log_likelihood', 'factor_vae_score_of', 'beta_vae_score_of']
    """
    return {**installed_model_metrics(), **MODEL_METRICS}


__all__ = [
    "Codes",
    "ELBO",
    "Evaluated",
    "FreshVotes",
    "Geometry",
    "LogLikelihood",
    "MODEL_METRICS",
    "ModelMetric",
    "iwae",
    "log_likelihood",
    "model_metrics",
]
