"""Runs notice when the data behind a path change; they train on what sampling leaves."""

import logging
from pathlib import Path

import numpy as np
import pytest

from unweave.errors import UnweaveError
from unweave.runs import Config, Run
from unweave.runs.evaluation import codes_of

TINY = [
    *("latents=2", "batch_size=4"),
    *("encoder.channels=[4,4]", "encoder.hidden=[8]", "decoder.channels=[4,4]", "decoder.hidden=[8]"),
]


def save(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    np.savez(
        path,
        images=rng.integers(256, size=(30, 32, 32), dtype=np.uint8),
        factors=rng.integers(3, size=(30, 2)),
    )


def test_changed_data_are_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    save(tmp_path / "own.npz", 0)
    config = Config.read(words=[f"data={tmp_path / 'own.npz'}", "steps=50", *TINY])
    run = Run.create(config, tmp_path / "run")
    stops = iter([False, False, True])
    assert run.train(stop=lambda: next(stops)).status == "interrupted"
    save(tmp_path / "own.npz", 1)
    with pytest.raises(UnweaveError, match=r"the data of .*run have changed since it was begun .* --out"):
        run.train()
    with caplog.at_level(logging.WARNING, "unweave"):
        run.dataset()
    assert "have changed" in caplog.text
    save(tmp_path / "own.npz", 0)
    assert run.train().status == "finished"


def test_held_out_images_are_neither_trained_on_nor_scored(tmp_path: Path) -> None:
    words = [
        "data=xysquares",
        "data.size=32",
        "sampling=HeldOut",
        "sampling.factors=[x_r,y_r]",
        "steps=1",
        *TINY,
    ]
    config = Config.read(words=words)
    assert config == Config.of(config.to_mapping())
    run = Run.create(config, tmp_path / "run")
    run.train()
    factors = codes_of(run).factors
    assert factors is not None
    assert len(factors) == 10_000
    assert not (factors[:, :2] < 4).all(axis=1).any()
    tied = Config.read(
        words=["data=circles", "sampling=correlated", "sampling.factors=[x,y]", "sampling.sigma=0.1"]
    )
    x, y = tied.make_dataset().sample(500, np.random.default_rng(0)).factors.T  # type: ignore[union-attr]
    assert np.corrcoef(x, y)[0, 1] > 0.7
