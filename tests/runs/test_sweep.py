import dataclasses
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from unweave import artefacts
from unweave.runs import Run, RunIndex, Study
from unweave.runs.executors import Event, Local, OnRay, ray_cluster
from unweave.runs.locks import WORKING, lock
from unweave.runs.study import load
from unweave.runs.sweep import Sweep, describe, duration, estimate
from unweave.runs.worker import serve, work

OWN_LOSS = """
import os, signal
from own_constants import FATAL_STEP
from unweave.objectives import BetaVAE, Objective

class Killable(Objective):
    # A beta-VAE. For each file in the folder KILLS, one process that reaches the fatal step kills itself.

    def __init__(self, *, beta: float = 1.0) -> None:
        super().__init__()
        self.beta = beta

    def forward(self, vae, images, progress):
        if "KILLS" in os.environ and progress.step == FATAL_STEP:
            for name in os.listdir(os.environ["KILLS"]):
                try:
                    os.unlink(os.path.join(os.environ["KILLS"], name))
                except FileNotFoundError:
                    continue  # another process has taken it
                os.kill(os.getpid(), signal.SIGKILL)
        return BetaVAE(beta=self.beta)(vae, images, progress)
"""


@pytest.fixture(autouse=True, scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that only this process imports from: workers must be given it to import the objective."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "own_constants.py").write_text("FATAL_STEP = 17\n")
    sys.path.append(str(folder))
    yield folder
    sys.path.remove(str(folder))


def study_file(folder: Path, *, steps: int = 40, seeds: int = 2) -> Path:
    """A study of four kinds of tiny runs on sixty tiny images, with an objective from outside the package."""
    (folder / "own_loss.py").write_text(OWN_LOSS)
    rng = np.random.default_rng(0)
    np.savez(folder / "own.npz", images=rng.random((60, 32, 32)), factors=rng.integers(0, 3, (60, 2)))
    file = folder / "tiny.yaml"
    file.write_text(
        f"""
base:
  data: {folder / "own.npz"}
  latents: 2
  batch_size: 4
  steps: {steps}
  learning_rate: 1e-3
  objective: {folder / "own_loss.py"}:Killable
  encoder: {{channels: [4, 4], hidden: [8]}}
  decoder: {{channels: [4, 4], hidden: [8]}}
grid:
  objective.beta: [1, 4]
seeds: {seeds}
"""
    )
    return file


def assert_same_results(one: Sweep, two: Sweep) -> None:
    assert [m.run.config for m in one.members] == [m.run.config for m in two.members]
    for ours, theirs in zip(one.members, two.members, strict=True):
        assert ours.run.scores == theirs.run.scores
        assert "elbo" in ours.run.scores
        a, b = (load_file(member.run.folder / "model.safetensors") for member in (ours, theirs))
        assert all(torch.equal(a[name], b[name]) for name in a)


def finishes(sweep: Sweep) -> Counter[str]:
    """How often each run says that it finished."""
    logs = {m.run.folder.name: (m.run.folder / "log.txt").read_text() for m in sweep.members}
    return Counter({name: text.count(" finished: ") for name, text in logs.items()})


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Sweep]:
    folder = tmp_path_factory.mktemp("study")
    file = study_file(folder)
    sweep = Sweep.create(load(str(file)), folder / "undisturbed")
    told: list[Event] = []
    sweep.execute(Local(workers=2), told.append)
    assert Counter(event.kind for event in told if event.kind != "beat") == {"started": 4, "ended": 4}
    assert sweep.statuses == {"finished": 4}
    return file, sweep


def test_a_sweep_does_its_runs_once_and_never_again(undisturbed: tuple[Path, Sweep]) -> None:
    _, sweep = undisturbed
    assert set(finishes(sweep).values()) == {1}
    sweep.execute(Local(workers=2), lambda _: pytest.fail("nothing is left to do"))
    assert describe(sweep) == "4 runs (2 variants x 2 seeds): 4 finished"
    assert estimate(sweep, 2).seconds == 0


def test_time_is_steps_and_scoring_of_each_run_shared_among_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def pace(kind: str) -> tuple[float, float]:
        asked.append(json.loads(kind)["objective"]["beta"])
        return (0.5, 7.0) if asked[-1] == 1 else (0.25, 3.0)

    monkeypatch.setattr("unweave.runs.sweep._pace", pace)
    sweep = Sweep.create(load(str(study_file(tmp_path, steps=40, seeds=3))), tmp_path / "out")
    assert estimate(sweep, 1).seconds == pytest.approx(3 * (40 * 0.5 + 7.0) + 3 * (40 * 0.25 + 3.0))
    assert estimate(sweep, 4).seconds == pytest.approx((81.0 + 39.0) / 4)
    assert asked == [1, 4] * 2, "each kind of run is timed once, whatever its seeds"


