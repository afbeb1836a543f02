import errno
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from unweave.errors import UnweaveError
from unweave.runs import Config, Run, opened

WORDS = [
    *("data=circles", "data.size=32", "latents=2", "batch_size=4", "steps=12", "learning_rate=1e-3"),
    *("encoder.channels=[4,4]", "encoder.hidden=[8]", "decoder.channels=[4,4]", "decoder.hidden=[8]"),
]

# Trains the run in argv[1] and kills itself with SIGKILL when the event argv[2] happens for the argv[3]-th time.
KILLED = """
import os, signal, sys
from pathlib import Path
from unweave.runs import Run

folder, event, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def die_at(function):
    def wrapped(*arguments, **options):
        global count
        count -= 1
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return wrapped

class Display:
    def show(self, step, record):
        pass

if event == "step":
    Display.show = die_at(Display.show)
else:  # in the middle of a write: before the bytes are safe, or before the new file has its name
    setattr(os, event, die_at(getattr(os, event)))
Run(folder).train(display=Display(), checkpoint_seconds=0.0)
"""


def config(*words: str) -> Config:
    return Config.read(words=[*WORDS, *words])


def weights(run: Run) -> dict[str, torch.Tensor]:
    return load_file(run.folder / "model.safetensors")


def losses(run: Run) -> list[dict[str, object]]:
    return [{key: value for key, value in record.items() if key != "seconds"} for record in run.history]


def assert_same(one: Run, two: Run) -> None:
    ours, theirs = weights(one), weights(two)
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert torch.equal(ours[name], theirs[name]), name
    assert losses(one) == losses(two)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run.create(config(), tmp_path_factory.mktemp("runs") / "undisturbed")
    assert run.train().status == "finished"
    return run


def test_kill_9_at_random_moments_changes_nothing(tmp_path: Path, undisturbed: Run) -> None:
    run = Run.create(config(), tmp_path / "run")
    chance = random.Random(5)
    moments = [
        *(("step", chance.randint(1, 4)) for _ in range(3)),
        ("fsync", chance.randint(2, 5)),
        ("replace", chance.randint(2, 5)),
    ]
    chance.shuffle(moments)
    for event, count in moments:
        ended = subprocess.run(
            [sys.executable, "-c", KILLED, str(run.folder), event, str(count)], check=False
        )
        assert ended.returncode == -9
        assert run.status in ("interrupted", "new")
    assert run.train().status == "finished"
    assert run.status == "finished"
    assert_same(run, undisturbed)


def test_a_checkpoint_cut_in_half_is_passed_over(
    tmp_path: Path, undisturbed: Run, caplog: pytest.LogCaptureFixture
) -> None:
    run = Run.create(config(), tmp_path / "run")
    steps = iter(range(100))
    assert run.train(checkpoint_seconds=0.0, stop=lambda: next(steps) == 6).status == "interrupted"
    newest = run.checkpoints.paths()[-1]
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    with caplog.at_level("INFO", logger="unweave"):
        assert run.train().status == "finished"
    assert "step-00000007.pt is damaged" in caplog.text
    assert "going on from step 6 of 12" in caplog.text
    assert_same(run, undisturbed)


def test_the_same_config_is_the_same_run_and_is_not_trained_twice(tmp_path: Path, undisturbed: Run) -> None:
    again = Run.create(config(), undisturbed.folder)
    before = (again.folder / "model.safetensors").stat().st_mtime_ns
    assert again.train().step == 12
    assert (again.folder / "model.safetensors").stat().st_mtime_ns == before


def test_another_config_is_refused_with_what_differs(undisturbed: Run) -> None:
    with pytest.raises(
        UnweaveError,
        match=r"made by another config \(objective.beta: 1.0 there, 2.0 here, seed: 0 there, 3 here\)",
    ):
        Run.create(config("seed=3", "objective.beta=2"), undisturbed.folder)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(UnweaveError, match="is not empty and not the folder of a run"):
        Run.create(config(), tmp_path)
    with pytest.raises(UnweaveError, match=r"thesis\.tex is a file, not a folder"):
        Run.create(config(), tmp_path / "thesis.tex")
    with pytest.raises(UnweaveError, match=r"is not the folder of a run: it has no run\.json"):
        Run(tmp_path)


