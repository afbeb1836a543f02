import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from unweave.errors import UnweaveError
from unweave.runs import Run
from unweave.training.data_parallel import Share, launched

WORDS = [
    *("circles", "data.size=32", "latents=3", "batch_size=8", "steps=30", "learning_rate=1e-3"),
    *("encoder.channels=[4,4]", "encoder.hidden=[8]", "decoder.channels=[4,4]", "decoder.hidden=[8]"),
]


def train(folder: Path, *before: str) -> Run:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    words = ["-m", "unweave", "train", *WORDS, "--out", str(folder), "--no-report", "--quiet"]
    done = subprocess.run(
        [sys.executable, *before, *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return Run(folder)


def test_two_processes_follow_the_curve_of_one_with_the_whole_batch(tmp_path: Path) -> None:
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    two, one = train(tmp_path / "two", *launcher), train(tmp_path / "one")
    assert two.status == one.status == "finished"
    assert [r["step"] for r in two.history] == [r["step"] for r in one.history] == list(range(1, 31))
    for ours, theirs in zip(two.history, one.history, strict=True):
        for key in ("total", "reconstruction", "kl"):
            assert ours[key] == pytest.approx(theirs[key], rel=1e-4)
        assert ours["kl_per_latent"] == pytest.approx(theirs["kl_per_latent"], rel=1e-4, abs=1e-4)
    assert one.history[-1]["total"] < 0.95 * one.history[0]["total"], "a curve, not a line"
    assert json.loads((two.folder / "run.json").read_text())["identity"] == one.config.identity


def test_shares_of_the_noise_are_rows_of_the_whole() -> None:
    def draw(rows: int) -> list[torch.Tensor]:
        torch.manual_seed(0)
        normal = torch.distributions.Normal(torch.zeros(rows, 3), torch.ones(rows, 3))
        return [normal.rsample(), torch.randn(rows, 2), torch.rand((rows, 2)), torch.randn_like(normal.loc)]

    whole = draw(8)
    for rank in (0, 1):
        share = Share(rank, 2)
        with share.noise(4):
            part = draw(4)
        for ours, all_rows in zip(part, whole, strict=True):
            assert torch.equal(ours, all_rows[rank * 4 : rank * 4 + 4])
        with share.noise(4):
            torch.manual_seed(0)
            other = torch.randn(5, 2)
        torch.manual_seed(0)
        assert torch.equal(other, torch.randn(5, 2)), "noise of other sizes is left alone"


def test_a_batch_that_cannot_be_shared_is_refused() -> None:
    Share(0, 3).check(9)
    with pytest.raises(UnweaveError, match=r"batch_size must be a multiple .* got 8 for 3 processes"):
        Share(0, 3).check(8)


def test_without_a_launcher_a_process_is_alone() -> None:
    with launched("cpu", {}) as (share, device):
        assert (share, device) == (Share(0, 1), "cpu")
        assert share.any(False, True) == (False, True)
        assert share.first(lambda: 5) == 5
