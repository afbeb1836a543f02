"""Pairs, triplets, held-out regions and correlated factors of every kind of dataset."""

import itertools

import numpy as np
import pytest

from unweave.data import (
    Arrays,
    Circles,
    Correlated,
    Dataset,
    DSprites,
    FactorSpace,
    Glyphs,
    HeldOut,
    XYSquares,
)
from unweave.data.indexed import IndexedDataset
from unweave.errors import UnweaveError


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


class Small(IndexedDataset):
    """Two factors, every image tells its row."""

    description = "small"

    def __init__(self, sizes: tuple[int, ...] = (4, 6)) -> None:
        count = int(np.prod(sizes))
        pixels = np.arange(count, dtype=np.uint8).reshape(count, 1, 1, 1)
        self._store(pixels, FactorSpace([f"f{i}" for i in range(len(sizes))], sizes))


def partial(n: int = 40) -> Arrays:
    """Some combinations of three factors, several images of some."""
    factors = np.stack([rng(9).integers(size, size=n) for size in (3, 4, 5)], axis=1)
    return Arrays.from_arrays(np.arange(n, dtype=np.uint8).reshape(n, 1, 1) + 2, factors)


@pytest.mark.parametrize("k", [1, 2, 3, None])
def test_pairs_of_partial_grids_exist_and_differ_in_k_factors(k: int | None) -> None:
    own = partial()
    assert own.classes is not None
    first, second = own.pairs(300, rng(), k)
    apart = (first.factors != second.factors).sum(axis=1)
    assert set(apart.tolist()) == ({1, 2, 3} if k is None else {k})
    for batch in (first, second):
        rows = batch.images[:, 0, 0, 0].astype(int) - 2
        np.testing.assert_array_equal(own.classes[rows], batch.factors)


def test_pairs_of_partial_grids_have_the_proposals_probabilities() -> None:
    """Which two factors differ is uniform, and so is each new value: a pair weighs prod 1 / (size - 1)."""
    own = partial(20)
    assert own.classes is not None
    sizes = np.array(own.factor_space().sizes)
    points = np.unique(own.classes, axis=0)
    weight = {
        (tuple(a), tuple(b)): float(np.prod(1 / (sizes[a != b] - 1)))
        for a, b in itertools.permutations(points, 2)
        if (a != b).sum() == 2
    }
    first, second = own.pairs(4000, rng(), k=2)
    drawn = [(tuple(a), tuple(b)) for a, b in zip(first.factors, second.factors, strict=True)]
    assert set(drawn) == set(weight)
    for pair, share in weight.items():
        expected = 4000 * share / sum(weight.values())
        assert abs(drawn.count(pair) - expected) < 5 * np.sqrt(expected)


def test_rows_with_equal_factors_are_all_drawn() -> None:
    own = Arrays.from_arrays(np.arange(2, 8, dtype=np.uint8).reshape(6, 1, 1), [[0], [0], [0], [1], [1], [2]])
    first, second = own.pairs(600, rng())
    for batch in (first, second):
        counts = np.bincount(batch.images.ravel(), minlength=8)[2:]
        np.testing.assert_allclose(counts, [200 / 3, 200 / 3, 200 / 3, 100, 100, 200], atol=60)


def test_hardly_any_combination_needs_no_luck() -> None:
    factors = rng().random((50, 6))
    own = Arrays.from_arrays(rng().integers(2, 255, (50, 4, 4), dtype=np.uint8), factors)
    first, second = own.pairs(100, rng())
    assert ((first.factors != second.factors).sum(axis=1) == 6).all()
    with pytest.raises(
        UnweaveError,
        match=r"too few images that differ in that many factors \(0 of 10 found\): choose another k",
    ):
        own.pairs(10, rng(), k=2)


@pytest.mark.parametrize("hole", ["center", "corner"])
def test_pairs_of_circles_keep_out_of_the_hole(hole: str) -> None:
    circles = Circles(hole=hole, size=16)
    for batch in (*circles.pairs(500, rng(), k=1), *circles.triplets(500, rng())):
        assert batch.factors is not None
        assert not circles.held_out(batch.factors).any()
        np.testing.assert_array_equal(batch.images, circles.images(batch.factors))


def test_triplets_order_by_number_of_factors() -> None:
    space = FactorSpace(("a", "b", "c", "d"), (3, 4, 1, 5))
    anchor, positive, negative = space.triplets(6000, rng())
    near, far = ((anchor != other).sum(axis=1) for other in (positive, negative))
    pairs, counts = np.unique(np.stack([near, far]), axis=1, return_counts=True)
    assert pairs.T.tolist() == [[1, 2], [1, 3], [2, 3]]
    np.testing.assert_allclose(counts, 2000, atol=5 * np.sqrt(2000))
    with pytest.raises(UnweaveError, match=r"1 <= k\[0\] < k\[1\] <= 3, got \(2, 2\)"):
        space.triplets(1, rng(), k=(2, 2))
    with pytest.raises(UnweaveError, match="triplets need two factors that vary"):
        FactorSpace(("a",), (3,)).triplets(1, rng())


DATASETS = [
    (Small(), ("f0", "f1")),
    (XYSquares(), ("x_r", "y_b")),
    (Circles(size=16), ("x", "y")),
    (partial(200), ("factor_0", "factor_2")),
]


