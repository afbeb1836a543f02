"""The named definitions equal literal restatements of what the libraries compute, written from descriptions of them."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, mutual_info_score, roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import minmax_scale
from sklearn.svm import LinearSVC

from unweave.metrics import (
    beta_vae_score,
    dci,
    explicitness,
    factor_vae_score,
    infomec,
    irs,
    linear,
    mig,
    modularity,
    sap,
)
from unweave.metrics.interventions import plan_even_pairs, plan_groups, plan_pairs
from unweave.metrics.validation import split_samples

SIZES = (3, 4, 6)


def random_codes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    return rng.normal(size=(900, 5)), np.stack([rng.integers(0, s, 900) for s in SIZES], 1)


def structured_codes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(12)
    v = np.stack([rng.integers(0, s, 900) for s in SIZES], 1)
    mix = np.eye(3, 5) + 0.3 * rng.normal(size=(3, 5))
    return (v / (np.array(SIZES) - 1)) @ mix + 0.15 * rng.normal(size=(900, 5)), v


both = pytest.mark.parametrize("make", [random_codes, structured_codes])


def binned(codes: np.ndarray, bins: int) -> np.ndarray:
    return np.stack([np.digitize(z, np.histogram(z, bins)[1][:-1]) for z in codes.T], 1)


def min_max_binned(x: np.ndarray, bins: int) -> np.ndarray:
    scaled = (x - x.min(0)) / (x.max(0) - x.min(0))
    return np.minimum((scaled * bins).astype(int), bins - 1)


def entropy(labels: np.ndarray) -> float:
    return mutual_info_score(labels, labels)


@both
def test_mig_of_disentanglement_lib(make) -> None:  # type: ignore[no-untyped-def]
    codes, factors = make()
    z = binned(codes, 20)
    table = np.array([[mutual_info_score(v, c) for v in factors.T] for c in z.T])
    ranked = np.sort(table, axis=0)[::-1]
    literal = np.mean((ranked[0] - ranked[1]) / [entropy(v) for v in factors.T])
    assert mig(codes, factors).value == pytest.approx(literal, abs=1e-10)
    assert mig(codes, factors, mode="disent").value == pytest.approx(literal, abs=1e-10)


@both
def test_mig_of_dcf_and_ubisoft(make) -> None:  # type: ignore[no-untyped-def]
    codes, factors = make()
    factors = np.hstack([factors, np.random.default_rng(0).integers(0, 40, (len(codes), 1))])
    z, v = min_max_binned(codes, 20), min_max_binned(factors.astype(float), 20)
    table = np.array([[mutual_info_score(f, c) for f in v.T] for c in z.T])
    ranked = np.sort(table, axis=0)[::-1]
    literal = np.mean((ranked[0] - ranked[1]) / [entropy(f) for f in v.T])
    assert mig(codes, factors, mode="dcf").value == pytest.approx(literal, abs=1e-6)
    z, v = min_max_binned(codes, 10), min_max_binned(factors.astype(float), 10)
    table = np.array([[mutual_info_score(f, c) / entropy(c) for f in v.T] for c in z.T])
    ranked = np.sort(table, axis=0)[::-1]
    assert mig(codes, factors, mode="ubisoft").value == pytest.approx(
        np.mean(ranked[0] - ranked[1]), abs=1e-6
    )


def test_mig_by_neighbours_is_the_estimate_of_scikit_learn() -> None:
    from sklearn.feature_selection import mutual_info_classif

    codes, factors = structured_codes()
    table = np.stack([mutual_info_classif(codes, v, random_state=0) for v in factors.T], 1)
    ranked = np.sort(table, axis=0)[::-1]
    literal = np.mean((ranked[0] - ranked[1]) / [entropy(v) for v in factors.T])
    assert mig(codes, factors, mode="disentangle").value == pytest.approx(literal, abs=1e-6)


def test_shape_can_be_left_out() -> None:
    codes, factors = structured_codes()
    assert mig(codes, factors, drop=(0,)).value == pytest.approx(mig(codes, factors[:, 1:]).value, abs=1e-12)


@both
@pytest.mark.parametrize("mode", ["disentanglement_lib", "ubisoft", "paper"])
def test_factor_vae_score_vote_by_vote(make, mode: str) -> None:  # type: ignore[no-untyped-def]
    codes, factors = make()
    codes = np.hstack([codes, 0.01 * codes[:, :1]])  # below the pruning threshold
    samples, votes, tested = {"disentanglement_lib": (64, 10_000, 5_000), "ubisoft": (200, 800, 800)}.get(
        mode, (100, 800, 800)
    )
    spread = codes.std(0, ddof=1)
    active = spread >= 0.05 if mode != "paper" else spread >= 0.05 * spread.max()
    plan = plan_groups(factors, SIZES, votes + tested, samples, np.random.default_rng(5))
    answers = [
        int(
            np.argmin(
                np.var(codes[rows][:, active], axis=0, ddof=1) / np.var(codes[:, active], axis=0, ddof=1)
            )
        )
        for rows in plan.rows
    ]
    table = np.zeros((int(active.sum()), 3), int)
    for d, k in zip(answers[:votes], plan.asked[:votes], strict=True):
        table[d, k] += 1
    right = sum(
        int(np.argmax(table[d])) == k for d, k in zip(answers[votes:], plan.asked[votes:], strict=True)
    )
    literal = right / tested
    if mode == "ubisoft":
        literal = (literal - 1 / 3) / (1 - 1 / 3)
    ours = factor_vae_score(codes, factors, np.random.default_rng(5), mode=mode)  # type: ignore[arg-type]
    assert ours.value == pytest.approx(max(0.0, literal), abs=1e-6)
    assert ours.constants["mode"] == mode
    for rows, k in zip(plan.rows[:50], plan.asked[:50], strict=True):
        assert len(set(factors[rows, k])) == 1


def test_factor_vae_score_without_active_latents() -> None:
    codes, factors = structured_codes()
    tiny = 0.001 * codes
    for mode, value in (("disentanglement_lib", 0.0), ("ubisoft", 0.0)):
        assert factor_vae_score(tiny, factors, np.random.default_rng(0), mode=mode).value == value  # type: ignore[arg-type]
    assert factor_vae_score(tiny, factors, np.random.default_rng(0), mode="disent").value > 0.5


def test_discrete_codes_have_the_variance_of_gini() -> None:
    _, factors = structured_codes()
    classes = np.stack(
        [factors[:, 1] // 2, factors[:, 2], np.random.default_rng(0).integers(0, 3, 900), factors[:, 0]], 1
    )
    plan = plan_groups(factors, SIZES, 60, 20, np.random.default_rng(2))

    def gini(x: np.ndarray) -> float:
        return float(np.sum(x[:, None] != x[None]) / (2 * len(x) * (len(x) - 1)))

    whole = [gini(c) for c in classes.T]
    answers = [
        int(np.argmin([gini(c[rows]) / w for c, w in zip(classes.T, whole, strict=True)]))
        for rows in plan.rows
    ]
    table = np.zeros((4, 3), int)
    for d, k in zip(answers[:30], plan.asked[:30], strict=True):
        table[d, k] += 1
    right = sum(int(np.argmax(table[d])) == k for d, k in zip(answers[30:], plan.asked[30:], strict=True))
    options = {"samples": 20, "votes": 30, "evaluation_votes": 30, "prune": 0.0, "discrete": True}
    ours = factor_vae_score(classes, factors, np.random.default_rng(2), **options)  # type: ignore[arg-type]
    assert ours.value == pytest.approx(right / 30)
    assert ours.constants["vote_table"] == table.tolist()


@both
@pytest.mark.parametrize("mode", ["disentanglement_lib", "ubisoft"])
def test_beta_vae_score_pair_by_pair(make, mode: str) -> None:  # type: ignore[no-untyped-def]
    """Both train on 10,000 votes and test on 5,000; ubisoft draws all values of a factor equally often."""
    codes, factors = make()
    pairs, planner = (64, plan_pairs) if mode == "disentanglement_lib" else (200, plan_even_pairs)
    plan = planner(factors, SIZES, 15_000, pairs, np.random.default_rng(3))
    features = np.concatenate(
        [np.abs(codes[rows[..., 0]] - codes[rows[..., 1]]).mean(axis=1) for rows in np.split(plan.rows, 15)]
    )
    model = LogisticRegression(tol=1e-10, max_iter=20_000).fit(features[:10_000], plan.asked[:10_000])
    literal = model.score(features[10_000:], plan.asked[10_000:])
    if mode == "ubisoft":
        literal = max(0.0, (literal - 1 / 3) / (1 - 1 / 3))
        assert (plan.rows[..., 0] != plan.rows[..., 1]).all()
        uneven = np.repeat([0, 1], [990, 10])[:, None]
        drawn = uneven[plan_even_pairs(uneven, (2,), 50, 100, np.random.default_rng(0)).rows[..., 0], 0]
        assert abs(drawn.mean() - 0.5) < 0.03
    ours = beta_vae_score(codes, factors, np.random.default_rng(3), mode=mode)  # type: ignore[arg-type]
    assert ours.value == pytest.approx(literal, abs=1e-6)
    for rows, k in zip(plan.rows[:50], plan.asked[:50], strict=True):
        assert (factors[rows[:, 0], k] == factors[rows[:, 1], k]).all()


@pytest.mark.parametrize("metric", [beta_vae_score, factor_vae_score])
def test_ubisoft_cuts_factors_into_ten_bins(metric) -> None:  # type: ignore[no-untyped-def]
    codes, _ = random_codes()
    fine = np.random.default_rng(0).integers(0, 40, (len(codes), 2))
    coarse = min_max_binned(fine.astype(float), 10)
    options = {"mode": "ubisoft", "votes": 300, "evaluation_votes": 200, "interval": False}
    one, two = (metric(codes, v, np.random.default_rng(1), **options) for v in (fine, coarse))
    assert one.value == two.value
    assert one.constants["bins"] == 10


@both
def test_dci_of_disentanglement_lib(make) -> None:  # type: ignore[no-untyped-def]
    codes, factors = (part[:450] for part in make())
    rng = np.random.default_rng(1)
    train, test = split_samples(len(codes), rng, 1 / 3)
    models = [GradientBoostingClassifier(random_state=0).fit(codes[train], v[train]) for v in factors.T]
    r = np.abs(np.stack([m.feature_importances_ for m in models], 1))

    def h(p: np.ndarray) -> float:
        return float(-np.sum(p * np.log(p)) / np.log(len(p)))

    d = sum(r[i].sum() / r.sum() * (1 - h((r[i] + 1e-11) / (r[i] + 1e-11).sum())) for i in range(5))
    c = sum(r[:, k].sum() / r.sum() * (1 - h((r[:, k] + 1e-11) / (r[:, k] + 1e-11).sum())) for k in range(3))
    accuracy = np.mean([m.score(codes[test], v[test]) for m, v in zip(models, factors.T, strict=True)])
    ours = dci(codes, factors, np.random.default_rng(1), mode="disentanglement_lib", interval=False)
    again = dci(codes, factors, np.random.default_rng(1), mode="disentanglement_lib", interval=False)
    for name, literal in (("dci", d), ("dci_completeness", c), ("dci_informativeness", accuracy)):
        assert ours[name].value == pytest.approx(literal, abs=1e-6)
        assert ours[name] == again[name]


@both
def test_sap_of_disentanglement_lib(make) -> None:  # type: ignore[no-untyped-def]
    codes, factors = make()
    train, test = split_samples(len(codes), np.random.default_rng(0), 1 / 3)
    table = np.empty((5, 3))
    for j in range(5):
        for k in range(3):
            machine = LinearSVC(C=0.01, class_weight="balanced", tol=1e-10, max_iter=100_000)
            machine.fit(codes[train, j : j + 1], factors[train, k])
            table[j, k] = machine.score(codes[test, j : j + 1], factors[test, k])
    ranked = np.sort(table, axis=0)[::-1]
    ours = sap(codes, factors)
    assert np.array(ours.constants["accuracies"]) == pytest.approx(table, abs=1e-6)
    assert ours.value == pytest.approx(np.mean(ranked[0] - ranked[1]), abs=1e-6)


@both
def test_sap_by_regression(make) -> None:  # type: ignore[no-untyped-def]
    codes, factors = make()
    table = np.array([[np.corrcoef(z, v)[0, 1] ** 2 for v in factors.T] for z in codes.T])
    ranked = np.sort(table, axis=0)[::-1]
    assert sap(codes, factors, mode="ubisoft").value == pytest.approx(
        np.mean(ranked[0] - ranked[1]), abs=1e-9
    )


@both
def test_modularity_of_disentanglement_lib(make) -> None:  # type: ignore[no-untyped-def]
    codes, factors = make()
    codes = np.hstack([codes, np.zeros((len(codes), 1))])
    z = binned(codes, 20)
    m = np.array([[mutual_info_score(v, c) for v in factors.T] for c in z.T])
    each = []
    for row in m:
        best = row.argmax()
        if row[best] <= 1e-10:
            each.append(0.0)
            continue
        template = np.where(np.arange(3) == best, row[best], 0.0)
        each.append(1 - np.sum((row - template) ** 2) / (row[best] ** 2 * 2))
    assert modularity(codes, factors).value == pytest.approx(np.mean(each), abs=1e-6)


@both
def test_explicitness_of_disentanglement_lib(make) -> None:  # type: ignore[no-untyped-def]
    codes, factors = make()
    train, test = split_samples(len(codes), np.random.default_rng(0), 1 / 3)
    z = (codes - codes[train].mean(0)) / codes[train].std(0)
    areas = []
    for v in factors.T:
        model = LogisticRegression(tol=1e-10, max_iter=20_000).fit(z[train], v[train])
        p = model.predict_proba(z[test])
        areas.append(np.mean([roc_auc_score(v[test] == c, p[:, c]) for c in range(p.shape[1])]))
    assert explicitness(codes, factors).value == pytest.approx(np.mean(areas), abs=1e-6)


def literal_irs(codes: np.ndarray, factors: np.ndarray, quantile: float) -> float:
    largest = np.max(np.abs(codes - codes.mean(0)), axis=0)
    table = np.zeros((codes.shape[1], factors.shape[1]))
    for k in range(factors.shape[1]):
        values = np.unique(factors[:, k])
        for value in values:
            own = codes[factors[:, k] == value]
            table[:, k] += np.percentile(np.abs(own - own.mean(0)), 100 * quantile, axis=0) / len(values)
    return float(np.average((1 - table / largest[:, None]).max(1), weights=largest))


@both
@pytest.mark.parametrize("mode", ["disentanglement_lib", "ubisoft", "paper"])
def test_irs_with_the_bins_of_each_library(make, mode: str) -> None:  # type: ignore[no-untyped-def]
    """disentanglement_lib cuts factors into 20 bins and takes the 0.99 quantile, ubisoft 10 bins and the maximum."""
    codes, factors = make()
    factors = np.hstack([factors, np.random.default_rng(0).integers(0, 40, (len(codes), 1))])
    bins, quantile = {"disentanglement_lib": (20, 0.99), "ubisoft": (10, 1.0)}.get(mode, (None, 1.0))
    cut = factors if bins is None else binned(factors.astype(float), bins)
    score = irs(codes, factors, mode=mode)  # type: ignore[arg-type]
    assert score.value == pytest.approx(literal_irs(codes, cut, quantile), abs=1e-9)


def test_irs_is_not_cut_off_at_0() -> None:
    """Codes of one value deviate further from their own mean than from that of all: the formula is below 0."""
    codes = np.repeat([-1.0, 1.0], 200)[:, None]
    factors = np.repeat([0, 1], 200)[:, None]
    factors[[0, 399]] = factors[[399, 0]]
    expected = literal_irs(codes, factors, 1.0)
    assert expected == pytest.approx(-0.99)
    assert irs(codes, factors, mode="paper").value == pytest.approx(expected)


@both
def test_explicitness_of_ubisoft(make) -> None:  # type: ignore[no-untyped-def]
    """A balanced classifier for each value of factors cut into 10 bins, on codes scaled to [0, 1], in-sample."""
    codes, factors = make()
    factors = np.hstack([factors, np.random.default_rng(0).integers(0, 40, (len(codes), 1))])
    z, v = minmax_scale(codes), min_max_binned(factors.astype(float), 10)
    areas = []
    for column in v.T:
        model = OneVsRestClassifier(LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=20_000))
        p = model.fit(z, column).predict_proba(z)
        areas.append(np.mean([roc_auc_score(column == c, p[:, k]) for k, c in enumerate(model.classes_)]))
    ours = explicitness(codes, factors, mode="ubisoft")
    assert ours.value == pytest.approx(2 * np.mean(areas) - 1, abs=1e-6)


@both
def test_infomec_shares(make) -> None:  # type: ignore[no-untyped-def]
    codes, factors = make()
    codes = np.hstack([codes, 0.01 * codes[:, :1]])  # not active
    z = binned(codes[:, :5], 20)
    n = np.array([[mutual_info_score(v, c) / entropy(v) for v in factors.T] for c in z.T])
    ours = infomec(codes, factors)
    literal_m = np.mean((n.max(1) / n.sum(1) - 1 / 3) / (1 - 1 / 3))
    literal_c = np.mean((n.max(0) / n.sum(0) - 1 / 5) / (1 - 1 / 5))
    assert ours["infomec_modularity"].value == pytest.approx(literal_m, abs=1e-6)
    assert ours["infomec_compactness"].value == pytest.approx(literal_c, abs=1e-6)
    shares = []
    for v in factors.T:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=5_000, tol=1e-10)
            p = model.fit(codes[:, :5], v).predict_proba(codes[:, :5])
        nothing = model.fit(np.zeros((len(v), 1)), v).predict_proba(np.zeros((len(v), 1)))
        shares.append(1 - log_loss(v, p) / log_loss(v, nothing))
    assert ours["infomec_explicitness"].value == pytest.approx(np.mean(shares), abs=1e-5)


@pytest.mark.parametrize("ridge", [1e-3, 1.0])
def test_regressions_that_are_nearly_separated_have_one_solution_however_they_are_solved(
    monkeypatch: pytest.MonkeyPatch, ridge: float
) -> None:
    """Probabilities so near 0 and 1 that their curvature is lost in single precision; five classes, ten features."""
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, 5, 2_500))
    x = 6.0 * np.eye(5, 10)[labels] + rng.normal(size=(2_500, 10))
    scaled = linear.fit_softmax(x, labels, 5, ridge=ridge)
    monkeypatch.setattr(linear, "EXACT", 1_000)
    whole = linear.fit_softmax(x, labels, 5, ridge=ridge)
    assert scaled.scale is not None or ridge < 1
    assert scaled.weights == pytest.approx(whole.weights, abs=2e-3)
    assert np.array_equal(scaled.predict(x), whole.predict(x))
    again = linear.fit_softmax(x[::2], labels[::2], 5, ridge=ridge, start=scaled)
    assert again.weights == pytest.approx(
        linear.fit_softmax(x[::2], labels[::2], 5, ridge=ridge).weights, abs=2e-3
    )
