"""What the files of a run go through: kills between two writes, damage, readers without permission, wrong weights."""

import errno
import json
import logging
import os
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from unweave import artefacts, atomic, cli
from unweave.atomic import DamagedError, UnreadableError
from unweave.cli.execution import Execution, conclude
from unweave.errors import UnweaveError
from unweave.objectives import BetaVAE, Loss, Progress
from unweave.runs import Config, Run, RunIndex, opened, publishing, status
from unweave.runs.check import damage, repair
from unweave.runs.evaluation import evaluate
from unweave.runs.study import Study
from unweave.runs.sweep import Sweep
from unweave.training.signals import StopOnSignal
from unweave.vae import VAE

WORDS = [
    *("data=circles", "data.size=32", "latents=2", "batch_size=4", "steps=6", "learning_rate=1e-3"),
    *("encoder=MLP", "encoder.hidden=[8]", "decoder=MLP", "decoder.hidden=[8]"),
]


def config(*words: str) -> Config:
    return Config.read(words=[*WORDS, *words])


def interrupted(folder: Path, at: int = 4) -> Run:
    run = Run.create(config(), folder)
    steps = iter(range(100))
    assert run.train(checkpoint_seconds=0.0, stop=lambda: next(steps) == at - 1).status == "interrupted"
    return run


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    run = Run.create(config(), tmp_path_factory.mktemp("runs") / "whole")
    assert run.train().status == "finished"
    return (run.folder / status.WEIGHTS).read_bytes()


@pytest.fixture
def finished(tmp_path: Path) -> Run:
    run = Run.create(config(), tmp_path / "runs" / "run")
    assert run.train().status == "finished"
    return run


def flip(path: Path, at: int = -3) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    stamp = path.stat()
    path.write_bytes(bytes(content))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


# 1: publishing


def test_a_run_killed_between_its_first_two_files_is_a_new_one(tmp_path: Path, expected: bytes) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.yaml").write_text(config().to_yaml())
    (folder / ".new-xyz").write_text("half a run.json")
    run = Run.create(config(), folder)
    assert run.train().status == "finished"
    assert (folder / status.WEIGHTS).read_bytes() == expected
    assert not (folder / ".new-xyz").exists(), "what a killed process left is removed"


def test_a_config_of_the_user_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(config("seed=5").to_yaml())
    with pytest.raises(UnweaveError, match="is not empty and not the folder of a run"):
        Run.create(config(), tmp_path)


@pytest.mark.parametrize("other", [(), ("seed=7",)])
def test_several_starts_at_once_make_one_run(tmp_path: Path, other: tuple[str, ...]) -> None:
    told: list[str] = []

    def start(words: tuple[str, ...]) -> None:
        try:
            Run.create(config(*words), tmp_path / "run")
            told.append("made")
        except UnweaveError as error:
            told.append(str(error))

    threads = [threading.Thread(target=start, args=(words,)) for words in ((), other, ())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wrong = [
        sentence for sentence in told if sentence != "made" and "made by another config (seed" not in sentence
    ]
    assert not wrong
    assert "made" in told
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(atomic.TEMPORARY)]
    assert list(damage(tmp_path / "run")) == []


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("there", [False, True])
def test_a_run_published_between_any_two_looks_is_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool, there: bool
) -> None:
    """The other command makes the run before or after each of the looks that this one has at the folder."""
    originals = {
        "lexists": os.path.lexists,
        "iterdir": lambda path, iterdir=Path.iterdir: iter([*iterdir(path)]),
    }
    looks = at = 0

    def look(name: str, path: Path) -> Any:
        nonlocal looks
        looks += 1
        now = looks == at
        if now and not late:
            publishing.publish(folder, config(), "the other command")
        try:
            return originals[name](path)
        finally:
            if now and late:
                publishing.publish(folder, config(), "the other command")

    monkeypatch.setattr(os.path, "lexists", lambda path: look("lexists", path))
    monkeypatch.setattr(Path, "iterdir", lambda path: look("iterdir", path))
    while True:
        looks, at = 0, at + 1
        folder = tmp_path / str(at)
        if there:
            folder.mkdir()
        publishing.check_free(folder, config())
        if looks < at:
            break
        assert publishing.check_free(folder, config())
        with pytest.raises(UnweaveError, match=r"made by another config \(seed"):
            publishing.check_free(folder, config("seed=7"))
    assert at > 1


