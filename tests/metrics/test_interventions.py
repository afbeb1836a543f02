import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from unweave.data import Circles, XYSquares
from unweave.metrics import EncodeOnce, beta_vae_score, beta_vae_score_of, factor_vae_score_of
from unweave.metrics.linear import fit_softmax
from unweave.metrics.thresholds import fit_thresholds


class Counting:
    """An encoder that knows the factors (it is given them as images) and counts what it sees."""

    def __init__(self, dataset) -> None:  # type: ignore[no-untyped-def]
        self.space, self.seen = dataset.space, []
        self.evaluation, self.held_out = dataset.evaluation, dataset.held_out

    def images(self, factors: np.ndarray) -> np.ndarray:
        self.seen += [row.tobytes() for row in np.asarray(factors, float)]
        return np.asarray(factors, float)


@pytest.mark.parametrize("dataset", [Circles(size=16), Circles(size=16, hole="center"), XYSquares()])
def test_no_image_is_encoded_twice(dataset) -> None:  # type: ignore[no-untyped-def]
    source = Counting(dataset)
    once = EncodeOnce(lambda x: (x, 0 * x + 0.1), source)
    rng = np.random.default_rng(0)
    options = {"samples": 12, "votes": 60, "evaluation_votes": 60}
    one = factor_vae_score_of(lambda x: x, source, rng, once=once, **options)
    two = beta_vae_score_of(lambda x: x, source, rng, once=once, **options)
    assert one.value == 1
    assert two.value > 0.95
    assert len(source.seen) == len(set(source.seen)) == len(once.means)
    assert not dataset.held_out(np.array([np.frombuffer(row) for row in source.seen])).any()


def test_votes_share_what_they_should() -> None:
    source = Counting(Circles(size=16))
    once = EncodeOnce(lambda x: x, source)
    plan = once.groups(30, 7, np.random.default_rng(1))
    for k, rows in zip(plan.asked, plan.rows, strict=True):
        assert len(np.unique(once.means[rows, k])) == 1
        assert len(np.unique(once.means[rows, 1 - k])) > 1
    plan = once.pairs(30, 7, np.random.default_rng(1))
    for k, rows in zip(plan.asked, plan.rows, strict=True):
        assert (once.means[rows[:, 0], k] == once.means[rows[:, 1], k]).all()
        assert len(np.unique(once.means[rows[:, 0], k])) > 1
    assert once.scales is None


def test_the_k_minus_one_failure() -> None:
    """FAC figure 3: one factor of five is not encoded at all, and the score is perfect."""
    rng = np.random.default_rng(0)
    v = np.stack([rng.integers(0, s, 8_000) for s in (3, 6, 40, 32, 32)], 1)
    for missing in range(5):
        kept = [k for k in range(5) if k != missing]
        assert beta_vae_score(v[:, kept] * 1.0, v, np.random.default_rng(1)).value > 0.99
    # With two missing it does notice: it guesses between those.
    assert beta_vae_score(v[:, :3] * 1.0, v, np.random.default_rng(1)).value == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_softmax_is_the_regression_of_scikit_learn(classes: int, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3)) * [1.0, 0.1, 5.0]
    y = (x @ rng.normal(size=(3, classes)) + rng.gumbel(size=(400, classes))).argmax(1)
    weights = 400 / (classes * np.bincount(y))[y] if weighted else None
    reference = LogisticRegression(
        tol=1e-12, max_iter=10_000, class_weight="balanced" if weighted else None
    ).fit(x, y)
    ours = fit_softmax(x, y, classes, sample_weights=weights)
    assert np.exp(ours.log_probabilities(x)) == pytest.approx(reference.predict_proba(x), abs=1e-6)


def test_softmax_of_classes_told_apart_without_error_ends() -> None:
    x = np.arange(40.0)[:, None]
    model = fit_softmax(x, (x[:, 0] // 10).astype(int), 4, ridge=1e-6)
    assert (model.predict(x) == x[:, 0] // 10).all()


@pytest.mark.parametrize("classes", [2, 4])
def test_thresholds_are_the_machines_of_scikit_learn(classes: int) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, classes, 500) * (rng.random(500) < 0.8)
    z = y + rng.normal(size=500)
    reference = LinearSVC(C=0.01, class_weight="balanced", tol=1e-12, max_iter=100_000).fit(z[:, None], y)
    slopes, intercepts = fit_thresholds(z, y, classes)
    if classes == 2:
        slopes, intercepts = slopes[1:], intercepts[1:]
    assert slopes == pytest.approx(reference.coef_[:, 0], abs=1e-5)
    assert intercepts == pytest.approx(reference.intercept_, abs=1e-5)
