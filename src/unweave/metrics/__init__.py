"""Measures of representations: pure functions on arrays that answer with a :class:`Score`.

>>> import numpy as np
>>> v = np.stack(np.meshgrid(range(8), range(8)), -1).reshape(-1, 2)
>>> round(mig(v, v).value, 6)
1.0
"""

from unweave.metrics.accumulator import Accumulator
from unweave.metrics.aggregate import log_joint, log_marginals
from unweave.metrics.agreement import Agreement, Sensitivity, agreement, sensitivity
from unweave.metrics.beta_vae import beta_vae_score, beta_vae_score_of
from unweave.metrics.dci import dci
from unweave.metrics.dci_es import dci_es
from unweave.metrics.decomposition import (
    classifier_total_correlation,
    decomposition,
    gaussian_total_correlation,
    mixture_total_correlation,
)
from unweave.metrics.distances import (
    Distances,
    Matrices,
    distance_matrices,
    overlap,
    perceived_distances,
)
from unweave.metrics.downstream import downstream_accuracy, transferred_accuracy
from unweave.metrics.elbo import elbo_scores
from unweave.metrics.explicitness import explicitness
from unweave.metrics.factor_vae import factor_vae_score, factor_vae_score_of
from unweave.metrics.files import load_encoded
from unweave.metrics.gaps import dcimig, jemmig, mcc, mig_sup
from unweave.metrics.geometry import (
    GridEmbedding,
    embed_grid,
    geometry_score,
    informative_latents,
    plane_factors,
)
from unweave.metrics.hoyer import hoyer
from unweave.metrics.infomec import infomec
from unweave.metrics.information import mutual_information
from unweave.metrics.interventions import EncodeOnce
from unweave.metrics.irs import irs
from unweave.metrics.metric import AnyMetric, Encoded, FunctionMetric, Metric
from unweave.metrics.mig import mig
from unweave.metrics.modularity import modularity
from unweave.metrics.registry import (
    METRICS,
    MetricLike,
    choose_metrics,
    label_of,
    metric_of,
    metric_spelling,
    resolve_metric,
    score_all,
    sentence_of,
)
from unweave.metrics.relations import Relations, relations
from unweave.metrics.sampled_mig import sampled_mig, subspace_mig
from unweave.metrics.sap import sap
from unweave.metrics.score import Score
from unweave.metrics.unsupervised import udr
from unweave.metrics.z_max_variance import z_max_variance

__all__ = [
    "METRICS",
    "Accumulator",
    "Agreement",
    "AnyMetric",
    "Distances",
    "EncodeOnce",
    "Encoded",
    "FunctionMetric",
    "GridEmbedding",
    "Matrices",
    "Metric",
    "MetricLike",
    "Relations",
    "Score",
    "Sensitivity",
    "agreement",
    "beta_vae_score",
    "beta_vae_score_of",
    "choose_metrics",
    "classifier_total_correlation",
    "dci",
    "dci_es",
    "dcimig",
    "decomposition",
    "distance_matrices",
    "downstream_accuracy",
    "elbo_scores",
    "embed_grid",
    "explicitness",
    "factor_vae_score",
    "factor_vae_score_of",
    "gaussian_total_correlation",
    "geometry_score",
    "hoyer",
    "infomec",
    "informative_latents",
    "irs",
    "jemmig",
    "label_of",
    "load_encoded",
    "log_joint",
    "log_marginals",
    "mcc",
    "metric_of",
    "metric_spelling",
    "mig",
    "mig_sup",
    "mixture_total_correlation",
    "modularity",
    "mutual_information",
    "overlap",
    "perceived_distances",
    "plane_factors",
    "relations",
    "resolve_metric",
    "sampled_mig",
    "sap",
    "score_all",
    "sensitivity",
    "sentence_of",
    "subspace_mig",
    "transferred_accuracy",
    "udr",
    "z_max_variance",
]
