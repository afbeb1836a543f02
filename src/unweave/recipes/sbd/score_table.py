"""The columns of SBD tables 5 to 10: a row for each model, the published one below it."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from unweave.recipes.recipe import Job
from unweave.recipes.sbd.models import mig_metrics
from unweave.recipes.sbd.published import Row

COLUMNS = {
    "elbo": "−ELBO",
    "nll": "NLL",
    "kl": "KL",
    "latents_used": "latents used",
    "mig": "MIG",
    "factor_vae_score": "FactorVAE score",
}
"""Score -> heading, in the order of :data:`unweave.recipes.sbd.published.Row`."""


def column(job: Job, variant: str, score: str) -> NDArray[np.float64]:
    """The values of a column, one for each replica; of the bound its negative, as the paper has it."""
    values = job.scores(
        variant, mig_metrics(job.scale)[0] if score == "mig" and mig_metrics(job.scale) else score
    )
    return -values if score == "elbo" else values


def score_rows(job: Job, published: Mapping[str, Row]) -> list[list[str]]:
    """The table of SBD appendix G: each variant's numbers, and the paper's below them.

    Args:
        job: with the runs.
        published: the paper's row of each variant that it has.
    """
    rows = [["model", *COLUMNS.values()]]
    for variant in job.variants:
        rows.append([variant, *(mean_and_spread(column(job, variant, score)) for score in COLUMNS)])
        if variant in published:
            cells = ["" if cell is None else f"{cell[0]:g} (±{cell[1]:g})" for cell in published[variant]]
            rows.append(["  published", *cells])
    return rows


def mean_and_spread(values: NDArray[np.float64]) -> str:
    """Mean and deviation as SBD prints them: about three digits.

    Example:
        >>> mean_and_spread(np.array([0.1, 0.2])), mean_and_spread(np.array([339.0, 341.0]))
        ('0.150 (±0.071)', '340.0 (±1.4)')
    """
    digits = 1 if abs(np.mean(values)) >= 20 else 2 if abs(np.mean(values)) >= 2 else 3
    deviation = f" (±{np.std(values, ddof=1):.{digits}f})" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{deviation}"
