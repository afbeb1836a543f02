"""A real SLURM on this machine: ``make slurm-test`` installs it and runs this."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from unweave.runs import RunIndex
from unweave.runs.executors import Event, Local, OnRay, OnSlurm
from unweave.runs.executors.slurm_job import PLACE, submissions
from unweave.runs.study import load
from unweave.runs.sweep import Sweep

SCRIPT = Path(__file__).parent / "cluster.sh"
PATHS = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3000),
    pytest.mark.skipif(
        shutil.which("slurmctld", path=PATHS) is None, reason="no SLURM: make slurm-test installs it"
    ),
]

OBJECTIVE = """
import os, time
from pathlib import Path
from own_constants import WEIGHT
from unweave.objectives import BetaVAE, Objective

HERE = Path(__file__).parent

class Own(Objective):
    # A beta-VAE. Of the jobs that come to the middle, the one that finds the gate takes it away and waits there.

    def __init__(self, *, beta: float = 1.0) -> None:
        super().__init__()
        self.beta = beta

    def forward(self, vae, images, progress):
        if progress.step == 20 and "SLURM_ARRAY_TASK_ID" in os.environ:
            taken = HERE / f"waits-{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ['SLURM_ARRAY_TASK_ID']}"
            try:
                (HERE / "gate").rename(taken)
            except FileNotFoundError:
                pass
            while taken.exists():
                time.sleep(0.05)
        return BetaVAE(beta=WEIGHT * self.beta)(vae, images, progress)
"""

STUDY = """
base:
  data: {folder}/own.npz
  latents: 2
  batch_size: 4
  steps: 40
  learning_rate: 1e-3
  objective: {folder}/own.py:Own
  encoder: {{channels: [4, 4], hidden: [8]}}
  decoder: {{channels: [4, 4], hidden: [8]}}
grid:
  objective.beta: [1, 4]
seeds: 6
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "cluster"
    subprocess.run([SCRIPT, "start", folder], check=True)
    monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
    try:
        yield folder
    finally:
        subprocess.run([SCRIPT, "stop", folder], check=True)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve tiny runs; their objective imports from a folder that only this process imports from."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "own_constants.py").write_text("WEIGHT = 2.0\n")
    monkeypatch.syspath_prepend(str(tmp_path / "library"))
    (tmp_path / "own.py").write_text(OBJECTIVE)
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "own.npz", images=rng.random((60, 32, 32)), factors=rng.integers(0, 3, (60, 2)))
    (tmp_path / "tiny.yaml").write_text(STUDY.format(folder=tmp_path))
    return tmp_path / "tiny.yaml"


