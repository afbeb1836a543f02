"""A look at a data set: random images, and one factor changing at a time."""

import numpy as np
from matplotlib.figure import Figure

from unweave.data import Dataset
from unweave.errors import UnweaveError
from unweave.plots import image_grid


def dataset_sheet(dataset: Dataset, *, columns: int = 10, rows: int = 3, seed: int = 0) -> Figure:
    """Rows of random images, then a row for each factor in which only that factor changes.

    Args:
        dataset: any data set.
        columns: images in a row.
        rows: rows of random images.
        seed: which images.

    Example:
        >>> from unweave.data import Circles
        >>> len(dataset_sheet(Circles()).axes)
        1
    """
    rng = np.random.default_rng(seed)
    drawn = dataset.sample(columns * rows, rng)
    sheet = [drawn.images.reshape(rows, columns, *dataset.image_shape)]
    labels = ["random"] * rows
    if dataset.space is not None and drawn.factors is not None:
        for name in dataset.space.names:
            points = dataset.space.traversal(name, drawn.factors[0], n=columns)
            chosen = np.linspace(0, len(points) - 1, columns).round().astype(int)
            try:
                sheet.append(dataset.images(points[chosen])[None])
            except UnweaveError:  # a user's data need not hold every combination
                continue
            labels.append(name)
    return image_grid(np.concatenate(sheet), row_labels=labels)
