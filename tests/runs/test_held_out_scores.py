"""Runs that never saw a region of factor space have the scores of both sides of its border."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from unweave import cli, metrics
from unweave.data import HeldOut, XYSquares
from unweave.errors import UnweaveError
from unweave.runs import Config, Run
from unweave.runs import evaluation as module
from unweave.runs.evaluation import codes_of, evaluate, held_out_codes_of

WORDS = [
    *("data=xysquares", "sampling=HeldOut", "sampling.factors=[x_r,y_r]", "sampling.share=0.6"),
    *("latents=3", "batch_size=8", "steps=3", "encoder.channels=[4,4]", "encoder.hidden=[8]"),
    *("decoder.channels=[4,4]", "decoder.hidden=[8]"),
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(module, "SAMPLES", 500)
    monkeypatch.setattr(module, "DECODED", 250)
    made = Run.create(Config.read(words=WORDS), tmp_path / "run")
    made.train()
    return made


def test_each_metric_has_a_score_of_seen_and_of_unseen_combinations(run: Run) -> None:
    scores = evaluate(run, metrics=["elbo", "mig", "hoyer", "downstream_accuracy"])
    seen, unseen = codes_of(run), held_out_codes_of(run)
    assert unseen is not None
    assert seen.factors is not None
    assert unseen.factors is not None
    data = run.dataset()
    assert not data.held_out(seen.factors).any()
    assert data.held_out(unseen.factors).all()
    means = run.model().codes(data.images(unseen.factors))[0]
    np.testing.assert_allclose(np.asarray(means), unseen.means, rtol=1e-4, atol=1e-5)
    for name, codes in (("", seen), (" held_out", unseen)):
        assert scores["nll" + name].value == pytest.approx(codes.nll.mean(), rel=1e-6)
        assert scores["mig" + name].value == pytest.approx(metrics.mig(codes.means, codes.factors).value)
        assert scores["hoyer" + name].value == pytest.approx(metrics.hoyer(codes.means).value)
    names = {name.removesuffix(" held_out") for name in scores if name.endswith("held_out")}
    assert names == {"elbo", "nll", "kl", "latents_used", "mig", "hoyer", "downstream_accuracy"}
    assert set(run.scores) == set(scores)


def test_no_score_of_a_run_has_an_interval_if_none_are_asked_for(run: Run) -> None:
    with_them = evaluate(run, metrics=["elbo", "hoyer"])
    without = evaluate(run, metrics=["elbo", "hoyer"], interval=False)
    assert set(without) == set(with_them)
    for name, score in without.items():
        assert score.value == with_them[name].value
        assert (score.low, score.high, score.corrected, score.covers) == (None, None, None, ""), name
        assert run.scores[name]["low"] is run.scores[name]["high"] is None


def test_unseen_combinations_are_read_by_what_was_learned_of_seen_ones(run: Run) -> None:
    found = evaluate(run, metrics=["downstream_accuracy"])["downstream_accuracy held_out"]
    seen, unseen = codes_of(run), held_out_codes_of(run)
    assert unseen is not None
    scale = StandardScaler().fit(seen.means)
    right = []
    for k in range(seen.factors.shape[1]):  # type: ignore[union-attr]
        model = LogisticRegression(tol=1e-8, max_iter=5_000)
        model.fit(scale.transform(seen.means), seen.factors[:, k])  # type: ignore[index]
        right.append(model.score(scale.transform(unseen.means), unseen.factors[:, k]))  # type: ignore[index]
    assert found.constants["of_factors"] == pytest.approx(right, abs=0.005)
    assert found.value == pytest.approx(np.mean(found.constants["of_factors"]))
    assert (found.low, found.high) == (None, None)
    assert "has not been counted" in found.no_interval


def test_the_command_line_prints_both(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["evaluate", str(run.folder), "--metrics", "mig,elbo"])
    lines = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert {"mig", "mig held_out", "nll", "nll held_out"} <= set(lines)


def test_unseen_factors_of_data_without_a_border() -> None:
    rng = np.random.default_rng(0)
    whole, part = XYSquares(), HeldOut(XYSquares(), factors=("x_r", "y_r"))
    assert len(whole.unseen(50, rng)) == len(whole.unseen_rows(50, rng)) == 0
    rows = part.unseen_rows(50, rng)
    assert len(set(rows.tolist())) == 50
    assert part.held_out(part.factors_at(rows)).all()
    assert part.held_out(part.unseen(50, rng)).all()


def test_codes_of_different_models_cannot_be_transferred() -> None:
    v = np.arange(40)[:, None] % 2
    with pytest.raises(UnweaveError, match="1 and 2 latents"):
        metrics.transferred_accuracy(v, v, np.hstack([v, v]), v)
