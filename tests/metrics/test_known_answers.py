"""Every metric on codes whose score is known, its invariances, and what it says to bad input."""

import json
from math import log

import numpy as np
import pytest

from unweave.errors import UnweaveError
from unweave.metrics import METRICS, Encoded, Score, choose_metrics, score_all

EVERYTHING = list(METRICS)
FOLDED_MIG = (0 + (1 - 2 / 3 * log(2) / log(3)) + 1 / 2) / 3

# score -> representation -> the value, or the lowest and highest it may be.
NO_GAP = 1 - sum(log(size) / (log(size) + log(20)) for size in (2, 3, 4)) / 3
KNOWN: dict[str, dict[str, float | tuple[float, float]]] = {
    "mig": {
        "identity": 1, "duplicated": 0, "constant": 1, "dead": 0, "rotated": 1 / 3, "folded": FOLDED_MIG,
        "noisy": (0.2, 0.5), "unrelated": (0, 0.02),
    },
    "sampled_mig": {
        "identity": (0.93, 1), "duplicated": (0, 0.07), "constant": (0.93, 1), "dead": (0, 0.07),
        "rotated": (0.27, 0.4), "folded": (FOLDED_MIG - 0.06, FOLDED_MIG + 0.06), "unrelated": (0, 0.07),
        "noisy": (0.2, 0.5),
    },
    "subspace_mig": {
        "identity": (0.93, 1), "duplicated": (0, 0.07), "constant": (0.93, 1), "dead": (0, 0.07),
        "rotated": (0.27, 0.4), "folded": (FOLDED_MIG - 0.06, FOLDED_MIG + 0.06), "unrelated": (0, 0.07),
        "noisy": (0.2, 0.5),
    },
    "factor_vae_score": {
        "identity": 1, "duplicated": 1, "constant": 1, "dead": 1 / 3, "noisy": (0.95, 1), "unrelated": (0.27, 0.42),
        # The first factor is always found; of the other two, either latent may hold stillest for both.
        "rotated": (0.6, 0.75),
        # The fold of the first factor is constant, so its votes fall on the other two.
        "folded": (0.6, 0.75),
    },
    "beta_vae_score": {
        "identity": 1, "duplicated": 1, "constant": 1, "dead": (0.25, 0.42), "noisy": (0.95, 1),
        "rotated": (0.6, 0.85), "unrelated": (0.25, 0.42),
        # One factor of three is lost, which this score cannot see (FAC figure 3).
        "folded": 1,
    },
    "dci": {
        "identity": (0.99, 1), "duplicated": (0.99, 1), "constant": (0.99, 1), "dead": 0, "rotated": (0.4, 0.75),
        "noisy": (0.15, 0.5), "unrelated": (0, 0.05), "folded": (0.3, 0.7),
    },
    "dci_completeness": {
        # Two of six latents share a factor: 1 - log 2 / log 6.
        "duplicated": (1 - log(2) / log(6) - 0.01, 1 - log(2) / log(6) + 0.01),
        "identity": (0.99, 1), "constant": (0.99, 1), "dead": 0, "rotated": (0.4, 0.75), "unrelated": (0, 0.05),
        "noisy": (0.15, 0.5),
    },
    "dci_informativeness": {
        "identity": 1, "duplicated": 1, "constant": 1, "dead": (0.25, 0.42), "rotated": 1, "unrelated": (0.27, 0.42),
        # Each fold keeps 1 of 2, 2 of 3 and 2 of 4 values apart: accuracies 1/2, 2/3 and 1/2.
        "folded": ((1 / 2 + 2 / 3 + 1 / 2) / 3 - 0.05, (1 / 2 + 2 / 3 + 1 / 2) / 3 + 0.05),
        "noisy": (0.5, 0.8),
    },
    "sap": {
        "duplicated": 0, "dead": 0, "identity": (0.4, 0.6), "constant": (0.4, 0.6), "unrelated": (0, 0.06),
        "rotated": (0.1, 0.35), "noisy": (0.15, 0.4), "folded": (0.1, 0.35),
    },
    "modularity": {
        "identity": 1, "duplicated": 1, "constant": 3 / 4, "dead": 0, "rotated": (0.6, 0.95), "folded": 2 / 3,
        "noisy": (0.95, 1), "unrelated": (0.3, 0.9),
    },
    "explicitness": {
        "identity": (0.999, 1), "duplicated": (0.999, 1), "constant": (0.999, 1), "dead": 0.5, "rotated": (0.999, 1),
        # A linear classifier cannot unfold: the two ends of a folded factor look alike.
        "folded": (0.6, 0.8), "unrelated": (0.4, 0.6), "noisy": (0.7, 0.95),
    },
    "irs": {
        "identity": 1, "duplicated": 1, "constant": 1, "dead": 0, "folded": 1, "rotated": (0.4, 0.8),
        "unrelated": (0, 0.4), "noisy": (0.2, 0.6),
    },
    "infomec_modularity": {
        "identity": 1, "duplicated": 1, "constant": 1, "dead": 0, "folded": 1, "rotated": (0.4, 0.7),
        "noisy": (0.6, 1), "unrelated": (0, 0.5),
    },
    "infomec_compactness": {
        # Half of six latents' information each: (1/2 - 1/6) / (1 - 1/6).
        "identity": 1, "duplicated": 0.4, "constant": 1, "dead": 0, "rotated": (0.4, 0.7), "noisy": (0.6, 1),
        "unrelated": (0, 0.5),
    },
    "infomec_explicitness": {
        "identity": (0.99, 1), "duplicated": (0.99, 1), "constant": (0.99, 1), "dead": 0, "rotated": (0.99, 1),
        "folded": (FOLDED_MIG - 1e-3, FOLDED_MIG + 1e-3), "unrelated": (0, 0.02), "noisy": (0.2, 0.6),
    },
    "downstream_accuracy": {
        "identity": 1, "duplicated": 1, "constant": 1, "dead": (0.25, 0.42), "rotated": 1, "unrelated": (0.27, 0.45),
        "noisy": (0.5, 0.8), "folded": (0.45, 0.65),
    },
    "hoyer": {"dead": 0, "identity": (0.1, 0.4), "unrelated": (0.2, 0.4), "folded": (0.3, 0.5)},
    "index_code_mi": {
        # 24 images, all told apart; folded, the 1 x 2 x 2 codes have log 3 - 2/3 log 2 and log 2 nats.
        "identity": (log(24) - 1e-3, log(24) + 1e-3), "dead": (-0.01, 0.01),
        "duplicated": (log(24) - 1e-3, log(24) + 1e-3),
        "rotated": (log(24) - 1e-3, log(24) + 1e-3),
        "folded": (log(3) + log(2) / 3 - 0.1, log(3) + log(2) / 3 + 0.1),
    },
    "total_correlation": {
        "identity": (-1e-3, 1e-3), "dead": (-1e-3, 1e-3), "constant": (-1e-3, 1e-3),
        "duplicated": (log(24) - 0.1, log(24) + 0.1), "rotated": (log(12) - 0.1, log(12) + 0.1),
    },
    "dimension_wise_kl": {"identity": (7, 10), "unrelated": (0, 0.5)},
    "gaussian_total_correlation": {
        "identity": 0, "dead": 0, "constant": 0, "rotated": 0, "duplicated": (20, 60), "unrelated": (0, 0.02),
    },
    "dci_explicitness": {
        # Of a factor with two values the linear predictor is best; indicators of more need cosines.
        "identity": (0.8, 1), "duplicated": (0.7, 1), "constant": (0.8, 1), "dead": 0, "rotated": (0.8, 1),
        "unrelated": 0, "folded": 2 / 3,
    },
    "dci_size": {"identity": 1, "duplicated": 1 / 2, "constant": 3 / 4, "dead": 3 / 4, "unrelated": 3 / 4},
    "mcc": {
        # One factor keeps its latent, two are turned by 45 degrees.
        "identity": 1, "duplicated": 1, "constant": 1, "dead": 0, "rotated": (1 + 2 / 2**0.5) / 3, "folded": 0,
        "noisy": (0.65, 0.75), "unrelated": (0, 0.1),
    },
    "z_max_variance": {
        "identity": 1, "duplicated": 1, "constant": 1, "dead": (0.25, 0.42), "noisy": (0.6, 1),
        "unrelated": (0.25, 0.6),
    },
    "mig_sup": {
        "identity": 1, "duplicated": 1, "constant": 3 / 4, "dead": 0, "rotated": (0.3, 0.4), "noisy": (0.25, 0.4),
        "unrelated": (0, 0.02), "folded": (0.3, 0.4),
    },
    "jemmig": {
        # A copy takes the gap away, a dead latent knows nothing: what is left is the entropy of the factor.
        "identity": 1, "duplicated": NO_GAP, "constant": 1, "dead": NO_GAP, "noisy": (0.2, 0.3),
        "unrelated": (0.1, 0.15),
    },
    "dcimig": {
        "identity": 1, "duplicated": 1, "constant": 1, "dead": 0, "rotated": (0.2, 0.4), "noisy": (0.2, 0.4),
        "unrelated": (0, 0.02), "folded": (0.35, 0.5),
    },
}  # fmt: skip


