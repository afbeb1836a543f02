"""The executor for SLURM with a queue that a test plays; tests/slurm has a real one."""

import json
import os
import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from unweave import cli
from unweave.errors import UnweaveError
from unweave.runs import Config, Run, RunIndex
from unweave.runs.executors import Event, OnSlurm, make
from unweave.runs.executors.slurm_job import PLACE, RunJob, Submission, submissions
from unweave.runs.executors.slurm_queue import Job, Queue, Request, read_minutes, read_options, states_of_runs
from unweave.runs.status import write_status

WORDS = [
    "data=circles",
    "data.size=32",
    "encoder=MLP",
    "encoder.hidden=[6]",
    "decoder=MLP",
    "decoder.hidden=[6]",
]
WORDS += ["latents=2", "batch_size=4", "steps=3"]


class Played(Queue):
    """A queue in which a job does, once it is asked for, what the test says about its run: the next of its fates.

    ``wait``: it is pending. ``run``: it is running. ``work``: it executes its run and ends. ``vanish``: it is gone.
    ``deaf``: SLURM does not answer.
    """

    def __init__(self, fates: Mapping[str, list[str]]) -> None:
        self.fates = {name: list(fate) for name, fate in fates.items()}
        self.taken: list[Submission] = []
        self.gone: set[tuple[str, int]] = set()
        self.completed: list[str] = []

    def submit(self, submission: Submission, request: Request, arrays: int = 1) -> None:
        self.taken.append(submission)

    def complete(self, submission: Submission, jobs: Mapping[int, Job]) -> None:
        self.completed += [submission.runs[index] for index in jobs]

    def jobs(self, names: Iterable[str]) -> dict[str, dict[int, Job]] | None:
        wanted = list(names)
        found: dict[str, dict[int, Job]] = {}
        for submission in self.taken:
            for index, run in enumerate(submission.runs):
                if submission.name not in wanted or (submission.name, index) in self.gone:
                    continue
                fate = self.fates[run].pop(0)
                if fate == "deaf":
                    return None
                if fate in ("wait", "run"):
                    state = "PENDING" if fate == "wait" else "RUNNING"
                    found.setdefault(submission.name, {})[index] = Job(f"7_{index}", state, "Priority")
                    continue
                self.gone.add((submission.name, index))
                if fate == "work":
                    submission.job(index)()
        return found

    def why(self, number: str) -> str:
        return "OUT_OF_MEMORY"


def runs(place: Path, count: int = 2) -> list[Path]:
    configs = [Config.read(words=[*WORDS, f"seed={seed}"]) for seed in range(count)]
    return [Run.create(config, place / f"r{number}").folder for number, config in enumerate(configs)]


def on(queue: Queue) -> OnSlurm:
    return OnSlurm(queue=queue, interval=0.0, patience=0.0)


def told_by(executor: OnSlurm, folders: list[Path], turns: int = 50) -> list[tuple[str, str, str | None]]:
    told: list[Event] = []
    left = iter(range(turns))
    executor.execute(folders, told.append, lambda: next(left, None) is None)
    return [(event.kind, event.folder.name, event.how) for event in told if event.folder]


def test_runs_are_one_array_and_a_lost_job_is_submitted_again(tmp_path: Path) -> None:
    folders = runs(tmp_path)
    queue = Played({"r0": ["run", "work"], "r1": ["wait", "deaf", "vanish", "work"]})
    told = told_by(on(queue), folders)
    assert [submission.runs for submission in queue.taken] == [("r0", "r1"), ("r1",)]
    assert ("lost", "r1", None) in told
    assert [each for each in told if each[0] == "ended"] == [
        ("ended", "r0", "finished"),
        ("ended", "r1", "finished"),
    ]
    assert not submissions(tmp_path), "nothing is left of them"


def test_a_job_that_is_always_lost_is_given_up_with_the_words_of_slurm(tmp_path: Path) -> None:
    (folder,) = runs(tmp_path, 1)
    queue = Played({"r0": ["run", "vanish", "vanish", "vanish"]})
    assert told_by(on(queue), [folder])[-1] == ("ended", "r0", "failed")
    assert len(queue.taken) == 3
    reason = Run(folder).reason or ""
    assert "left SLURM's queue 3 times" in reason
    assert "job 7_0: OUT_OF_MEMORY" in reason