def slurm(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


class Trouble:
    """What befalls the cluster while a sweep waits: one blow after the other, each at a run that is under way."""

    def __init__(self, sweep: Sweep, cluster: Path, gate: Path) -> None:
        self.sweep = sweep
        self.cluster = cluster
        self.gate = gate
        self.blows = [self.cancel, self.near_the_time_limit, self.drain_and_lose_the_node]
        self.struck: list[tuple[str, str]] = []
        self.seen: Counter[str] = Counter()
        gate.touch()

    def __call__(self) -> bool:
        self.seen |= Counter(str(entry["status"]) for entry in RunIndex(self.sweep.folder).find())
        for waiting in self.gate.parent.glob("waits-*"):
            number = waiting.name.partition("-")[2]
            blow = self.blows.pop(0)
            self.struck.append((blow.__name__, self.run_of(number)))
            blow(number)
            waiting.unlink()
            if self.blows:
                self.gate.touch()
        return False

    def run_of(self, number: str) -> str:
        (name,) = (
            submission.runs[int(number.partition("_")[2])]
            for submission in submissions(self.sweep.folder)
            if (submission.folder / f"{number}_submitted.pkl").exists()
        )
        return name

    def cancel(self, number: str) -> None:
        slurm("scancel", number)

    def near_the_time_limit(self, number: str) -> None:
        """The signal that SLURM sends before the time limit. It arrives, but this scancel would ask again and again."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(["scancel", "--signal=USR2", number], check=True, timeout=2)

    def drain_and_lose_the_node(self, number: str) -> None:
        node = slurm("sinfo", "-h", "-o", "%n")
        slurm("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")
        slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
        subprocess.run([SCRIPT, "restart", self.cluster], check=True)
        with contextlib.suppress(subprocess.CalledProcessError):  # it may have come back by itself
            slurm("scontrol", "update", f"nodename={node}", "state=resume")


def logs(sweep: Sweep) -> dict[str, str]:
    return {m.run.folder.name: (m.run.folder / "log.txt").read_text() for m in sweep.members}


def assert_equal(one: Sweep, two: Sweep) -> None:
    assert [m.run.config.identity for m in one.members] == [m.run.config.identity for m in two.members]
    for ours, theirs in zip(one.members, two.members, strict=True):
        a, b = (load_file(member.run.folder / "model.safetensors") for member in (ours, theirs))
        assert a.keys() == b.keys()
        assert all(torch.equal(a[name], b[name]) for name in a)
        assert ours.run.scores == theirs.run.scores


def test_twelve_runs_survive_ctrl_c_scancel_a_time_limit_and_a_lost_node(
    cluster: Path, study: Path, tmp_path: Path
) -> None:
    out = tmp_path / "slurm"
    flags = [
        "--slurm-partition",
        "cpu",
        "--slurm-time",
        "30min",
        "--slurm-memory",
        "500M",
        "--slurm-parallel",
        "2",
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(tmp_path / "library")]),
    }
    command = [sys.executable, "-m", "unweave", "sweep", str(study), "--out", str(out), "--executor", "slurm"]
    with subprocess.Popen(
        [*command, *flags, "--no-report"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as watching:
        assert watching.stdout is not None
        said = ""
        while "submitted to SLURM: 12 jobs" not in said:
            line = watching.stdout.readline()
            assert line, said
            said += " ".join(line.split()) + "\n"
        watching.send_signal(signal.SIGINT)
        said += watching.stdout.read()
        assert watching.wait() == 130
    (first,) = submissions(out)
    assert f"cancel: scancel --name={first.name}" in said
    assert len(slurm("squeue", "-h", "-r", f"--name={first.name}").splitlines()) == 12, "the jobs go on"

    sweep = Sweep.create(load(str(study)), out)
    trouble = Trouble(sweep, cluster, tmp_path / "gate")
    told: list[Event] = []
    executor = OnSlurm(partition="cpu", time="30min", memory="500M", parallel=2, interval=0.2, patience=3.0)
    sweep.execute(executor, told.append, trouble)

    assert [blow for blow, _ in trouble.struck] == [
        "cancel",
        "near_the_time_limit",
        "drain_and_lose_the_node",
    ]
    assert {"queued", "running", "finished"} <= set(trouble.seen), "as `unweave runs list` shows them"
    assert sweep.statuses == {"finished": 12}
    written = logs(sweep)
    assert {name: text.count(" finished: ") for name, text in written.items()} == dict.fromkeys(written, 1)
    for blow, name in trouble.struck:
        assert written[name].count(" begins ") >= 2, f"{blow} did not cut {name} off"
    assert Counter(e.folder for e in told if e.kind == "ended") == Counter(
        m.run.folder for m in sweep.members
    )
    assert [e.folder.name for e in told if e.kind == "lost" and e.folder] == [trouble.struck[0][1]], (
        "only the cancelled job was submitted again; the others came back with their number"
    )
    while slurm("squeue", "-h"):  # the last jobs have told how their runs ended, and end themselves
        pass

    local = Sweep.create(load(str(study)), tmp_path / "local")
    local.execute(Local(workers=2))
    assert_equal(sweep, local)
    ray = Sweep.create(load(str(study)), tmp_path / "ray")
    ray.execute(OnRay(workers=2))
    assert_equal(ray, local)


def test_a_run_that_fails_by_itself_is_told_once_and_not_submitted_again(
    cluster: Path, study: Path, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(
        OBJECTIVE.replace("return ", "raise ValueError('no loss today')\n        return ")
    )
    made = Sweep.create(load(str(study)).with_seeds(1), tmp_path / "out")
    told: list[Event] = []
    made.execute(OnSlurm(partition="cpu", memory="500M", interval=0.2, patience=3.0), told.append)
    assert [event.how for event in told if event.kind == "ended"] == ["failed", "failed"]
    assert not [event for event in told if event.kind == "lost"]
    for member in made.members:
        assert "own.py, line 25 failed: ValueError: no loss today" in (member.run.reason or "")
        assert (member.run.folder / "log.txt").read_text().count(" begins ") == 1
    assert not list((tmp_path / "out" / PLACE).glob("*/ended/*.json")), (
        "the same command would try them again"
    )