@pytest.mark.parametrize(("dataset", "factors"), DATASETS)
@pytest.mark.parametrize("region", ["corner", "center"])
def test_held_out_regions_are_never_seen(dataset: Dataset, factors: tuple[str, str], region: str) -> None:
    part = HeldOut(dataset, factors=factors, region=region)
    space = dataset.factor_space()
    columns = [space.column(name) for name in factors]

    def literally_inside(points: np.ndarray) -> np.ndarray:
        inside = np.ones(len(points), bool)
        for column in columns:
            size = space.sizes[column]
            low, high = size if isinstance(size, tuple) else (-0.5, size - 0.5)
            at = (points[:, column] - low) / (high - low)
            inside &= at < 0.5 if region == "corner" else (at > 0.25) & (at < 0.75)
        return inside

    everything = space.sample(3000, rng(1))
    missing = dataset.held_out(everything)
    np.testing.assert_array_equal(part.held_out(everything), literally_inside(everything) | missing)
    assert literally_inside(everything).any()
    seen = [part.sample(500, rng()).factors, part.evaluation(500, rng())]
    seen += [batch.factors for batch in (*part.pairs(200, rng()), *part.triplets(200, rng()))]
    if dataset.count is not None:
        rows = part.evaluation_rows(150, rng())
        assert len(np.unique(rows)) == len(rows)
        seen.append(part.factors_at(rows))
    for points in seen:
        assert points is not None
        assert not literally_inside(points).any()
    batch = part.sample(20, rng())
    assert batch.images.shape[0] == 20
    np.testing.assert_array_equal(part.images(batch.factors), dataset.images(batch.factors))


def test_what_is_left_is_uniform() -> None:
    part = HeldOut(Small(), factors=("f0", "f1"), region="corner")
    batch = part.sample(18_000, rng())
    counts = np.bincount(batch.images.ravel(), minlength=24).reshape(4, 6)
    assert not counts[:2, :3].any()
    left = np.delete(counts.ravel(), [0, 1, 2, 6, 7, 8])
    np.testing.assert_allclose(left, 1000, atol=5 * np.sqrt(1000))
    assert sorted(part.evaluation_rows(100, rng()).tolist()) == sorted(set(range(24)) - {0, 1, 2, 6, 7, 8})


@pytest.mark.parametrize("sigma", [0.1, 0.4])
def test_correlated_factors_follow_the_formula(sigma: float) -> None:
    tied = Correlated(Small(), factors=("f0", "f1"), sigma=sigma)
    u, v = (np.arange(4) + 0.5) / 4, (np.arange(6) + 0.5) / 6
    weight = np.exp(-((u[:, None] - v) ** 2) / (2 * sigma**2))
    expected = 40_000 * weight / weight.sum()
    for counts in (
        np.bincount(tied.sample(40_000, rng()).images.ravel(), minlength=24),
        np.bincount(tied.space.index(tied.evaluation(40_000, rng())), minlength=24),
    ):
        assert np.abs(counts.reshape(4, 6) - expected).max() < 5 * np.sqrt(expected.max())


def test_pairs_weigh_both_ends() -> None:
    tied = Correlated(Small((3, 3)), factors=("f0", "f1"), sigma=0.3)
    first, second = tied.pairs(30_000, rng(), k=1)
    weight = tied.weight(tied.space.factors(np.arange(9)))
    allowed = np.array([[(a // 3 != b // 3) + (a % 3 != b % 3) == 1 for b in range(9)] for a in range(9)])
    expected = 30_000 * allowed * weight[:, None] * weight
    expected /= (allowed * weight[:, None] * weight).sum()
    counts = np.zeros((9, 9))
    np.add.at(counts, (first.images.ravel(), second.images.ravel()), 1)
    assert not counts[~allowed].any()
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected.max())


def test_blank_images_stay() -> None:
    part = HeldOut(Circles(blank=0.5, size=16), factors=("x",))
    batch = part.sample(2000, rng())
    blank = np.isnan(batch.factors).any(axis=1)
    assert blank.mean() == pytest.approx(2 / 3, abs=0.06)  # half of the circles are held out
    assert not batch.images[blank].any()


def test_mistakes_are_named() -> None:
    for call, message in (
        (lambda: HeldOut(Small()), "factors of HeldOut must name at least 1 of f0, f1, got none"),
        (lambda: HeldOut(Small(), factors=("f2",)), "unknown factor 'f2'"),
        (lambda: HeldOut(Small(), factors=("f0",), share=1.5), "share of HeldOut must lie between 0 and 1"),
        (lambda: HeldOut(Small(), factors=("f0",), share=0.1), "holds out all or nothing of f0"),
        (lambda: Correlated(Small(), factors=("f0",)), "factors of Correlated must name at least 2"),
        (
            lambda: Correlated(Small(), factors=("f0", "f1"), sigma=0),
            "sigma of Correlated must be greater than 0",
        ),
        (lambda: HeldOut(Arrays.from_arrays(np.ones((3, 8, 8))), factors=("a",)), "has no known factors"),
        (lambda: Small().pairs(3, rng(), k=3), "k must be from 1 to 2"),
    ):
        with pytest.raises(UnweaveError, match=message):
            call()


def test_every_factor_dataset_has_pairs() -> None:
    for dataset in (DSprites(), Glyphs(size=32)):
        a, b = dataset.pairs(20, rng(), k=2)
        assert ((a.factors != b.factors).sum(axis=1) == 2).all()
        np.testing.assert_array_equal(a.images, dataset.images(a.factors))
