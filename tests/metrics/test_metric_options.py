"""Options of metrics: metric.option=value on the command line, in studies and in Python."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from unweave.cli import cli
from unweave.errors import UnweaveError
from unweave.metrics import METRICS, Encoded, factor_vae_score, hoyer, mig, score_all
from unweave.metrics.beta_vae import beta_vae_score
from unweave.metrics.registry import metric_spelling, resolve_metric
from unweave.model_metrics import MODEL_METRICS, LogLikelihood
from unweave.runs import Config, Run
from unweave.runs.study import metrics_of

FACTORS = np.stack(np.meshgrid(range(5), range(4), range(6)), -1).reshape(-1, 3)
CODES = FACTORS @ np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.1, 0.0, 1.0]])


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    path = tmp_path / "codes.npz"
    np.savez(path, codes=CODES, factors=FACTORS, scales=np.full_like(CODES, 0.1))
    return path


def run_cli(*words: str) -> str:
    result = CliRunner().invoke(cli, list(words))
    assert result.exit_code == 0, f"{result.output} {result.exception!r}"
    return result.output


def test_an_option_reaches_the_metric_and_the_name_of_its_score(arrays: Path) -> None:
    run_cli("score", str(arrays), "mig.bins=3", "hoyer.normalised=false")
    stored = json.loads(arrays.with_suffix(".scores.json").read_text())
    assert set(stored) == {"mig bins=3", "hoyer normalised=false"}
    assert stored["mig bins=3"]["value"] == mig(CODES, FACTORS, bins=3).value
    assert stored["hoyer normalised=false"]["value"] == hoyer(CODES, normalised=False).value
    assert stored["mig bins=3"]["value"] != mig(CODES, FACTORS).value


def test_options_and_metrics_together(arrays: Path) -> None:
    run_cli("score", str(arrays), "--metrics", "mig,sap", "mig.bins=3")
    assert set(json.loads(arrays.with_suffix(".scores.json").read_text())) == {"mig bins=3", "sap"}


def test_the_default_given_is_the_default() -> None:
    given = score_all(Encoded.of(CODES, FACTORS), ["factor_vae_score mode=paper"])
    assert given == score_all(Encoded.of(CODES, FACTORS), ["factor_vae_score"])


def test_every_parameter_of_every_metric_is_an_option() -> None:
    expected = {
        "factor_vae_score": {
            "mode",
            "samples",
            "votes",
            "evaluation_votes",
            "prune",
            "discrete",
            "prior_variances",
        },
        "beta_vae_score": {"mode", "samples", "votes", "evaluation_votes"},
        "hoyer": {"normalised"},
        "sampled_mig": {"mode", "samples", "drop"},
        "subspace_mig": {"subspaces", "samples", "drop"},
        "decomposition": {"estimator", "samples", "batch"},
    }
    for name, options in expected.items():
        assert set(METRICS[name].options) >= options, name
    assert {"mode", "backend", "test"} <= set(METRICS["dci"].options)
    assert {"mode", "bins", "drop"} <= set(METRICS["mig"].options)
    assert set(MODEL_METRICS["log_likelihood"].options) == {"particles", "images"}
    assert "votes" in MODEL_METRICS["factor_vae_score_of"].options


def test_mistakes_are_named(arrays: Path) -> None:
    with pytest.raises(UnweaveError, match="unknown option of the metric mig 'bin'"):
        resolve_metric("mig bin=3")
    with pytest.raises(UnweaveError, match=r"mig\.bins must be a whole number"):
        resolve_metric("mig bins=many")
    with pytest.raises(UnweaveError, match=r"metric\.option=value"):
        result = CliRunner().invoke(cli, ["score", str(arrays), "bins=3"], standalone_mode=False)
        assert result.exception is not None
        raise result.exception


def test_subspaces_are_an_option() -> None:
    encoded = Encoded.of(CODES, FACTORS, np.full_like(CODES, 0.1))
    found = score_all(encoded, ["subspace_mig samples=200", "subspace_mig subspaces=[2,1] samples=200"])
    alone, together = found.values()
    assert together.value != alone.value


def test_studies_store_metrics_with_options() -> None:
    assert metric_spelling("MIG bins=30") == "mig bins=30"
    assert metrics_of(["beta-vae-score mode=printed", "dci"]) == ("beta_vae_score mode=printed", "dci")


def test_options_of_a_run(tmp_path: Path) -> None:
    words = ["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2", "encoder.channels=[4,4]"]
    run = Run.create(Config.read(words=[*words, "decoder.channels=[4,4]"]), tmp_path / "run")
    run.train()
    run_cli(
        *("evaluate", str(run.folder), "log_likelihood.particles=3", "log_likelihood.images=2", "mig.bins=4"),
        *(
            "factor_vae_score_of.votes=20",
            "factor_vae_score_of.evaluation_votes=20",
            "factor_vae_score_of.samples=3",
        ),
    )
    scores = json.loads((run.folder / "scores.json").read_text())
    likelihood = scores["log_likelihood particles=3 images=2"]
    assert likelihood["constants"]["particles"] == 3
    assert likelihood["constants"]["images"] == 2
    assert "mig bins=4" in scores
    fresh = next(name for name in scores if name.startswith("factor_vae_score_of "))
    assert scores[fresh]["constants"]["votes"] == 20


def test_a_metric_with_options_leaves_the_registered_one_as_it_is() -> None:
    before = MODEL_METRICS["log_likelihood"]
    changed = before.with_options({"particles": 7})
    assert isinstance(changed, LogLikelihood)
    assert (changed.particles, before.suffix, changed.suffix) == (7, "", " particles=7")


def test_sensitivity_and_agreement_from_the_command_line(arrays: Path) -> None:
    out = run_cli("sensitivity", str(arrays), "mig.bins=[3,20]", "--seeds", "2", "--quiet")
    for bins in (3, 20):
        assert f"{mig(CODES, FACTORS, bins=bins).value:.4f}" in out


def test_gini_s_variance_is_taken_for_the_codes_that_are_classes() -> None:
    """Classes far apart as numbers: only Gini's variance, with its own normalisation, finds the factor they hold."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 5], (4000, 2))
    # The class of factor 0, written as numbers of which two lie close together, and a noisy copy of factor 1.
    written = np.array([-1.0, -0.999, 1.0])[factors[:, 0]]
    codes = np.stack([written, factors[:, 1] + 0.1 * rng.normal(size=4000)], 1)
    score = factor_vae_score(codes, factors, np.random.default_rng(1), discrete=[0])
    assert score.value == 1.0
    assert score.constants["discrete"] == [0]
    # A code whose class changes within a factor that it does not hold must not win against the one that holds it.
    mixed = np.stack([np.where(rng.random(4000) < 0.98, 0.0, 1000.0), factors[:, 1] * 1.0], 1)
    assert factor_vae_score(mixed, factors[:, 1:], np.random.default_rng(2), discrete=[0]).value == 1.0
    with pytest.raises(UnweaveError, match="discrete must name latents"):
        factor_vae_score(codes, factors, np.random.default_rng(1), discrete=[2])


