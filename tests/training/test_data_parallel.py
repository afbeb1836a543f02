import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from unweave.cli import main
from unweave.errors import UnweaveError
from unweave.optimizers import OPTIMIZERS
from unweave.runs import Run
from unweave.schedules import SCHEDULES
from unweave.training.data_parallel import Share, launched

WORDS = [
    *("circles", "data.size=32", "latents=3", "batch_size=8", "steps=30", "learning_rate=1e-3"),
    *("encoder.channels=[4,4]", "encoder.hidden=[8]", "decoder.channels=[4,4]", "decoder.hidden=[8]"),
]
LAUNCHER = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def train(folder: Path, *before: str) -> Run:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    words = ["-m", "unweave", "train", *WORDS, "--out", str(folder), "--no-report", "--quiet"]
    done = subprocess.run(
        [sys.executable, *before, *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return Run(folder)


def test_two_processes_follow_the_curve_of_one_with_the_whole_batch(tmp_path: Path) -> None:
    main(["train", *WORDS, "--out", str(tmp_path / "one"), "--no-report", "--quiet"])
    two, one = train(tmp_path / "two", *LAUNCHER), Run(tmp_path / "one")
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


RESUMED = """
import json, sys
from pathlib import Path
from unweave.runs import Config, Run
from unweave.runs.run import follow
from unweave.training.data_parallel import launched

with launched() as (share, _):
    for name, words in json.loads(Path(sys.argv[1], "jobs.json").read_text()).items():
        config = Config.read(words=words)
        for kind in ("whole", "stopped"):
            taken = []
            def stop():
                taken.append(1)
                return kind == "stopped" and len(taken) % 4 == 0
            while True:
                if share.rank == 0:
                    outcome = Run.create(config, Path(sys.argv[1], name, kind)).train(share=share, stop=stop)
                else:
                    outcome = follow(config, share)
                if outcome.status != "interrupted":
                    break
"""


def assert_resumes_on_two_processes(jobs: dict[str, list[str]], folder: Path) -> None:
    """Runs of two processes that are stopped at every fourth step end with the weights of those that are not."""
    small = [
        *("data=XYSquares", "data.size=32", "steps=10", "batch_size=6", "latents=4", "learning_rate=1e-3"),
        *("encoder.channels=[4,4]", "encoder.hidden=[32]", "decoder.channels=[4,4]", "decoder.hidden=[32]"),
    ]
    jobs = {name: [*small, *words] for name, words in jobs.items()}
    (folder / "jobs.json").write_text(json.dumps(jobs))
    (folder / "resumed.py").write_text(RESUMED)
    done = subprocess.run(
        [sys.executable, *LAUNCHER, str(folder / "resumed.py"), str(folder)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in jobs:
        whole, stopped = (Run(folder / name / kind) for kind in ("whole", "stopped"))
        assert whole.status == stopped.status == "finished"
        one, two = (load_file(run.folder / "model.safetensors") for run in (whole, stopped))
        assert all(torch.equal(one[key], two[key]) for key in one), name
        assert [r["total"] for r in whole.history] == [r["total"] for r in stopped.history], name


EVERYTHING = [
    *("objective=FactorVAE", "objective.critic_layers=2", "objective.critic_width=32", "ramps.gamma.start=1"),
    *("critic_optimizer=Muon", "critic_schedule=Cosine", "clip_norm=50", "weight_average=0.8"),
    *("optimizer=Muon", "optimizer.begins=0.5", "schedule=Unfolding", "schedule.turns=[0.2,0.5]"),
    "schedule.least_gain=-1",
]


def test_two_processes_resume_to_the_bit_with_everything_that_changes_over_training(tmp_path: Path) -> None:
    assert_resumes_on_two_processes({"everything": EVERYTHING}, tmp_path)


@pytest.mark.slow
def test_two_processes_resume_to_the_bit_with_every_optimiser_and_schedule(tmp_path: Path) -> None:
    jobs = {f"{o}-{s}": [f"optimizer={o}", f"schedule={s}"] for o in OPTIMIZERS for s in SCHEDULES}
    assert_resumes_on_two_processes(jobs, tmp_path)
