"""Run folders made before the open slots: they open, resume bit for bit, and keep their identity."""

import json
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from unweave.runs import Config, Run
from unweave.runs.evaluation import evaluate

OLD = Path(__file__).parent / "runs"


def copied(name: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD / name, tmp_path / name))


def test_an_old_run_keeps_its_identity() -> None:
    for name in ("finished", "interrupted"):
        recorded = json.loads((OLD / name / "run.json").read_text())["identity"]
        assert Run(OLD / name).config.identity == recorded
        assert Config.read(OLD / name / "config.yaml").identity == recorded


def test_an_old_run_opens_and_scores_as_it_did(tmp_path: Path) -> None:
    run = Run(copied("finished", tmp_path))
    before = {name: score["value"] for name, score in run.scores.items()}
    assert run.status == "finished"
    found = {name: score.value for name, score in evaluate(run).items()}
    assert set(found) == set(before)
    np.testing.assert_allclose([found[k] for k in before], list(before.values()), rtol=1e-4)


def test_the_same_command_finds_an_old_run_finished(tmp_path: Path) -> None:
    folder = copied("finished", tmp_path)
    run = Run.create(Run(folder).config, folder)
    assert run.train().status == "finished"


def test_an_old_interrupted_run_goes_on_bit_for_bit(tmp_path: Path) -> None:
    run = Run(copied("interrupted", tmp_path))
    assert run.status == "interrupted"
    assert run.train().step == 20
    found = load_file(run.folder / "model.safetensors")
    expected = load_file(OLD / "interrupted-expected.safetensors")
    assert set(found) == set(expected)
    for name, weights in expected.items():
        # To the bit on the machine that made it; another processor may add in another order.
        np.testing.assert_allclose(found[name], weights, rtol=1e-5, atol=1e-6, err_msg=name)
    assert [record["step"] for record in run.history] == list(range(1, 21))
