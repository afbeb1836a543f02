"""SBD figure 11: latent space geometry, circles X-Y, VAE and FactorVAE."""

from unweave.recipes.claims import higher
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.geometry import axis_aligned, geometry_conclusion, usual_findings
from unweave.recipes.sbd.models import BROADCAST, DECONV, GAUSSIAN, circles
from unweave.recipes.sbd.score_table import column


@recipe(
    "sbd-fig11",
    title="Latent space geometry, circles X-Y: VAE and FactorVAE",
    claim="The Spatial Broadcast decoder flattens the latent space of a FactorVAE as well as that of a VAE, and aligns "
    "it with the axes; a Gaussian decoder improves the DeConv FactorVAE, though not to that level.",
    published="pictures only (figure 11); 15 replicas",
    runs=circles("xy", factor=["small", "paper"], gaussian=True),
)
def figure_11(job: Job) -> Conclusion:
    """Figure 4 with FactorVAEs, one of them with a Gaussian decoder."""
    findings = usual_findings(job)
    ours, theirs = f"{BROADCAST} FactorVAE", f"{DECONV} FactorVAE"
    if GAUSSIAN in job.variants:
        ours_scores, theirs_scores, of_gaussian = (
            column(job, variant, "geometry") for variant in (ours, theirs, GAUSSIAN)
        )
        findings += [
            axis_aligned(job, ours),
            higher(f"geometry score, {GAUSSIAN} minus {theirs}", of_gaussian, theirs_scores),
            higher(f"geometry score, {ours} minus {GAUSSIAN}", ours_scores, of_gaussian),
        ]
    return geometry_conclusion(job, findings)