def test_a_stop_leaves_the_jobs_and_the_same_call_submits_nothing_twice(tmp_path: Path) -> None:
    folders = runs(tmp_path)
    queue = Played({"r0": ["wait", "wait", "run", "work"], "r1": ["wait", "wait", "run", "work"]})
    first = on(queue)
    assert told_by(first, folders, turns=1) == []
    (submission,) = queue.taken
    assert f"scancel --name={submission.name}" in first.advice()
    again = on(queue)
    assert "resume" in again.advice(), "as with other executors: it has submitted nothing"
    told = told_by(again, folders)
    assert queue.taken == [submission]
    assert queue.completed == ["r0", "r1"], "files that the submitting process did not write before it died"
    assert sorted(told[-2:]) == [("ended", "r0", "finished"), ("ended", "r1", "finished")]


def test_a_submission_that_slurm_never_saw_is_made_again(tmp_path: Path) -> None:
    """The process died after it had written down what it would submit."""
    (folder,) = runs(tmp_path, 1)
    Submission.create(tmp_path, ["r0"])
    queue = Played({"r0": ["work"]})
    assert told_by(on(queue), [folder]) == [("ended", "r0", "finished")]
    assert len(queue.taken) == 1


def test_a_run_that_fails_is_told_once_with_its_own_sentence(tmp_path: Path) -> None:
    folders = runs(tmp_path)
    (folders[0] / "config.yaml").write_text("data: nonsense\n")
    made = json.loads((folders[0] / "run.json").read_text())
    (folders[0] / "run.json").write_text(json.dumps({**made, "config": {}}))
    (folders[0] / "manifest.jsonl").unlink()
    queue = Played({"r0": ["work", "work"], "r1": ["wait", "wait", "wait", "work"]})
    told = told_by(on(queue), folders, turns=2)
    assert told == [("ended", "r0", "failed")]
    assert "unknown data 'nonsense'" in json.loads((folders[0] / "status.json").read_text())["reason"]
    told_by(on(queue), folders)
    assert [submission.runs for submission in queue.taken] == [("r0", "r1"), ("r0",)], (
        "a new command tries it again"
    )


def test_a_failure_while_nobody_watched_is_told_before_it_is_tried_again(tmp_path: Path) -> None:
    (folder,) = runs(tmp_path, 1)
    Submission.create(tmp_path, ["r0"]).record_end(0, "failed")
    queue = Played({})
    assert told_by(on(queue), [folder]) == [("ended", "r0", "failed")]
    assert not queue.taken


def test_without_an_answer_of_slurm_nothing_is_submitted(tmp_path: Path) -> None:
    (folder,) = runs(tmp_path, 1)
    queue = Played({"r0": ["deaf"]})
    queue.taken.append(Submission.create(tmp_path, ["r0"]))
    with pytest.raises(UnweaveError, match="SLURM does not answer"):
        on(queue).execute([folder])
    assert len(queue.taken) == 1


def test_the_time_limit_saves_a_run_and_asks_for_the_job_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    previous = signal.signal(
        signal.SIGUSR2, lambda number, frame: asked.append(number)
    )  # as submitit's handler
    monkeypatch.chdir(tmp_path)
    paths = list(sys.path)
    try:
        (folder,) = runs(tmp_path, 1)
        submission = Submission.create(tmp_path, ["r0"], time_limit="1 min")

        def cut_off(folder: Path, *, stop: object, **_: object) -> str:
            os.kill(os.getpid(), signal.SIGUSR2)
            assert callable(stop)
            assert stop()
            write_status(folder, "interrupted", step, "stopped by the user", 1.0)
            return "interrupted"

        monkeypatch.setattr("unweave.runs.executors.slurm_job.work", cut_off)
        step = 7
        assert RunJob(str(submission.folder), 0)() == "interrupted"
        assert asked == [signal.SIGUSR2], "the handler that was there puts the job into the queue again"
        assert submission.ended(0) is None
        assert RunJob(str(submission.folder), 0)() == "failed", "no step further: it would go round for ever"
        assert asked == [signal.SIGUSR2]
        assert "--slurm-time" in (Run(folder).reason or "")
        assert submission.ended(0) == "failed"
    finally:
        signal.signal(signal.SIGUSR2, previous)
        sys.path[:] = paths


