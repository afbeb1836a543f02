"""Pure mathematics on tensors and distributions, shared by objectives, metrics and plots."""

from unweave.functional.divergence import kl, kl_per_latent
from unweave.functional.units import averaged_to_summed, summed_to_averaged

__all__ = ["averaged_to_summed", "kl", "kl_per_latent", "summed_to_averaged"]