def test_two_processes_cannot_train_one_run(tmp_path: Path) -> None:
    run = Run.create(config(), tmp_path / "run")
    with run.held():
        atomic_status = {"status": "running", "step": 0, "reason": None, "seconds": 0.0}
        (run.folder / "status.json").write_text(json.dumps(atomic_status))
        assert run.status == "running"
        with pytest.raises(UnweaveError, match="another process is training"):
            Run(run.folder).train()
    assert run.status == "interrupted"
    assert run.reason == "the process was killed"


def test_a_diverged_run_says_so_and_keeps_its_last_good_state(tmp_path: Path) -> None:
    run = Run.create(config("learning_rate=1e30"), tmp_path / "run")
    outcome = run.train(checkpoint_seconds=0.0)
    assert outcome.status == "diverged"
    assert run.status == "diverged"
    assert run.reason == outcome.reason
    assert not (run.folder / "model.safetensors").exists()
    assert all(torch.isfinite(p).all() for p in run.model().parameters())


def test_a_torn_line_of_history_is_passed_over(tmp_path: Path) -> None:
    run = Run.create(config(), tmp_path / "run")
    steps = iter(range(100))
    run.train(stop=lambda: next(steps) == 4)
    with (run.folder / "history.jsonl").open("a") as file:
        file.write('{"step": 6, "tot')
    assert [record["step"] for record in run.history] == [1, 2, 3, 4, 5]
    run.train()
    assert [record["step"] for record in run.history] == list(range(1, 13))


def test_the_model_of_an_unfinished_run_is_the_newest_state(tmp_path: Path) -> None:
    run = Run.create(config(), tmp_path / "run")
    with pytest.raises(UnweaveError, match="has no weights yet"):
        run.model()
    steps = iter(range(100))
    run.train(stop=lambda: next(steps) == 4)
    assert run.model_and_step()[1] == 5


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.EACCES, "permission denied"),
        (errno.EROFS, "the folder is read-only"),
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "your disk quota is used up"),
    ],
)
def test_an_output_folder_that_takes_no_files_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, told: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(UnweaveError, match=rf"cannot write .*config\.yaml: {told}.* --out"):
        Run.create(config(), tmp_path / "run")


OWN_LOSS = """
from unweave.objectives import BetaVAE, Objective

class Own(Objective):
    def forward(self, vae, images, progress):
        return BetaVAE()(vae, images, progress)
"""


def test_a_run_whose_own_part_has_changed_is_not_resumed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN_LOSS)
    run = Run.create(config(f"objective={file}:Own"), tmp_path / "run")
    steps = iter(range(100))
    assert run.train(stop=lambda: next(steps) == 4).status == "interrupted"
    assert run.model() is run.model()
    file.write_text(OWN_LOSS + "# changed\n")
    with pytest.raises(
        UnweaveError, match=r"cannot be trained: the objective Own of .*own\.py.* has changed"
    ):
        Run(run.folder).train()
    opened._MODELS.clear()
    with caplog.at_level("WARNING", logger="unweave"):
        assert Run(run.folder).model_and_step()[1] == 5
    assert "has changed" in caplog.text
    file.write_text(OWN_LOSS)
    assert Run(run.folder).train().status == "finished"


def test_versions_and_command_are_kept(undisturbed: Run, tmp_path: Path) -> None:
    assert undisturbed.versions["torch"].startswith("2.")
    assert undisturbed.command == f"unweave train {undisturbed.folder / 'config.yaml'}"
    assert Run.create(config(), tmp_path / "run", command="unweave train x").command == "unweave train x"
