"""A part from outside through every door: command line, workers, Ray, search, recipes, entry points; and gone."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest
import yaml
from PIL import Image
from safetensors.numpy import load_file

from unweave import references
from unweave.cli import main
from unweave.errors import UnweaveError
from unweave.runs import Config, Run
from unweave.runs import opened as caches
from unweave.runs.config import _canonical

pytestmark = pytest.mark.usefixtures("few_images")

PARTS = """
import math
from torch import nn


class TinyDecoder(nn.Module):
    def __init__(self, latents: int, output_shape: tuple[int, int, int], *, width: int = 6) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(latents, width),
            nn.Tanh(),
            nn.Linear(width, math.prod(output_shape)),
            nn.Unflatten(1, output_shape),
        )

    def forward(self, codes):
        return self.layers(codes)
"""
LOSS = """
from unweave.objectives import Loss, Objective, Progress
from unweave.objectives.core import bound


class MyLoss(Objective):
    def __init__(self, *, weight: float = 2.0) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, vae, images, progress: Progress) -> Loss:
        made = bound(vae, images)
        return Loss(made.reconstruction + self.weight * made.kl, made.reconstruction, made.terms)
"""
SMALL = [
    *("circles", "data.size=32", "encoder=MLP", "encoder.hidden=[6]", "latents=2", "batch_size=4", "steps=6"),
]
MINE = ["decoder=my_parts:TinyDecoder", "objective=./my_loss.py:MyLoss"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_parts.py").write_text(PARTS)
    (tmp_path / "my_loss.py").write_text(LOSS)
    return tmp_path


class Command(Protocol):
    """A command in a folder, and what it prints."""

    def __call__(self, folder: Path, *arguments: str, ok: bool = True) -> str: ...


def process(folder: Path, *arguments: str, path: str = "") -> "subprocess.CompletedProcess[str]":
    """A new interpreter in a folder, which also imports from a path."""
    found = os.pathsep.join(part for part in (path, os.environ.get("PYTHONPATH", "")) if part)
    environment = {**os.environ, "PYTHONPATH": found, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-P", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def unweave(folder: Path, *arguments: str, ok: bool = True) -> str:
    """Run the command in a process of its own, in a folder; its output."""
    done = process(folder, "-m", "unweave", *arguments)
    said = done.stdout + done.stderr
    assert "Traceback" not in said, said
    assert (done.returncode == 0) == ok, said
    return said


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """The same command in this process, which before and after it knows nothing of the modules outside."""

    def command(folder: Path, *arguments: str, ok: bool = True) -> str:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "path", list(known_path))
        monkeypatch.setattr(references, "_session", {})
        forget()
        capsys.readouterr()
        code: object = 0
        try:
            main(arguments)
        except SystemExit as stopped:
            code = stopped.code or 0
        said = "".join(capsys.readouterr())
        assert (code == 0) == ok, said
        return said

    def forget() -> None:
        importlib.invalidate_caches()
        for cache in (caches._DATA, caches._LATEST, caches._MODELS):
            cache.clear()
        for name in set(sys.modules) - known_modules:
            if name.startswith(("my_parts", "my_loss", "spy", "views", "unweave_file_")):
                del sys.modules[name]

    # A file that an earlier test has named left its folder here, with a module of the same name in it.
    known_path = [place for place in sys.path if not (Path(place) / "my_parts.py").exists()]
    known_modules = set(sys.modules)
    yield command
    forget()


def study(folder: Path, **more: object) -> str:
    data = {"name": "Circles", "size": 32}
    base = {
        "data": data,
        "encoder": {"name": "MLP", "hidden": [6]},
        "latents": 2,
        "batch_size": 4,
        "steps": 4,
    }
    parts = {"decoder": "my_parts:TinyDecoder", "objective": "./my_loss.py:MyLoss"}
    (folder / "study.yaml").write_text(json.dumps({"base": {**base, **parts}, **more}))
    return "study.yaml"


def test_train_evaluate_and_report(folder: Path, here: Command) -> None:
    unweave(folder, "train", *SMALL, *MINE, "objective.weight=3", "--out", "run", "--no-report")
    said = here(folder, "evaluate", "run", "--metrics", "mig,elbo")
    assert "mig" in said
    here(folder, "report", "run")
    assert (folder / "run" / "report.html").exists()
    run = Run(folder / "run")
    made = json.loads((folder / "run" / "run.json").read_text())
    assert made["parts"]["decoder"]["file"] == str(folder / "my_parts.py")
    assert len(made["parts"]["objective"]["sha256"]) == 64
    assert run.config.label.startswith("Circles-MyLoss-TinyDecoder-seed0-")
    assert run.config.objective.options == {"weight": 3.0}


def test_the_same_command_resumes_and_an_edited_file_is_another_run(folder: Path) -> None:
    words = ["data=circles", *SMALL[1:], f"decoder={folder / 'my_parts.py'}:TinyDecoder"]
    first = Config.read(words=words)
    (folder / "moved").mkdir()
    (folder / "moved" / "my_parts.py").write_text(PARTS)
    moved = Config.read(words=[*words[:-1], f"decoder={folder / 'moved' / 'my_parts.py'}:TinyDecoder"])
    assert moved.identity == first.identity  # the same code in another place
    run = Run.create(first, folder / "run")
    (folder / "my_parts.py").write_text(PARTS.replace("Tanh", "ReLU"))
    assert Config.read(words=words).identity != first.identity
    with pytest.raises(UnweaveError, match=r"the decoder TinyDecoder of .*my_parts.py has changed since"):
        Run(run.folder).train()


def test_a_sweep_of_local_workers_equals_one_in_this_process(folder: Path, here: Command) -> None:
    name = study(folder, seeds=2)
    unweave(folder, "sweep", name, "--out", "local", "--workers", "2", "--no-report")
    here(folder, "sweep", name, "--out", "inline", "--executor", "inline", "--no-report")
    runs = sorted(path.name for path in (folder / "local").iterdir() if (path / "run.json").exists())
    assert len(runs) == 2
    for run in runs:
        one, two = (load_file(folder / place / run / "model.safetensors") for place in ("local", "inline"))
        for key, weights in one.items():
            np.testing.assert_array_equal(weights, two[key])


@pytest.mark.slow
def test_a_sweep_on_ray(folder: Path) -> None:
    pytest.importorskip("ray")
    unweave(folder, "sweep", study(folder, seeds=2), "--executor", "ray", "--out", "ray", "--no-report")
    finished = [Run(path).status for path in (folder / "ray").iterdir() if (path / "run.json").exists()]
    assert finished == ["finished", "finished"]


def test_a_search_varies_an_option_of_an_outside_part(folder: Path, here: Command) -> None:
    name = study(folder, search={"decoder.width": {"low": 3, "high": 9, "whole": True}})
    here(folder, "tune", name, "--trials", "2", "--out", "tuned", "--executor", "inline", "--no-report")
    runs = [Run(path) for path in (folder / "tuned").iterdir() if (path / "run.json").exists()]
    assert len(runs) == 2
    assert all(3 <= run.config.decoder.options["width"] <= 9 for run in runs)


def test_published_figures_with_an_outside_decoder_at_smoke_scale(folder: Path, here: Command) -> None:
    mine = ("--scale", "smoke", "--executor", "inline", "--decoder", "my_parts:TinyDecoder")
    said = here(folder, "reproduce", "fac-fig7", *mine)
    assert "TinyDecoder in every run" in said
    # This one compares two decoders: the stranger's takes the place of the paper's own.
    said = here(folder, "reproduce", "sbd-fig4", *mine)
    assert "TinyDecoder in the place of Spatial Broadcast" in said
    decoders = {Run(path.parent).config.decoder.label for path in (folder / "runs").rglob("run.json")}
    assert {"Deconv", "TinyDecoder"} <= decoders


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("decoder=my_parts:Nothing", "my_parts:Nothing cannot be loaded: my_parts has no 'Nothing'"),
        ("decoder=nowhere:Nothing", "nowhere:Nothing cannot be loaded: there is no module nowhere"),
        ("decoder=./nowhere.py:Nothing", "cannot be loaded: there is no file"),
        (
            "objective=my_parts:TinyDecoder",
            "must be a class that inherits from unweave.objectives.core.Objective",
        ),
        ("decoder=subprocess:Popen", "must be a class that inherits from torch.nn.modules.module.Module"),
        ("decoder.widht=3", "unknown option of decoder TinyDecoder 'widht': did you mean width?"),
        ("decoder=./broken.py:Part", "ZeroDivisionError"),
        ("decoder=./builds.py:Part", "cannot be built: RuntimeError: not today"),
    ],
)
def test_a_missing_or_broken_part_is_one_sentence(
    folder: Path, here: Command, word: str, sentence: str
) -> None:
    (folder / "broken.py").write_text("1 / 0")
    (folder / "builds.py").write_text(
        "from torch import nn\nclass Part(nn.Module):\n    def __init__(self): raise RuntimeError('not today')\n"
    )
    words = [*SMALL, "decoder=my_parts:TinyDecoder", word] if "." in word.split("=")[0] else [*SMALL, word]
    said = here(folder, "train", *words, "--out", "run", ok=False)
    assert sentence in said
    # At most the line that names the run stands before it.
    assert len(said.strip().splitlines()) == 1 + ("Part-seed0" in said)


def test_an_error_inside_a_part_names_its_line(folder: Path, here: Command) -> None:
    broken = PARTS.replace("return self.layers(codes)", "return self.layers(codes)[:, 99]")
    (folder / "my_parts.py").write_text(broken)
    said = here(folder, "train", *SMALL, "decoder=my_parts:TinyDecoder", "--out", "run", ok=False)
    line = broken.splitlines().index("        return self.layers(codes)[:, 99]") + 1
    assert f"TinyDecoder of {folder / 'my_parts.py'}, line {line} failed: IndexError" in said
    assert said.strip().endswith("run it with --debug for the traceback")
    assert not (folder / "run").exists(), "no step was taken, so there is no run"
    (folder / "my_parts.py").write_text(PARTS)
    here(folder, "train", *SMALL, "decoder=my_parts:TinyDecoder", "--out", "run", "--no-report")


def test_an_error_after_the_first_step_keeps_the_run_and_the_traceback(folder: Path, here: Command) -> None:
    late = LOSS.replace("made = bound", "1 / (3 - progress.step)\n        made = bound")
    (folder / "my_loss.py").write_text(late)
    said = here(folder, "train", *SMALL, "objective=./my_loss.py:MyLoss", "--out", "run", ok=False)
    assert "failed: ZeroDivisionError: division by zero; the traceback is in run/log.txt" in said
    assert "ZeroDivisionError" in (folder / "run" / "log.txt").read_text()
    assert [record["step"] for record in Run(folder / "run").history] == [1, 2, 3]


def test_a_run_whose_part_is_gone_can_still_be_read(folder: Path, here: Command) -> None:
    here(folder, "train", *SMALL, *MINE, "--out", "runs/mine")
    (folder / "my_parts.py").unlink()
    run = Run(folder / "runs" / "mine")
    assert run.status == "finished"
    assert len(run.history) == 6
    assert "elbo" in run.scores
    assert "mine" in here(folder, "runs", "list")
    here(folder, "runs", "show", "runs/mine")
    said = here(folder, "evaluate", "runs/mine", ok=False)
    assert "the decoder TinyDecoder comes from" in said
    assert str(folder / "my_parts.py") in said
    assert "histories, scores and pages that exist can be read without it" in said
    assert len(said.strip().splitlines()) == 1


SPY = """
from pathlib import Path
Path({told!r}).write_text("imported")
{parts}
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = ["data=circles", *SMALL[1:-1], "steps=1", "decoder=MLP", "decoder.hidden=[6]"]
    run = Run.create(Config.read(words=words), tmp_path_factory.mktemp("finished") / "run")
    run.train()
    return run.folder