def test_kinds_of_runs_that_are_timed_lie_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = {"objective.beta": [1, 2, 3, 4], "latents": [2, 3]}
    monkeypatch.setattr("unweave.runs.sweep._pace", lambda kind: (float(json.loads(kind)["latents"]), 0.0))
    study = Study.of(
        {"base": {"data": "circles", "steps": 10}, "grid": dict(reversed(slow.items()))}, name="s"
    )
    assert [run.config.latents for run in study.runs] == [2, 2, 2, 2, 3, 3, 3, 3]
    sweep = Sweep.create(study, tmp_path / "out")
    assert estimate(sweep, 1, most=2).seconds == pytest.approx(10 * (2 + 3) + 6 * 10 * 2.5)


def test_a_run_alone_gives_the_scores_of_the_sweep(undisturbed: tuple[Path, Sweep], tmp_path: Path) -> None:
    _, sweep = undisturbed
    member = sweep.members[-1]
    alone = Run.create(member.run.config, tmp_path / "alone")
    assert work(alone.folder) == "finished"
    assert alone.scores == member.run.scores


def test_seeds_and_metrics_that_are_added_later_repeat_nothing(
    undisturbed: tuple[Path, Sweep], tmp_path: Path
) -> None:
    file, whole = undisturbed
    study = load(str(file))
    shutil.copytree(whole.folder, tmp_path / "out")
    for member in whole.members:
        if member.run.config.seed == 1:
            shutil.rmtree(tmp_path / "out" / member.run.folder.name)
    assert not Sweep.create(study.with_seeds(1), tmp_path / "out").todo
    asked = dataclasses.replace(study, metrics=("modularity",))
    more = Sweep.create(asked, tmp_path / "out")
    assert [m.run.config.seed for m in more.todo] == [0, 0, 1, 1], "all lack the metric"
    assert "finished runs" in estimate(Sweep.create(study, tmp_path / "out"), 2).source
    more = Sweep.create(asked, tmp_path / "out")
    weights = {
        m.run.folder: (m.run.folder / "model.safetensors").stat().st_mtime_ns for m in more.members[::2]
    }
    more.execute(Local(workers=1))
    assert not more.todo
    for old, new in zip(whole.members, more.members, strict=True):
        assert {**old.run.scores, "modularity": new.run.scores["modularity"]} == new.run.scores
    assert all((f / "model.safetensors").stat().st_mtime_ns == t for f, t in weights.items()), (
        "not trained again"
    )


KILLED = """
import os, signal, sys, threading
from pathlib import Path
from unweave import cli

# Kills the whole sweep with SIGKILL once the runs in argv[2] have logged argv[3] steps in all.
def logged():
    return sum(path.read_bytes().count(b"\\n") for path in Path(sys.argv[2]).glob("*/history.jsonl"))

def watch():
    while logged() < int(sys.argv[3]):
        pass
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=watch, daemon=True).start()
cli.main(["sweep", sys.argv[1], "--out", sys.argv[2], "--workers", "2", "--no-report", "--quiet"])
"""


@pytest.mark.slow
def test_kill_9_of_the_sweep_at_random_moments_changes_nothing(
    undisturbed: tuple[Path, Sweep], tmp_path: Path, library: Path
) -> None:
    file, whole = undisturbed
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(library)]),
    }
    chance = random.Random(7)
    for moment in sorted(chance.randint(1, 150) for _ in range(3)):  # of 160 steps in all
        # The workers hold the pipe as well, so this waits until they have saved their runs and ended.
        ended = subprocess.run(
            [sys.executable, "-c", KILLED, str(file), str(tmp_path / "out"), str(moment)],
            env=environment,
            check=False,
            stderr=subprocess.PIPE,
        )
        assert ended.returncode == -9
        assert ended.stderr == b"", "no traceback of a broken pipe"
    assert not [log for log in (tmp_path / "out").glob("*/log.txt") if "Traceback" in log.read_text()]
    command = [sys.executable, "-m", "unweave", "sweep", str(file), "--out", str(tmp_path / "out"), "--quiet"]
    assert subprocess.run([*command, "--no-report"], env=environment, check=False).returncode == 0
    killed = Sweep(tmp_path / "out")
    assert killed.statuses == {"finished": 4}
    assert set(finishes(killed).values()) == {1}
    assert_same_results(killed, whole)


