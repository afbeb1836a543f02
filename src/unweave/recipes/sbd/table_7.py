"""SBD table 7: linear layers before the broadcast, coloured sprites."""

from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.ablations import linear_layers_before_broadcast
from unweave.recipes.sbd.models import sprites
from unweave.recipes.sbd.published import TABLE_7

ABLATION = linear_layers_before_broadcast(TABLE_7)


@recipe(
    "sbd-table7",
    title="Linear layers before the broadcast, coloured sprites",
    claim="An MLP before the broadcast makes the bound worse and leaves fewer latents in use.",
    published="−ELBO 329, 330, 349, 392 and latents used 7.21, 6.68, 6.03, 4.17 with 0 to 3 layers (table 7)",
    runs=sprites(ABLATION.variants),
)
def table_7(job: Job) -> Conclusion:
    """Scores over the number of linear layers before the broadcast."""
    return ABLATION.conclude(job, [ABLATION.trend(job, "elbo", +1), ABLATION.trend(job, "latents_used", -1)])
