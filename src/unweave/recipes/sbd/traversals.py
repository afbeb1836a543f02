"""Traversals of the median replicas, the pictures of SBD figures 2 and 5 to 10."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unweave.metrics import informative_latents
from unweave.plots.replicas import Swept, median_replica, traversal_sheet
from unweave.recipes.claims import higher
from unweave.recipes.recipe import Conclusion, Job
from unweave.recipes.sbd.models import BROADCAST, DECONV
from unweave.recipes.sbd.published import Row
from unweave.recipes.sbd.score_table import column, score_rows
from unweave.recipes.shortfall import shortfall
from unweave.recipes.traversal_pictures import decoded_traversals
from unweave.runs.evaluation import codes_of
from unweave.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = 9


def replica_pictures(run: Run, shown: int = 8) -> Swept:
    """Data, reconstructions and traversals of the ``shown`` latents with the lowest posterior variance."""
    dataset, model = run.dataset(), run.model()
    images = dataset.sample(256, np.random.default_rng(0)).images
    means = np.asarray(model.codes(images)[0], dtype=np.float64)
    scales = np.asarray(codes_of(run).scales, dtype=np.float64)
    order = informative_latents(scales, min(shown, scales.shape[1])).tolist()
    # The most ordinary of the images: a sweep around the middle of latent space may show what no image looks like.
    center = means[np.argmin(np.sum((means - means.mean(axis=0)) ** 2, axis=1))]
    deviation = np.sqrt(np.mean(scales**2, axis=0))
    return Swept(
        originals=images[:_COLUMNS],
        reconstructed=np.asarray(model.reconstruct(images[:_COLUMNS])),
        sweeps=decoded_traversals(model, center, order, columns=_COLUMNS),
        labels=[f"z{j}  σ {deviation[j]:.2f}" for j in order],
    )


def median_traversals(
    job: Job,
    shown: Sequence[str],
    *,
    latents: int = 8,
    score: str = "mig",
    compared: Sequence[str] | None = None,
) -> "Figure":
    """A score of all replicas, and the median replica of each model in pictures.

    Args:
        job: with the runs.
        shown: variants whose median replica is shown.
        latents: how many of them are swept.
        score: by which the median is found.
        compared: variants whose scores are drawn; none: those shown.
    """
    values = {variant: column(job, variant, score) for variant in compared or shown}
    chosen = {
        variant: replica_pictures(job.runs(variant)[median_replica(values[variant])], latents)
        for variant in shown
    }
    name = {"mig": "MIG", "geometry": "geometry score"}[score]
    return traversal_sheet(chosen, {variant: list(each) for variant, each in values.items()}, score=name)


def broadcast_against_deconv(
    job: Job, published: Mapping[str, Row] | None = None, published_difference: float | None = None
) -> Conclusion:
    """SBD figures 2 and 6: MIG over seeds; reconstructions and traversals of the median seeds.

    Args:
        job: with the runs.
        published: the paper's rows of both decoders, if it prints them.
        published_difference: the paper's difference of MIG.
    """
    job.note(shortfall(job))
    flat, other = column(job, BROADCAST, "mig"), column(job, DECONV, "mig")
    return Conclusion(
        score_rows(job, published or {}),
        [higher(f"MIG, {BROADCAST} minus {DECONV}", flat, other, published=published_difference)],
        {"traversals": median_traversals(job, [DECONV, BROADCAST])},
    )