def test_the_list_of_runs_says_what_is_queued_and_what_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = runs(tmp_path, 3)
    submission = Submission.create(tmp_path, [folder.name for folder in folders])
    line = "{}|{}|" + submission.name + "|{}"
    answer = [line.format("9_0", "RUNNING", "None"), line.format("9_1", "PENDING", "(Priority)")]
    (tmp_path / "bin").mkdir()
    squeue = tmp_path / "bin" / "squeue"
    squeue.write_text("#!/bin/sh\necho '" + "\n".join(answer) + "'\n")
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{squeue.parent}{os.pathsep}{os.environ['PATH']}")
    assert states_of_runs([tmp_path]) == {folders[0].resolve(): "running", folders[1].resolve(): "queued"}
    index = RunIndex(tmp_path)
    assert [entry["status"] for entry in index.find()] == ["running", "queued", "new"]
    assert [entry.folder.name for entry in index.find(["status=queued"])] == ["r1"]
    assert [entry.folder.name for entry in index.find(["status!=queued", "seed>0"])] == ["r2"]
    squeue.write_text("#!/bin/sh\nexit 1\n")
    assert [entry["status"] for entry in index.find()] == ["new", "new", "new"]


def test_what_a_job_asks_for() -> None:
    request = Request("cpu", 240, 2, 1, "4G", "physics", 50, read_options(["qos=long", "exclusive"]))
    given = request.parameters("unweave-betas", arrays=2)
    assert given["time"] == 240
    assert (given["cpus_per_task"], given["gpus_per_node"], given["mem"]) == (2, 1, "4G")
    assert given["array_parallelism"] == 25
    assert given["additional_parameters"] == {"requeue": True, "qos": "long", "exclusive": True}
    assert "export OMP_NUM_THREADS=2" in given["setup"]
    assert Request(minutes=1).signal_seconds == 15
    assert read_minutes("61s") == 2


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--slurm-partition", "cpu"], "--slurm-partition needs --executor slurm, got local"),
        (["--executor", "slurm", "--slurm-time", "soon"], "--slurm-time must be like 4h"),
        (["--executor", "slurm", "--slurm-memory", "much"], "--slurm-memory must be like 4G"),
        (["--executor", "slurm", "--slurm-option", "array=1-3"], "--slurm-option array is not yours to give"),
        (["--executor", "slurm", "--slurm-option", "time=3"], "use --slurm-time"),
        (["--executor", "slurm", "--slurm-option", "=3"], "--slurm-option must be like qos=long"),
        (["--executor", "slurm", "--workers", "3"], "use --slurm-parallel"),
        (["--executor", "slurn"], "slurm"),
    ],
)
def test_a_mistake_in_a_flag_is_one_sentence(tmp_path: Path, flags: list[str], sentence: str) -> None:
    study = tmp_path / "study.yaml"
    study.write_text("base: {data: circles, steps: 1}\n")
    ended = CliRunner().invoke(cli.cli, ["sweep", str(study), "--out", str(tmp_path / "out"), *flags])
    assert isinstance(ended.exception, UnweaveError)
    assert sentence in str(ended.exception)
    assert not (tmp_path / "out").exists()


def test_a_machine_without_slurm_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (folder,) = runs(tmp_path / "runs", 1)
    with pytest.raises(UnweaveError, match="needs SLURM's commands"):
        make("slurm").execute([folder])
    assert not list((tmp_path / "runs" / PLACE).iterdir()), "it was not submitted"


@pytest.mark.parametrize("command", ["sweep", "tune", "reproduce"])
def test_a_machine_without_slurm_gets_no_folder(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = "search: {objective.beta: {low: 1, high: 2}}\n" if command == "tune" else ""
    study = tmp_path / "study.yaml"
    study.write_text("base: {data: circles, steps: 1}\n" + space)
    what = ["sbd-fig4", "--scale", "smoke"] if command == "reproduce" else [str(study)]
    monkeypatch.setenv("PATH", str(tmp_path))
    out = tmp_path / "out"
    ended = CliRunner().invoke(cli.cli, [command, *what, "--executor", "slurm", "--out", str(out)])
    assert isinstance(ended.exception, UnweaveError)
    assert "needs SLURM's commands" in str(ended.exception)
    assert not out.exists()
