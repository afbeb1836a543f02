"""FAC figure 7: total correlation of FactorVAE on 2D Shapes, true and as the discriminator estimates it."""

import numpy as np
from numpy.typing import NDArray

from unweave.metrics import decomposition, log_joint, log_marginals
from unweave.plots.seed_bands import Band, banded_curves
from unweave.recipes.claims import higher, paired
from unweave.recipes.fac.curves import band, histories, late_mean
from unweave.recipes.fac.methods import FACTOR_VAE, Variant, stages_of, variants_of
from unweave.recipes.fac.models import SEEDS_SEEN, factor_vaes_2d, stages_2d
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.shortfall import shortfall
from unweave.runs.run import Run

Floats = NDArray[np.float64]


def true_total_correlation(run: Run, images: int, samples: int = 1000) -> float:
    """Total correlation of q(z) in nats, q(z) being the mixture over all N images of the data set.

    The posterior from which a code was drawn has its own share, 1/N, of the mixture. If ``images`` is less than N, the
    share of the others is estimated from as many of them. That is without bias for q(z), so that its logarithm, and
    with it the total correlation, comes out rather too low than too high.
    """
    model, data = run.model(), run.dataset()
    rng = np.random.default_rng(0)
    count = data.count or images

    def posteriors(rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        parts = [model.codes(data.at(rows[start : start + 4096])) for start in range(0, len(rows), 4096)]
        means, scales = (np.concatenate(arrays).astype(float) for arrays in zip(*parts, strict=True))
        return means, scales

    if images >= count:
        means, scales = posteriors(np.arange(count))
        return decomposition(means, scales, rng, samples=samples)["total_correlation"].value
    chosen = rng.choice(count, images + samples, replace=False)
    means, scales = posteriors(np.sort(chosen[samples:]))
    own_means, own_scales = posteriors(chosen[:samples])
    noise = rng.normal(size=own_means.shape)
    z = own_means + own_scales * noise
    own = -0.5 * (noise**2 + np.log(2 * np.pi)) - np.log(own_scales)
    rest = np.log((count - 1) / count)
    joint = np.logaddexp(own.sum(axis=1) - np.log(count), log_joint(z, means, scales) + rest)
    marginals = np.logaddexp(own - np.log(count), log_marginals(z, means, scales) + rest)
    return float(np.mean(joint - marginals.sum(axis=1)))


def true_by_stage(job: Job, variant: Variant, images: int) -> dict[int, list[float]]:
    """The true total correlation of each run of a variant, by the number of steps after which it was stopped."""
    found = {}
    for steps, stage in stages_of(job, variant.name).items():
        job.tell(f"total correlation of {variant.label} after {steps} steps")
        found[steps] = [true_total_correlation(run, images) for run in job.runs(stage)]
    return found


@recipe(
    "fac-fig7",
    title="Total correlation of FactorVAE on 2D Shapes: true and as the discriminator sees it",
    claim="The discriminator underestimates the true total correlation, yet a higher gamma leads to a lower true one.",
    published="curves only",
    runs=stages_2d(factor_vaes_2d),
)
def figure_7(job: Job) -> Conclusion:
    """The aggregate posterior's own total correlation beside the discriminator's estimate."""
    job.note(shortfall(job))
    job.admit(SEEDS_SEEN)
    images = job.pick(smoke=2_000, small=30_000, paper=737_280)
    if job.scale != "paper":
        job.note(
            f"The true total correlation is estimated, rather too low, from {images:,} of the 737,280 images."
        )
    variants = variants_of(job, FACTOR_VAE)
    curves: dict[str, Band] = {}
    true: dict[str, list[float]] = {}
    estimates: dict[str, list[float]] = {}
    rows = [["gamma", "true total correlation", "discriminator's estimate"]]
    for variant in variants:
        label, by_stage = variant.label, true_by_stage(job, variant, images)
        curves[label] = band(list(by_stage), list(by_stage.values()))
        true[label] = by_stage[max(by_stage)]
        estimates[label] = [late_mean(run, "total_correlation") for run in job.runs(variant.name)]
        rows.append([f"{variant.weight:g}", *(f"{np.mean(each[label]):.3f}" for each in (true, estimates))])
    low, high = (pick(variants, key=lambda v: v.weight).label for pick in (min, max))
    panels = [("true", curves), ("discriminator's estimate", histories(job, FACTOR_VAE, "total_correlation"))]
    return Conclusion(
        rows,
        [
            paired(
                "true total correlation minus the discriminator's estimate (nats)",
                np.concatenate(list(true.values())),
                np.concatenate(list(estimates.values())),
            ),
            higher(f"true total correlation, {low} minus {high} (nats)", true[low], true[high]),
        ],
        {"total-correlation": banded_curves([panels], rows=["total correlation (nats)"])},
    )