@pytest.fixture
def sent(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run as somebody might send it, with a module inside that tells if it is imported; we are in it."""
    shutil.copytree(finished, tmp_path / "sent")
    (tmp_path / "sent" / "spy.py").write_text(SPY.format(told=str(tmp_path / "told"), parts=PARTS))
    monkeypatch.chdir(tmp_path / "sent")
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path / "sent"


def name_decoder(run: Path, name: str, code: object) -> None:
    """What somebody who sends a run may have done to it: another decoder, and no hash or identity that would tell."""
    (run / "manifest.jsonl").unlink()
    made = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(
        json.dumps({key: made[key] for key in made if key not in ("identity", "config")})
    )
    config = yaml.safe_load((run / "config.yaml").read_text())
    decoder = {"name": name, "width": 6} | ({} if code is None else {"code": code})
    (run / "config.yaml").write_text(yaml.safe_dump({**config, "decoder": decoder}))


@pytest.mark.parametrize("code", ["recorded", "none", "installed", "relative"])
@pytest.mark.parametrize("name", ["{run}/spy.py:TinyDecoder", "spy:TinyDecoder", "./spy.py:TinyDecoder"])
def test_nothing_that_came_with_a_run_is_imported(sent: Path, name: str, code: str) -> None:
    """Neither by reading the run nor by opening its model, whatever its record says, even from inside its folder."""
    codes = {
        "recorded": {
            "file": str(sent / "spy.py"),
            "sha256": sha256((sent / "spy.py").read_bytes()).hexdigest(),
        },
        "none": None,
        "installed": {"package": "spy", "version": "1.0", "record": ""},
        "relative": {"file": "spy.py", "sha256": "0" * 64},
    }
    name_decoder(sent, name.format(run=sent), codes[code])
    run = Run(sent)
    assert (run.status, run.config.decoder.label) == ("finished", "TinyDecoder")
    for opened in (run, Run(".")):
        with pytest.raises(
            UnweaveError, match=r"names .*spy.*:TinyDecoder.* imported|there is no module spy"
        ):
            opened.model()
    with pytest.raises(UnweaveError, match=r"imported|there is no module spy"):
        Config.read(sent / "config.yaml", ["steps=2"]).make_model((3, 32, 32))
    assert not (sent.parent / "told").exists()


def test_a_module_in_the_run_does_not_take_the_place_of_the_recorded_one(sent: Path) -> None:
    own = sent.parent / "own"
    own.mkdir()
    (own / "spy.py").write_text(PARTS.replace("Tanh", "ReLU") + "    size = 1\n")
    code = {"file": str(own / "spy.py"), "sha256": "0" * 64}
    name_decoder(sent, "spy:TinyDecoder", code)
    try:
        assert Run(sent).config.make_model((3, 32, 32)).decoder.size == 1
        assert str(sent) not in sys.path
    finally:
        del sys.modules["spy"]
    (own / "spy.py").unlink()
    said = unweave(sent, "evaluate", ".", ok=False)
    assert "the decoder TinyDecoder comes from" in said
    assert len(said.strip().splitlines()) == 1
    assert not (sent.parent / "told").exists()


def test_nothing_is_imported_because_it_lies_beside_data(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder of images with a config and a module is read as images; what is none is ignored."""
    images = folder / "images"
    images.mkdir()
    for number in range(4):
        Image.fromarray(np.full((32, 32), 60 * number, np.uint8)).save(images / f"{number}.png")
    (images / "spy.py").write_text(SPY.format(told=str(folder / "told"), parts=PARTS))
    (images / "config.yaml").write_text("decoder: spy:TinyDecoder\n")
    monkeypatch.chdir(images)
    config = Config.read(words=[f"data={images}"])
    assert (config.data.name, config.decoder.name) == ("Folder", "Deconv")
    assert config.make_dataset().count == 4
    assert not (folder / "told").exists()


SEVERAL = """
import json, sys
from unweave.cli import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as end:
        print("ended with", end.code)
"""


def test_an_installed_package_registers_its_parts(folder: Path, here: Command) -> None:
    """What pip leaves behind: the package, and the folder that describes it."""
    site = folder / "site-packages"
    (site / "tiny_package").mkdir(parents=True)
    (site / "tiny_package" / "__init__.py").write_text(PARTS)
    described = site / "tiny_package-1.2.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-package\nVersion: 1.2\n")
    (described / "top_level.txt").write_text("tiny_package\n")
    points = "TinyDecoder = tiny_package:TinyDecoder\nBroken = tiny_package:Nothing\n"
    (described / "entry_points.txt").write_text(f"[unweave.decoders]\n{points}")
    (folder / "work").mkdir()
    commands = [
        ["options"],
        ["train", *SMALL, "decoder=TinyDecodr"],
        ["train", *SMALL, "decoder=tiny-decoder", "--out", "run", "--no-report"],
    ]
    done = process(folder / "work", "-c", SEVERAL, json.dumps(commands), path=str(site))
    said = done.stdout + done.stderr
    assert "SpatialBroadcast, CoordConv, MLP, DCGAN, TinyDecoder" in said
    assert "Broken of package tiny-package cannot be loaded" in said
    assert "did you mean TinyDecoder" in said
    assert (done.returncode, said.count("ended with"), said.count("ended with 2")) == (0, 1, 1), said
    made = json.loads((folder / "work" / "run" / "run.json").read_text())
    assert made["parts"]["decoder"] == {"package": "tiny-package", "version": "1.2"}
    said = here(folder / "work", "evaluate", "run", ok=False)
    assert "the decoder TinyDecoder comes from tiny-package 1.2 and is missing" in said


