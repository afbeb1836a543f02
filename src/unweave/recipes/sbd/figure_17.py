"""SBD figure 17: latent space geometry, circles R-G."""

import numpy as np

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import broadcast_higher, geometry_conclusion
from unweave.recipes.sbd.models import DECONV, circles
from unweave.recipes.sbd.score_table import column

NEAR_ZERO = 0.05
"""A MIG below this counts as near zero; the paper gives no number."""


@recipe(
    "sbd-fig17",
    title="Latent space geometry, circles R-G",
    claim="Without positional variation the Spatial Broadcast decoder does not hurt.",
    published="pictures only (figure 17); 15 replicas; 3 of 15 DeConv VAEs have a MIG near zero",
    runs=circles("rg", factor=["paper"]),
)
def figure_17(job: Job) -> Conclusion:
    """The grid of reds and greens in latent space; not worse means by less than 0.1 of the geometry score."""
    found = geometry_conclusion(job, broadcast_higher(job, margin=0.1))
    width = len(found.rows[0])
    rows = [list(row) for row in found.rows]
    for variant in job.variants:
        migs = column(job, variant, "mig")
        poor = f"{int(np.sum(migs < NEAR_ZERO))} of {len(migs)}"
        rows.append([f"{variant}: seeds with MIG near zero", poor, *[""] * (width - 2)])
    rows.append([f"  published, {DECONV} VAE", "3 of 15", *[""] * (width - 2)])
    return Conclusion(rows, found.findings, found.pictures)
