"""Pure mathematics on tensors and distributions, shared by priors, likelihoods, objectives and theory."""

from unweave.functional.aggregate_posterior import Aggregate, aggregate, mixture_weights
from unweave.functional.blur import blur, blur_profile
from unweave.functional.decomposition import (
    half_log_determinant,
    pointwise_dimension_wise_kl,
    pointwise_exclusive_kl,
    pointwise_inclusive_kl,
    pointwise_mutual_information,
    pointwise_total_correlation,
)
from unweave.functional.density_ratio import (
    discriminator_accuracy,
    discriminator_loss,
    log_density_ratio,
    permute_dims,
)
from unweave.functional.divergence import kl, kl_per_latent
from unweave.functional.gradient_penalty import gradient_penalty
from unweave.functional.mmd import gaussian_kernel, inverse_multiquadratic, mmd
from unweave.functional.moments import code_covariance, covariance, covariance_penalties
from unweave.functional.units import averaged_to_summed, summed_to_averaged

__all__ = [
    "Aggregate",
    "aggregate",
    "averaged_to_summed",
    "blur",
    "blur_profile",
    "code_covariance",
    "covariance",
    "covariance_penalties",
    "discriminator_accuracy",
    "discriminator_loss",
    "gaussian_kernel",
    "gradient_penalty",
    "half_log_determinant",
    "inverse_multiquadratic",
    "kl",
    "kl_per_latent",
    "log_density_ratio",
    "mixture_weights",
    "mmd",
    "permute_dims",
    "pointwise_dimension_wise_kl",
    "pointwise_exclusive_kl",
    "pointwise_inclusive_kl",
    "pointwise_mutual_information",
    "pointwise_total_correlation",
    "summed_to_averaged",
]
