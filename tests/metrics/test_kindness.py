"""What users meet: files of every kind, few samples, repeated rows, huge numbers, values beside their intervals."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.feature_selection import mutual_info_classif

from unweave import metrics
from unweave.cli import cli
from unweave.errors import UnweaveError
from unweave.metrics import METRICS, Encoded, FunctionMetric, Score, load_encoded, relations, score_all
from unweave.metrics.score import AT_THIS_NUMBER, SINGLE_FACTOR, SINGLE_LATENT

RNG = np.random.default_rng


def sample(
    n: int, sizes: tuple[int, ...] = (3, 4), noise: float = 0.6, spare: int = 1
) -> tuple[np.ndarray, ...]:
    """Codes with bounded noise, and latents of nothing else."""
    rng = RNG(4)
    v = np.stack([rng.integers(0, s, n) for s in sizes], 1)
    z = np.hstack([v + noise * rng.uniform(-1, 1, v.shape), rng.uniform(-1, 1, (n, spare))])
    return z, v


@pytest.mark.parametrize("n", [300, 3_000])
@pytest.mark.parametrize("spare", [0, 1, 3])
def test_no_value_lies_outside_of_its_own_interval(n: int, spare: int) -> None:
    z, v = sample(n, spare=spare)
    scores = score_all(Encoded.of(z, v, np.full(z.shape, 0.2)), [name for name in METRICS if name != "dci"])
    for name, score in scores.items():
        if score.low is not None:
            assert score.high is not None
            assert score.low <= score.value <= score.high, name
        if score.corrected is not None:
            value, low, high = score.corrected
            assert low <= value <= high, name
        assert (score.low is None) == (score.high is None)
        if score.low is None and score.corrected is None:
            assert score.no_interval, f"{name} must say why it has no interval"


def test_a_noise_latent_counts_nothing_in_the_corrected_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain modularity and InfoM of noise are made of chance; the corrected ones are those of the other latents."""
    monkeypatch.setattr("unweave.metrics.interval_limits.COUNTED", {})
    z, v = sample(20_000)
    z[:, :2] += 0.3 * v[:, ::-1]
    one, without = metrics.modularity(z, v), metrics.modularity(z[:, :2], v)
    assert one.corrected is not None
    assert without.corrected is not None
    assert one.corrected[0] == pytest.approx(2 / 3 * without.corrected[0], rel=1e-9)
    assert one.value > one.corrected[0] + 0.05
    m, without = (metrics.infomec(codes, v)["infomec_modularity"] for codes in (z, z[:, :2]))
    assert m.corrected is not None
    assert without.corrected is not None
    assert m.corrected[0] == pytest.approx(2 / 3 * without.corrected[0], rel=1e-9)


def test_where_chance_explains_all_that_others_know_the_interval_is_of_this_number() -> None:
    """Latents that know one factor alone: infinitely many codes have 2 / 3 exactly, which an interval covers always."""
    z, v = sample(20_000)
    alone = metrics.modularity(z, v)
    assert alone.corrected is None
    assert alone.covers == AT_THIS_NUMBER
    assert alone.low is not None


def test_identity_codes_are_fully_explicit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unweave.metrics.interval_limits.COUNTED", {})
    for n in (300, 2_000):
        v = RNG(0).integers(0, 6, (n, 3))
        score = metrics.infomec(v * 1.0, v)["infomec_explicitness"]
        assert score.value == pytest.approx(1.0, abs=1e-5)
        assert score.low is not None
        assert score.low <= score.value


def test_classes_that_lines_separate_are_fully_explicit_whatever_the_penalty_leaves() -> None:
    """Forty values on a line: the penalty keeps the value below 1 by 1e-5, without one it is 1."""
    v = np.arange(3_000)[:, None] % 40
    score = metrics.infomec(np.hstack([v, -v]) * 1.0, v)["infomec_explicitness"]
    assert 1e-6 < 1 - score.value < 1e-4
    assert score.corrected == pytest.approx((1.0, 1 - 1.96**2 / (3_000 + 1.96**2), 1.0), abs=1e-12)