def test_a_dead_code_under_a_uniform_prior_is_pruned_by_the_prior_s_own_variance() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, (4000, 1))
    codes = np.stack([factors[:, 0] - 2.0, 0.01 * rng.normal(size=4000)], 1)
    scales = np.stack([np.full(4000, 0.05), np.full(4000, np.sqrt(1 / 3))], 1)
    kept = factor_vae_score(codes, factors, np.random.default_rng(1), scales=scales)
    pruned = factor_vae_score(
        codes, factors, np.random.default_rng(1), scales=scales, prior_variances=[1 / 3, 1 / 3]
    )
    assert kept.constants["active_latents"] == [0, 1]
    assert pruned.constants["active_latents"] == [0]


def test_the_printed_metric_of_higgins_trains_adagrad() -> None:
    v = np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2)
    printed = beta_vae_score(v * 1.0, v, np.random.default_rng(0), mode="printed")
    assert printed.constants["votes"] == 100_000  # 10,000 iterations of 10 points
    assert printed.constants["samples"] == 200
    assert printed.value > 0.99
    # Few iterations at a rate of 0.01 leave the classifier of ill-scaled codes far from what solving it finds.
    scaled = v * np.array([0.02, 0.05])
    early = beta_vae_score(scaled, v, np.random.default_rng(0), mode="printed", votes=30, samples=20)
    solved = beta_vae_score(scaled, v, np.random.default_rng(0), votes=200, samples=20)
    assert solved.value == 1.0
    assert early.value < 0.99