HALF = """
def half(images):
    return images / 2
"""
AUGMENTED = ["data=circles", *SMALL[1:-1], "steps=2", "decoder=MLP", "decoder.hidden=[6]"]


def test_the_code_of_an_augmentation_is_recorded_and_part_of_the_identity(folder: Path) -> None:
    (folder / "views.py").write_text(HALF)
    words = [*AUGMENTED, f"likelihood.augmentation={folder / 'views.py'}:half"]
    config = Config.read(words=words)
    run = Run.create(config, folder / "run")
    made = json.loads((folder / "run" / "run.json").read_text())
    hashed = sha256(HALF.encode()).hexdigest()
    assert made["parts"]["likelihood.augmentation"] == {"file": str(folder / "views.py"), "sha256": hashed}
    assert Run(run.folder).config.identity == config.identity == made["identity"]
    (folder / "moved").mkdir()
    (folder / "moved" / "views.py").write_text(HALF)
    moved = Config.read(words=[*AUGMENTED, f"likelihood.augmentation={folder / 'moved' / 'views.py'}:half"])
    assert moved.identity == config.identity  # the same code in another place
    (folder / "views.py").write_text(HALF.replace("/ 2", "/ 3"))
    assert Config.read(words=words).identity != config.identity
    with pytest.raises(
        UnweaveError, match=r"likelihood.augmentation .*views.py:half of .* has changed since"
    ):
        Run(run.folder).train()


