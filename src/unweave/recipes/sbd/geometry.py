"""Where models put the grid of two factors: table, picture and claims of SBD figures 4, 7, 8 and 11 to 20."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.metrics import embed_grid
from unweave.plots.replicas import Embedded, Replicas, geometry_sheet
from unweave.recipes.claims import Finding, exceeds, higher
from unweave.recipes.recipe import Conclusion, Job
from unweave.recipes.sbd.models import BROADCAST, DECONV
from unweave.recipes.sbd.score_table import column, mean_and_spread
from unweave.recipes.sbd.traversals import median_traversals
from unweave.recipes.shortfall import shortfall
from unweave.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def geometry_conclusion(job: Job, findings: Sequence[Finding] | None = None) -> Conclusion:
    """Table and picture of SBD figures 4 and 11 to 20.

    Args:
        job: with the runs.
        findings: none: geometry is better with the Spatial Broadcast decoder, and so are held-out points if there are.
    """
    job.note(shortfall(job))
    if findings is None:
        findings = usual_findings(job)
    return Conclusion(geometry_rows(job), findings, {"geometry": geometry_picture(job)})


def usual_findings(job: Job) -> list[Finding]:
    """Geometry is better with the Spatial Broadcast decoder, and so are held-out points if there are."""
    return [*broadcast_higher(job), *(broadcast_generalises(job) if has_hole(job) else ())]


def has_hole(job: Job) -> bool:
    """Whether the data lack a region of factors, so that there are held-out points."""
    hole: str = job.runs(job.variants[0])[0].config.data.options.get("hole", "none")
    return hole != "none"


def small_objects_conclusion(job: Job) -> Conclusion:
    """SBD figures 7 and 8: traversals of the four most informative latents, and the geometry of x and y."""
    job.note("The geometry score is that of the plane of x and y, at the middle hue.")
    job.note(shortfall(job))
    used = float(np.mean(job.scores(f"{BROADCAST} VAE", "latents_used")))
    if used < 2.5:
        job.note(
            f"The {BROADCAST} VAE uses {used:.1f} latents for three factors: so early it leaves out the hue."
        )
    return Conclusion(
        geometry_rows(job),
        broadcast_higher(job, what="geometry score of x and y"),
        {"traversals": median_traversals(job, job.variants, latents=4, score="geometry")},
    )


def geometry_rows(job: Job) -> list[list[str]]:
    """Geometry, MIG and the number of latents used of every variant, means with deviations over replicas."""
    hole = has_hole(job)
    rows = [["model", "replicas", "geometry", "MIG", "latents used", "−ELBO"] + ["held-out error"] * hole]
    for variant in job.variants:
        values = [column(job, variant, name) for name in ("geometry", "mig", "latents_used", "elbo")]
        if hole:
            values.append(np.array([held_out_error(run) for run in job.runs(variant)]))
        rows.append([variant, str(len(values[0])), *(mean_and_spread(value) for value in values)])
    return rows


def geometry_picture(job: Job) -> "Figure":
    """The picture of SBD figures 4 and 11 to 20."""
    models = {}
    for variant in job.variants:
        scores, runs = job.scores(variant, "mig"), job.runs(variant)
        worst, best = (
            embedded_grid(runs[place]) for place in (int(np.argmin(scores)), int(np.argmax(scores)))
        )
        models[variant] = Replicas(scores.tolist(), worst[0], best[0])
        _, factors, held_out, names = best
    data = job.runs(job.variants[0])[0].dataset()
    batch = data.sample(3000, np.random.default_rng(0))
    assert batch.factors is not None
    drawn = batch.factors[:, :2]
    return geometry_sheet(
        models,
        factors,
        drawn=drawn[~np.isnan(drawn).any(axis=1)],
        images=batch.images[:16],
        held_out=held_out,
        names=names,
    )


def embedded_grid(run: Run) -> tuple[Embedded, NDArray[np.float64], NDArray[np.bool_], tuple[str, str]]:
    """Where a run puts the grid of its two factors; the grid, its held-out points, the names of the factors.

    The code of a black image is marked if the data have black images.
    """
    dataset, model = run.dataset(), run.model()
    grid = embed_grid(model.codes, dataset)
    assert grid is not None, "circles have two continuous factors or more"
    mark = None
    if getattr(dataset, "blank", 0.0):
        black = np.zeros((1, *dataset.image_shape), np.uint8)
        mark = np.asarray(model.codes(black)[0], dtype=np.float64)[0, list(grid.latents)]
    note = f"geometry {grid.score().value:.2f}"
    return Embedded(grid.codes, grid.latents, note, mark), grid.factors, grid.held_out, grid.names


def held_out_error(run: Run) -> float:
    """How far held-out points lie from where the plane of the others puts them: root mean square, in factor ranges.

    The plane is given by the similarity that :func:`unweave.metrics.geometry_score` fits outside the hole.
    """
    grid = embed_grid(run.model().codes, run.dataset())
    assert grid is not None
    points = grid.factors[grid.held_out]
    scaled = (points - points.mean(axis=0)) / np.ptp(grid.factors, axis=0)
    left = 1.0 - float(grid.score().constants["held_out"])
    return float(np.sqrt(max(0.0, left) * np.sum(scaled**2) / len(scaled)))


def broadcast_higher(
    job: Job, score: str = "geometry", what: str = "geometry score", *, margin: float = 0.0
) -> list[Finding]:
    """For VAE and, where there is one, FactorVAE: the score is higher with the Spatial Broadcast decoder.

    Args:
        job: with the runs.
        score: its name.
        what: its name in the finding.
        margin: by how much less still counts as higher.
    """
    more = f", plus {margin:g}" if margin else ""
    return _of_each_kind(
        job,
        f"{what}, {{kind}}: {BROADCAST} minus {DECONV}{more}",
        lambda deconv, broadcast: (column(job, broadcast, score) + margin, column(job, deconv, score)),
    )


def broadcast_generalises(job: Job) -> list[Finding]:
    """For VAE and, where there is one, FactorVAE: held-out points lie nearer to where they belong."""

    def errors(variant: str) -> list[float]:
        return [held_out_error(run) for run in job.runs(variant)]

    return _of_each_kind(
        job,
        f"error at held-out points, {{kind}}: {DECONV} minus {BROADCAST}",
        lambda deconv, broadcast: (errors(deconv), errors(broadcast)),
    )


def _of_each_kind(
    job: Job, what: str, pair: Callable[[str, str], tuple[ArrayLike, ArrayLike]]
) -> list[Finding]:
    """The finding that the first of a pair is higher, for each kind of VAE that has both decoders."""
    found = []
    for kind in ("VAE", "FactorVAE"):
        deconv, broadcast = f"{DECONV} {kind}", f"{BROADCAST} {kind}"
        if {deconv, broadcast} <= set(job.variants):
            found.append(higher(what.format(kind=kind), *pair(deconv, broadcast)))
    return found


def tilt_of(run: Run) -> float:
    """Degrees by which the plane of the two factors is turned against the latent axes, 0 to 45."""
    grid = embed_grid(run.model().codes, run.dataset())
    assert grid is not None
    return float(grid.score().constants["tilt"])


def axis_aligned(job: Job, variant: str, degrees: float = 10.0) -> Finding:
    """The claim that a representation is axis-aligned: turned by less than ``degrees``; 22.5 is what chance gives."""
    what = f"tilt against the latent axes in degrees, {variant} (axis-aligned: below {degrees:g})"
    return exceeds(what, [tilt_of(run) for run in job.runs(variant)], degrees, sign=-1)


def linearity_of(run: Run) -> tuple[float, float]:
    """For the first and the second factor: the share of its variance that an affine map of the two latents explains."""
    grid = embed_grid(run.model().codes, run.dataset())
    assert grid is not None
    inputs = np.column_stack([grid.codes, np.ones(len(grid.codes))])
    fitted = inputs @ np.linalg.lstsq(inputs, grid.factors, rcond=None)[0]
    left = np.sum((grid.factors - fitted) ** 2, axis=0)
    first, second = 1 - left / np.sum((grid.factors - grid.factors.mean(axis=0)) ** 2, axis=0)
    return float(first), float(second)


def hole_size(run: Run) -> float:
    """The spread of held-out points in latent space over that of all points, divided by the same of the factors.

    1 where the hole has the size that it has in the space of factors, less where it is contracted.
    """
    grid = embed_grid(run.model().codes, run.dataset())
    assert grid is not None
    ratios = [
        np.sqrt(np.var(points[grid.held_out], axis=0).sum() / np.var(points, axis=0).sum())
        for points in (grid.codes, grid.factors / np.ptp(grid.factors, axis=0))
    ]
    return float(ratios[0] / ratios[1])


def contraction(job: Job) -> list[Finding]:
    """The claim that FactorVAE contracts the hole, with each decoder that has both kinds of VAE."""
    found = []
    for decoder in (DECONV, BROADCAST):
        kinds = [f"{decoder} {kind}" for kind in ("VAE", "FactorVAE")]
        if set(kinds) <= set(job.variants):
            plain, factor = ([hole_size(run) for run in job.runs(variant)] for variant in kinds)
            found.append(
                higher(f"size of the hole in latent space, {decoder}: VAE minus FactorVAE", plain, factor)
            )
    return found
