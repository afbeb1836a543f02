import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from unweave.metrics import mig, mutual_information
from unweave.metrics.score import AT_THIS_NUMBER


def literal_mig(codes: np.ndarray, factors: np.ndarray, bins: int = 20) -> float:
    gaps = []
    for v in factors.T:
        infos = sorted(mutual_info_score(np.digitize(z, np.histogram(z, bins)[1][:-1]), v) for z in codes.T)
        gaps.append((infos[-1] - infos[-2]) / mutual_info_score(v, v))
    return float(np.mean(gaps))


def mixed(n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    factors = np.stack([rng.integers(0, s, n) for s in (3, 6, 40, 32, 32)], axis=1)
    mix = np.eye(5, 7) + 0.2 * rng.normal(size=(5, 7))
    return (factors / factors.max(0)) @ mix + 0.05 * rng.normal(size=(n, 7)), factors


def test_information_equals_scikit_learn_pair_by_pair() -> None:
    codes, factors = mixed()
    ours = mutual_information(codes, factors)
    assert ours.shape == (7, 5)
    for j, z in enumerate(codes.T):
        for k, v in enumerate(factors.T):
            literal = mutual_info_score(np.digitize(z, np.histogram(z, 20)[1][:-1]), v)
            assert ours[j, k] == pytest.approx(literal, abs=1e-10)


@pytest.mark.parametrize("bins", [5, 20, 33])
def test_mig_equals_the_literal_definition(bins: int) -> None:
    codes, factors = mixed()
    assert mig(codes, factors, bins=bins, interval=False).value == pytest.approx(
        literal_mig(codes, factors, bins), abs=1e-10
    )


def test_closed_forms() -> None:
    grid = np.stack(np.meshgrid(range(4), range(8), indexing="ij"), -1).reshape(-1, 2)
    perfect = mig(grid * 1.0, grid)
    assert perfect.value == pytest.approx(1, abs=1e-12)
    assert perfect.constants["entropies"] == pytest.approx([np.log(4), np.log(8)])
    doubled = np.hstack([grid, grid[:, :1]])
    # The first factor sits in two latents (gap 0), the second in one (gap 1).
    assert mig(doubled, grid).constants["gaps"] == pytest.approx([0, 1], abs=1e-12)
    # Half of the bits: z = v // 2 keeps log 2 of log 4.
    half = mig(np.stack([grid[:, 0] // 2, 0 * grid[:, 0]], 1), grid[:, :1])
    assert half.value == pytest.approx(0.5, abs=1e-12)


def test_constant_latent_is_zero_and_not_nan() -> None:
    codes, factors = mixed(500)
    codes[:, 2] = 0.3
    information = mutual_information(codes, factors)
    assert information[2].tolist() == pytest.approx([0] * 5, abs=1e-12)
    assert np.isfinite(mig(codes, factors).value)


def test_single_latent_has_second_information_zero() -> None:
    v = np.arange(100)[:, None] % 5
    score = mig(v * 1.0, v)
    assert score.value == pytest.approx(1)


def test_mig_falls_under_rotation() -> None:
    v = np.stack(np.meshgrid(np.arange(32), np.arange(32)), -1).reshape(-1, 2)
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    # 12 of the 20 bins hold two of the 32 values and 8 hold one: log 32 - (24/32) log 2 of log 32.
    assert mig(v * 1.0, v).value == pytest.approx(1 - 0.75 / 5)
    assert mig(v @ turn, v).value < 0.1


def test_continuous_factors_are_cut_into_twenty_bins() -> None:
    rng = np.random.default_rng(0)
    v = rng.random((5000, 2))
    cut = np.stack([np.digitize(c, np.histogram(c, 20)[1][:-1]) for c in v.T], 1)
    assert mig(v, v, interval=False).value == pytest.approx(literal_mig(v, cut), abs=1e-10)


def test_interval_is_seeded_and_has_the_width_of_the_sampling_error() -> None:
    # The spread of the score over fresh samples of the same model; its noise is bounded, as is the range of its bins.
    rng = np.random.default_rng(5)
    mix = np.eye(3, 4) + 0.3 * np.random.default_rng(2).normal(size=(3, 4))
    fresh = []
    for _ in range(60):
        v = np.stack([rng.integers(0, s, 1500) for s in (3, 6, 8)], axis=1)
        z = (v / v.max(0)) @ mix + 0.17 * rng.uniform(-1, 1, size=(1500, 4))
        fresh.append(mig(z, v, interval=False).value)
    one, two = mig(z, v), mig(z, v)
    assert one == two
    assert one.corrected is not None
    middle, low, high = one.corrected
    assert 0.6 < (high - middle) / (1.96 * np.std(fresh)) < 1.7
    assert (high + low) / 2 == pytest.approx(middle)


def test_interval_of_this_number_of_codes_or_none() -> None:
    crowded = mig(*mixed())  # 640 cells and more, 2,000 codes
    assert crowded.corrected is None
    assert crowded.low is not None
    assert crowded.low < crowded.value < crowded.high  # type: ignore[operator]
    assert crowded.covers == AT_THIS_NUMBER
    few = mig(*mixed(150))
    assert (few.low, few.high, few.corrected) == (None, None, None)
    assert "too few" in few.no_interval
    rng = np.random.default_rng(0)
    v = np.stack([rng.integers(0, s, 4000) for s in (3, 4)], axis=1)
    tails = mig(v + rng.standard_t(2, size=v.shape), v)
    assert tails.corrected is None
    assert "heavy tails" in tails.no_interval
    steady = mig(v + rng.uniform(-1, 1, size=v.shape), v)
    assert steady.corrected is not None
    assert (steady.no_interval, steady.covers) == ("", "")


def test_float32_codes_and_no_intervals() -> None:
    codes, factors = mixed(300)
    score = mig(codes.astype(np.float32), factors, interval=False)
    assert score.low is None
    assert score.high is None
    assert 0 < score.value < 1
