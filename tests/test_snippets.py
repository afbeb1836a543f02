"""Every command in README and docs is one that the command line accepts, and is executed, if only with few steps."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from unweave.cli import main
from unweave.data import Circles
from unweave.recipes.recipe import RECIPES
from unweave.runs.study import Study

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from page_commands import BLOCK, PAGES, PLACEHOLDER, commands, unknown_in, words_of  # noqa: E402

NOT_INSTALLED = ("mlflow", "wandb")
"""Packages that the environment of the tests need not have; `make trackers-test` runs what needs them."""
ELSEWHERE = {
    r".*--track (mlflow|wandb)": "make trackers-test",
    r".*--executor (ray|slurm)": "make slurm-test, tests/runs/test_sweep.py",
    r"torchrun": "tests/training/test_data_parallel.py",
    r"unweave train (mnist|shapes3d)": "their files are not here; tests/data",
    r"unweave data (show|distances)$": "named without its data set",
    r"unweave data (check|show (CelebA|Cars3D|Faces3D))": "their files are not here; tests/data",
    r"unweave reproduce (?!check|list)": "every id runs in tests/recipes/test_smoke.py",
    r"unweave theory \w+": "tests/theory, tests/recipes",
    r"unweave report runs/reproduce/SCALE/ID": "tests/reports",
    r"unweave demo": "tests/cli/test_demo.py, whole as a slow test",
    r"unweave export .*--out onnx": "tests/test_transcripts.py, which runs the page of models",
    r"unweave explore demo/": "the folder of `unweave demo`",
    r"unweave sweep (mystudy\.py|package)": "tests/runs/test_study.py",
    r"unweave models (get|show) NAME": "tests/models",
    r"unweave (data distances DATA|train FOLDER)": "placeholders of what other commands of the page run",
}
"""Commands that the walk leaves out, and what runs them instead."""
HAVE = {
    **dict.fromkeys(("RUN", "runs/x", "runs/tiny"), "runs/a"),
    **dict.fromkeys(("OTHER",), "runs/b"),
    **dict.fromkeys(("STUDY", "betas.yaml", "examples/betas.yaml"), "tiny.yaml"),
    **dict.fromkeys(("examples/search.yaml", "search.yaml"), "tiny-search.yaml"),
    **dict.fromkeys(("FOLDER", "runs/betas", "SWEEP"), "runs/tiny"),
    **{"DATA": "circles", "NAME": "circles", "photo.jpg": "photos/000-grey.png"},
}
"""What the words of the pages stand for in the walk."""
TINY = "data: circles, data.size: 16, encoder: MLP, decoder: MLP, encoder.hidden: [8], decoder.hidden: [8]"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages speak of: photographs, arrays, codes, studies, parts of one's own."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "examples").symlink_to(ROOT / "examples")
    subprocess.run([sys.executable, "examples/make_photos.py", "photos"], cwd=folder, check=True)
    (folder / "path" / "to").mkdir(parents=True)
    (folder / "path" / "to" / "images").symlink_to(folder / "photos")
    (folder / "path" / "to" / "images" / "broken.jpg").unlink(missing_ok=True)
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(600, 2))
    codes = factors + rng.normal(0, 0.1, factors.shape)
    np.savez(folder / "codes.npz", codes=codes, factors=factors)
    for name in ("lamp", "measurements"):
        np.savez(folder / f"{name}.npz", images=rng.random((600, 32, 32)), factors=factors)
    table = np.column_stack([codes, factors])
    np.savetxt(folder / "codes.csv", table, delimiter=",", header="z0,z1,factor_a,factor_b", comments="")
    extending = (ROOT / "docs" / "extending.md").read_text()
    for kind, block in BLOCK.findall(extending):
        if kind == "python" and (name := re.match(r"# (\w+\.py)\n", block)):
            (folder / name[1]).write_text(block)
    with (folder / "my_metrics.py").open("a") as file:
        file.write("\n\nSpread = best_correlation\n")
    base = f"base: {{{TINY}, latents: 2, steps: 2, batch_size: 4}}\n"
    (folder / "tiny.yaml").write_text(f"{base}grid: {{objective.beta: [1, 4]}}\nseeds: 1\n")
    (folder / "tiny-search.yaml").write_text(
        f"{base}search: {{objective.beta: {{low: 1, high: 4}}}}\nseeds: 2\n"
    )
    return folder


@pytest.fixture
def at_desk(desk: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(desk)
    monkeypatch.setenv("UNWEAVE_MODELS", str(ROOT / "models"))
    monkeypatch.syspath_prepend(str(desk))
    recipes = dict(RECIPES)
    yield desk
    RECIPES.clear()
    RECIPES.update(recipes)
    for file in desk.glob("my_*.py"):
        sys.modules.pop(file.stem, None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_is_accepted(page: Path, at_desk: Path) -> None:
    """Commands, flags, keys and values of the config, recipes and metrics."""
    told = {command: unknown_in(command) for command in dict.fromkeys(commands(page.read_text()))}
    assert {
        command: said
        for command, said in told.items()
        if said and not any(f"needs the package {name}" in said for name in NOT_INSTALLED)
    } == {}


def test_the_check_finds_commands_and_refuses_wrong_ones() -> None:
    text = "`unweave train circles steps=3`\n\n    unweave score codes.npz   # all\n\n```sh\nunweave runs lst\n```\n"
    assert commands(text) == ["unweave runs lst", "unweave score codes.npz", "unweave train circles steps=3"]
    assert unknown_in("unweave runs lst") == "no command runs lst"
    assert "--stepz" in unknown_in("unweave train circles --stepz 3")
    assert "--stepz" in unknown_in("unweave train DATA --stepz 3")
    assert "did you mean objective" in unknown_in("unweave train circles objectve.beta=3")
    assert "unknown metric" in unknown_in("unweave evaluate RUN --metrics mgi")
    assert unknown_in("unweave train circles objective.beta=3") == ""


def shrunk(command: str) -> str:
    """The command with few steps, and with what the desk has in place of the page's words.

    It may still take placeholders; those that remain are capitals.
    """
    words = [HAVE.get(word, word) for word in words_of(command)]
    if words[:1] == ["train"] and len(words) > 1:
        words = [word for word in words if not word.startswith("steps=")]
        if "--minutes" in words:
            del words[words.index("--minutes") : words.index("--minutes") + 2]
        words += ["steps=2", "--no-report"]
        if words[1].endswith(".yaml") and "RUN" in words[1]:
            words[1] = "runs/a/config.yaml"
    if words[:1] == ["evaluate"] and "log_likelihood" in command:
        words += ["log_likelihood.particles=4", "log_likelihood.images=4"]
    if words[:2] == ["runs", "log"]:
        words[2:] = [next(Path("runs/tiny").glob("*-seed0-*")).name, "--root", "runs/tiny"]
    if words[:2] == ["runs", "rm"]:
        words.append("--yes")
    if words[:1] == ["tune"]:
        words = ["tune", "tiny-search.yaml", "--trials", "1", "--executor", "inline"]
    if words[:1] == ["sweep"] and len(words) > 1:
        words += ["--executor", "inline"]
    return shlex.join(words)


def called(words: Sequence[str]) -> str:
    """What went wrong when the command was called; empty if nothing did."""
    try:
        main([*words])
    except SystemExit as stopped:
        return "" if stopped.code in (0, None) else f"exit {stopped.code}"
    return ""


def test_the_studies_of_the_page_are_what_it_says() -> None:
    """docs/sweeps.md: a grid of six over five seeds, named variants that a grid crosses, and a search."""
    text = (ROOT / "docs" / "sweeps.md").read_text()
    grid, named, search = (yaml.safe_load(block) for kind, block in BLOCK.findall(text) if kind == "yaml")
    study = Study.of(grid, name="betas")
    assert (len(study.variants), len(study.runs), study.target) == (6, 30, "mig")
    assert study.runs[0].config.learning_rate == 3e-4
    crossed = Study.of({**named, "base": grid["base"], "grid": {"latents": [2, 3]}}, name="named")
    assert [len(crossed.variants), crossed.runs[-1].config.objective.name] == [4, "FactorVAE"]
    assert set(Study.of(search, name="search").search) == {"objective.beta", "latents", "decoder"}


def test_the_python_of_the_small_pages_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs and triplets of docs/data.md; the kept model of models/README.md. The other Python has its own tests."""
    names: dict[str, Any] = {"dataset": Circles(variant="xy", size=8), "rng": np.random.default_rng(0)}
    [pairs] = re.findall(
        r"```python\n(.*?dataset\.pairs.*?)```", (ROOT / "docs" / "data.md").read_text(), re.S
    )
    exec(pairs, names)
    assert (names["first"].factors != names["second"].factors).sum(1).tolist() == [1] * 64
    near, far = (
        (names["anchor"].factors != names[other].factors).sum(1) for other in ("positive", "negative")
    )
    assert (near < far).all()
    monkeypatch.setenv("UNWEAVE_MODELS", str(ROOT / "models"))
    [load] = re.findall(r"```python\n(.*?)```", (ROOT / "models" / "README.md").read_text(), re.S)
    exec(load, names)
    assert names["model"].latents == 10