def test_intervals_can_be_left_out_everywhere() -> None:
    z, v = sample(400)
    scores = score_all(Encoded.of(z, v, np.full(z.shape, 0.2)), list(METRICS), interval=False)
    for name, score in scores.items():
        assert (score.low, score.high, score.corrected) == (None, None, None), name
    with_them = score_all(Encoded.of(z, v, np.full(z.shape, 0.2)), ["mig", "sap", "irs", "infomec"])
    for name, score in with_them.items():
        assert score.value == scores[name].value
    for metric in METRICS.values():
        assert isinstance(metric, FunctionMetric)
        assert "interval" in metric._passed, metric.name
    own = Score("own", 0.5, 0.4, 0.6, corrected=(0.5, 0.4, 0.6), covers="others")
    [alone] = score_all(Encoded.of(z), [lambda codes: own], interval=False).values()
    assert (alone.value, alone.low, alone.high, alone.corrected, alone.covers) == (0.5, None, None, None, "")


def test_a_constant_factor_is_named_and_the_others_keep_their_names() -> None:
    z, v = sample(200)
    encoded = Encoded.of(z, np.hstack([v[:, :1], 0 * v[:, :1] + 7, v[:, 1:]]))
    assert encoded.constant == ("factor 1",)
    assert encoded.factor_names == ("factor 0", "factor 2")
    found = relations(encoded)
    assert found is not None
    assert found.factor_names == ("factor 0", "factor 2")
    assert found.information[:2].argmax(axis=1).tolist() == [0, 1]


def test_sampled_mig_of_uneven_factors_stays_below_one() -> None:
    """Values of a factor count by their share; with equal weights a rare value made the gap 1.9."""
    v = np.repeat([0, 1, 2], [960, 20, 20])[:, None]
    codes = np.hstack([v * 3.0, 0 * v]) + RNG(0).normal(size=(1000, 2)) * 1e-3
    score = metrics.sampled_mig(codes, np.full(codes.shape, 0.05), v, RNG(0), samples=50_000)
    assert 0.94 < score.value <= 1.0


def test_neighbours_of_repeated_rows() -> None:
    z, v = sample(300)
    with pytest.raises(UnweaveError, match="nearest neighbours need codes that differ"):
        metrics.mig(np.repeat(z, 4, axis=0), np.repeat(v, 4, axis=0), mode="disentangle")
    exact = metrics.mig(v * 1.0, v, mode="disentangle").value
    table = metrics.mig(v * 1.0, v, interval=False).value
    assert exact == pytest.approx(table, abs=1e-9), "few values are classes, and counted"


def test_neighbours_of_few_rows() -> None:
    """Sixty values are no more classes than a thousand: each latent would know every factor, and the gap be 0."""
    z, v = sample(60)
    with pytest.raises(UnweaveError, match="nearest neighbours need codes that differ"):
        metrics.mig(np.repeat(z, 20, axis=0), np.repeat(v, 20, axis=0), mode="disentangle")
    found = metrics.mig(z, v, mode="disentangle").constants["mutual_information"]
    for j, code in enumerate(z.T):
        for k, column in enumerate(v.T):
            expected = mutual_info_classif(code[:, None], column, random_state=0)[0]
            assert found[j][k] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["beta_vae_score", "irs", "factor_vae_score"])
def test_five_samples_are_too_few(name: str) -> None:
    z, v = sample(5)
    with pytest.raises(UnweaveError, match="at least 20 samples"):
        score_all(Encoded.of(z, v), [name])


def test_irs_needs_values_that_occur_twice() -> None:
    z, _ = sample(40)
    with pytest.raises(UnweaveError, match="occurs only once"):
        metrics.irs(z, np.arange(40)[:, None], mode="paper")


def test_huge_codes_are_an_error_and_tiny_ones_are_not() -> None:
    z, v = sample(200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UnweaveError, match="must be at most 1e"):
            metrics.mig(z * 1e300, v)
        for metric in (metrics.explicitness, metrics.mig, metrics.downstream_accuracy):
            assert metric(z * 1e-200, v).value == pytest.approx(metric(z, v).value, abs=1e-6)  # type: ignore[operator]


