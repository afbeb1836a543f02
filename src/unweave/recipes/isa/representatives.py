"""Models that stand for the upper half of MIG scores, as ISA A.5 chooses them."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def upper(migs: Array) -> NDArray[np.int64]:
    """The numbers of the runs with a MIG of at least the median.

    Example:
        >>> upper(np.array([0.4, 0.1, 0.3, 0.2])).tolist()
        [0, 2]
    """
    found: NDArray[np.int64] = np.flatnonzero(migs >= np.median(migs))
    return found


def upper_half(migs: Array) -> Array:
    """The MIG of these runs.

    Example:
        >>> upper_half(np.array([0.4, 0.1, 0.3, 0.2])).tolist()
        [0.4, 0.3]
    """
    half: Array = migs[upper(migs)]
    return half


def representative(migs: Array, fits: Array) -> int:
    """Number of the run that represents the upper half of MIG scores (A.5).

    Of the runs with a MIG of at least the median, the one nearest to their mean of MIG and log-likelihood, each in
    units of its standard deviation among these runs: the Mahalanobis distance "defined by mean and variance".

    Example:
        >>> representative(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), np.zeros(5))
        3
    """
    half = upper(migs)
    both = np.stack([migs[half], fits[half]], 1)
    spread = both.std(0)
    apart = ((both - both.mean(0)) / np.where(spread > 0, spread, 1)) ** 2
    return int(half[apart.sum(1).argmin()])