@pytest.mark.slow
def test_what_a_newcomer_types_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of README's first block, of its table and of Start, in their order, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNWEAVE_MODELS", str(ROOT / "models"))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    subprocess.run([sys.executable, "examples/make_photos.py", "photos"], check=True)
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(600, 2))
    np.savez("codes.npz", codes=factors + rng.normal(0, 0.1, factors.shape), factors=factors)
    readme = (ROOT / "README.md").read_text().partition("## Install")[0]
    [part] = [block for kind, block in BLOCK.findall(readme) if kind == "python"]
    Path("my_parts.py").write_text(part)
    start = (ROOT / "docs" / "start.md").read_text().partition("## Completion")[0]
    shrunk = {
        "latents=12": "latents=3 data.size=32 steps=5",
        "decoder=./my_parts.py:TinyDecoder": "decoder=./my_parts.py:TinyDecoder data.size=16 steps=5 encoder=MLP",
        "sweep examples/betas.yaml": "sweep examples/betas.yaml --dry-run",
    }
    done = []
    for command in dict.fromkeys([*commands(readme), *commands(start)]):
        if re.search(r"\b[A-Z]{3,}\b", command.replace("DATA", "")) and "steps" not in command:
            continue
        for whole, short in shrunk.items():
            command = command.replace(whole, short)
        if command == "unweave train circles":  # six minutes, as recommended
            command += " data.size=32 steps=5"
        try:
            main(shlex.split(command)[1:])
        except SystemExit as stopped:
            assert stopped.code in (0, None), command
        done.append(command)
    assert len(done) >= 10
    assert (tmp_path / "runs" / "first" / "report.html").exists()
    assert (tmp_path / "first.html").stat().st_size > 100_000
    assert len((tmp_path / "codes.csv").read_text().splitlines()) == 61


