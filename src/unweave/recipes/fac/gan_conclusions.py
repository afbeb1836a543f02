"""What FAC concludes of InfoWGAN-GP: its scores (figures 8, 9, 34, 35) and its losses (figures 32 and 33)."""

import numpy as np

from unweave.plots.seed_bands import banded_curves
from unweave.recipes.claims import exceeds, higher
from unweave.recipes.fac.curves import band, history, late_mean
from unweave.recipes.fac.gans import FIVE_CODES, STOPPED
from unweave.recipes.fac.methods import FACTOR_VAE, INFO_WGAN_GP, Variant, variants_of
from unweave.recipes.fac.scores import SCORE, best_run, higgins_of, score_table
from unweave.recipes.fac.traversals import code_sheet
from unweave.recipes.recipe import Conclusion, Job
from unweave.recipes.shortfall import shortfall
from unweave.recipes.table_cells import mean_and_deviation


def tuned(job: Job) -> list[Variant]:
    """For each weight the InfoWGAN-GP whose noise and rates give the highest mean score, by weight."""
    best: dict[float, Variant] = {}
    for gan in variants_of(job, INFO_WGAN_GP):
        if gan.name == FIVE_CODES:
            continue
        known = best.get(gan.weight)
        if known is None or job.scores(gan.name, SCORE).mean() > job.scores(known.name, SCORE).mean():
            best[gan.weight] = gan
    return [best[weight] for weight in sorted(best)]


def scores_conclusion(job: Job) -> Conclusion:
    """Scores for each weight of the information term, traversals of the best run, and FactorVAE beside it."""
    job.note(shortfall(job))
    gans, higgins = tuned(job), higgins_of(job.scale)
    panels = []
    for title, score in (("metric of Higgins et al.", higgins), ("FactorVAE score", SCORE)):
        values = [job.scores(gan.name, score) for gan in gans]
        panels.append((title, {INFO_WGAN_GP.name: band([gan.weight for gan in gans], values)}))
    top = max(gans, key=lambda gan: float(job.scores(gan.name, SCORE).mean()))
    best = best_run(job, INFO_WGAN_GP)
    (beside,) = variants_of(job, FACTOR_VAE)
    findings = [
        higher(
            f"FactorVAE score, FactorVAE ({beside.label}) minus InfoWGAN-GP at its best ({top.label})",
            job.scores(beside.name, SCORE),
            job.scores(top.name, SCORE),
        )
    ]
    findings += [
        higher(
            f"FactorVAE score, InfoWGAN-GP at its best plus 0.1 minus {other} (no improvement)",
            job.scores(top.name, SCORE) + 0.1,
            job.scores(other, SCORE),
        )
        for other in (FIVE_CODES, STOPPED)
        if other in job.variants
    ]
    return Conclusion(
        score_table(job, higgins, SCORE),
        findings,
        {
            "scores": banded_curves([panels], rows=["score"], x="lambda", unit_interval=(0,)),
            "traversals": code_sheet([best.run], title=best.title),
        },
    )


def losses_conclusion(job: Job) -> Conclusion:
    """Generator loss, critic gap and information term of InfoWGAN-GP over training."""
    job.note(shortfall(job))
    variant = job.variants[0]
    runs = job.runs(variant)
    panels = [
        ("generator loss", {variant: history(runs, "generator_loss")}),
        ("critic gap", {variant: history(runs, "critic_gap")}),
        ("information term -L", {variant: history(runs, "code_log_likelihood", -1)}),
    ]
    gaps = np.array([late_mean(run, "critic_gap") for run in runs])
    return Conclusion(
        [["runs", "critic gap, last quarter"], [variant, mean_and_deviation(gaps)]],
        [exceeds("critic gap E[D(x)] - E[D(G)] over the last quarter of training", gaps, 0.0)],
        {"losses": banded_curves([panels], rows=["loss"], share=False)},
    )
