"""DEC theorem 2: rotations of the code under eight priors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.plots import theory as theory_plots
from unweave.recipes.claims import equal
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.theory.rotation import PRIORS, rotations

BETAS = (1.0, 0.5, 4.0)
"""Weights of the KL at which the theorem is checked."""


def change_table(changes: Mapping[str, NDArray[Any]]) -> list[list[str]]:
    """Size of the change of the objective under each prior.

    Example:
        >>> changes = rotations({"StandardNormal": {}}, latents=4, count=2, samples=8, images=3)
        >>> change_table(changes)[1][0]
        'StandardNormal'
    """
    rows = [["prior", "mean |change| (nats)", "largest change", "least largest change of a rotation"]]
    for name, change in changes.items():
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
    """Change of the objective of data points under random rotations of encoder and decoder, at several betas."""
    latents, count, images, samples = job.pick(
        smoke=(4, 3, 4, 8), small=(20, 100, 16, 64), paper=(20, 1000, 16, 64)
    )
    names = job.pick(smoke=["StandardNormal", "ISA"], small=list(PRIORS), paper=list(PRIORS))
    priors = {name: PRIORS[name] for name in names}
    sizes: dict[str, Any] = {"latents": latents, "count": count, "images": images, "samples": samples}
    by_beta = {beta: rotations(priors, beta=beta, **sizes) for beta in BETAS}
    rows = [["β", *change_table(by_beta[1.0])[0]]]
    rows += [[f"{beta:g}", *row] for beta, changes in by_beta.items() for row in change_table(changes)[1:]]
    isotropic = {beta: float(np.abs(changes["StandardNormal"]).max()) for beta, changes in by_beta.items()}
    others = [
        np.abs(change).max(1)
        for changes in by_beta.values()
        for name, change in changes.items()
        if name != "StandardNormal"
    ]
    return Conclusion(
        rows=rows,
        pictures={"rotations": theory_plots.rotations(by_beta[1.0])},
        findings=[
            *(
                equal(
                    f"largest change under N(0, I), β = {beta:g} (nats)",
                    value,
                    0.0,
                    within=1e-9,
                    constructed=True,
                )
                for beta, value in isotropic.items()
            ),
            equal(
                "share of rotations that change an objective by over 1e-4 nats, under the prior and beta that notice "
                "least",
                min(float(np.mean(values > 1e-4)) for values in others),
                1.0,
            ),
        ],
    )
