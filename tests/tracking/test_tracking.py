"""Runs in trackers: the real packages write, and what they wrote is read by the software that it is made for."""

import importlib.util
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from unweave.cli import main
from unweave.errors import UnweaveError
from unweave.runs import Config, Run
from unweave.runs.evaluation import evaluate
from unweave.tracking import TRACKERS, Point, Subject, Tracker, track, tracking
from unweave.tracking.followed import Followed
from unweave.tracking.follower import Follower
from unweave.tracking.registry import check_tracker

sys.path.append(str(Path(__file__).parent))
from readers import READERS, Seen, needs

STEPS = 12
WORDS = [
    *("data=circles", "data.size=32", f"steps={STEPS}", "batch_size=4", "latents=2"),
    *("encoder=MLP", "decoder=MLP", "encoder.hidden=[8]", "decoder.hidden=[8]"),
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run.create(Config.read(words=WORDS), tmp_path_factory.mktemp("runs") / "run")
    assert run.train().status == "finished"
    evaluate(run, metrics=["mig"])
    return run


def grow(run: Run, folder: Path, records: int) -> None:
    """Make ``folder`` what that of a run was when so many records were written; the history is a new file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("run.json", "config.yaml", "data.json", "manifest.jsonl"):
        shutil.copy(run.folder / name, folder)
    lines = (run.folder / "history.jsonl").read_text().splitlines(keepends=True)
    new = folder / "history.new"
    new.write_text("".join(lines[:records]))
    new.replace(folder / "history.jsonl")


def assert_one_curve(seen: Seen, run: Run) -> None:
    """Every logged step once, with its value; every score once."""
    for key in ("total", "reconstruction", "kl"):
        points = sorted(seen.curves[f"train/{key}"])
        assert [step for step, _ in points] == [record["step"] for record in run.history]
        assert [value for _, value in points] == pytest.approx([r[key] for r in run.history], rel=1e-6)
    latent = sorted(seen.curves["train/kl_per_latent/1"])
    assert [value for _, value in latent] == pytest.approx(
        [r["kl_per_latent"][1] for r in run.history], rel=1e-6
    )


def assert_complete(seen: Seen, run: Run) -> None:
    assert_one_curve(seen, run)
    ((step, value),) = seen.curves["score/mig"]
    assert step == STEPS
    assert value == pytest.approx(run.scores["mig"]["value"], rel=1e-6)
    assert seen.pictures["pictures/traversals"][-1] == STEPS
    assert seen.pictures["pictures/reconstructions"][-1] == STEPS
    assert float(seen.config["batch_size"]) == 4
    assert seen.config["objective"] == "BetaVAE"
    assert seen.status == "finished"


@pytest.mark.parametrize("tracker", TRACKERS)
def test_a_finished_run_is_there_once_however_often_it_is_sent(
    tracker: str, finished: Run, tmp_path: Path
) -> None:
    needs(tracker)
    for _ in range(2):
        track(finished.folder, tracker, tmp_path / tracker)
    assert_complete(READERS[tracker](tmp_path / tracker, "run"), finished)


@pytest.mark.parametrize("tracker", ["tensorboard", "mlflow"])
def test_a_history_that_is_cut_and_grows_again_gives_one_curve(
    tracker: str, finished: Run, tmp_path: Path
) -> None:
    needs(tracker)
    folder, root = tmp_path / "run", tmp_path / tracker
    first = Followed(folder, root, TRACKERS[tracker].load())
    first.update()  # there is nothing yet
    for records in (3, 7):
        grow(finished, folder, records)
        first.update()
    first._held.close()  # killed: nothing is closed, and the last write is torn
    for file in root.glob("run/events*"):
        os.truncate(file, file.stat().st_size - 5)
    second = Followed(folder, root, TRACKERS[tracker].load())
    for records in (5, 6, 9, STEPS):  # gone on from the checkpoint of step 5
        grow(finished, folder, records)
        second.update()
    second.close()
    assert_one_curve(READERS[tracker](root, "run"), finished)


def test_two_processes_do_not_copy_a_run_twice(finished: Run, tmp_path: Path) -> None:
    kind = TRACKERS["tensorboard"].load()
    grow(finished, tmp_path / "run", 5)
    first, second = (Followed(tmp_path / "run", tmp_path / "board", kind) for _ in range(2))
    first.update()
    second.update()
    assert second.tracker is None
    first.close()
    second.close()
    assert second.tracker is not None
    steps = [step for step, _ in READERS["tensorboard"](tmp_path / "board", "run").curves["train/total"]]
    assert steps == [1, 2, 3, 4, 5]


class Failing(Tracker):
    """Fails in one of its four calls."""

    place = ""

    def _call(self, name: str) -> None:
        if self.place == name:
            raise OSError(28, "No space left on device")

    def _open(self) -> None:
        self._call("open")

    def _log(self, points: object) -> None:
        self._call("log")

    def _show(self, name: str, step: int, image: object) -> None:
        self._call("show")

    def close(self, status: str) -> None:
        self._call("close")


@pytest.mark.parametrize("place", ["open", "log", "show", "close"])
def test_whatever_fails_in_a_tracker_is_told_once(
    place: str, finished: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Failing, "place", place)
    told: list[str] = []
    follower = Follower(Failing, tmp_path, told.append)
    for folder in (finished.folder, tmp_path / "no-run"):
        follower.obey("begin", folder)
    for _ in range(3):
        follower.look()
    follower.close()
    assert told == ["OSError: [Errno 28] No space left on device"]


def test_tracking_changes_no_bit_of_a_run(
    finished: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(finished.folder / "config.yaml")
    main(["train", config, "--no-report", "--out", str(tmp_path / "a"), "--track", "tensorboard"])
    run = Run(tmp_path / "a")
    assert f"tensorboard --logdir {tmp_path / 'tensorboard'}" in capsys.readouterr().out.replace("\n", "")
    assert (run.folder / "model.safetensors").read_bytes() == (
        finished.folder / "model.safetensors"
    ).read_bytes()
    assert run.config.identity == finished.config.identity
    assert_one_curve(READERS["tensorboard"](tmp_path / "tensorboard", "a"), finished)


@pytest.mark.parametrize("how", ["no folder", "killed"])
def test_a_tracker_that_fails_stops_no_run(
    how: str, finished: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if how == "no folder":
        (tmp_path / "tensorboard").write_text("a file where the folder should be")
    run = Run.create(finished.config, tmp_path / "a")
    with caplog.at_level(logging.WARNING, "unweave"), tracking("tensorboard", tmp_path) as tracked:
        if how == "killed":
            assert tracked.process is not None
            tracked.process.kill()
        tracked.begin(run.folder)
        assert run.train().status == "finished"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "tracking with tensorboard stopped (" in caplog.text
    assert ("code -9" if how == "killed" else "FileExistsError") in caplog.text
    assert (run.folder / "model.safetensors").read_bytes() == (
        finished.folder / "model.safetensors"
    ).read_bytes()


def test_a_tracker_that_failed_is_not_said_to_have_tracked(
    finished: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tensorboard").write_text("a file where the folder should be")
    config = str(finished.folder / "config.yaml")
    main(["train", config, "--no-report", "--out", str(tmp_path / "a"), "--track", "tensorboard"])
    said = capsys.readouterr()
    assert "tracking with tensorboard stopped (" in said.err
    assert "tracked" not in said.out


@pytest.mark.parametrize("tracker", TRACKERS)
def test_a_missing_package_is_one_sentence_before_training(
    tracker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden, find = TRACKERS[tracker].package, importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == hidden else find(name))
    with pytest.raises(SystemExit) as caught:
        main(["train", *WORDS, "--out", str(tmp_path / "a"), "--track", tracker])
    assert caught.value.code == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert f"--track {tracker} needs the package {hidden}, which is not installed: pip install " in line
    assert not list(tmp_path.iterdir())


def test_a_misspelt_tracker_is_named() -> None:
    with pytest.raises(UnweaveError, match="unknown tracker 'tensorbord': did you mean tensorboard"):
        check_tracker("tensorbord")


def test_nothing_is_imported_unless_it_is_asked_for() -> None:
    code = "import sys, unweave.cli.train, unweave.tracking.live, unweave.tracking.follower; print(sorted(sys.modules))"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for package in ("tensorboardX", "tensorboard", "mlflow", "wandb", "torch"):
        assert f"'{package}'" not in names


def test_only_points_that_are_new_reach_a_tracker(tmp_path: Path) -> None:
    taken: list[Point] = []

    class Noting(Failing):
        def _log(self, points: object) -> None:
            taken.extend(points)  # type: ignore[call-overload]

    tracker = Noting(tmp_path, Subject("a", "runs", "0f", {}, "", 0.0))
    tracker.log([Point("x", 1, 1.0), Point("y", 1, 2.0)])
    tracker.log([Point("x", 1, 9.0), Point("x", 2, 3.0)])
    assert [(p.name, p.step, p.value) for p in taken] == [("x", 1, 1.0), ("y", 1, 2.0), ("x", 2, 3.0)]


# Trains the run in argv[1], tracked by argv[2], and kills itself after step argv[3], with the process that copies
# if argv[4] says so.
KILLED = """
import os, signal, sys
from pathlib import Path
from unweave.runs import Run
from unweave.tracking import tracking

folder, tracker, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

class Display:
    def show(self, step, record):
        if step == last:
            if sys.argv[4] == "both":
                tracked.process.kill()
            os.kill(os.getpid(), signal.SIGKILL)

with tracking(tracker, folder.parent) as tracked:
    tracked.begin(folder)
    Run(folder).train(display=Display(), checkpoint_seconds=0.0 if last % 2 else 1e9)
"""


@pytest.mark.slow
@pytest.mark.parametrize("victims", ["the command", "both"])
@pytest.mark.parametrize("tracker", TRACKERS)
def test_killed_and_resumed_runs_show_one_curve(
    tracker: str, victims: str, finished: Run, tmp_path: Path
) -> None:
    needs(tracker)
    run = Run.create(finished.config, tmp_path / "run")
    for last in (5, 8):  # with a checkpoint after every step, and with none since
        command = [sys.executable, "-c", KILLED, str(run.folder), tracker, str(last), victims]
        assert subprocess.run(command, check=False).returncode == -9
    with tracking(tracker, tmp_path) as tracked:
        tracked.begin(run.folder)
        assert run.train().status == "finished"
        evaluate(run, metrics=["mig"])
    track(
        run.folder, tracker, tmp_path / tracker
    )  # waits for nothing: has it all, unless a copier was still at it
    assert (run.folder / "model.safetensors").read_bytes() == (
        finished.folder / "model.safetensors"
    ).read_bytes()
    assert_complete(READERS[tracker](tmp_path / tracker, "run"), finished)


@pytest.mark.slow
@pytest.mark.parametrize("tracker", TRACKERS)
def test_a_sweep_and_a_search_are_tracked(
    tracker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs(tracker)
    monkeypatch.chdir(tmp_path)
    base = "{" + ", ".join(word.replace("=", ": ", 1) for word in WORDS) + "}"
    Path("s.yaml").write_text(f"base: {base}\nseeds: 2\n")
    Path("t.yaml").write_text(f"base: {base}\nsearch: {{objective.beta: {{low: 1, high: 4}}}}\nseeds: 1\n")
    for words in (
        ["sweep", "s.yaml", "--workers", "1"],
        ["tune", "t.yaml", "--trials", "2", "--workers", "1"],
    ):
        main([*words, "--no-report", "--quiet", "--track", tracker])
    for place, count in (("runs/s", 2), ("runs/t", 2)):
        runs = [Run(path.parent) for path in Path(place).glob("*/run.json")]
        assert len(runs) == count
        for run in runs:
            seen = READERS[tracker](Path(place).absolute() / tracker, run.folder.name)
            assert_one_curve(seen, run)
            assert len(seen.curves["score/elbo"]) == 1
