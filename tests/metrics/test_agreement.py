import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from unweave.errors import UnweaveError
from unweave.metrics import agreement, beta_vae_score, factor_vae_score, sensitivity


@pytest.mark.parametrize(
    ("kind", "function"), [("pearson", pearsonr), ("kendall", kendalltau), ("spearman", spearmanr)]
)
def test_correlations_equal_those_of_scipy(kind: str, function) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    a = rng.normal(size=25)
    scores = {"a": a, "b": a + rng.normal(size=25), "c": np.round(a), "same": np.ones(25)}
    found = agreement(scores, kind=kind, resamples=200)  # type: ignore[arg-type]
    for one in "abc":
        for two in "abc":
            if one != two:
                assert found.score(one, two).value == pytest.approx(
                    function(scores[one], scores[two])[0], abs=1e-9
                )
    assert found.score("a", "same").value == 0
    score = found.score("a", "b")
    assert -1 <= score.low < score.value < score.high <= 1  # type: ignore[operator]
    assert found.values.diagonal().tolist() == [1.0] * 4


def test_intervals_of_correlations_cover() -> None:
    rng, hits = np.random.default_rng(1), 0
    for _ in range(150):
        a = rng.normal(size=60)
        score = agreement({"a": a, "b": a + rng.normal(size=60)}, kind="pearson", resamples=300).score(
            "a", "b"
        )
        hits += score.low <= np.sqrt(0.5) <= score.high  # type: ignore[operator]
    assert 0.88 <= hits / 150 <= 0.99


def test_mistakes() -> None:
    with pytest.raises(UnweaveError, match="three models"):
        agreement({"a": [1, 2]})
    with pytest.raises(UnweaveError, match="same models"):
        agreement({"a": [1, 2, 3], "b": [1, 2, 3, 4]})
    with pytest.raises(UnweaveError, match="did you mean kendall"):
        agreement({"a": [1, 2, 3]}, kind="kendal")  # type: ignore[arg-type]
    with pytest.raises(UnweaveError, match="at least one parameter"):
        sensitivity(factor_vae_score, [[0.0]], [[0]], {})


def test_more_samples_make_scores_steadier() -> None:
    """FAC figures 16, 17: with small L both scores fall and scatter."""
    rng = np.random.default_rng(0)
    v = np.stack([rng.integers(0, 6, 3000) for _ in range(4)], 1)
    codes = v + 2.5 * rng.normal(size=v.shape)
    found = sensitivity(factor_vae_score, codes, v, {"samples": [5, 20, 100], "votes": [100, 800]}, seeds=6)
    assert found.means.shape == (3, 2)
    assert found.means[0, 1] < found.means[1, 1] < found.means[2, 1]
    assert found.deviations[2, 1] < found.deviations[0, 1]
    linear = sensitivity(beta_vae_score, codes, v, {"samples": [5, 100]}, seeds=4)
    assert linear.means[0] < linear.means[1]
    assert len(found.table()) == 7
    literal = [
        factor_vae_score(codes, v, np.random.default_rng(s), samples=5, votes=100).value for s in range(6)
    ]
    assert found.means[0, 0] == pytest.approx(np.mean(literal))
    assert found.deviations[0, 0] == pytest.approx(np.std(literal, ddof=1))