def test_a_worker_whose_sweep_was_killed_ends_without_a_word(
    undisturbed: tuple[Path, Sweep], capfd: pytest.CaptureFixture[str]
) -> None:
    """Nobody reads its answers any more: the run is done and saved, and there is no traceback of a broken pipe."""
    folder = undisturbed[1].members[0].run.folder
    reading, writing = os.pipe()
    os.close(reading)
    request = json.dumps([str(folder), []]) + "\n"
    with os.fdopen(writing, "w") as answers:
        serve(io.StringIO(request * 2), answers, 30.0)
    assert capfd.readouterr() == ("", "")


class FakeRay:
    """A cluster of two nodes, one of which is lost when it is asked for the second time."""

    def __init__(self) -> None:
        self.asked = 0

    def is_initialized(self) -> bool:
        return True

    def nodes(self) -> list[dict[str, object]]:
        self.asked += 1
        names = ["first", "second"]
        return [
            {"NodeID": name, "NodeManagerHostname": name, "Alive": name == "first" or self.asked < 2}
            for name in names
        ]

    def remote(self, function: object) -> "FakeRay":
        return self

    def options(self, **_: object) -> SimpleNamespace:
        return SimpleNamespace(remote=lambda folder, options: folder)

    def wait(self, references: list[str], **_: object) -> tuple[list[str], list[str]]:
        return ([], references) if self.asked < 4 else (references[:1], references[1:])

    def get(self, reference: str) -> str:
        return "finished"


def test_one_lost_node_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ray_cluster, "_ray", FakeRay)
    told: list[Event] = []
    OnRay().execute([tmp_path / "a", tmp_path / "b"], told.append)
    assert [record.getMessage() for record in caplog.records] == [
        "the node second of the Ray cluster was lost; its runs are given to others"
    ]
    assert [event.how for event in told if event.kind == "ended"] == ["finished", "finished"]


def worker_of(folder: Path) -> int | None:
    """The process that has begun the run last, by its log."""
    begun = [line.split()[2] for line in _log(folder).splitlines() if " begins " in line]
    return int(begun[-1]) if begun else None


def _log(folder: Path) -> str:
    path = folder / "log.txt"
    return path.read_text() if path.exists() else ""


