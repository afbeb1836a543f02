"""Commands agree: one way to name a run, hints toward what was meant, examples that exist."""

import io
import logging
import re
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from click.testing import CliRunner
from rich.console import Console

from unweave import reports
from unweave.cli import cli, main, terminal
from unweave.metrics import Score
from unweave.runs.config import Config
from unweave.runs.fitting import fitted
from unweave.runs.study import load
from unweave.training.display import TerminalDisplay

pytestmark = pytest.mark.usefixtures("few_images")

ROOT = Path(__file__).parent.parent.parent
TINY = [
    "latents=2",
    "steps=2",
    "batch_size=4",
    "encoder=MLP",
    "decoder=MLP",
    "encoder.hidden=[8]",
    "decoder.hidden=[8]",
]


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the command says on standard error, in one sentence."""
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    sentence = capsys.readouterr().err
    assert sentence.count("\n") == 1
    return sentence


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("beta=4", "unknown option 'beta': it is an option of the objective, write objective.beta=..."),
        ("gamma=4", "it is an option of the objective, write objective.gamma=..."),
        ("hole=center", "it is an option of the data, write data.hole=..."),
        ("lr=1e-3", "unknown option 'lr': it is called learning_rate here"),
        ("epochs=3", "it is called steps here; an epoch of N images is N / batch_size steps"),
        ("z_dim=3", "it is called latents here"),
        ("model=VQVAE", "unknown model 'VQVAE': did you mean VAE?"),
        ("model=beta-vae", "BetaVAE is not a model but an objective: write objective=BetaVAE"),
        ("decoder=Conv", "Conv is not a decoder but an encoder: write encoder=Conv"),
        ("stepz=3", "unknown option 'stepz': did you mean steps?"),
    ],
)
def test_a_wrong_key_gets_a_hint(capsys: pytest.CaptureFixture[str], word: str, expected: str) -> None:
    assert expected in told(capsys, "train", "circles", word)


def test_train_and_sweep_name_each_other(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    study, config = "examples/betas.yaml", "examples/circles.yaml"
    assert f"{study} is a study, not the config of one run: use unweave sweep {study}" in told(
        capsys, "train", study
    )
    assert f"{config} is the config of one run, not a study: use unweave train {config}" in told(
        capsys, "sweep", config
    )
    assert Config.read(Path(config)).data.name == "Circles"
    assert len(load(study).runs) == 6
    search = "examples/search.yaml"
    assert load(search).search.keys() == {"objective.beta"}
    assert f"use unweave tune {search}" in told(capsys, "train", search)
    assert f"use unweave tune {search}" in told(capsys, "sweep", search)


def test_the_files_that_the_readme_names_exist() -> None:
    named = set(re.findall(r"examples/[\w./]+", (ROOT / "README.md").read_text()))
    assert {"examples/circles.yaml", "examples/betas.yaml", "examples/search.yaml"} <= named
    assert all((ROOT / name).is_file() for name in named)


def test_bare_unweave_shows_its_help() -> None:
    shown = CliRunner().invoke(cli, [])
    assert shown.exit_code == 0
    assert shown.output == CliRunner().invoke(cli, ["--help"]).output


def test_options_of_one_key_or_part(capsys: pytest.CaptureFixture[str]) -> None:
    def keys(*names: str) -> list[str]:
        shown = CliRunner().invoke(cli, ["options", *names])
        return [line.split()[0] for line in shown.output.splitlines()[1:]]

    decoder = keys("decoder")
    assert decoder[0] == "decoder"
    assert all(key.startswith("decoder") for key in decoder)
    assert "decoder.upscales" in decoder
    assert keys("spatial-broadcast", "steps")[-1] == "steps"
    assert {key for key in keys("FactorVAE") if "." in key} == set(keys("FactorVAE"))
    assert "unknown key or part 'decodr': did you mean decoder" in told(capsys, "options", "decodr")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of one run in runs/ of a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    main(["train", "circles", "data.size=32", *TINY, "--no-report", "--quiet"])
    return next(Path("runs").glob("Circles-*"))


def test_a_run_is_a_path_a_label_or_an_identity_everywhere(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = run / "report.html"
    monkeypatch.setattr(reports, "write_run_report", lambda opened, *_: {run: page}[opened.folder])
    identity = Config.read(run / "config.yaml").identity
    for word in (str(run), run.name, run.name[:-4], identity[:7]):
        main(["evaluate", word, "--metrics", "elbo", "--no-intervals"])
        assert f"written to {run / 'scores.json'}" in capsys.readouterr().out
        main(["report", word])
        assert f"report: {run / 'report.html'}" in capsys.readouterr().out
        main(["runs", "show", word])
        assert str(run) in capsys.readouterr().out
    assert "there is no run nothing in runs" in told(capsys, "evaluate", "nothing")


def test_evaluate_writes_the_page_anew(run: Path) -> None:
    assert not (run / "report.html").exists()
    pages = []
    for metrics in ("elbo", "elbo,mig"):
        main(["evaluate", run.name, "--metrics", metrics, "--quiet"])
        pages.append((run / "report.html").read_text())
    assert ["mutual information gap" in page.lower() or ">MIG<" in page for page in pages] == [False, True]


def photographs(folder: Path, count: int = 3) -> None:
    folder.mkdir()
    for k in range(count):
        PIL.Image.fromarray(np.full((20, 20), 10 * k, np.uint8)).save(folder / f"{k}.png")


def test_a_folder_here_is_trained_by_its_name(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    photographs(Path("photos"))
    (tmp_path / "photos" / "broken.png").write_bytes(b"not an image")
    assert "broken.png is not an image" in told(capsys, "train", "photos", "data.size=16", *TINY)
    main(["train", "photos", "data.size=16", *TINY, "--skip-bad", "--no-report"])
    trained = Config.read(next(Path("runs").glob("Folder-*")) / "config.yaml")
    assert trained.data.options["path"] == str(tmp_path / "photos")
    photographs(Path("circles"))
    with caplog.at_level("INFO", "unweave"):
        main(["train", "circles", "data.size=32", *TINY, "--no-report"])
    assert "circles is the data set of that name; for the one in this folder write ./circles" in caplog.text
    assert next(Path("runs").glob("Circles-*")).is_dir()


def test_sizes_that_do_not_fit_are_changed_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    photographs(tmp_path / "photos")
    words = [f"data={tmp_path / 'photos'}", "data.size=50"]
    with caplog.at_level("INFO", "unweave"):
        config = fitted(Config.read(words=words))
    assert config.data.options["size"] == 52
    assert caplog.messages == [
        "images of 50 x 50 do not fit these networks: resized to 52 x 52 (data.size=52)"
    ]
    assert config == Config.read(words=[words[0], "data.size=52"])
    for fitting in (
        "data.size=64",
        "data.size=50 encoder=MLP decoder=MLP",
        "data.size=50 encoder=MLP decoder=SpatialBroadcast",
    ):
        asked = Config.read(words=[words[0], *fitting.split()])
        assert fitted(asked) == asked
    circles = Config.read(words=["data=circles", "data.size=50"])
    assert fitted(circles) == circles  # not the user's own images: an error names the sizes


@pytest.mark.parametrize("width", [60, 120])
def test_a_narrow_terminal_keeps_bar_step_and_time_left(width: int) -> None:
    drawn = io.StringIO()
    console = Console(file=drawn, force_terminal=True, width=width, color_system=None, legacy_windows=False)
    record: dict[str, Any] = {"step": 3000, "reconstruction": 123.4, "kl": 12.3}
    with TerminalDisplay({"SpatialBroadcast": 11000}, console) as display:
        display.show(3000, record)
        console.print("a message")
        display.progress.refresh()
    last = [line for line in drawn.getvalue().splitlines() if "SpatialBroadcast" in line][-1]
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", last)
    assert len(last.rstrip()) <= width
    assert "━" in last
    assert " 3000/11000 " in last
    assert "-:--:--" in last or ":" in last.rsplit(maxsplit=1)[-1]
    assert ("reconstruction 123.4 kl 12.3" in last) == (width == 120)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_line_ends_between_words(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = io.StringIO()
    console = Console(file=drawn, force_terminal=is_terminal, width=60, color_system=None, soft_wrap=True)
    monkeypatch.setattr(terminal, "_output", console)
    name, path = "Circles-BetaVAE-Deconv-seed0-553d67b1", "/a-long-place" * 6
    terminal.print_line(f" in runs/w60: Muon at 0.003, Linear, 120 steps in {path}", title=name)
    first = f"{name} in runs/w60: Muon at"
    lines = (
        [first, "0.003, Linear, 120 steps in", path]
        if is_terminal
        else [f"{first} 0.003, Linear, 120 steps in {path}"]
    )
    assert [line.rstrip() for line in drawn.getvalue().splitlines()] == lines


def test_messages_and_bars_share_one_console() -> None:
    from unweave.cli.terminal import prepare_logging
    from unweave.console import error_console

    prepare_logging(quiet=False)
    [handler] = logging.getLogger("unweave").handlers
    assert handler.console is error_console()  # type: ignore[attr-defined]
    assert TerminalDisplay.of({"a": 1}, quiet=False).console is error_console()


@pytest.mark.parametrize("width", [60, 120])
def test_a_message_while_images_are_counted_appears_above_the_bar(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = io.StringIO()
    console = Console(
        file=drawn, force_terminal=True, width=width, color_system=None, legacy_windows=False, soft_wrap=True
    )
    monkeypatch.setattr(terminal, "console", lambda quiet: console)
    monkeypatch.setattr(terminal, "error_console", lambda: console)
    logger = logging.getLogger("unweave")
    before, level = logger.handlers, logger.level
    try:
        terminal.prepare_logging(quiet=False)
        with terminal.counting("encoding", quiet=False) as tell:
            tell(7, 50)
            logger.info("photos: ignored 1 other file")
            tell(50, 50)
    finally:
        logger.handlers = before
        logger.setLevel(level)
    # What is left of each line after the bar was erased and drawn again.
    left = [
        line.rpartition("\x1b[2K")[2].rpartition("\r")[2].rstrip() for line in drawn.getvalue().split("\n")
    ]
    left = [re.sub(r"\x1b\[\??[0-9;]*[A-Za-z]", "", line) for line in left]
    assert [line for line in left if "ignored" in line] == ["photos: ignored 1 other file"]
    assert "50/50" in left[-2] and left[-2].startswith("encoding")
    assert sum("encoding" in line for line in left) == 1, "no bar is left behind"
    assert all(len(line) <= width for line in left)


@pytest.mark.parametrize("at_terminal", [False, True])
def test_a_long_message_is_one_line_in_a_file_and_is_wrapped_between_words_on_a_terminal(
    at_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=at_terminal, width=60, color_system=None, soft_wrap=True)
    monkeypatch.setattr(terminal, "error_console", lambda: console)
    logger = logging.getLogger("unweave")
    before, level = logger.handlers, logger.level
    message = (
        "50 of 201 images are grey, the others in colour: all become colour (data.channels=1: all [grey])"
    )
    try:
        terminal.prepare_logging(quiet=False)
        logger.info(message)
    finally:
        logger.handlers = before
        logger.setLevel(level)
    if at_terminal:
        lines = written.getvalue().splitlines()
        assert len(lines) == 2 and " ".join(line.rstrip() for line in lines) == message
    else:
        assert written.getvalue() == message + "\n"


@pytest.mark.parametrize(
    ("at_terminal", "width", "columns"),
    [
        (True, 120, ["score", "value", "95 % interval", "range", "better"]),
        (True, 60, ["score", "value", "95 % interval", "better"]),
        (True, 50, ["score", "value", "95 % interval"]),
        (False, 60, ["score", "value", "95 % interval", "range", "better"]),
    ],
)
def test_the_table_of_scores_leaves_out_columns_on_a_narrow_terminal_only(
    at_terminal: bool,
    width: int,
    columns: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(terminal, "_output", Console(force_terminal=at_terminal, width=width))
    score = Score("latents_used", -2152.124, low=-2156.431, high=-2147.817, range=(None, None))
    terminal.print_scores({"latents_used": score}, quiet=False)
    lines = capsys.readouterr().out.splitlines()
    assert re.split("  +", lines[0]) == columns
    assert not at_terminal or max(map(len, lines)) <= width
