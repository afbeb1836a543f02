import itertools

import numpy as np
import pytest

from unweave.data import FactorSpace
from unweave.errors import UnweaveError

SPACE = FactorSpace(("shape", "scale", "x"), (3, 2, 5))
MIXED = FactorSpace(("kind", "x", "hue"), (4, (0.2, 0.8), (-1.0, 1.0)))


def test_index_and_factors_are_the_row_major_bijection() -> None:
    rows = np.array(list(itertools.product(range(3), range(2), range(5))))
    assert SPACE.count == 30
    assert SPACE.factors(np.arange(30)).dtype == np.int64
    np.testing.assert_array_equal(SPACE.factors(np.arange(30)), rows)
    np.testing.assert_array_equal(SPACE.index(rows), np.arange(30))


def test_facts_of_a_mixed_space() -> None:
    assert MIXED.continuous == (False, True, True)
    assert MIXED.count is None
    assert len(MIXED) == 3
    assert FactorSpace(["a"], [np.int64(2)]) == FactorSpace(("a",), (2,))
    with pytest.raises(AttributeError):
        MIXED.names = ()  # type: ignore[misc]


def test_samples_are_uniform_and_independent() -> None:
    points = SPACE.sample(60_000, np.random.default_rng(0))
    counts = np.bincount(SPACE.index(points), minlength=30)
    # chi-square with 29 degrees of freedom: 0.999 quantile is 58.3
    assert ((counts - 2000) ** 2 / 2000).sum() < 58.3
    mixed = MIXED.sample(60_000, np.random.default_rng(1))
    assert mixed.dtype == np.float64
    for column, (low, high) in ((1, (0.2, 0.8)), (2, (-1.0, 1.0))):
        values = mixed[:, column]
        assert low <= values.min() < low + 1e-3 * (high - low)
        assert high - 1e-3 * (high - low) < values.max() <= high
        assert abs(values.mean() - (low + high) / 2) < 4 * (high - low) / np.sqrt(12 * 60_000)


def test_fixed_factors_stay_and_the_others_vary() -> None:
    rng = np.random.default_rng(0)
    scale = np.arange(1000) % 2
    points = SPACE.sample(1000, rng, fixed={"x": 3, "scale": scale})
    assert (points[:, 2] == 3).all()
    np.testing.assert_array_equal(points[:, 1], scale)
    assert set(points[:, 0]) == {0, 1, 2}
    assert points.dtype == np.int64
    assert (MIXED.sample(9, rng, fixed={"hue": 0.25})[:, 2] == 0.25).all()


@pytest.mark.parametrize("space", [SPACE, MIXED])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_pairs_differ_in_exactly_k_factors(space: FactorSpace, k: int) -> None:
    first, second = space.pairs(6000, np.random.default_rng(k), k)
    different = first != second
    assert (different.sum(axis=1) == k).all()
    np.testing.assert_allclose(different.mean(axis=0), k / 3, atol=0.03)
    space.check(second)


def test_pairs_without_k_differ_in_a_uniform_number() -> None:
    first, second = SPACE.pairs(30_000, np.random.default_rng(0))
    share = np.bincount((first != second).sum(axis=1), minlength=4) / 30_000
    np.testing.assert_allclose(share, [0, 1 / 3, 1 / 3, 1 / 3], atol=0.012)


def test_the_other_value_of_a_pair_is_uniform_over_the_remaining_classes() -> None:
    space = FactorSpace(("x",), (5,))
    first, second = space.pairs(20_000, np.random.default_rng(0), 1)
    share = np.bincount(((second - first) % 5).ravel(), minlength=5) / 20_000
    np.testing.assert_allclose(share, [0, 0.25, 0.25, 0.25, 0.25], atol=0.015)


def test_factors_of_one_class_never_differ() -> None:
    space = FactorSpace(("colour", "x"), (1, 4))
    first, second = space.pairs(100, np.random.default_rng(0))
    assert ((first != second) == [False, True]).all()
    with pytest.raises(UnweaveError, match="k must be from 1 to 1, the number of factors that vary, got 2"):
        space.pairs(1, np.random.default_rng(0), 2)


def test_traversals() -> None:
    np.testing.assert_array_equal(
        SPACE.traversal("x", [2, 1, 4], n=2), [[2, 1, 0], [2, 1, 1], [2, 1, 2], [2, 1, 3], [2, 1, 4]]
    )
    np.testing.assert_allclose(
        MIXED.traversal("x", [1, 0.5, 0], n=4), [[1, v, 0] for v in (0.2, 0.4, 0.6, 0.8)], rtol=1e-15
    )
    assert MIXED.traversal("x", [1, 0.5, 0]).shape == (11, 3)