def test_kill_9_of_workers_changes_nothing(
    undisturbed: tuple[Path, Sweep], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, whole = undisturbed
    sweep = Sweep.create(load(str(file)), tmp_path / "out")
    kills = tmp_path / "kills"
    kills.mkdir()
    for number in range(2):
        (kills / str(number)).touch()
    monkeypatch.setenv("KILLS", str(kills))
    told: list[Event] = []
    sweep.execute(Local(workers=2), told.append)
    assert not list(kills.iterdir()), "two workers were killed"
    lost = Counter(e.folder for e in told if e.kind == "lost" and e.folder)
    assert lost.total() == 2
    for member in sweep.members:
        assert _log(member.run.folder).count(" begins ") == 1 + lost[member.run.folder]
    assert Counter(e.folder for e in told if e.kind == "ended") == Counter(
        m.run.folder for m in sweep.members
    )
    assert set(finishes(sweep).values()) == {1}
    assert_same_results(sweep, whole)


def test_a_run_that_always_costs_its_process_is_given_up(tmp_path: Path) -> None:
    sweep = Sweep.create(load(str(study_file(tmp_path, steps=100_000, seeds=1))), tmp_path / "out")
    bad, other = (member.run.folder for member in sweep.members)

    def stop() -> bool:
        for folder in (bad, other):
            process = worker_of(folder)
            if process is not None and _log(folder).count(" begins ") > seen.get(folder, 0):
                seen[folder] = _log(folder).count(" begins ")
                os.kill(process, signal.SIGKILL)
        return False

    seen: dict[Path, int] = {}
    sweep.execute(Local(workers=2, attempts=2), stop=stop)
    assert seen == {bad: 2, other: 2}
    assert sweep.statuses == {"failed": 2}
    assert Run(bad).reason == "its process died 2 times, at last with signal 9"


def test_failed_and_diverged_runs_are_told_apart_and_the_others_finish(tmp_path: Path) -> None:
    file = study_file(tmp_path, steps=4, seeds=1)
    study = load(str(file))
    broken, fine = study.runs
    mapping = fine.config.to_mapping()
    variants = {
        "fine": mapping,
        "wild": {**mapping, "learning_rate": 1e30},
        "broken": broken.config.to_mapping(),
    }
    sweep = Sweep.create(Study.from_configs(variants, name="three"), tmp_path / "out")
    damaged = sweep.members[2].run.folder
    artefacts.write(damaged / "config.yaml", "data: nonsense\n")
    made = json.loads((damaged / "run.json").read_text())
    artefacts.write_json(damaged / "run.json", {**made, "config": {}})  # no copy to take the config from
    sweep.execute(Local(workers=1))
    statuses = [json.loads((m.run.folder / "status.json").read_text())["status"] for m in sweep.members]
    assert statuses == ["finished", "diverged", "failed"]
    assert "unknown data 'nonsense'" in _log(sweep.members[2].run.folder)
    assert "Traceback" in _log(sweep.members[2].run.folder)
    assert [member.done for member in sweep.members] == [True, True, False]


def test_a_stop_saves_what_is_under_way(tmp_path: Path) -> None:
    sweep = Sweep.create(load(str(study_file(tmp_path, steps=100_000, seeds=1))), tmp_path / "out")

    def stop() -> bool:
        return all(member.run.history for member in sweep.members)

    sweep.execute(Local(workers=2), stop=stop)
    assert sweep.statuses == {"interrupted": 2}
    for member in sweep.members:
        assert member.run.reason == "stopped by the user"
        assert member.run.model_and_step()[1] > 0


def test_a_run_in_other_hands_is_busy(tmp_path: Path) -> None:
    sweep = Sweep.create(load(str(study_file(tmp_path, seeds=1))), tmp_path / "out")
    with lock(sweep.members[0].run.folder / WORKING) as ours:
        assert ours
        assert work(sweep.members[0].run.folder) == "busy"


def test_ray_on_this_machine_gives_the_scores_of_local(
    undisturbed: tuple[Path, Sweep], tmp_path: Path
) -> None:
    file, whole = undisturbed
    sweep = Sweep.create(load(str(file)), tmp_path / "out")
    told: list[Event] = []
    sweep.execute(OnRay(workers=1), told.append)
    assert Counter(e.folder for e in told if e.kind == "ended") == Counter(
        m.run.folder for m in sweep.members
    )
    assert set(finishes(sweep).values()) == {1}
    assert_same_results(sweep, whole)


@pytest.mark.slow
@pytest.mark.timeout(900)  # two sweeps, and Ray waits half a minute before a silent node counts as dead
def test_a_node_of_a_ray_cluster_dies_and_nothing_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import ray
    from ray.cluster_utils import Cluster

    study = load(str(study_file(tmp_path, steps=500, seeds=3)))
    local = Sweep.create(study, tmp_path / "local")
    local.execute(Local(workers=2))
    store = 100 * 2**20
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "object_store_memory": store, "include_dashboard": False},
    )
    second = cluster.add_node(num_cpus=1, object_store_memory=store)
    try:
        cluster.wait_for_nodes()
        sweep = Sweep.create(study, tmp_path / "ray")
        told: list[Event] = []
        killed: list[Counter[str]] = []

        def stop() -> bool:  # asked all the time: once both nodes are at work, one is killed
            under_way = [m for m in sweep.members if m.run.history and not m.done]
            if not killed and len(under_way) == 2:
                killed.append(sweep.statuses)
                cluster.remove_node(second, allow_graceful=False)
            return False

        sweep.execute(OnRay(address=cluster.address, checkpoint_seconds=0.5), told.append, stop)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert killed, "the node was killed in the middle"
    warnings = [record.getMessage() for record in caplog.records if record.name == "unweave"]
    assert len(warnings) == 1, "one lost node is told in one line"
    assert "of the Ray cluster was lost; its runs are given to others" in warnings[0]
    assert killed[0]["running"] == 2
    assert Counter(e.folder for e in told if e.kind == "ended") == Counter(
        m.run.folder for m in sweep.members
    )
    assert sweep.statuses == {"finished": 6}
    assert set(finishes(sweep).values()) == {1}
    assert sum(_log(m.run.folder).count(" begins ") for m in sweep.members) == 7, "one run was begun twice"
    found = RunIndex(tmp_path / "ray").find(["status=finished"])
    assert len({entry["identity"] for entry in found}) == len(found) == 6
    assert_same_results(sweep, local)


def test_times_in_words() -> None:
    assert [duration(s) for s in (5, 300, 7200, 10 * 86400)] == ["5 s", "5 min", "2.0 h", "10.0 days"]