OF_ANY_UNIT = [
    *(
        "mig",
        "mig mode=disentangle",
        "factor_vae_score samples=5",
        "factor_vae_score mode=disent",
        "beta_vae_score",
    ),
    *(
        "dci",
        "sap mode=dcf",
        "sap mode=ubisoft",
        "modularity",
        "explicitness",
        "irs",
        "irs mode=paper",
        "infomec",
    ),
    *(
        "infomec estimator=neighbours",
        "downstream_accuracy",
        "hoyer",
        "gaussian_total_correlation",
        "mig_sup",
    ),
    *("mcc", "mcc alignment=linear", "mcc kind=spearman", "jemmig", "dcimig"),
]
"""Measures whose definition does not ask how large codes are."""


@pytest.mark.parametrize("metric", OF_ANY_UNIT)
def test_the_unit_of_codes_does_not_matter(metric: str) -> None:
    """A power of two moves no digit of them, so that nothing may change, however small or large they are."""
    z, v = sample(1_100)
    z = z + RNG(1).uniform(-1, 1, z.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = score_all(Encoded.of(z, v), [metric])
        for power in (-900, -60, 200):
            for name, score in score_all(Encoded.of(z * 2.0**power, v), [metric]).items():
                whole = expected[name]
                assert score.value == pytest.approx(whole.value, abs=1e-9), (name, power)
                assert score.no_interval == whole.no_interval
                assert (score.low is None) == (whole.low is None)
                if score.low is not None:
                    assert (score.low, score.high) == pytest.approx((whole.low, whole.high), abs=1e-9)


@pytest.mark.parametrize("mode", ["disentanglement_lib", "ubisoft"])
def test_a_penalty_in_the_unit_of_codes_vanishes_for_large_ones(mode: str) -> None:
    """Votes that are classified as they are: from some size of codes on the penalty is as good as none."""
    z, v = sample(600)
    options = {"mode": mode, "votes": 400, "evaluation_votes": 400, "interval": False}
    found = [metrics.beta_vae_score(z * 2.0**power, v, RNG(0), **options).value for power in (24, 100, 200)]  # type: ignore[arg-type]
    assert found[0] > 0.9
    assert found[1] == pytest.approx(found[0], abs=0.01)
    assert found[2] == found[1]


def test_numbers_beyond_the_reach_of_arithmetic_are_told() -> None:
    z, v = sample(200)
    with pytest.raises(UnweaveError, match="codes must be at least 1e-290 in size"):
        metrics.mig(z * 1e-310, v)
    with pytest.raises(UnweaveError, match="codes must be at most 1e"):
        metrics.mig(z * 1e75, v)
    with pytest.raises(UnweaveError, match="scales must be positive standard deviations, at least 1e-70"):
        metrics.decomposition(z, np.full(z.shape, 1e-80), RNG(0))


@pytest.mark.parametrize("interval", [True, False])
def test_a_score_that_can_say_nothing_says_so(interval: bool) -> None:
    """With one factor, or one latent, some scores are 1 for codes of pure noise as well."""
    v = RNG(0).integers(0, 4, (1_200, 3))
    noise = RNG(1).normal(size=v.shape)
    of_factor = ["factor_vae_score", "beta_vae_score", "modularity", "infomec", "dci"]
    found = score_all(Encoded.of(noise, v[:, :1]), of_factor, interval=interval)
    for name in (*of_factor[:3], "infomec_modularity", "dci"):
        assert (found[name].value, found[name].low, found[name].corrected) == (1.0, None, None), name
        assert found[name].no_interval == SINGLE_FACTOR, name
    assert found["infomec_compactness"].no_interval != SINGLE_LATENT
    found = score_all(Encoded.of(noise[:, :1], v), ["infomec", "dci"], interval=interval)
    for name in ("infomec_compactness", "dci_completeness"):
        assert (found[name].value, found[name].low, found[name].corrected) == (1.0, None, None), name
        assert found[name].no_interval == SINGLE_LATENT, name
    assert found["infomec_modularity"].no_interval not in (SINGLE_FACTOR, SINGLE_LATENT)


def test_udr_is_a_function() -> None:
    assert callable(metrics.udr)
    z = RNG(0).normal(size=(200, 2))
    assert metrics.udr([z, -z], [[1, 1], [1, 1]]).value > 0.8


def write(path: Path, z: np.ndarray, v: np.ndarray) -> Path:
    words = np.array(["square", "heart", "oval"])
    lines = [
        "z0,z1,z2,shape,size",
        *(
            f"{a!r},{b!r},{c!r},{words[s]},{k}"
            for (a, b, c), (s, k) in zip(z.tolist(), v.tolist(), strict=True)
        ),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_scores_of_codes_in_files_of_every_kind(tmp_path: Path) -> None:
    z, v = sample(400)
    by_word = np.array([2, 0, 1])[v[:, 0]]  # heart, oval, square in the order of the alphabet
    table = write(tmp_path / "a.csv", z, v)
    np.savez(
        tmp_path / "a.npz",
        codes=z,
        factors=np.stack([by_word, v[:, 1]], 1),
        factor_names=["shape", "size"],
        latent_names=["z0", "z1", "z2"],
    )
    encoded = [load_encoded(table), load_encoded(tmp_path / "a.npz")]
    duckdb = pytest.importorskip("duckdb")
    target = tmp_path / "a.parquet"
    with duckdb.connect() as database:
        database.execute(f"COPY (SELECT * FROM read_csv('{table}')) TO '{target}' (FORMAT parquet)")
    encoded.append(load_encoded(target))
    for each in encoded:
        assert each.factor_names == ("shape", "size")
        assert each.latent_names == ("z0", "z1", "z2")
        np.testing.assert_array_equal(each.codes, z)
        np.testing.assert_array_equal(each.factors, np.stack([by_word, v[:, 1]], 1))
    chosen = load_encoded(table, latents=["z1", "z2"], factors=["size"])
    assert (chosen.latent_names, chosen.factor_names) == (("z1", "z2"), ("size",))


def test_the_command_prints_scores_and_the_matrix_and_repeats_itself(tmp_path: Path) -> None:
    z, v = sample(400)
    path = write(tmp_path / "codes.csv", z, v)
    found = []
    for threads in ("1", "2"):
        words = ["score", str(path), "--metrics", "mig,sap,modularity,factor_vae_score", "--threads", threads]
        run = CliRunner().invoke(cli, words)
        assert run.exit_code == 0, run.output
        found.append((run.output, (tmp_path / "codes.scores.json").read_text()))
    assert found[0] == found[1]
    assert "mutual information" in found[0][0]
    assert "shape" in found[0][0]
    stored = json.loads((tmp_path / "codes.relations.json").read_text())
    assert stored["factor_names"] == ["shape", "size"]
    assert np.array(stored["information"]).shape == (3, 2)
    quick = CliRunner().invoke(cli, ["score", str(path), "--metrics", "mig", "--no-intervals"])
    assert quick.exit_code == 0
    assert json.loads((tmp_path / "codes.scores.json").read_text())["mig"]["low"] is None


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.txt", "1", "must be an npz, npy, csv or parquet"),
        ("a.npz", "no archive", "is not a"),
        ("a.npy", "no array", "is not a"),
        ("a.csv", "z0,shape\n1,2\n3\n", "line 3 has 1 values"),
        ("a.csv", "a,b\n1,2\n3,4\n", "no column of"),
        ("a.csv", "z0,b\nx,2\ny,4\n", "must hold numbers"),
        ("a.parquet", "no table", "is not a parquet file"),
    ],
)
def test_wrong_files_are_told_in_one_sentence(tmp_path: Path, name: str, content: str, words: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UnweaveError, match=words) as caught:
        load_encoded(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_an_array_alone_is_codes(tmp_path: Path) -> None:
    z, _ = sample(30)
    np.save(tmp_path / "a.npy", z)
    run = CliRunner().invoke(cli, ["score", str(tmp_path / "a.npy"), "--metrics", "hoyer"])
    assert run.exit_code == 0, run.output
