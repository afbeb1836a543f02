"""`unweave data list | show | check` from the command line."""

from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from unweave import cli


def run(*words: str) -> int:
    try:
        cli.main(list(words))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNWEAVE_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_list_says_what_is_missing_and_where_it_belongs(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("data", "list") == 0
    printed = capsys.readouterr().out
    for words in (
        "Shapes3D",
        "made here",
        "CelebA",
        "missing",
        "1,443,490,838 bytes",
        str(place / "celeba"),
        "data=Objects3D",
    ):
        assert words in printed


def test_check_fails_on_a_wrong_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("data", "check") == 0
    assert "missing" in capsys.readouterr().out
    (place / "3dshapes").mkdir(parents=True)
    (place / "3dshapes" / "3dshapes.h5").write_bytes(b"no")
    assert run("data", "check", "3dshapes") == 2
    assert run("data", "check", "shapes3d") == 2
    captured = capsys.readouterr()
    assert "wrong" in captured.out
    assert "3dshapes.h5 is not the published file: it has 2 bytes instead of 267,573,662" in captured.err


def test_show_own_hdf5(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import h5py

    rng = np.random.default_rng(0)
    with h5py.File(tmp_path / "own.h5", "w") as file:
        file["images"] = rng.integers(256, size=(30, 16, 16), dtype=np.uint8)
        file["factors"] = rng.integers(3, size=(30, 2))
        file["factor_names"] = ["dose", "age"]
    assert run("data", "show", str(tmp_path / "own.h5"), "--out", str(tmp_path / "sheet.png")) == 0
    printed = capsys.readouterr().out
    assert "30 images of 1 x 16 x 16" in printed
    assert "dose" in printed
    with PIL.Image.open(tmp_path / "sheet.png") as sheet:
        assert min(sheet.size) > 50


def test_held_out_and_standardised_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny = [
        "data.size=32",
        "steps=2",
        "batch_size=4",
        "latents=2",
        "encoder.channels=[4,4]",
        "decoder.channels=[4,4]",
    ]
    words = ["standardise=true", "likelihood=MSE", "sampling=HeldOut", "sampling.factors=[x_r,y_r]"]
    assert (
        run("train", "xysquares", *tiny, *words, "--out", str(tmp_path / "run"), "--no-report", "--quiet")
        == 0
    )
    assert run("train", "xysquares", *tiny, "standardise=true", "--out", str(tmp_path / "no")) == 2
    assert "Bernoulli" in capsys.readouterr().err
    assert run("train", "xysquares", *tiny, "sampling=HeldOut", "--out", str(tmp_path / "none")) == 2
    assert "factors of HeldOut must name at least 1 of x_r" in capsys.readouterr().err
