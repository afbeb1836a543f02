"""Metrics that need a model: the bound and its parts, the image of a factor grid, the log-likelihood."""

from unweave.model_metrics.codes import Codes
from unweave.model_metrics.elbo import ELBO
from unweave.model_metrics.geometry import Geometry
from unweave.model_metrics.log_likelihood import LogLikelihood, iwae, log_likelihood
from unweave.model_metrics.model_metric import ModelMetric

MODEL_METRICS: dict[str, ModelMetric] = {
    metric.name: metric for metric in (ELBO(), Geometry(), LogLikelihood())
}
"""The metrics that need a model, by name."""

__all__ = [
    "Codes",
    "ELBO",
    "Geometry",
    "LogLikelihood",
    "MODEL_METRICS",
    "ModelMetric",
    "iwae",
    "log_likelihood",
]