def scored(representations: dict[str, np.ndarray], factors: np.ndarray, name: str) -> dict[str, Score]:
    codes = representations[name]
    return score_all(Encoded.of(codes, factors, np.full(codes.shape, 0.02)), EVERYTHING)


@pytest.fixture(scope="session")
def table(representations: dict[str, np.ndarray], factors: np.ndarray) -> dict[str, dict[str, Score]]:
    return {name: scored(representations, factors, name) for name in representations}


def test_every_score_has_known_answers(table: dict[str, dict[str, Score]]) -> None:
    assert set(table["identity"]) == set(KNOWN)
    assert {score for metric in METRICS.values() for score in metric.labels} == set(KNOWN)


@pytest.mark.parametrize(("score", "codes"), [(s, c) for s, known in KNOWN.items() for c in known])
def test_known_answer(table: dict[str, dict[str, Score]], score: str, codes: str) -> None:
    expected, value = KNOWN[score][codes], table[codes][score].value
    if isinstance(expected, tuple):
        assert expected[0] <= value <= expected[1]
    else:
        assert value == pytest.approx(expected, abs=1e-6)


def test_nothing_is_ever_nan(table: dict[str, dict[str, Score]]) -> None:
    for codes, scores in table.items():
        for name, score in scores.items():
            text = json.dumps(score.to_json())
            assert "NaN" not in text, (codes, name)
            assert "null" not in json.dumps(score.to_json()["constants"]), (codes, name)
            assert np.isfinite(score.value), (codes, name)
            ends = score.corrected[1:] if score.corrected is not None else (score.low, score.high)
            if ends == (None, None):
                assert score.no_interval, (codes, name)
            else:
                assert np.isfinite(ends).all(), (codes, name)
                assert ends[0] <= ends[1], (codes, name)
            assert score.reference, name
            low, high = score.range
            slack = 0.01 if name in ("index_code_mi", "total_correlation") else 1e-9
            assert low is None or score.value >= low - slack, (codes, name)
            assert high is None or score.value <= high + 1e-9, (codes, name)


