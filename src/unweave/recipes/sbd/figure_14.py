"""SBD figure 14: latent space geometry, circles X-H."""

import numpy as np

from unweave.recipes.claims import paired
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import axis_aligned, geometry_conclusion, linearity_of, usual_findings
from unweave.recipes.sbd.models import BROADCAST, circles


@recipe(
    "sbd-fig14",
    title="Latent space geometry, circles X-H",
    claim="The Spatial Broadcast decoder improves the geometry; its representation is axis-aligned, nearly linear in "
    "the position and non-linear in the hue.",
    published="pictures only (figure 14); 15 replicas",
    runs=circles("xh", factor=["paper"]),
)
def figure_14(job: Job) -> Conclusion:
    """The grid of positions and hues in latent space."""
    ours = f"{BROADCAST} VAE"
    linear = np.array([linearity_of(run) for run in job.runs(ours)])
    what = f"share of a factor that is linear in the latents, {ours}: position minus hue"
    findings = [*usual_findings(job), axis_aligned(job, ours), paired(what, linear[:, 0], linear[:, 1])]
    return geometry_conclusion(job, findings)
