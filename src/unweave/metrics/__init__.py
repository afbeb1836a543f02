"""Measures of representations: pure functions on arrays that answer with a :class:`Score`."""

from unweave.metrics.elbo import elbo_scores
from unweave.metrics.factor_vae import factor_vae_score
from unweave.metrics.geometry import (
    GridEmbedding,
    embed_grid,
    geometry_score,
    informative_latents,
    plane_factors,
)
from unweave.metrics.mig import mig, mutual_information
from unweave.metrics.score import Score

__all__ = [
    "GridEmbedding",
    "Score",
    "elbo_scores",
    "embed_grid",
    "factor_vae_score",
    "geometry_score",
    "informative_latents",
    "mig",
    "mutual_information",
    "plane_factors",
]
