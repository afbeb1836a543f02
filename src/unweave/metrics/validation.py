"""Checks of codes and factors that every metric makes, and their classes and bins."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CONTINUOUS_VALUES = 64
"""A fractional factor column with more distinct values than this is taken as continuous."""

LARGEST = 1e70
"""Fourth powers of larger codes, and sums of them, would overflow."""
SMALLEST = 1e-290
"""Smaller numbers lose their digits."""


def check_codes(codes: ArrayLike, name: str = "codes") -> Floats:
    """``codes`` as float64 (n, latents), or an error that says what is wrong with them; not a copy, so not to be changed.

    Example:
        >>> check_codes([[1, 2], [3, 4]]).shape
        (2, 2)
        >>> check_codes([1.0, 2.0])
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: codes must have two axes (samples, columns), got shape (2,): write codes[:, None] for one column

    """  # noqa: E501
    checked = _table(codes, name).astype(np.float64, copy=False)
    if (largest := max(float(checked.max()), -float(checked.min()))) > LARGEST:
        raise UnweaveError(
            f"{name} must be at most {LARGEST:g} in size, since powers of them are computed, got {largest:g}: "
            f"divide them by their standard deviation"
        )
    return checked


def check_pair(codes: ArrayLike, factors: ArrayLike, least: int = 2) -> tuple[Floats, NDArray[Any]]:
    """Codes (n, latents) and factors (n, K) that belong together, with at least ``least`` samples.

    Example:
        >>> codes, factors = check_pair([[0.1], [0.2]], [[0], [1]])
        >>> codes.shape, factors.dtype.kind
        ((2, 1), 'i')

    """
    codes, table = check_codes(codes), _table(factors, "factors")
    if 0 < (largest := float(np.abs(codes).max())) < SMALLEST:
        raise UnweaveError(
            f"codes must be at least {SMALLEST:g} in size, since smaller numbers have few digits, got {largest:g}: "
            f"multiply them"
        )
    if len(codes) != len(table):
        raise UnweaveError(
            f"codes and factors must have one row per sample, got {len(codes)} codes and {len(table)} factors"
        )
    if len(codes) < least:
        raise UnweaveError(f"at least {least} samples are needed, got {len(codes)}: encode more images")
    return codes, table


def factor_classes(factors: ArrayLike, bins: int = 20) -> tuple[Integers, tuple[int, ...]]:
    """Factors (n, K) as class numbers 0, 1, ... per column, and the number of classes of each column.

    Whole numbers are classes as they are. A fractional column is continuous, and cut into ``bins``
    equal-width bins over its range, if it has more than 64 distinct values or more than one for every
    two samples.

    Example:
        >>> classes, sizes = factor_classes([[3, 0.25], [7, 0.75], [3, 0.25], [7, 0.25]])
        >>> classes.tolist(), sizes
        ([[0, 0], [1, 1], [0, 0], [1, 0]], (2, 2))

    """
    table = _table(factors, "factors")
    columns, sizes = [], []
    for k, column in enumerate(table.T):
        if (known := _counted(column)) is not None:
            columns.append(known[0])
            sizes.append(known[1])
            continue
        values, classes = np.unique(column, return_inverse=True)
        if len(values) < 2:
            raise UnweaveError(
                f"factor {k} has the one value {values[0]:g} in all samples, so nothing can depend on it: "
                f"drop this column of factors or sample more widely"
            )
        if not np.all(values == np.floor(values)) and len(values) > min(CONTINUOUS_VALUES, len(column) // 2):
            values, classes = np.unique(equal_width_bins(column[:, None], bins)[0], return_inverse=True)
        columns.append(classes.reshape(-1).astype(np.int64))
        sizes.append(len(values))
    return np.stack(columns, axis=1), tuple(sizes)


def _counted(column: NDArray[Any]) -> tuple[Integers, int] | None:
    """The classes of a column of few whole numbers, and how many they are; counting is quicker than sorting."""
    if column.dtype.kind not in "iu" or column.min() < 0 or int(column.max()) >= 2 * len(column):
        return None
    held = np.bincount(column) > 0
    size = int(held.sum())
    if size < 2:
        return None
    return (column.astype(np.int64) if held.all() else (np.cumsum(held) - 1).take(column)), size


def drop_columns(table: NDArray[Any], drop: Sequence[int]) -> tuple[NDArray[Any], list[int]]:
    """The table without the columns in ``drop``, and the numbers of those that remain.

    Example:
        >>> drop_columns(np.array([[1, 2, 3]]), [0])[1]
        [1, 2]

    """
    for k in drop:
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k < table.shape[1]:
            raise UnweaveError(f"drop must hold columns of factors, 0 to {table.shape[1] - 1}, got {k!r}")
    kept = [k for k in range(table.shape[1]) if k not in set(drop)]
    if not kept:
        raise UnweaveError(f"drop must leave a factor, got all {table.shape[1]}")
    return table[:, kept], kept


def check_scales(scales: ArrayLike, codes: Floats) -> Floats:
    """Posterior standard deviations of the shape of ``codes``, all positive.

    Example:
        >>> check_scales([[0.1, 1.0]], np.zeros((1, 2))).shape
        (1, 2)

    """
    checked = check_codes(scales, "scales")
    if checked.shape != codes.shape:
        raise UnweaveError(f"scales must have the shape of codes {codes.shape}, got {checked.shape}")
    if np.any(checked < 1 / LARGEST):
        raise UnweaveError(
            f"scales must be positive standard deviations, at least {1 / LARGEST:g}, got {checked.min():g}"
        )
    return checked


def unit_of(codes: Floats) -> Floats:
    """For each column (..., n, columns) the power of 2 that divides it to between 1/2 and 1 in size; 1 for zeros.

    Divided by it, a column has the same digits, and no square of it vanishes or overflows.

    Example:
        >>> unit_of(np.array([[3.0, 0.0], [-5.0, 0.0]])).tolist()
        [8.0, 1.0]

    """
    return np.asarray(np.ldexp(1.0, np.frexp(np.abs(codes).max(axis=-2))[1]))


def standardised(values: Floats, like: Floats | None = None) -> Floats:
    """``values`` (n, columns) less the mean of ``like``, over its standard deviation; constant columns stay undivided.

    Args:
        values: to standardise.
        like: (m, columns) where means and deviations come from; the values themselves by default.

    Example:
        >>> standardised(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
        [[-1.0, 0.0], [1.0, 0.0]]

    """
    source = values if like is None else like
    # Squares of tiny numbers would vanish: deviations are those of columns scaled, by a power of 2, to at most 1.
    peak = unit_of(source)
    spread = (source / peak).std(axis=0)
    centred = (values - source.mean(axis=0)) / peak
    return np.asarray(
        np.where(spread > 1e-12, centred / np.where(spread > 1e-12, spread, 1.0), centred * peak)
    )


def split_samples(n: int, rng: np.random.Generator, share: float) -> tuple[Integers, Integers]:
    """Row numbers of a training and a test part; ``share`` of the ``n`` rows are for the test.

    Example:
        >>> [len(part) for part in split_samples(9, np.random.default_rng(0), 1 / 3)]
        [6, 3]

    """
    if not 0 < share < 1:
        raise UnweaveError(f"test must be a share between 0 and 1, got {share!r}")
    order = rng.permutation(n)
    tested = min(n - 1, max(1, round(n * share)))
    return order[tested:], order[:tested]


def equal_width_bins(codes: NDArray[Any], bins: int, reach: Floats | None = None) -> Integers:
    """Bin number 0 .. bins-1 of each code over the column's own range, as (latents, n).

    The edges are those of ``np.histogram(z, bins)``, and a code on an inner edge belongs to the upper bin. A range may
    reach further than its codes: ``reach`` holds its least and its largest value, (2, latents).

    Example:
        >>> equal_width_bins(np.array([[0.0], [0.5], [0.9], [1.0]]), 2).tolist()
        [[0, 1, 1, 1]]

    """
    found = np.empty(codes.T.shape, dtype=np.int64)
    # A latent at a time: fresh memory for all of them would cost more than the arithmetic.
    for j, column in enumerate(codes.T):
        code = np.ascontiguousarray(column, dtype=np.float64)
        low, high = float(code.min()), float(code.max())
        if reach is not None:
            low, high = min(low, float(reach[0, j])), max(high, float(reach[1, j]))
        _bins_of(code, bins, low, high, found[j])
    return found


def _bins_of(code: Floats, bins: int, low: float, high: float, place: Integers) -> None:
    """The bins of one latent (n,) between two ends, into ``place``."""
    # Codes that differ only by rounding are constant: no distinct edges fit between them.
    grain = bins * max(float(np.spacing(max(abs(low), abs(high)))), SMALLEST)
    if not high - low > 4 * grain:
        place[:] = 0
        return
    span = high - low
    scaled = code - low
    scaled *= bins / span
    place[:] = scaled
    np.minimum(place, bins - 1, out=place)
    # Division finds the bin but for rounding next to an edge; comparing with the edge itself decides there, as
    # np.digitize would.
    scaled -= place
    scaled -= 0.5
    np.abs(scaled, out=scaled)
    close = np.flatnonzero(scaled > 0.5 - max(1e-6, 4 * grain / span))
    if len(close):
        edges = np.linspace(low, low + span, bins + 1)
        edges[-1] = np.inf
        near, found = code[close], place[close]
        found -= near < edges[found]
        found += near >= edges[found + 1]
        place[close] = found


def check_count(name: str, value: int, least: int) -> int:
    """``value`` if it is a whole number of at least ``least``.

    Example:
        >>> check_count("bins", 20, 2)
        20

    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise UnweaveError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def _table(values: ArrayLike, name: str) -> NDArray[Any]:
    try:
        table = np.asarray(values)
    except ValueError:
        raise UnweaveError(
            f"{name} must be a rectangular array of numbers, got rows of differing lengths"
        ) from None
    if table.dtype.kind == "b":
        table = table.astype(np.int64)
    if table.dtype.kind not in "iuf":
        raise UnweaveError(
            f"{name} must be numbers, got {table.dtype}: turn labels into class numbers with "
            f"np.unique(labels, return_inverse=True)[1]"
        )
    if table.ndim != 2:
        hint = f": write {name}[:, None] for one column" if table.ndim == 1 else ""
        raise UnweaveError(f"{name} must have two axes (samples, columns), got shape {table.shape}{hint}")
    if 0 in table.shape:
        raise UnweaveError(f"{name} must not be empty, got shape {table.shape}")
    if table.dtype.kind == "f" and not np.all(np.isfinite(table)):
        bad = int(np.sum(~np.isfinite(table).all(axis=1)))
        raise UnweaveError(
            f"{name} must be finite, got NaN or infinity in {bad} of {len(table)} samples: "
            f"did the run diverge?"
        )
    return table
