import sys

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import minmax_scale

from unweave.errors import UnweaveError
from unweave.metrics import Encoded, dci, dci_es, downstream_accuracy, score_all
from unweave.metrics.dci import completeness, disentanglement
from unweave.metrics.dci_es import explicitness_of
from unweave.metrics.score import interval_of_held_out
from unweave.metrics.validation import split_samples


def representation(seed: int, n: int, sizes: tuple[int, ...], latents: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes from clean to hopeless: random mixing, random noise, and every third one sparse."""
    rng = np.random.default_rng(seed)
    v = np.stack([rng.integers(0, s, n) for s in sizes], 1)
    mixing, noise = rng.uniform(0, 0.6), 10 ** rng.uniform(-2.3, -0.3)
    mix = np.eye(len(sizes), latents) * (1 - mixing) + mixing * rng.normal(size=(len(sizes), latents))
    if seed % 3 == 0:
        mix *= rng.random(mix.shape) < 0.7
    return (v / (np.array(sizes) - 1) - 0.5) @ mix + noise * rng.normal(size=(n, latents)), v


def test_importances_by_hand() -> None:
    r = np.array([[3.0, 1.0], [0.0, 2.0], [0.0, 0.0]])
    h = -(0.75 * np.log2(0.75) + 0.25 * np.log2(0.25))
    assert disentanglement(r) == pytest.approx(4 / 6 * (1 - h) + 2 / 6, abs=1e-6)
    q = -(1 / 3 * np.log(1 / 3) + 2 / 3 * np.log(2 / 3)) / np.log(3)
    assert completeness(r) == pytest.approx(3 / 6 + 3 / 6 * (1 - q), abs=1e-6)
    assert completeness(r, weighted=False) == pytest.approx((1 + 1 - q) / 2, abs=1e-6)
    assert disentanglement(0 * r) == pytest.approx(0, abs=1e-9)
    assert disentanglement([[1.0], [1.0]]) == 1  # with one factor every latent serves one


@pytest.mark.parametrize("backend", ["lightgbm", "forest", "lasso", "sklearn"])
def test_every_backend_knows_identity_from_noise(backend: str) -> None:
    v = np.tile(np.stack(np.meshgrid(range(3), range(4), indexing="ij"), -1).reshape(-1, 2), (30, 1))
    noise = np.random.default_rng(0).normal(size=(len(v), 3))
    good = dci(v * 1.0, v, backend=backend)  # type: ignore[arg-type]
    bad = dci(noise, v, backend=backend)  # type: ignore[arg-type]
    assert good["dci"].value > 0.9
    assert good["dci_completeness"].value > 0.9
    assert good["dci_informativeness"].value > 0.98
    assert bad["dci_informativeness"].value < 0.6
    assert good["dci"].constants["backend"] == backend


def test_ubisoft_chooses_a_lasso_by_ten_folds() -> None:
    """As in that library, restated: the penalty with the smallest error of ten folds, fitted to all codes."""
    rng = np.random.default_rng(0)
    v = rng.random((300, 2))
    codes = v @ [[2.0, 0.1, 0.0], [0.3, 1.0, 0.0]] + 0.1 * rng.normal(size=(300, 3))
    ours = dci(codes, v, mode="ubisoft")
    assert ours["dci"].constants["backend"] == "lasso"
    x, y = minmax_scale(codes), minmax_scale(v)
    weights, explained = [], []
    for target in y.T:
        errors = {
            alpha: -cross_val_score(
                Lasso(alpha=alpha, max_iter=5_000), x, target, cv=10, scoring="neg_mean_squared_error"
            ).mean()
            for alpha in (0.0001, 0.001, 0.01, 0.1, 0.2, 0.4, 0.8, 1.0)
        }
        model = Lasso(alpha=min(errors, key=lambda a: errors[a])).fit(x, target)
        weights.append(np.abs(model.coef_))
        explained.append(max(0.0, 1 - 12 * np.mean((model.predict(x) - target) ** 2)))
    r = np.stack(weights, 1)
    np.testing.assert_allclose(ours["dci"].constants["importance"], r, atol=1e-9)

    def peak(p: np.ndarray) -> float:
        p = p[p > 0] / p.sum()
        return float(1 + np.sum(p * np.log(p)))

    each = [1 + (peak(row) - 1) / np.log(2) if row.any() else 0.0 for row in r]
    assert ours["dci"].value == pytest.approx(np.average(each, weights=r.sum(1)), abs=1e-8)
    assert ours["dci_completeness"].value == pytest.approx(
        np.mean([1 + (peak(c) - 1) / np.log(3) for c in r.T]), abs=1e-8
    )
    assert ours["dci_informativeness"].value == pytest.approx(np.mean(explained), abs=1e-9)
    assert dci(v, v, mode="ubisoft", backend="forest")["dci_informativeness"].value > 0.95


def test_trees_of_a_library_are_that_librarys() -> None:
    """The default has a name of its own, and each mode says what predicts."""
    codes, v = representation(0, 120, (3, 2), 2)
    used = {
        mode: dci(codes, v, mode=mode, interval=False)["dci"].constants["backend"]  # type: ignore[arg-type]
        for mode in ("unweave", "disentanglement_lib", "dcf", "ubisoft")
    }
    assert used == {
        "unweave": "lightgbm",
        "disentanglement_lib": "sklearn",
        "dcf": "sklearn",
        "ubisoft": "lasso",
    }
    assert dci(codes, v)["dci"].constants["mode"] == "unweave"


def test_without_lightgbm_there_is_a_sentence_and_no_other_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    codes, v = representation(0, 100, (3, 3), 2)
    for call in (
        lambda: dci(codes, v),
        lambda: score_all(Encoded.of(codes, v), ["dci"]),
        lambda: downstream_accuracy(codes, v, predictor="trees"),
    ):
        with pytest.raises(UnweaveError, match="lightgbm, which unweave installs") as caught:
            call()
        assert "\n" not in str(caught.value)
    assert 0 <= dci(codes, v, mode="disentanglement_lib", interval=False)["dci"].value <= 1


def test_equal_seeds_give_equal_numbers_and_no_interval_that_nobody_counted() -> None:
    codes, v = representation(1, 600, (3, 4), 4)
    one, two = (dci(codes, v, np.random.default_rng(3)) for _ in range(2))
    assert one == two
    for score in one.values():
        assert score.low is None
        assert "has not been counted" in score.no_interval
    bare = dci(codes, v, np.random.default_rng(3), interval=False)
    assert {name: score.value for name, score in bare.items()} == {k: score.value for k, score in one.items()}
    assert all(not score.no_interval for score in bare.values())


def test_many_values_of_a_factor_do_not_make_the_leaves_explode() -> None:
    # Without a ridge on the leaves the fast backend said 0.03 to 0.5 here, and predicted as if by chance.
    v = np.random.default_rng(0).random((1500, 2))
    codes = np.hstack([v, np.random.default_rng(1).normal(size=(1500, 1))])
    for seed in range(3):
        scores = dci(codes, v, np.random.default_rng(seed))
        assert all(score.value > 0.8 for score in scores.values())


def test_the_interval_of_held_out_codes_counts_codes_and_predictors() -> None:
    """Predictors are right by 0.5 + a + b + e: a for each code, b for each predictor, e for each of both."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(1000):
        a = 0.5 + 0.1 * rng.normal(size=500)
        x = a + 0.005 * rng.normal(size=(7, 1)) + 0.1 * rng.normal(size=(7, 500))
        low, high = interval_of_held_out(x[0], list(x[1:]))
        covered += low <= 0.5 <= high
    assert 930 <= covered <= 970


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_fast_backend_ranks_as_the_slow_one_does() -> None:
    """30 representations, 1,000 codes x 10 latents, factors with 3, 4, 6, 6 and 6 values.

    dSprites' own sizes would take the slow backend seven minutes a representation.
    """
    fast: list[list[float]] = []
    slow: list[list[float]] = []
    for seed in range(30):
        codes, v = representation(seed, 1_000, (3, 4, 6, 6, 6), 10)
        for backend, found in (("lightgbm", fast), ("sklearn", slow)):
            scores = dci(codes, v, backend=backend)  # type: ignore[arg-type]
            found.append([scores[name].value for name in ("dci", "dci_completeness", "dci_informativeness")])
    for i in range(3):
        assert spearmanr(np.array(fast)[:, i], np.array(slow)[:, i])[0] >= 0.95


def test_explicitness_is_the_area_under_the_losses_of_ascending_capacities() -> None:
    """Losses by scikit-learn's ridge on the same features, the area by numpy's trapezoids."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=(400, 3))
    v = np.stack([(z[:, 0] > 0) + 0, (z[:, 1] * z[:, 2] > 0) + 0], axis=1)
    capacities = (0, 20, 60)
    found = dci_es(z, v, np.random.default_rng(5), capacities=capacities)["dci_explicitness"]
    again = np.random.default_rng(5)
    train, test = split_samples(400, again, 1 / 3)
    x = (z - z[train].mean(axis=0)) / z[train].std(axis=0)
    frequencies = again.normal(size=(3, 60)) / np.sqrt(3)
    features = np.hstack([np.ones((400, 1)), x, np.cos(x @ frequencies + again.uniform(0, 2 * np.pi, 60))])
    for k, score in enumerate(found.constants["of_factors"]):
        hot = np.eye(2)[v[:, k]]
        spread = np.sum((hot[test] - hot[train].mean(axis=0)) ** 2)
        losses = []
        for capacity in capacities:
            columns = features[:, : 4 + capacity]
            model = Ridge(alpha=1e-6 * len(train), fit_intercept=False, solver="cholesky")
            guess = model.fit(columns[train], hot[train]).predict(columns[test])
            losses.append(min([1.0, *losses, float(np.sum((guess - hot[test]) ** 2) / spread)]))
        lowest, weights = losses[-1], np.log([4, 24, 64])
        area = np.trapezoid(np.array(losses) - lowest, weights)
        assert score == pytest.approx(1 - area / ((1 - lowest) * np.log(16) / 2), abs=1e-9)
    sign, product = found.constants["of_factors"]
    assert sign > product  # which is not linear


def test_size_and_explicitness_of_plain_cases() -> None:
    rng = np.random.default_rng(0)
    v = rng.integers(0, 2, (500, 2))
    scores = dci_es(np.hstack([v, v, 0 * v]), v)
    assert scores["dci_explicitness"].value == pytest.approx(1.0, abs=1e-6)
    assert scores["dci_size"].value == pytest.approx(1 / 3)
    even = [0.0, 1.0, 2.0, 3.0]
    assert explicitness_of(even, [1.0, 1.0, 1.0, 0.0]) == pytest.approx(1 - 2 * 2.5 / 3)
    # A larger capacity is never worse.
    assert explicitness_of(even[:3], [0.5, 0.9, 0.1]) == explicitness_of(even[:3], [0.5, 0.5, 0.1])
    noise = dci_es(rng.normal(size=(500, 2)), v)
    assert noise["dci_explicitness"].constants["losses"][0][0] == pytest.approx(1.0, abs=0.05)
    with pytest.raises(UnweaveError, match="capacities must be two or more ascending"):
        dci_es(v, v, capacities=(8, 8))


def test_explicitness_divides_by_the_triangle_that_the_authors_draw_or_by_the_one_of_their_code() -> None:
    """By hand: losses 0.9, 0.5, 0.1 at capacities 0, 1, 3 have 0.6 + 0.4 above their least.

    Under the line from the loss of no predictor, 1, to the least there is 3 (1 - 0.1) / 2; their code has 3 / 2.
    """
    capacities, losses = [0.0, 1.0, 3.0], [0.9, 0.5, 0.1]
    assert explicitness_of(capacities, losses) == pytest.approx(1 - 1 / 1.35, abs=1e-12)
    assert explicitness_of(capacities, losses, mode="published_code") == pytest.approx(1 / 3, abs=1e-12)
    nothing = [1.0, 1.0, 1.0]
    assert explicitness_of(capacities, nothing) == 0.0
    assert explicitness_of(capacities, nothing, mode="published_code") == 1.0
    rng = np.random.default_rng(2)
    z = rng.normal(size=(300, 3))
    v = (z[:, :1] * z[:, 1:2] > 0) + 0
    paper, code = (dci_es(z, v, np.random.default_rng(0), mode=mode) for mode in ("paper", "published_code"))  # type: ignore[arg-type]
    least = min(paper["dci_explicitness"].constants["losses"][0])
    apart = (1 - paper["dci_explicitness"].value) * (1 - least)
    assert code["dci_explicitness"].value == pytest.approx(1 - apart, abs=1e-12)
    with pytest.raises(UnweaveError, match="mode of dci_es"):
        dci_es(z, v, mode="area")  # type: ignore[arg-type]
