import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from unweave import cli
from unweave.runs import Run

pytestmark = pytest.mark.usefixtures("few_images")

TINY = [
    *("data.size=32", "latents=2", "batch_size=4", "steps=3"),
    *("encoder.channels=[4,4]", "encoder.hidden=[8]", "decoder.channels=[4,4]", "decoder.hidden=[8]"),
]


def run(*words: str) -> int:
    """The exit code of a command line."""
    try:
        cli.main(list(words))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def image_folder(path: Path, *names: str) -> Path:
    path.mkdir()
    for i, name in enumerate(names):
        PIL.Image.new("RGB", (40, 32), (10 * i, 20, 30)).save(path / name)
    return path


def npz(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays)
    return path


def test_train_writes_weights_scores_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert run("train", "circles", *TINY, "--out", str(folder)) == 0
    printed = capsys.readouterr().out
    assert "trained 3 steps" in printed
    assert f"report: {folder / 'report.html'}" in printed
    opened = Run(folder)
    assert opened.status == "finished"
    for name in ("elbo", "mig", "factor_vae_score", "geometry"):
        assert f"{opened.scores[name]['value']:.3f}" in printed
    page = (folder / "report.html").read_text()
    assert "data:image/png;base64," in page
    assert 'src="http' not in page
    assert run("evaluate", str(folder)) == 0
    assert "mig" in capsys.readouterr().out
    assert run("report", str(folder), "--out", str(tmp_path / "page.html")) == 0
    assert (tmp_path / "page.html").exists()


def test_the_shown_config_is_a_file_that_makes_the_same_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("train", "circles", *TINY, "--show-config") == 0
    file = tmp_path / "study.yaml"
    file.write_text(capsys.readouterr().out)
    assert run("train", str(file), "--out", str(tmp_path / "a"), "--no-report", "--quiet") == 0
    assert run("train", "circles", *TINY, "--out", str(tmp_path / "a"), "--no-report", "--quiet") == 0
    assert capsys.readouterr().out == ""


def test_own_images_without_factors_train_and_report(tmp_path: Path) -> None:
    images = image_folder(tmp_path / "images", "a.png", "b.png", "c.png")
    assert run("train", str(images), *TINY, "--out", str(tmp_path / "run"), "--quiet") == 0
    scores = Run(tmp_path / "run").scores
    assert "elbo" in scores
    assert "mig" not in scores


def test_own_arrays_with_factors_are_scored(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    file = npz(tmp_path / "own.npz", images=rng.random((60, 32, 32)), factors=rng.integers(0, 3, (60, 2)))
    words = [word for word in TINY if word != "data.size=32"]
    assert run("train", str(file), *words, "--out", str(tmp_path / "run"), "--quiet") == 0
    assert 0 <= Run(tmp_path / "run").scores["mig"]["value"] <= 1


def test_data_list_and_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("data", "list") == 0
    assert "DSprites" in capsys.readouterr().out
    assert run("data", "show", "xysquares", "data.spacing=4", "--out", str(tmp_path / "sheet.png")) == 0
    printed = capsys.readouterr().out
    assert "262,144 images of 3 x 64 x 64" in printed
    with PIL.Image.open(tmp_path / "sheet.png") as sheet:
        assert min(sheet.size) > 200


def test_options_lists_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("options") == 0
    printed = capsys.readouterr().out
    for key in ("learning_rate", "objective.beta", "decoder.shuffle_coordinates", "data.hole"):
        assert key in printed


BAD = [
    (["train", "circels"], "unknown data 'circels': did you mean Circles?"),
    (["train", "circles", "objective=FaktorVEA"], "unknown objective 'FaktorVEA'"),
    (["train", "circles", "objective.betta=2"], "did you mean beta?"),
    (["train", "circles", "step=5"], "unknown option 'step': did you mean steps?"),
    (["train", "circles", "objective.beta=-1"], "objective.beta must be at least 0, got -1"),
    (["train", "circles", "latents=0"], "latents must be at least 1, got 0"),
    (["train", "circles", "data.size=30"], "image size 30 x 30 does not fit"),
    (["train", "circles", "--thread", "2"], "--threads"),
    (["train", "circles", "--threads", "0"], "--threads"),
    (["train", "circles", "--device", "abacus"], "device 'abacus' is not available"),
    (["train", "nowhere/at/all"], "there is no folder or file nowhere/at/all"),
    (["train", "nothing.yaml"], "there is no config file nothing.yaml"),
    (["train"], "no data set is named"),
    (["trian", "circles"], "No such command 'trian'. Did you mean 'train'?"),
    (["evaluate", "nowhere"], "nowhere is not the folder of a run"),
    (["report", "nowhere"], "nowhere is not the folder of a run"),
    (["data", "show", "dsprite"], "did you mean DSprites"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_a_mistake_is_one_sentence_and_exit_code_2(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*words) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "Traceback" not in printed
    assert len(printed.strip().splitlines()) == 1


def bad_data(tmp_path: Path, kind: str) -> Path:
    pictures = np.zeros((4, 32, 32), np.uint8)
    if kind == "broken picture":
        folder = image_folder(tmp_path / "images", "a.png")
        (folder / "b.png").write_text("not an image")
        return folder
    if kind == "empty folder":
        return image_folder(tmp_path / "images")
    if kind == "no images":
        return npz(tmp_path / "own.npz", pictures=pictures)
    if kind == "factors":
        return npz(tmp_path / "own.npz", images=pictures, factors=np.zeros((3, 2)))
    (tmp_path / "own.npz").write_text("not an npz at all")
    return tmp_path / "own.npz"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("broken picture", "b.png is not an image"),
        ("empty folder", "holds no images"),
        ("no images", "has no array called 'images' (it has: pictures)"),
        ("factors", "4 images but 3 rows of factors"),
        ("not an npz", "as an npz file"),
    ],
)
def test_bad_data_is_one_sentence_and_exit_code_2(
    kind: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("train", str(bad_data(tmp_path, kind))) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert len(printed.strip().splitlines()) == 1


def test_another_config_in_the_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "run")
    assert run("train", "circles", *TINY, "--out", folder, "--no-report") == 0
    assert run("train", "circles", *TINY, "seed=1", "--out", folder) == 2
    assert "made by another config (seed: 0 there, 1 here)" in capsys.readouterr().err


def test_a_diverged_run_ends_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "circles", *TINY, "learning_rate=1e30", "--out", str(tmp_path / "run")) == 2
    assert "the run diverged: the loss is" in capsys.readouterr().err
    assert Run(tmp_path / "run").status == "diverged"


def test_ctrl_c_saves_and_says_how_to_resume(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = ["train", "circles", *TINY, "steps=1000000", "--out", str(folder), "--no-report"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "unweave", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment,
    )  # fmt: skip
    while not (folder / "history.jsonl").exists() or not (folder / "history.jsonl").read_text():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate()
    assert process.returncode == 130
    assert "run the same command again to resume" in printed
    stopped = Run(folder)
    assert stopped.status == "interrupted"
    assert stopped.model_and_step()[1] > 0
