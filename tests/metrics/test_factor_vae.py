from collections import Counter

import numpy as np
import pytest

from unweave.metrics import factor_vae_score
from unweave.metrics.interventions import draw_subsets as _draw
from unweave.metrics.score import wilson as _wilson


def cube(size: int = 8) -> np.ndarray:
    return np.stack(np.meshgrid(*[range(size)] * 3, indexing="ij"), -1).reshape(-1, 3)


def noisy(v: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(3)
    return v @ rng.normal(size=(3, 4)) + 4 * rng.normal(size=(len(v), 4))


def literal(
    codes: np.ndarray, factors: np.ndarray, rng: np.random.Generator, votes: int, samples: int
) -> float:
    spread = codes.std(0)

    def vote() -> tuple[int, int]:
        k = int(rng.integers(factors.shape[1]))
        value = rng.choice(np.unique(factors[:, k]))
        rows = rng.choice(np.flatnonzero(factors[:, k] == value), samples, replace=False)
        return int(np.argmin(np.var(codes[rows] / spread, axis=0))), k

    counts: dict[int, Counter[int]] = {}
    for d, k in (vote() for _ in range(votes)):
        counts.setdefault(d, Counter())[k] += 1
    held_out = [vote() for _ in range(votes)]
    return sum(d in counts and counts[d].most_common(1)[0][0] == k for d, k in held_out) / votes


def test_perfect_codes_score_one_whatever_their_order_and_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unweave.metrics.interval_limits.COUNTED", {})
    v = np.tile(cube(), (5, 1))  # 320 codes of each value
    score = factor_vae_score(
        v[:, [2, 0, 1]] * [100, 1, 0.1], v, np.random.default_rng(0), samples=30, prune=0
    )
    assert score.value == 1
    assert score.low is None  # at the end of the range an interval would cover always
    assert score.no_interval.startswith("fewer than 10 votes are wrong")


def test_without_normalisation_the_scales_would_decide() -> None:
    # Unscaled, the small third latent would win every vote, and the score would be near 1/3.
    v = cube()
    assert factor_vae_score(v * [1.0, 1.0, 0.06], v, np.random.default_rng(0), samples=30).value == 1


def test_one_entangled_latent_only_scores_chance() -> None:
    v = cube()
    score = factor_vae_score(v.sum(1, keepdims=True), v, np.random.default_rng(0))
    assert abs(score.value - 1 / 3) < 0.06


def test_two_of_three_factors_score_about_two_thirds() -> None:
    # No latent sees the third factor: its votes fall on the others (no K-1 failure as in FAC figure 3).
    v = cube()
    score = factor_vae_score(v[:, :2], v, np.random.default_rng(0), samples=30)
    assert abs(score.value - 2 / 3) < 0.06


def test_same_distribution_as_the_literal_definition() -> None:
    v = cube()
    codes = noisy(v)
    ours = np.mean([factor_vae_score(codes, v, np.random.default_rng(s), samples=30).value for s in range(6)])
    theirs = np.mean([literal(codes, v, np.random.default_rng(s), 400, 30) for s in range(6)])
    assert 0.4 < theirs < 0.95
    assert ours == pytest.approx(theirs, abs=0.04)


def test_constant_code_never_votes() -> None:
    v = cube()
    for constant in (0.0, 5.0, 1e6):
        codes = np.hstack([np.full((len(v), 1), constant), v])
        score = factor_vae_score(codes, v, np.random.default_rng(0), samples=30, prune=0)
        assert score.value == 1
        assert score.constants["active_latents"] == [1, 2, 3]


def test_pruning_by_posterior_scale_and_by_spread() -> None:
    v = cube()
    noise = np.random.default_rng(0).normal(size=(len(v), 1))
    codes = np.hstack([v * 1.0, 0.05 * noise])
    assert factor_vae_score(codes, v, np.random.default_rng(0)).constants["active_latents"] == [0, 1, 2]
    scales = np.full(codes.shape, 0.1)
    scales[:, 1] = 0.99
    assert factor_vae_score(codes, v, np.random.default_rng(0), scales=scales).constants[
        "active_latents"
    ] == [0, 2, 3]
    scales[:, 1] = 0.97  # 0.97^2 = 0.941
    assert (
        1 in factor_vae_score(codes, v, np.random.default_rng(0), scales=scales).constants["active_latents"]
    )


def test_nothing_active_scores_chance() -> None:
    v = cube()
    score = factor_vae_score(0.0 * v, v, np.random.default_rng(0))
    assert score.value == pytest.approx(1 / 3)
    assert score.constants["active_latents"] == []


def test_seeded() -> None:
    v = cube()
    codes = noisy(v)
    a, b, c = (factor_vae_score(codes, v, np.random.default_rng(s)) for s in (1, 1, 2))
    assert a == b
    assert a.value != c.value


def test_draws_are_distinct_uniform_subsets() -> None:
    rng = np.random.default_rng(0)
    drawn = _draw(np.full(60000, 5), 3, rng)
    assert all(len(set(row)) == 3 for row in drawn[:500])
    seen = Counter(tuple(sorted(row)) for row in drawn.tolist())
    assert len(seen) == 10
    assert max(abs(c - 6000) for c in seen.values()) < 5 * np.sqrt(6000)
    few = _draw(np.array([2, 100]), 50, rng)
    assert set(few[0]) == {0, 1}
    assert len(set(few[1])) == 50


def test_all_values_once_is_an_error() -> None:
    with pytest.raises(ValueError, match="occurs only once"):
        factor_vae_score(
            np.random.default_rng(0).random((20, 2)), np.arange(20)[:, None], np.random.default_rng(0)
        )


def test_wilson_interval_solves_its_equation() -> None:
    low, high = _wilson(30, 100)
    for p in (low, high):
        assert abs(0.3 - p) == pytest.approx(1.96 * np.sqrt(p * (1 - p) / 100))
