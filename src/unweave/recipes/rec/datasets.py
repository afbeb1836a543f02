"""The data sets of the REC figures on distances, and what a loss perceives of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.data import DATASETS, Dataset
from unweave.metrics import Distances, Matrices, perceived_distances
from unweave.recipes.rec.published_tables import TABLE_A1
from unweave.recipes.recipe import Job, StandIn, data_or_stand_in

Floats = NDArray[np.float64]

EXISTING = ("Cars3D", "Shapes3D", "SmallNORB", "DSprites")
"""The data sets of figures 2 and 3, in the paper's order."""


def data_sets(names: Sequence[str], job: Job) -> dict[str, Dataset]:
    """Data sets by name; missing ones are replaced by their stand-in, which is noted, and occurs only once.

    Example:
        >>> from unweave.recipes.recipe import RECIPES
        >>> list(data_sets(["XYSquares"], Job(RECIPES["rec-fig2"], "smoke")))
        ['XYSquares']
    """
    found: dict[str, Dataset] = {}
    for data in read_data(names):
        chosen = str(data["name"])
        if isinstance(data, StandIn):
            job.note(data.sentence)
        if chosen not in found:
            found[chosen] = DATASETS.make(dict(data))
    return found


def read_data(names: Sequence[str]) -> list[dict[str, Any]]:
    """Data sets as configs hold them: from their files, or their stand-ins.

    Example:
        >>> read_data(["XYSquares"])
        [{'name': 'XYSquares'}]
    """
    toys = {"Cars3D": "Objects3D", "SmallNORB": "Objects3D"}
    return [data_or_stand_in(name, toys.get(name, ""))[0] for name in names]


def varying_factors(dataset: Dataset) -> list[str]:
    """The factors that have more than one value.

    Example:
        >>> from unweave.data import XYSquares
        >>> varying_factors(XYSquares())[:2]
        ['x_r', 'y_r']
    """
    space = dataset.factor_space()
    return [name for name, size in zip(space.names, space.sizes, strict=True) if size != 1]


def distances_of_table_a1(job: Job) -> dict[str, Distances]:
    """Distances of random pairs of all data sets of table A1, or of their stand-ins."""
    pairs = job.pick(smoke=100, small=50_000, paper=50_000)
    found = {}
    for name, dataset in data_sets(tuple(TABLE_A1), job).items():
        job.tell(f"distances: {name}")
        found[name] = perceived_distances(dataset, np.random.default_rng(0), pairs=pairs)
    return found


def matrix_correlation(a: Floats, b: Floats) -> float:
    """Pearson's correlation of two matrices off the diagonal; 0 where one is constant.

    Example:
        >>> d = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
        >>> round(matrix_correlation(2 * d, d), 6)
        1.0
    """
    return Matrices("", {"factors": a, "b": b}).correlations()["b"]


def mean_matrices(name: str, found: Sequence[Matrices]) -> Matrices:
    """The mean of distance matrices at every level, under a new name.

    Example:
        >>> one, two = (Matrices("x", {"factors": np.full((2, 2), value)}) for value in (1.0, 3.0))
        >>> mean_matrices("x", [one, two]).levels["factors"][0, 0].item()
        2.0
    """
    return Matrices(
        name, {level: np.mean([one.levels[level] for one in found], axis=0) for level in found[0].levels}
    )