def test_an_error_inside_an_augmentation_names_its_line(folder: Path, here: Command) -> None:
    (folder / "views.py").write_text(HALF.replace("images / 2", "images[:, 99]"))
    words = [*SMALL, "decoder=MLP", "likelihood.augmentation=./views.py:half"]
    said = here(folder, "train", *words, "--out", "run", ok=False)
    assert f"views.py:half of {folder / 'views.py'}, line 3 failed: IndexError" in said


def augmented(run: Path, augmentation: object) -> None:
    """The run with another augmentation in its config, and no hash or identity that would tell."""
    (run / "manifest.jsonl").unlink()
    made = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(
        json.dumps({key: made[key] for key in made if key not in ("identity", "config")})
    )
    config = yaml.safe_load((run / "config.yaml").read_text())
    config["likelihood"] = {**config["likelihood"], "augmentation": augmentation}
    (run / "config.yaml").write_text(yaml.safe_dump(config))


@pytest.mark.parametrize("name", ["{run}/spy.py:TinyDecoder", "spy:TinyDecoder", "./spy.py:TinyDecoder"])
@pytest.mark.parametrize("code", ["plain", "recorded", "installed", "relative"])
def test_an_augmentation_that_came_with_a_run_is_not_imported(sent: Path, name: str, code: str) -> None:
    name = name.format(run=sent)
    recorded = {"file": str(sent / "spy.py"), "sha256": sha256((sent / "spy.py").read_bytes()).hexdigest()}
    stored = {
        "plain": name,  # as runs recorded it before
        "recorded": {"name": name, "code": recorded},
        "installed": {"name": name, "code": {"package": "spy", "version": "1.0", "record": ""}},
        "relative": {"name": name, "code": {"file": "spy.py", "sha256": "0" * 64}},
    }
    augmented(sent, stored[code])
    run = Run(sent)
    assert run.status == "finished"
    for opened in (run, Run(".")):
        with pytest.raises(
            UnweaveError, match=r"names .*spy.*:TinyDecoder.* imported|there is no module spy"
        ):
            opened.model()
    with pytest.raises(UnweaveError, match=r"imported|there is no module spy"):
        Config.read(sent / "config.yaml", ["steps=2"]).make_model((3, 32, 32))
    assert not (sent.parent / "told").exists()


