"""FAC section 6: how the FactorVAE metric correlates with the metric of Higgins et al. across models."""

import numpy as np

from unweave.metrics.agreement import Kind
from unweave.plots.sweeps import Point, trade_off
from unweave.recipes.claims import correlation
from unweave.recipes.fac.methods import whole_variants
from unweave.recipes.fac.models import shapes_2d
from unweave.recipes.fac.scores import SCORE, higgins_of
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.shortfall import shortfall

PUBLISHED: dict[Kind, float] = {"pearson": 0.404, "kendall": 0.310, "spearman": 0.444}
"""Correlations across the paper's models, all with p = 0.000."""


@recipe(
    "fac-sec6",
    title="Correlation of the FactorVAE metric with the metric of Higgins et al., 2D Shapes",
    claim="The two metrics show a fairly high positive correlation.",
    published="Pearson 0.404, Kendall 0.310, Spearman 0.444, all with p-value 0.000 (section 6)",
    runs=shapes_2d,
)
def section_6(job: Job) -> Conclusion:
    """All runs of all models."""
    job.note(shortfall(job))
    job.note("The paper does not say over which models: here all of figures 4 and 5.")
    names = {"ours": SCORE, "theirs": higgins_of(job.scale)}
    variants = whole_variants(job)
    table = {
        label: np.concatenate([job.scores(variant, name) for variant in variants])
        for label, name in names.items()
    }
    rows, findings = [["correlation", "ours", "95 % interval", "published"]], []
    for kind, published in PUBLISHED.items():
        what = f"{kind} correlation of the two metrics"
        found = correlation(what, table["ours"], table["theirs"], kind, published=published)
        assert found.low is not None and found.high is not None
        rows.append([kind, f"{found.value:.3f}", f"{found.low:.3f} to {found.high:.3f}", f"{published:.3f}"])
        findings.append(found)
    points = [
        Point(variant, list(job.scores(variant, names["theirs"])), list(job.scores(variant, SCORE)))
        for variant in variants
    ]
    picture = trade_off({"models": points}, x="metric of Higgins et al.", y="FactorVAE score", swept="runs")
    return Conclusion(rows, findings, {"metrics": picture})