def test_noise_is_worse_than_identity_and_better_than_nothing(table: dict[str, dict[str, Score]]) -> None:
    for name in KNOWN:
        if (
            name in METRICS
            and "factors" in METRICS[name].needs
            and name not in ("factor_vae_score", "beta_vae_score", "z_max_variance")
        ):
            identity, noisy, unrelated = (table[c][name].value for c in ("identity", "noisy", "unrelated"))
            assert identity > noisy > unrelated, name


def blurred(factors: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(3)
    mix = np.eye(3, 4) + 0.3 * rng.normal(size=(3, 4))
    return (factors / factors.max(0)) @ mix + 0.2 * rng.normal(size=(len(factors), 4))


# What the definition is invariant to; trees see histograms, so those agree only roughly.
INVARIANT = {
    "z_max_variance": ("sign",),
    "mcc": ("order", "sign", "scale"),
    "mig_sup": ("order", "sign", "scale"),
    "jemmig": ("order", "sign", "scale"),
    "dcimig": ("order", "sign", "scale"),
    "mig": ("order", "sign", "scale"),
    "factor_vae_score": ("order", "sign", "scale"),
    "beta_vae_score": ("order", "sign", "scale"),
    "sap": ("order", "sign"),  # a penalty on the slopes minds their scale
    "modularity": ("order", "sign", "scale"),
    "explicitness": ("order", "sign", "scale"),
    "irs": ("order", "sign"),  # latents are weighed by their range
    "infomec": ("order", "sign"),  # a latent counts if its range is large enough
    "downstream_accuracy": ("order", "sign", "scale"),
    "hoyer": ("order", "sign", "scale"),
    "gaussian_total_correlation": ("order", "sign", "scale"),
    "dci": ("order", "sign", "scale"),
}
CHANGES = {
    "order": lambda z: z[:, [2, 0, 3, 1]],
    "sign": lambda z: z * [1.0, -1.0, -1.0, 1.0],
    "scale": lambda z: z * [3.0, 0.5, 1.0, 10.0],
}


@pytest.mark.parametrize(("metric", "change"), [(m, c) for m, changes in INVARIANT.items() for c in changes])
def test_invariance(factors: np.ndarray, metric: str, change: str) -> None:
    codes = blurred(factors)
    before = score_all(Encoded.of(codes, factors), [metric])
    after = score_all(Encoded.of(CHANGES[change](codes), factors), [metric])
    for name, score in before.items():
        tolerance = 0.03 if metric == "dci" else 1e-6
        assert after[name].value == pytest.approx(score.value, abs=tolerance), name


def test_sampled_scores_are_invariant_if_scales_go_along(factors: np.ndarray) -> None:
    codes = blurred(factors)
    scales = np.full(codes.shape, 0.1)
    stretch = np.array([3.0, -0.5, 1.0, 10.0])
    for name, score in (("sampled_mig", "sampled_mig"), ("decomposition", "total_correlation")):
        one = score_all(Encoded.of(codes, factors, scales), [name])[score].value
        two = score_all(Encoded.of(codes * stretch, factors, scales * np.abs(stretch)), [name])[score].value
        assert two == pytest.approx(one, abs=0.05)


@pytest.mark.parametrize("name", METRICS)
def test_seeded_twice_is_the_same_number_whatever_else_is_computed(factors: np.ndarray, name: str) -> None:
    codes = blurred(factors)
    encoded = Encoded.of(codes, factors, np.full(codes.shape, 0.1))
    one, two = score_all(encoded, [name], seed=4), score_all(encoded, ["mig", name], seed=4, threads=2)
    for score in one:
        assert one[score] == two[score]


@pytest.mark.parametrize("name", METRICS)
def test_tensors_and_lists_are_arrays_too(factors: np.ndarray, name: str) -> None:
    torch = pytest.importorskip("torch")
    codes = blurred(factors)[:480]
    scales = np.full(codes.shape, 0.1)
    one = score_all(Encoded.of(codes, factors[:480], scales), [name])
    tensors = Encoded.of(torch.tensor(codes), torch.tensor(factors[:480]), torch.tensor(scales))
    assert score_all(tensors, [name]) == one


@pytest.mark.parametrize("name", [name for name, m in METRICS.items() if "factors" in m.needs])
def test_continuous_factors_are_measured(name: str) -> None:
    rng = np.random.default_rng(0)
    v = rng.random((1500, 2))
    encoded = Encoded.of(np.hstack([v, rng.normal(size=(1500, 1))]), v, np.full((1500, 3), 0.02))
    for score in score_all(encoded, [name]).values():
        # Twenty bins of a factor: guessing gets 0.05 of accuracies, and 0 of gaps.
        assert score.value > (0.02 if name == "sap" else 0.2)


BAD = {
    "NaN": (lambda z, v: (np.where(z > 1, np.nan, z), v), "must be finite"),
    "lengths": (lambda z, v: (z[:-1], v), "one row per sample"),
    "one value": (lambda z, v: (z, 0 * v), "one value"),
    "strings": (lambda z, v: (z, v.astype(str)), "must be numbers"),
    "few": (lambda z, v: (z[:3], v[[0, 11, 23]]), "at least"),
    "one axis": (lambda z, v: (z[:, 0], v), "two axes"),
    "empty": (lambda z, v: (z[:0], v[:0]), "empty"),
}


@pytest.mark.parametrize("mistake", BAD)
@pytest.mark.parametrize("name", [n for n, m in METRICS.items() if m.needs == {"codes", "factors"}])
def test_bad_input_is_a_clear_error(factors: np.ndarray, name: str, mistake: str) -> None:
    import unweave.metrics

    make, message = BAD[mistake]
    codes, table = make(blurred(factors), factors)
    function = getattr(unweave.metrics, name)
    more = (
        [np.random.default_rng(0)] if name in ("factor_vae_score", "beta_vae_score", "z_max_variance") else []
    )
    with pytest.raises(UnweaveError, match=message):
        function(codes, table, *more)


def test_unknown_metrics_modes_and_missing_arrays_are_named(factors: np.ndarray) -> None:
    from unweave.metrics import beta_vae_score, dci, irs, mig, modularity, sap

    with pytest.raises(UnweaveError, match="did you mean mig"):
        choose_metrics(["mgi"])
    encoded = Encoded.of(blurred(factors))
    with pytest.raises(UnweaveError, match="sampled_mig needs factors and scales"):
        score_all(encoded, ["sampled_mig"])
    assert set(score_all(encoded)) == {"hoyer"}
    for metric in (mig, sap, modularity, irs, dci):
        with pytest.raises(UnweaveError, match="disentanglement_lib"):
            metric(blurred(factors), factors, mode="disentanglment_lib")  # type: ignore[operator]
    with pytest.raises(UnweaveError, match="paper"):
        beta_vae_score(blurred(factors), factors, np.random.default_rng(0), mode="papr")  # type: ignore[arg-type]
    with pytest.raises(UnweaveError, match="every factor has a single value"):
        Encoded.of(blurred(factors), 0 * factors)
    with pytest.raises(UnweaveError, match="positive"):
        Encoded.of(blurred(factors), factors, 0 * blurred(factors))


def test_importing_metrics_does_not_import_torch() -> None:
    import subprocess
    import sys

    code = "import sys, unweave.metrics; sys.exit(any(m in sys.modules for m in ('torch', 'sklearn', 'lightgbm')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
