"""Models that are kept in the repository: they open in one line, and their scores are those of what is stored."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import unweave
from unweave.cli import cli
from unweave.errors import UnweaveError
from unweave.metrics import Score
from unweave.models import TrainedModel
from unweave.models.places import PLACES, kept
from unweave.runs.config import Config
from unweave.runs.evaluation import evaluate
from unweave.runs.run import Run

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
import make_models

ROOT = Path(__file__).parent.parent.parent
NAMES = sorted(path.parent.name for path in (ROOT / "models").glob("*/model.safetensors"))

QUICK = ("circles-broadcast", "dsprites-factorvae")
"""Begun again in every run of the tests: one with the broadcast decoder, one with a critic."""


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_model_opens_by_its_name_and_reconstructs(name: str) -> None:
    model = unweave.load(name)
    dataset = model.config.make_dataset()
    images = dataset.sample(64, np.random.default_rng(0)).images
    floats = images / 255.0
    left = (
        np.square(model.model.reconstruct(images) - floats).sum() / np.square(floats - floats.mean(0)).sum()
    )
    assert left < 0.2  # of the variance of the images
    card = (ROOT / "models" / name / "README.md").read_text()
    assert f"seed={model.config.seed}" in card
    assert f'unweave.load("{name}")' in card


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_a_kept_model_is_trained_again_and_begins_as_it_did(name: str, tmp_path: Path) -> None:
    """The losses of its first steps: those of the run itself, or of a run that was begun once more."""
    stored = json.loads((ROOT / "models" / name / make_models.FIRST_STEPS).read_text())
    assert stored[-1][0] > 10
    again = make_models.begin_again(unweave.load(name).config, tmp_path / "run")
    assert [step for step, _ in again] == [step for step, _ in stored]
    assert [loss for _, loss in again] == pytest.approx([loss for _, loss in stored], rel=1e-4)


def test_the_kept_models_are_small() -> None:
    sizes = [file.stat().st_size for file in (ROOT / "models").rglob("*") if file.is_file()]
    assert sum(sizes) < 30e6


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_scores_of_a_kept_model_are_computed_again(name: str, tmp_path: Path) -> None:
    """The run is made again around the stored weights, and scored."""
    model = unweave.load(name)
    run = Run.create(model.config, tmp_path / "run")
    shutil.copy(ROOT / "models" / name / "model.safetensors", run.folder / "model.safetensors")
    stored = json.loads((ROOT / "models" / name / "scores.json").read_text())
    found = evaluate(Run(run.folder))
    assert set(found) == set(stored)
    for key, score in found.items():
        assert f"{score.value:.3f}" == f"{Score.from_json({'name': key, **stored[key]}).value:.3f}", key


def test_half_precision_rounds_once_and_halves_the_file(tmp_path: Path) -> None:
    model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
    whole = model.save(tmp_path / "whole")
    half = model.save(tmp_path / "half", precision="float16")
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (half, whole)]
    assert sizes[0] < 0.52 * sizes[1]
    again = unweave.load(half)
    for key, weight in again.model.state_dict().items():
        assert weight.dtype == model.model.state_dict()[key].dtype
        assert torch.equal(weight, model.model.state_dict()[key].half().to(weight.dtype))
    # Once rounded, it stays as it is.
    same = again.save(tmp_path / "again")
    assert (same / "model.safetensors").read_bytes() == (half / "model.safetensors").read_bytes()
    with pytest.raises(UnweaveError, match="precision"):
        model.save(tmp_path / "none", precision="float8")  # type: ignore[arg-type]
    with torch.no_grad():
        next(model.model.parameters()).fill_(1e6)
    with pytest.raises(UnweaveError, match="float16 does not have"):
        model.save(tmp_path / "large", precision="float16")


def test_kept_models_are_listed_shown_and_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLACES, str(tmp_path / "kept"))
    monkeypatch.chdir(tmp_path)
    config = Config.read(words=["data=circles", "latents=2", "steps=7"])
    TrainedModel.untrained(config, (3, 64, 64)).save(tmp_path / "kept" / "rings")
    assert "rings" in kept()

    def say(*words: str) -> str:
        done = CliRunner().invoke(cli, ["models", *words], catch_exceptions=False)
        assert done.exit_code == 0
        return done.output

    [line] = [line for line in say("list").splitlines() if line.startswith("rings")]
    assert line.split()[1:5] == ["Circles", "BetaVAE", "Deconv", "7"]
    shown = say("show", "Rings")
    assert "Circles, BetaVAE Deconv, seed 0" in shown
    assert "64 x 64 RGB" in shown
    say("get", "rings")
    for file in (tmp_path / "kept" / "rings").iterdir():
        assert (tmp_path / "rings" / file.name).read_bytes() == file.read_bytes()
    with pytest.raises(UnweaveError, match="rings exists already: choose another folder with --out"):
        CliRunner().invoke(cli, ["models", "get", "rings"], catch_exceptions=False)
    with pytest.raises(UnweaveError, match="unknown model 'ringz': did you mean rings"):
        CliRunner().invoke(cli, ["models", "show", "ringz"], catch_exceptions=False)
