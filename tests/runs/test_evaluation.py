import json
from pathlib import Path

import numpy as np
import pytest

from unweave import cli
from unweave.errors import UnweaveError
from unweave.metrics import METRICS
from unweave.runs import Config, Run
from unweave.runs import evaluation as module
from unweave.runs.evaluation import evaluate

TINY = [
    *("data=circles", "data.size=32", "latents=2", "batch_size=4", "steps=2"),
    *("encoder.channels=[4,4]", "encoder.hidden=[8]", "decoder.channels=[4,4]", "decoder.hidden=[8]"),
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(module, "SAMPLES", 600)
    monkeypatch.setattr(module, "LIKELY", 2)
    monkeypatch.setattr("unweave.runs.likelihood.PARTICLES", 20)
    made = Run.create(Config.read(words=TINY), tmp_path / "run")
    made.train()
    return made


def test_named_scores_join_those_of_the_same_weights(run: Run) -> None:
    quick = evaluate(run)
    assert set(quick) == {"elbo", "nll", "kl", "latents_used", "mig", "factor_vae_score", "geometry"}
    assert set(evaluate(run, metrics=["hoyer", "Modularity"])) == {"hoyer", "modularity"}
    assert set(run.scores) == set(quick) | {"hoyer", "modularity"}
    everything = evaluate(run, metrics=["all"])
    expected = {name for m in METRICS.values() if m.standard for name in m.labels}
    assert set(everything) == expected | set(quick)
    # A score does not depend on what else is computed.
    assert everything["factor_vae_score"] == quick["factor_vae_score"]
    with pytest.raises(UnweaveError, match="did you mean mig"):
        evaluate(run, metrics=["mgi"])


def test_data_are_encoded_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate(run)
    monkeypatch.setattr(module, "_encode", lambda *_: pytest.fail("encoded again"))
    assert "sap" in evaluate(run, metrics=["sap"])


def test_the_command_line_scores_runs_and_arrays(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["evaluate", str(run.folder), "--metrics", "mig,hoyer"])
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].split() == ["score", "value", "95", "%", "interval", "range", "better"]
    assert "hoyer" in printed
    v = np.tile(np.stack(np.meshgrid(range(4), range(4)), -1).reshape(-1, 2), (20, 1))
    np.savez(tmp_path / "codes.npz", codes=v * 1.0, factors=v)
    cli.main(["score", str(tmp_path / "codes.npz"), "--metrics", "MIG,modularity"])
    assert "mig         1.000" in capsys.readouterr().out
    stored = json.loads((tmp_path / "codes.scores.json").read_text())
    assert stored["mig"]["value"] == pytest.approx(1)
    assert stored["mig"]["constants"]["mode"] == "disentanglement_lib"
    for words, message in (
        (["score", str(tmp_path / "codes.npz"), "--metrics", "mgi"], "did you mean mig"),
        (["score", str(tmp_path / "none.npz")], "does not exist"),
        (["score", str(tmp_path / "codes.scores.json")], "not an npz file"),
        (["score", str(tmp_path / "codes.npz"), "--metrics", "sampled_mig"], "needs scales"),
    ):
        with pytest.raises(SystemExit) as end:
            cli.main(words)
        assert end.value.code == 2
        assert message in capsys.readouterr().err
    cli.main(["metrics"])
    assert "factor_vae_score" in capsys.readouterr().out


def test_distances_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["data", "distances", "xysquares", "--pairs", "40", "--out", str(tmp_path / "d.png")])
    printed = capsys.readouterr().out
    assert "x_r     0.0104         0.0000" in printed
    assert (tmp_path / "d.png").exists()
    assert (tmp_path / "d-matrices.png").exists()


def test_log_likelihood_of_a_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    few = module.log_likelihood
    monkeypatch.setattr(module, "log_likelihood", lambda *a, **k: few(*a, **{**k, "particles": 20}))
    score = evaluate(run, metrics=["log_likelihood"])["log_likelihood"]
    assert score.constants["images"] == 2
    assert score.value < 0