def test_grids() -> None:
    np.testing.assert_array_equal(
        SPACE.grid(["scale", "shape"], None, [0, 0, 4]),
        [[0, 0, 4], [1, 0, 4], [2, 0, 4], [0, 1, 4], [1, 1, 4], [2, 1, 4]],
    )
    np.testing.assert_array_equal(SPACE.grid(["x"], 3, [1, 0, 0])[:, 2], [0, 2, 4])
    np.testing.assert_allclose(
        MIXED.grid(["x", "hue"], 2, [3, 0.5, 0]), [[3, 0.2, -1], [3, 0.2, 1], [3, 0.8, -1], [3, 0.8, 1]]
    )


def test_levels_are_the_nearest_of_n_even_values() -> None:
    points = np.array([[2, 0.2, -1], [1, 0.349, -0.51], [1, 0.351, -0.49], [0, 0.8, 1]])
    np.testing.assert_allclose(
        MIXED.levels(points, 3), [[2, 0.2, -1], [1, 0.2, -1], [1, 0.5, 0], [0, 0.8, 1]], rtol=1e-12
    )
    many = MIXED.levels(MIXED.sample(3000, np.random.default_rng(0)))
    assert len(np.unique(many[:, 1])) == 32
    np.testing.assert_array_equal(SPACE.levels([[2, 1, 4]], 2), [[2, 1, 4]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FactorSpace((), ()), "at least one factor and one size per name, got 0 names and 0 sizes"),
        (lambda: FactorSpace(("a", "b"), (1,)), "got 2 names and 1 sizes"),
        (lambda: FactorSpace(("a", "a"), (1, 2)), "factor names must differ from each other, got a, a"),
        (
            lambda: FactorSpace(("a",), (0,)),
            "size of factor 'a' must be a whole number from 1 up or .* got 0",
        ),
        (lambda: FactorSpace(("a",), ((1.0, 1.0),)), r"size of factor 'a' .* got \(1.0, 1.0\)"),
        (
            lambda: SPACE.index([[0, 0]]),
            r"factors must have shape \(n, 3\) for shape, scale, x, got \(1, 2\)",
        ),
        (lambda: SPACE.index([[0, 2, 0]]), "factor 'scale' must be a whole number from 0 to 1, got 2"),
        (lambda: SPACE.index([[0.5, 0, 0]]), "factor 'shape' must be a whole number from 0 to 2, got 0.5"),
        (lambda: SPACE.index([[-1, 0, 0]]), "got -1"),
        (lambda: SPACE.index([["a", "b", "c"]]), "factors must be an array of numbers"),
        (lambda: MIXED.check([[0, 0.1, 0]]), "factor 'x' must be between 0.2 and 0.8, got 0.1"),
        (lambda: MIXED.check([[0, np.nan, 0]]), "factor 'x' must be between 0.2 and 0.8, got nan"),
        (lambda: MIXED.index([[0, 0.5, 0]]), "only for discrete factors, but x, hue is continuous"),
        (lambda: MIXED.factors([0]), "only for discrete factors"),
        (lambda: SPACE.factors([30]), "index must be from 0 to 29, got 30"),
        (lambda: SPACE.factors([-1]), "index must be from 0 to 29, got -1"),
        (lambda: SPACE.factors([0.5]), r"index must be whole numbers of shape \(n,\), got float64"),
        (
            lambda: FactorSpace(("a", "b"), (2**40, 2**40)).factors([0]),
            "combinations of factors cannot be counted",
        ),
        (lambda: SPACE.column("scal"), "unknown factor 'scal': did you mean scale"),
        (
            lambda: SPACE.sample(3, np.random.default_rng(0), {"x": [1, 2]}),
            "'x' must be one value or 3 values",
        ),
        (lambda: SPACE.sample(3, np.random.default_rng(0), {"x": 5}), "factor 'x' must be a whole number"),
        (lambda: SPACE.pairs(3, np.random.default_rng(0), 4), "k must be from 1 to 3"),
        (lambda: SPACE.pairs(3, np.random.default_rng(0), 0), "k must be from 1 to 3"),
        (lambda: SPACE.traversal("x", [0, 0]), "at must be one point of 3 factors"),
        (lambda: MIXED.traversal("x", [0, 0.5, 0], 1), "n must be at least 2 values of a factor, got 1"),
    ],
)
def test_mistakes_are_named(call, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnweaveError, match=message):
        call()
