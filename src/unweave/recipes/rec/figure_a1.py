"""REC figure A1: cumulative perceived distances along factors and of random pairs."""

import numpy as np

from unweave.plots.distances import cumulative_distances
from unweave.recipes.claims import equal, proportion
from unweave.recipes.rec.datasets import distances_of_table_a1, read_data
from unweave.recipes.rec.published_tables import TABLE_A1
from unweave.recipes.recipe import Conclusion, Job, recipe


@recipe(
    "rec-figa1",
    title="Cumulative perceived distances along factors and of random pairs",
    claim="Pairs along a factor are closer than random pairs; along XYSquares' factors all distances are the same.",
    published="pictures only (figure A1); in table A1 all 21 lines of factors lie below random",
    data=lambda: read_data(tuple(TABLE_A1)),
)
def figure_a1(job: Job) -> Conclusion:
    """A picture of curves for each data set."""
    rows = [["data set", "factors closer than random pairs", "order"]]
    pictures, hits, total, steps = {}, 0, 0, 0
    for name, distances in distances_of_table_a1(job).items():
        means = {factor: float(values.mean()) for factor, values in distances.values.items()}
        ordered = sorted((f for f in means if f != "random"), key=lambda f: -means[f])
        closer = sum(means[factor] < means["random"] for factor in ordered)
        hits, total = hits + closer, total + len(ordered)
        rows.append([name, f"{closer} of {len(ordered)}", " > ".join(ordered)])
        pictures[name.lower()] = cumulative_distances(distances)
        if name == "XYSquares":
            steps = max(len(np.unique(distances.values[factor].round(9))) for factor in ordered)
    # The paper discusses dSprites first, and the stand-ins are not its own.
    first = sorted(pictures, key=lambda name: (name != "dsprites", name == "objects3d"))
    claim = "factors along which pairs are closer than random pairs"
    return Conclusion(
        rows,
        [
            proportion(claim, hits, total, 0.5, published=1.0),
            equal("XYSquares: different distances along a factor", steps, 1),
        ],
        {name: pictures[name] for name in first},
    )
