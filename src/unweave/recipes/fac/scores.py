"""The scores that FAC compares: tables, and which model is best."""

from typing import TYPE_CHECKING, NamedTuple

from unweave.plots.sweeps import Point, trade_off
from unweave.recipes.claims import Finding, exceeds
from unweave.recipes.fac.methods import BETA_VAE, FACTOR_VAE, Method, Variant, variants_of, whole_variants
from unweave.recipes.recipe import Job, Scale, at
from unweave.recipes.table_cells import mean_and_deviation
from unweave.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCORE, HIGGINS, ERROR = "factor_vae_score", "beta_vae_score", "nll"
"""The paper's metric, the metric of Higgins et al., and the reconstruction error, by their names in a run."""

PRINTED = "beta_vae_score mode=printed"
"""The metric of Higgins et al. with the classifier that FAC appendix B prints: 10,000 steps of Adagrad."""

HEADINGS = {
    ERROR: "reconstruction error",
    HIGGINS: "beta-VAE score",
    PRINTED: "beta-VAE score",
    SCORE: "FactorVAE score",
}


def higgins_of(scale: Scale) -> str:
    """The metric of Higgins et al. that figures quote: as printed in the paper's protocol, otherwise solved.

    Figure 16 shows that the printed one depends on where Adagrad is stopped, and it takes as long as a small run.

    Example:
        >>> higgins_of("paper"), higgins_of("small")
        ('beta_vae_score mode=printed', 'beta_vae_score')
    """
    return at(scale, smoke=HIGGINS, small=HIGGINS, paper=PRINTED)


BARELY = 0.1
"""The share of the error that still counts as "barely sacrificing"; the paper gives no number."""


class BestRun(NamedTuple):
    """A run with its variant and its FactorVAE score."""

    run: Run
    variant: Variant
    score: float

    @property
    def title(self) -> str:
        """What stands above its picture."""
        return f"{self.variant.method.name}, {self.variant.label}: score {self.score:.3f}"


def best_variant(job: Job, method: Method) -> Variant:
    """The variant of a method with the highest mean FactorVAE score."""
    return max(variants_of(job, method), key=lambda variant: float(job.scores(variant.name, SCORE).mean()))


def best_run(job: Job, method: Method, data: str | None = None) -> BestRun:
    """The run of a method, on a data set if one is named, with the highest FactorVAE score."""
    found = [
        BestRun(run, variant, float(score))
        for variant in variants_of(job, method, data)
        for run, score in zip(job.runs(variant.name), job.scores(variant.name, SCORE), strict=True)
    ]
    return max(found, key=lambda each: each.score)


def score_table(job: Job, *scores: str) -> list[list[str]]:
    """A row for each variant: the number of seeds, and mean and deviation of scores."""
    rows = [["runs", "seeds", *(HEADINGS[score] for score in scores)]]
    for variant in whole_variants(job):
        runs = job.runs(variant)
        cells = [
            mean_and_deviation(job.scores(variant, score), ".4g", ".2g") if score in runs[0].scores else ""
            for score in scores  # a GAN has no likelihood
        ]
        rows.append([variant, str(len(runs)), *cells])
    return rows


def error_against_score(job: Job) -> "Figure":
    """Reconstruction error against the FactorVAE score (FAC figures 5 and 10)."""
    return trade_off(
        {
            method.name: [
                Point(
                    f"{variant.weight:g}",
                    list(job.scores(variant.name, ERROR)),
                    list(job.scores(variant.name, SCORE)),
                )
                for variant in sorted(variants_of(job, method), key=lambda variant: variant.weight)
            ]
            for method in (BETA_VAE, FACTOR_VAE)
        },
        x="reconstruction error (nats)",
        y="FactorVAE score",
        swept="beta and gamma",
        unit_interval=True,
    )


def sacrifice(job: Job, top: Variant, plain: Variant) -> Finding:
    """The claim that the error of the best FactorVAE is hardly above that of the VAE: by less than a tenth of it."""
    errors, of_vae = job.scores(top.name, ERROR), job.scores(plain.name, ERROR)
    what = f"reconstruction error of FactorVAE ({top.label}) over that of the VAE, minus 1; claimed: below a tenth"
    return exceeds(what, errors / of_vae.mean() - 1, BARELY, sign=-1)