def test_a_run_that_recorded_the_name_of_its_augmentation_alone_keeps_its_identity(sent: Path) -> None:
    before = Config.read(sent / "config.yaml")
    augmented(sent, "torch:sigmoid")
    stored = Config.read(sent / "config.yaml")
    named = {**before.to_mapping()["likelihood"], "augmentation": "torch:sigmoid"}
    canonical = json.dumps({**_canonical(before), "likelihood": named}, sort_keys=True)
    assert stored.identity == sha256(canonical.encode()).hexdigest()
    with pytest.raises(UnweaveError, match=r"does not record where its code is from, so it is not imported"):
        stored.make_model((3, 32, 32))
    trusted = Config.read(sent / "config.yaml", ["likelihood.augmentation=torch:sigmoid"])
    assert getattr(trusted.make_model((3, 32, 32)).likelihood, "augmentation") is not None  # noqa: B009


@pytest.mark.parametrize("slot", ["decoder", "likelihood"])
def test_the_copy_of_a_config_is_trusted_no_more_than_the_config(sent: Path, slot: str) -> None:
    """run.json holds a copy for the day when config.yaml is damaged: that door is the same."""
    (sent / "manifest.jsonl").unlink()
    made = json.loads((sent / "run.json").read_text())
    names = {
        "decoder": {"name": "./spy.py:TinyDecoder"},
        "likelihood": {"augmentation": "./spy.py:TinyDecoder"},
    }
    made["config"][slot] = {**made["config"][slot], **names[slot]}
    (sent / "run.json").write_text(json.dumps(made))
    (sent / "config.yaml").write_text("{")
    with pytest.raises(UnweaveError):
        Run(sent).model()
    unweave(sent.parent, "runs", "check", "sent", "--repair", ok=False)
    assert not (sent.parent / "told").exists()