def test_a_folder_that_is_renamed_before_it_is_held_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes fill the same folder; the other one is done between this one's first two steps."""
    original, opened = os.open, []

    def opens(path: Path, *flags: int, dir_fd: int | None = None) -> int:
        opened.append(path)
        if len(opened) == 1:
            assert atomic.publish(tmp_path / "run", {"a.txt": b"of the other"})
        return original(path, *flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", opens)
    assert not atomic.publish(tmp_path / "run", {"a.txt": b"of this one"})
    assert (tmp_path / "run" / "a.txt").read_bytes() == b"of the other"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_link_to_nowhere_in_the_place_of_the_held_folder_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Path.mkdir

    def mkdir(path: Path, *words: Any, **options: Any) -> None:
        if path.name.startswith(atomic.TEMPORARY):
            path.symlink_to("nowhere")
        original(path, *words, **options)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(UnweaveError, match="cannot write"):
        atomic.publish(tmp_path / "run", {"a.txt": b"first"})


def test_a_failed_command_leaves_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, words in enumerate((["objective.beta=-1"], ["data.size=7", "encoder=Conv"], ["data=mpi3d"])):
        with pytest.raises(SystemExit):
            cli.main(["train", *WORDS, *words, "--out", str(tmp_path / f"run{number}")])
        assert capsys.readouterr().err.startswith("unweave: ")
    assert list(tmp_path.iterdir()) == []


class Faulty(BetaVAE):
    """Fails in a step, with an error of its own or of the system."""

    def __init__(self, *, at: int = 0, full: bool = False) -> None:
        super().__init__(beta=1.0)
        self.at, self.full = at, full

    def forward(self, vae: VAE, images: torch.Tensor, progress: Progress) -> Loss:
        if progress.step == self.at:
            raise OSError(errno.ENOSPC, "No space left on device") if self.full else ZeroDivisionError("none")
        return super().forward(vae, images, progress)


@pytest.mark.parametrize("full", ["true", "false"])
@pytest.mark.parametrize("place", ["no folder", "a folder", "a link"])
def test_a_run_whose_first_step_fails_is_withdrawn(tmp_path: Path, place: str, full: str) -> None:
    folder = tmp_path / "run"
    if place != "no folder":
        (tmp_path / "disk").mkdir()
        (tmp_path / "disk" / ".of-the-user").touch()
        folder.symlink_to("disk") if place == "a link" else (tmp_path / "disk").rename(folder)
    before = sorted(tmp_path.rglob("*"))
    words = [f"objective={__file__}:Faulty", f"objective.full={full}"]
    with pytest.raises(UnweaveError, match=r"disk is full|ZeroDivisionError: none; run it with --debug"):
        Run.requested(config(*words, "objective.at=0"), folder).train()
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(UnweaveError):
        Run.requested(config(*words, "objective.at=1"), folder).train()
    assert Run(folder).checkpoints.paths(), "a run that has taken a step is one"


def test_a_run_of_somebody_else_is_not_withdrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two commands at once: the other one makes the run after this one has found no folder."""
    given = config(f"objective={__file__}:Faulty", "objective.at=0")
    run = Run.requested(given, tmp_path / "run")
    original = publishing.entries

    def entries(folder: Path) -> set[str] | None:
        found = original(folder)
        publishing.publish(folder, given, "the other command")
        return found

    monkeypatch.setattr(publishing, "entries", entries)
    with pytest.raises(UnweaveError, match="ZeroDivisionError"):
        run.train()
    assert Run(tmp_path / "run").command == "the other command"


def test_a_variant_that_cannot_be_trained_is_left_out_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.yaml"
    base = {word.split("=")[0]: word.split("=")[1] for word in WORDS}
    lines = [f"  {key}: {value}" for key, value in base.items() if key != "objective"]
    objective = f"objective: [{{name: BetaVAE, beta: 4}}, {{name: BetaVAE, beta: -1}}, {__file__}:Faulty]"
    study.write_text("\n".join(["base:", *lines, f"grid: {{{objective}}}", "seeds: 2"]))
    words = ["sweep", str(study), "--out", str(tmp_path / "out"), "--executor", "inline", "--no-report"]
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 1
    said = capsys.readouterr()
    out, told = (" ".join(text.split()) for text in (said.out, said.err))
    assert "objective.beta must be at least 0, got -1" in told
    assert told.count("is left out") == 2
    assert out.count("left out: ") == 2
    assert "ZeroDivisionError: none" in out
    made = Sweep(tmp_path / "out")
    assert made.statuses == {"finished": 2}
    assert {member.run.config.objective.options["beta"] for member in made.members} == {4.0}
    assert {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()} == {
        member.run.folder.name for member in made.members
    }
    assert len(made.refused) == 2


def test_a_study_without_a_run_that_can_be_trained_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text("base: {data: circles, data.size: 32, objective.beta: -1}\nseeds: 2")
    with pytest.raises(SystemExit):
        cli.main(["sweep", str(study), "--out", str(tmp_path / "out"), "--quiet"])
    assert capsys.readouterr().err == (
        f"unweave: no run of {study} can be trained: objective.beta must be at least 0, got -1\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["study.yaml"]


def test_a_reproduction_with_a_change_that_cannot_be_trained_leaves_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["reproduce", "sbd-fig4", "objective.beta=-1", "--scale", "smoke", "--executor", "inline"]
    with pytest.raises(SystemExit) as ended:
        cli.main([*words, "--out", str(tmp_path / "out"), "--quiet"])
    assert ended.value.code == 2
    assert "objective.beta must be at least 0, got -1" in capsys.readouterr().err
    assert list(tmp_path.rglob("run.json")) == []


# 2: readers


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_an_unreadable_checkpoint_is_told_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    run = interrupted(tmp_path / "run")
    before = {path: path.read_bytes() for path in run.checkpoints.paths()}
    original = os.open

    def refuse(path: object, *arguments: object, **options: object) -> int:
        if str(path).endswith(".pt"):
            raise OSError(number, os.strerror(number))
        return original(path, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refuse)
    opened._MODELS.clear()
    with pytest.raises(
        UnreadableError, match=rf"cannot read .*{os.strerror(number).lower()}; nothing was changed"
    ):
        run.model()
    with pytest.raises(UnreadableError):
        run.train()
    monkeypatch.undo()
    assert {path: path.read_bytes() for path in run.checkpoints.paths()} == before


def test_a_damaged_checkpoint_is_set_aside_by_training_and_left_by_readers(
    tmp_path: Path, expected: bytes
) -> None:
    run = interrupted(tmp_path / "run")
    newest = run.checkpoints.paths()[-1]
    flip(newest, at=newest.stat().st_size // 2)
    content = newest.read_bytes()
    opened._MODELS.clear()
    assert run.model_and_step()[1] == 3
    assert newest.read_bytes() == content
    assert run.train().status == "finished"
    assert newest.with_name(f"{newest.name}.damaged").read_bytes() == content
    assert (run.folder / status.WEIGHTS).read_bytes() == expected


@pytest.mark.parametrize("change", ["missing", "shape", "moment", "other run"])
def test_a_checkpoint_that_does_not_fit_is_passed_over(tmp_path: Path, change: str, expected: bytes) -> None:
    run = interrupted(tmp_path / "run")
    newest = run.checkpoints.paths()[-1]
    state = torch.load(newest, weights_only=True)
    if change == "missing":
        del state["vae"]
    elif change == "shape":
        name = next(iter(state["vae"]))
        state["vae"][name] = state["vae"][name][..., :-1]
    elif change == "moment":
        state["optimizer"]["state"][0]["exp_avg"] = torch.zeros(1)
    else:
        state["run"] = "0" * 64
    torch.save(state, newest)
    assert run.train().status == "finished"
    assert (run.folder / status.WEIGHTS).read_bytes() == expected


# 3: weights


def test_flipped_weights_are_never_scored(finished: Run, expected: bytes) -> None:
    evaluate(finished)
    scores = (finished.folder / status.SCORES).read_bytes()
    (finished.folder / status.CODES).unlink()
    flip(finished.folder / status.WEIGHTS)
    damaged = (finished.folder / status.WEIGHTS).read_bytes()
    opened._MODELS.clear()
    with pytest.raises(DamagedError, match=r"model\.safetensors is damaged.*to train it again"):
        evaluate(finished)
    assert (finished.folder / status.SCORES).read_bytes() == scores
    assert [s for s in damage(finished.folder) if "model.safetensors is damaged" in s]
    assert finished.train().status == "finished"
    assert (finished.folder / status.WEIGHTS).read_bytes() == expected
    assert (finished.folder / f"{status.WEIGHTS}.damaged").read_bytes() == damaged


@pytest.mark.parametrize("how", ["empty", "half", "zeros", "folder"])
def test_incomplete_weights_are_not_trained(finished: Run, how: str, expected: bytes) -> None:
    path = finished.folder / status.WEIGHTS
    contents = {"empty": b"", "half": expected[: len(expected) // 2], "zeros": bytes(len(expected))}
    path.unlink()
    if how == "folder":
        path.mkdir()
    else:
        path.write_bytes(contents[how])
    assert not status.is_trained(finished.folder)
    assert finished.status == "interrupted"
    assert finished.train().status == "finished"
    assert path.read_bytes() == expected


def test_everything_that_can_be_rebuilt_is_rebuilt(finished: Run, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(finished)
    folder = finished.folder
    scores = json.loads((folder / status.SCORES).read_text())
    for name in ("config.yaml", status.SCORES, status.CODES, "data.json", status.STATUS):
        flip(folder / name, at=20)
    sentences = list(damage(folder))
    assert len(sentences) == 5
    assert all("is damaged" in sentence for sentence in sentences)
    cli.main(["runs", "check", "--root", str(folder.parent), "--repair"])
    assert "written again from its copy in run.json" in capsys.readouterr().out
    assert list(damage(folder)) == []
    assert Config.read(folder / "config.yaml").identity == config().identity
    again = json.loads((folder / status.SCORES).read_text())
    assert {k: v["value"] for k, v in again.items()} == {k: v["value"] for k, v in scores.items()}
    assert Run(folder).status == "finished"
    flip(folder / "run.json", at=20)
    assert any("run.json: written again" in sentence for sentence in repair(folder))
    assert list(damage(folder)) == []


@pytest.mark.parametrize("how", ["a line", "empty", "noise", "a folder"])
def test_a_damaged_manifest_is_written_again(finished: Run, how: str) -> None:
    evaluate(finished)
    path, weights = finished.folder / artefacts.MANIFEST, finished.folder / status.WEIGHTS
    content = path.read_bytes()
    place = content.index(b'"model.safetensors"') + 3
    damaged = {
        "a line": content[:place] + b"?" + content[place + 1 :],
        "empty": b"\n\n?",
        "noise": bytes(900),
    }
    path.unlink()
    path.mkdir() if how == "a folder" else path.write_bytes(damaged[how])
    assert any("manifest.jsonl" in sentence for sentence in damage(finished.folder))
    told = list(repair(finished.folder))
    assert "written again, taken as they are: " in told[-1]
    assert "model.safetensors" in told[-1]
    assert "the damaged one is kept as manifest.jsonl.damaged" in told[-1]
    assert list(damage(finished.folder)) == []
    flip(weights)
    assert any("model.safetensors is damaged" in sentence for sentence in damage(finished.folder))


def test_a_file_that_has_lost_its_line_is_not_recorded_if_its_form_is_wrong(finished: Run) -> None:
    (finished.folder / artefacts.MANIFEST).write_bytes(b"?")
    (finished.folder / status.STATUS).write_bytes(b"[1]")
    (finished.folder / "config.yaml").write_text(config("seed=5").to_yaml())
    told = "".join(repair(finished.folder))
    assert "config.yaml: written again from its copy in run.json" in told
    assert "status.json: written again (finished at step 6)" in told
    assert Run(finished.folder).config == config()
    assert list(damage(finished.folder)) == []


def test_a_run_without_a_manifest_opens(finished: Run) -> None:
    (finished.folder / artefacts.MANIFEST).unlink()
    assert list(damage(finished.folder)) == []
    assert Run(finished.folder).train().status == "finished"
    (finished.folder / "config.yaml").write_text(config("seed=3").to_yaml())
    assert Run(finished.folder).config.identity == config().identity, "the identity tells"


# 4: damaged files


@pytest.mark.parametrize("damaged", ["bit", "byte", "cut", "gone", "key"])
def test_history_and_checkpoint_agree_or_the_gap_is_told(
    tmp_path: Path, damaged: str, expected: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    run = interrupted(tmp_path / "run", at=5)
    path = run.folder / "history.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    if damaged == "gone":
        path.unlink()
    else:
        wrong = {
            "bit": lines[1].replace(b'"total": ', b'"total": 1'),
            "byte": b"\xff" + lines[1],
            "cut": b"",
            "key": lines[1].replace(b'"step"', b'"stop"'),
        }[damaged]
        path.write_bytes(b"".join([lines[0], wrong, *lines[2:]]))
    with caplog.at_level(logging.WARNING, "unweave"):
        assert run.train().status == "finished"
    steps = "5 logged steps, 1 to 5" if damaged == "gone" else "1 logged steps, 2 to 2"
    assert f"has no records of {steps}" in caplog.text
    assert (run.folder / status.WEIGHTS).read_bytes() == expected
    assert [s for s in damage(run.folder) if f"has no records of {steps}" in s]
    if damaged not in ("gone", "cut"):
        assert (run.folder / "history.jsonl.damaged").read_bytes().splitlines(keepends=True)[0] == lines[0]


@pytest.mark.parametrize("content", [b"[1]", b"5", b"", b"\xff\xfe", b"{" * 5000, None])
@pytest.mark.parametrize("name", ["run.json", "data.json", "status.json", "scores.json"])
def test_any_json_file_may_be_damaged(finished: Run, name: str, content: bytes | None) -> None:
    path = finished.folder / name
    path.unlink(missing_ok=True)
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    assert [sentence for sentence in damage(finished.folder) if name in sentence]
    for use in (lambda: Run(finished.folder).model(), lambda: RunIndex(finished.folder.parent).find()):
        try:
            use()
        except UnweaveError as error:
            assert name in str(error)
    assert os.path.lexists(path)


def test_damaged_scores_do_not_block_new_ones(finished: Run) -> None:
    evaluate(finished)
    flip(finished.folder / status.SCORES, at=10)
    assert "mig" in evaluate(finished, metrics=["mig"])
    assert "mig" in finished.scores
    assert (finished.folder / "scores.json.damaged").exists()


# 5: the index


def test_an_index_with_zeroed_pages_is_made_again(finished: Run) -> None:
    root = finished.folder.parent
    for seed in range(1, 30):
        Run.create(config(f"seed={seed}"), root / f"run{seed}")
    index = RunIndex(root)
    before = [entry.facts for entry in index.find()]
    index.close()
    content = bytearray(index.path.read_bytes())
    for page in range(1, len(content) // 4096, 7):
        content[page * 4096 : (page + 1) * 4096] = bytes(4096)
    index.path.write_bytes(content)
    assert [entry.facts for entry in RunIndex(root).find()] == before


def test_the_index_of_a_read_only_folder_is_in_memory(finished: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    root = finished.folder.parent
    assert len(RunIndex(root).find()) == 1
    Run.create(config("seed=1"), root / "another")
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3,
        "connect",
        lambda path, **options: connect(
            path if path == ":memory:" else f"file:{path}?mode=ro", uri=True, **options
        ),
    )
    assert len(RunIndex(root).find()) == 2


# 6, 8


def test_a_run_killed_after_its_weights_is_finished_and_says_so(finished: Run) -> None:
    seconds = finished.seconds
    status.write_status(finished.folder, "running", 0, None, 0.0)
    assert finished.status == "finished"
    assert finished.seconds >= finished.history[-1]["seconds"] > 0
    finished.train()
    recorded = status.recorded_status(finished.folder)
    assert (recorded["status"], recorded["step"]) == ("finished", 6)
    assert recorded["seconds"] <= seconds


def test_a_closed_terminal_saves_the_run(tmp_path: Path, expected: bytes) -> None:
    run = Run.create(config(), tmp_path / "run")

    class HangUp:
        def show(self, step: int, record: object) -> None:
            if step == 3:
                os.kill(os.getpid(), signal.SIGHUP)

    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored, rightly
    try:
        with StopOnSignal() as stop:
            assert run.train(display=HangUp(), stop=stop).status == "interrupted"
    finally:
        signal.signal(signal.SIGHUP, before)
    assert run.train().status == "finished"
    assert (run.folder / status.WEIGHTS).read_bytes() == expected


def test_leftovers_that_are_being_written_stay(tmp_path: Path) -> None:
    (tmp_path / ".new-dead").touch()
    with (tmp_path / ".new-alive").open("wb") as file:
        atomic.hold(file.fileno())
        assert [path.name for path in atomic.remove_leftovers(tmp_path)] == [".new-dead"]


def test_a_symbolic_link_to_an_empty_folder_may_hold_a_run(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "disk")
    publishing.publish(tmp_path / "run", config(), None)
    assert Run(tmp_path / "run").config == config()


def test_a_sweep_that_leaves_runs_undone_does_not_end_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a full disk not even the failure of a run can be recorded; the command must not exit with 0."""
    study = Study.of({"base": {"data": "circles", "steps": 1}, "seeds": 2}, name="tiny")
    flags = Execution("inline", None, None, None, None, None, None, no_report=True, quiet=True)
    with pytest.raises(SystemExit) as ended:
        conclude(Sweep.create(study, tmp_path / "sweep"), flags)
    assert ended.value.code == 1
    assert "2 runs are not done" in capsys.readouterr().out
