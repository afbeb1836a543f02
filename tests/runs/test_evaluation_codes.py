"""Codes belong to weights and to a seed: codes of other weights are not used, and another seed encodes other images."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unweave.model_metrics import Codes
from unweave.runs import Config, Run
from unweave.runs import evaluation as module
from unweave.runs.evaluation import codes_of, evaluate

TINY = [
    *("data=circles", "data.size=32", "latents=2", "batch_size=4", "steps=2"),
    *("encoder.channels=[4,4]", "encoder.hidden=[8]", "decoder.channels=[4,4]", "decoder.hidden=[8]"),
]


@pytest.fixture(autouse=True)
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLES", 600)


def trained(folder: Path, *words: str) -> Run:
    run = Run.create(Config.read(words=[*TINY, *words]), folder)
    run.train()
    return run


def rewritten(path: Path, **changed: Any) -> None:
    codes = Codes.load(path)
    assert codes is not None
    dataclasses.replace(codes, **changed).save(path)


@pytest.mark.parametrize("step", [1, 3])
def test_codes_of_another_step_are_encoded_again(tmp_path: Path, step: int) -> None:
    run = trained(tmp_path / "run")
    fresh = codes_of(run)
    assert fresh.step == 2
    rewritten(run.folder / "codes.npz", means=fresh.means + 1, step=step)
    again = codes_of(run)
    assert again.step == 2
    np.testing.assert_array_equal(again.means, fresh.means)
    with np.load(run.folder / "codes.npz") as stored:
        np.testing.assert_array_equal(stored["means"], fresh.means)
        assert int(stored["step"]) == 2


def test_codes_of_this_step_are_read(tmp_path: Path) -> None:
    run = trained(tmp_path / "run")
    fresh = codes_of(run)
    rewritten(run.folder / "codes.npz", means=fresh.means + 1)
    np.testing.assert_array_equal(codes_of(run).means, fresh.means + 1)


def test_scores_of_another_step_do_not_join(tmp_path: Path) -> None:
    """A score of earlier weights must not stand in scores.json beside those of the present ones."""
    run = trained(tmp_path / "run")
    evaluate(run, metrics=["hoyer"])
    rewritten(run.folder / "codes.npz", step=1)
    evaluate(run, metrics=["modularity"])
    assert set(json.loads((run.folder / "scores.json").read_text())) == {"modularity"}
    evaluate(run, metrics=["hoyer"])
    assert set(json.loads((run.folder / "scores.json").read_text())) == {"modularity", "hoyer"}


def test_the_images_of_an_evaluation_depend_on_the_seed_alone(tmp_path: Path) -> None:
    first = codes_of(trained(tmp_path / "a"))
    longer = codes_of(trained(tmp_path / "b", "steps=3"))
    other = codes_of(trained(tmp_path / "c", "seed=1"))
    assert first.factors is not None
    assert longer.factors is not None
    assert other.factors is not None
    np.testing.assert_array_equal(first.factors, longer.factors)
    assert (first.factors != other.factors).any()


def test_the_noise_of_an_evaluation_depends_on_the_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """-log p(x|z) is taken at a drawn z: another seed draws another one for the same weights and images."""
    run = trained(tmp_path / "a")
    seeds: list[int] = []
    plain = module.seed_torch

    def noted(seed: int, *rest: Any) -> None:
        seeds.append(seed)
        plain(seed, *rest)

    monkeypatch.setattr(module, "seed_torch", noted)
    codes_of(run)
    codes_of(trained(tmp_path / "b", "seed=7"))
    assert seeds == [0, 7]


def test_only_the_first_images_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DECODED", 500)
    codes = codes_of(trained(tmp_path / "a"))
    assert len(codes.means) == len(codes.scales) == len(codes.kl) == 600
    assert len(codes.nll) == 500