WALKED = [
    page for page in PAGES if page.name not in ("coverage.md", "extending.md") and "results" not in page.parts
]
"""Pages whose commands are executed here: those of extending.md are in its own test, the others are `reproduce`."""


@pytest.mark.slow
@pytest.mark.usefixtures("few_images")
@pytest.mark.parametrize("page", WALKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_the_page_runs(
    page: Path, at_desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With few steps, in an empty folder, but for what is tested elsewhere (``ELSEWHERE``) or lacks its arguments."""
    for run in ("photos", "first"):  # the pages train them with options of their own
        shutil.rmtree(at_desk / "runs" / run, ignore_errors=True)
    train = [
        "data.size=16",
        "encoder=MLP",
        "decoder=MLP",
        "encoder.hidden=[8]",
        "decoder.hidden=[8]",
        "latents=3",
    ]
    for run, seed in (("runs/a", "seed=0"), ("runs/b", "seed=1")):
        assert called(["train", "circles", *train, "steps=2", "--no-report", "--out", run, seed]) == ""
    factor_vae = ["objective=FactorVAE", "objective.critic_layers=1", "objective.critic_width=4"]
    assert called(["train", "circles", *train, *factor_vae, "steps=2", "--no-report"]) == ""
    assert called(["sweep", "tiny.yaml", "--executor", "inline", "--no-report"]) == ""
    told = {}
    for command in dict.fromkeys(commands(page.read_text())):
        words = shlex.split(shrunk(command))
        if any(re.match(pattern, command) for pattern in ELSEWHERE) or len(words) == 1:
            continue
        if any(map(PLACEHOLDER.fullmatch, words)):
            told[command] = "a placeholder that HAVE does not know"
        elif wrong := called(words):
            told[command] = f"{wrong}: {capsys.readouterr().err[-500:]}"
    assert told == {}
