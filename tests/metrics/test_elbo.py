import numpy as np
import pytest

from unweave.errors import UnweaveError
from unweave.metrics import elbo_scores


def test_parts_and_intervals() -> None:
    rng = np.random.default_rng(0)
    nll, kl, scales = rng.random(50) * 100, rng.random((50, 4)), rng.random((50, 4))
    scores = elbo_scores(nll, kl, scales)
    assert scores["nll"].value == pytest.approx(nll.mean())
    assert scores["kl"].value == pytest.approx(kl.sum() / 50)
    assert scores["elbo"].value == pytest.approx(-nll.mean() - kl.sum() / 50)
    assert scores["latents_used"].value == pytest.approx((scales < 0.5).sum() / 50)
    assert scores["kl"].constants["per_latent"] == pytest.approx(kl.mean(0))
    se = np.std(-nll - kl.sum(1), ddof=1) / np.sqrt(50)
    assert scores["elbo"].high == pytest.approx(scores["elbo"].value + 1.96 * se)
    assert scores["elbo"].higher_is_better
    assert not scores["nll"].higher_is_better
    assert [score.name for score in scores.values()] == list(scores)


def test_a_posterior_at_the_threshold_is_unused() -> None:
    assert elbo_scores([1.0], [[1.0, 1.0]], [[0.5, 0.499]])["latents_used"].value == 1


def test_a_divergence_that_does_not_split_by_latent() -> None:
    scores = elbo_scores([10.0, 12.0], [[2.0], [4.0]], [[0.1, 1.0], [0.2, 0.3]])
    assert scores["kl"].value == 3 and scores["elbo"].value == -14 and scores["latents_used"].value == 1.5
    assert "per_latent" not in scores["kl"].constants
    assert scores["latents_used"].range == (0.0, 2.0)


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(UnweaveError, match="one shape"):
        elbo_scores([1.0], [[1.0, 2.0]], [[1.0, 1.0, 1.0]])
    with pytest.raises(UnweaveError, match="one value per image"):
        elbo_scores([1.0, 2.0], [[1.0]], [[1.0]])
    with pytest.raises(UnweaveError, match="finite"):
        elbo_scores([np.nan], [[1.0]], [[1.0]])
