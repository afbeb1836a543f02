"""Numbers over seeds as the text of a table's cell."""

import numpy as np
from numpy.typing import ArrayLike


def mean_and_deviation(values: ArrayLike, mean: str = ".3f", deviation: str | None = None) -> str:
    """Mean and standard deviation over seeds; of one seed, its value.

    Args:
        values: one for each seed.
        mean: format of the mean.
        deviation: format of the deviation; none: that of the mean.

    Example:
        >>> mean_and_deviation([0.1, 0.2]), mean_and_deviation([0.1])
        ('0.150 ± 0.071', '0.100')
    """
    sample = np.asarray(values, np.float64)
    text = f"{sample.mean():{mean}}"
    if len(sample) < 2:
        return text
    return f"{text} ± {sample.std(ddof=1):{mean if deviation is None else deviation}}"
