"""MIG against reconstruction for several methods over beta, as ISA figures 5 and 6 compare them."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unweave.metrics.statistics import mean_interval
from unweave.plots.sweeps import Point, trade_off
from unweave.recipes.beta_grid import Model
from unweave.recipes.claims import Finding, equal, exceeds, paired
from unweave.recipes.isa.models import SCORE
from unweave.recipes.recipe import Job

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


NO_WORSE = 0.01
"""The share of the log-likelihood that we would still call no worse."""


class Comparison(NamedTuple):
    """Model -> MIG and expected log-likelihood over seeds.

    Example:
        >>> model, values = Model("β-VAE", 1.0), np.array([0.1, 0.3])
        >>> Comparison([model], {model: values}, {model: -values}).of("β-VAE")
        [Model(method='β-VAE', beta=1.0)]
    """

    models: Sequence[Model]
    migs: Mapping[Model, Array]
    fits: Mapping[Model, Array]

    @classmethod
    def measured(cls, job: Job, models: Sequence[Model]) -> "Comparison":
        """The numbers of a job's runs."""
        return cls(
            models,
            {model: job.scores(model.label, SCORE) for model in models},
            {model: -job.scores(model.label, "nll") for model in models},
        )

    def of(self, method: str, highest_beta: float = math.inf) -> list[Model]:
        """The models of a method, up to a beta."""
        return [model for model in self.models if model.method == method and model.beta <= highest_beta]

    def higher_mig(self, one: str, other: str, highest_beta: float = math.inf) -> Finding:
        """Claim: one method has higher MIG than another at the same beta and seed."""
        up_to = "" if highest_beta == math.inf else f", β of at most {highest_beta:g}"
        a, b = (
            np.concatenate([self.migs[model] for model in self.of(method, highest_beta)])
            for method in (one, other)
        )
        return paired(f"MIG, {one} minus {other}, same beta and seed{up_to}", a, b)

    def no_worse(self, one: str, other: str, highest_beta: float = math.inf) -> Finding:
        """Claim: one method reconstructs no worse than another at the same beta and seed."""
        a, b = (
            np.concatenate([self.fits[model] for model in self.of(method, highest_beta)])
            for method in (one, other)
        )
        margin = -NO_WORSE * float(np.abs(b).mean())
        what = f"log p(x|z), {one} minus {other}, same beta and seed (nats; no worse: above {margin:.2g})"
        return exceeds(what, a - b, margin)

    def beaten_in_both(self, one: str, others: Sequence[str]) -> Finding:
        """Claim: others reach a better MIG than the best model of a method only where they reconstruct worse."""
        best = max(self.of(one), key=lambda model: float(self.migs[model].mean()))
        count = sum(
            self.migs[model].mean() > self.migs[best].mean()
            and self.fits[model].mean() > self.fits[best].mean()
            for model in self.models
            if model.method in others
        )
        names = " and ".join(others)
        return equal(f"models of {names} that beat {best.label}, in MIG and in log p(x|z)", float(count), 0.0)

    def shrinking(self, one: str, other: str) -> Finding:
        """Claim: the advantage in MIG of one method over another at the least beta is less at the largest."""
        gains = [self.migs[a] - self.migs[b] for a, b in zip(self.of(one), self.of(other), strict=True)]
        first, last = self.of(one)[0].beta, self.of(one)[-1].beta
        return paired(
            f"advantage in MIG at β = {first:g} minus that at β = {last:g}, same seed", gains[0], gains[-1]
        )

    def trade_off(self) -> "Figure":
        """MIG over log-likelihood, a line for each method; bars are standard errors, as in ISA figure 5."""
        series: dict[str, list[Point]] = {}
        for model in self.models:
            point = Point(f"{model.beta:g}", list(self.fits[model]), list(self.migs[model]))
            series.setdefault(model.method, []).append(point)
        return trade_off(
            series,
            x="expected log-likelihood (nats)",
            y="MIG",
            swept="β (FactorVAE: γ)",
            unit_interval=True,
            spread="standard error",
        )


def score_table(job: Job) -> list[list[str]]:
    """MIG, log-likelihood and number of latents used, for every variant."""
    rows = [["method", "MIG", "log p(x|z) (nats)", "latents used"]]
    for name in job.variants:
        mig = str(mean_interval(job.scores(name, SCORE)))
        fit, used = -job.scores(name, "nll").mean(), job.scores(name, "latents_used").mean()
        rows.append([name, mig, f"{fit:.2f}", f"{used:.1f}"])
    return rows
