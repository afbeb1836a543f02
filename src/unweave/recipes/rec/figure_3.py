"""REC figure 3: distances of factors and of images along factor traversals."""

import numpy as np
from numpy.typing import NDArray

from unweave.metrics import distance_matrices
from unweave.plots.distances import matrix_panels
from unweave.recipes.claims import above, exceeds
from unweave.recipes.rec.datasets import EXISTING, data_sets, read_data, varying_factors
from unweave.recipes.recipe import Conclusion, Job, recipe


@recipe(
    "rec-fig3",
    title="Distances of factors and of images along factor traversals",
    claim="In existing data sets the distances that a pixel-wise loss perceives correspond to those of the factors.",
    published="pictures only (figure 3)",
    data=lambda: read_data(EXISTING),
)
def figure_3(job: Job) -> Conclusion:
    """Average distance matrices of every factor: of factors (top) and of images (bottom)."""
    rng = np.random.default_rng(0)
    traversals = job.pick(smoke=1, small=20, paper=100)
    rows = [["data set", "factor", "correlation of perceived with true distance"]]
    panels: list[list[tuple[str, NDArray[np.float64]]]] = []
    labels: list[str] = []
    correlations: list[float] = []
    lowest: dict[str, float] = {}
    for name, dataset in data_sets(EXISTING, job).items():
        of_factors, of_images = [], []
        for factor in varying_factors(dataset):
            job.tell(f"distance matrices: {name}, {factor}")
            along = distance_matrices(dataset, factor, rng, traversals=traversals)
            correlation = along.correlations()["observations"]
            correlations.append(correlation)
            lowest[name] = min(correlation, lowest.get(name, 1.0))
            rows.append([name, factor, f"{correlation:.2f}"])
            of_factors.append((along.factor.replace("_", " "), along.levels["factors"]))
            of_images.append((f"r = {correlation:.2f}", along.levels["observations"]))
        panels += [of_factors, of_images]
        labels += [f"{name}\nfactors", "images"]
    cars = next(iter(lowest))
    others = min(value for name, value in lowest.items() if name != cars)
    claim = "correlation of perceived with true distances, mean over all factors"
    picture = matrix_panels(panels, labels=labels)
    order = f"lowest correlation along a factor: other data minus {cars} (an incorrect order, section 5)"
    return Conclusion(
        rows,
        [exceeds(claim, correlations, 0.0), above(order, others - lowest[cars])],
        {"matrices": picture},
    )
