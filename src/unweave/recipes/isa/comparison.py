"""MIG against reconstruction for several methods over beta, as ISA figures 5 and 6 compare them."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unweave.metrics.statistics import mean_interval
from unweave.plots.sweeps import Point, trade_off
from unweave.recipes.claims import paired
from unweave.recipes.isa.models import SCORE, Model
from unweave.recipes.recipe import Conclusion, Job

Array = NDArray[np.float64]


def compare(
    job: Job, models: Sequence[Model], one: str, other: str, highest_beta: float = math.inf
) -> Conclusion:
    """Trade-off of all methods, and the claim that one has higher MIG than another at the same beta and seed.

    Args:
        job: with the finished runs.
        models: all models of the figure.
        one: method that should be better.
        other: method to compare it with.
        highest_beta: up to which the claim is tested.
    """
    series: dict[str, list[Point]] = {}
    migs: dict[str, list[Array]] = {one: [], other: []}
    fits: dict[str, list[Array]] = {one: [], other: []}
    for model in models:
        fit, mig = -job.scores(model.label, "nll"), job.scores(model.label, SCORE)
        series.setdefault(model.method, []).append(Point(f"{model.beta:g}", list(fit), list(mig)))
        if model.method in migs and model.beta <= highest_beta:
            migs[model.method].append(mig)
            fits[model.method].append(fit)
    gain = np.concatenate(fits[one]) - np.concatenate(fits[other])
    rows = score_table(job)
    rows.append([f"log p(x|z), {one} minus {other}, same beta and seed", "", str(mean_interval(gain)), ""])
    up_to = "" if highest_beta == math.inf else f", β of at most {highest_beta:g}"
    claim = f"MIG, {one} minus {other}, same beta and seed{up_to}"
    return Conclusion(
        rows=rows,
        pictures={
            "trade-off": trade_off(
                series, x="expected log-likelihood (nats)", y="MIG", swept="β", unit_interval=True
            )
        },
        findings=[paired(claim, np.concatenate(migs[one]), np.concatenate(migs[other]))],
    )


def score_table(job: Job) -> list[list[str]]:
    """MIG, log-likelihood and number of latents used, for every variant."""
    rows = [["method", "MIG", "log p(x|z) (nats)", "latents used"]]
    for name in job.variants:
        mig = str(mean_interval(job.scores(name, SCORE)))
        fit, used = -job.scores(name, "nll").mean(), job.scores(name, "latents_used").mean()
        rows.append([name, mig, f"{fit:.2f}", f"{used:.1f}"])
    return rows
