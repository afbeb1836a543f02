"""DEC theorem 2: rotations of the code under eight priors."""

import numpy as np

from unweave.plots import theory as theory_plots
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.theory.rotation import PRIORS, Rotations, rotations


def change_table(found: Rotations) -> list[list[str]]:
    """Size of the change of the objective under each prior.

    Example:
        >>> found = rotations({"StandardNormal": {}}, latents=4, count=2, samples=8, images=3)
        >>> change_table(found)[1][0]
        'StandardNormal'
    """
    rows = [["prior", "mean |change| (nats)", "largest change", "least largest change of a rotation"]]
    for name, change in found.changes.items():
        size = np.abs(change)
        rows.append([name, f"{size.mean():.2g}", f"{size.max():.2g}", f"{size.max(1).min():.2g}"])
    return rows


@recipe(
    "dec-theorem2",
    title="Rotations of the code under eight priors",
    claim="With an isotropic Gaussian prior the objective of the beta-VAE does not change when the code is turned; "
    "with other priors it does.",
    published="an identity: the change is 0",
)
def theorem_2(job: Job) -> Conclusion:
    """Change of the objective of data points under random rotations of encoder and decoder."""
    latents, count, images, samples = job.pick(
        smoke=(4, 3, 4, 8), small=(20, 100, 16, 64), paper=(20, 1000, 16, 64)
    )
    names = job.pick(smoke=["StandardNormal", "ISA"], small=list(PRIORS), paper=list(PRIORS))
    priors = {name: PRIORS[name] for name in names}
    found = rotations(priors, latents=latents, count=count, images=images, samples=samples)
    isotropic = float(np.abs(found.changes["StandardNormal"]).max())
    others = [np.abs(change).max(1) for name, change in found.changes.items() if name != "StandardNormal"]
    return Conclusion(
        rows=change_table(found),
        pictures={"rotations": theory_plots.rotations(found.changes)},
        findings=[
            equal("largest change under N(0, I) (nats)", isotropic, 0.0, within=1e-9),
            equal(
                "share of rotations that change an objective by over 1e-4 nats, under the prior that notices least",
                min(float(np.mean(values > 1e-4)) for values in others),
                1.0,
            ),
        ],
    )
