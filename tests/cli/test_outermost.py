"""The outermost handler, names on the terminal, bounds on resources, configs that reach outside."""

import base64
import hashlib
import itertools
import os
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import torch

from unweave import cli, data, memory, objectives, priors
from unweave.cli import told
from unweave.data import pictures
from unweave.data.array_files import Npz
from unweave.errors import UnweaveError
from unweave.functional.mmd import inverse_multiquadratic, mmd
from unweave.reports.rendering import render

TINY = [
    *("circles", "data.size=32", "latents=2", "batch_size=4", "steps=2", "encoder=MLP", "encoder.hidden=[8]"),
    *("decoder=MLP", "decoder.hidden=[8]", "--no-report"),
]


LAUGHS = "k0: &k0 [x, x]\n" + "".join(f"k{i}: &k{i} [*k{i - 1}, *k{i - 1}]\n" for i in range(1, 30))
"""Two values that double thirty times."""


def sentence(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line that a command ends with."""
    with pytest.raises(SystemExit) as ended:
        cli.main(list(words))
    assert ended.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(28, "No space left on device", "a/b"), "a/b: No space left on device"),
        (MemoryError("Unable to allocate 7 TiB"), "not enough memory (Unable to allocate 7 TiB)"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "not enough memory"),
        (RecursionError(), "the input is nested too deeply"),
    ],
)
def test_what_the_system_refuses_is_a_sentence_and_a_traceback_with_debug(
    error: Exception, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli.cli, "main", fail)
    assert sentence(capsys, "train").startswith(f"unweave: {expected}")
    with pytest.raises(type(error)):
        cli.main(["train", "--debug"])


def test_a_mistake_of_the_program_is_not_hidden() -> None:
    assert told(TypeError("oops")) is None
    assert told(RuntimeError("shapes do not match")) is None


@pytest.mark.parametrize("name", ["a[/]b", "n\n\x1b[31mred", "[bold]", "‮txt"])
def test_no_name_reaches_the_terminal_raw(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cli.main(["train", *TINY, "--out", name])
    cli.main(["runs", "list", "--root", "."])
    with pytest.raises(SystemExit):
        cli.main(["evaluate", f"{name}/nowhere"])
    printed = "".join(capfd.readouterr())
    assert not [c for c in printed if not c.isprintable() and c != "\n"]
    if name == "a[/]b":
        assert printed.count("a[/]b") >= 3


@pytest.mark.parametrize("name", ["x" * 256, "/".join("d" * 1200), "a\0b"])
def test_names_that_no_file_system_takes_are_told(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sentence(capsys, "train", *TINY, "--out", name).startswith("unweave: ")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["latents=" + "9" * 400], "latents must be a whole number"),
        (["steps=1e30"], "steps must be a whole number"),
        (["encoder=Conv", "encoder.channels=[1000000000]"], "encoder Conv needs at least"),
        (["batch_size=1000000000"], "a batch of 1,000,000,000 images of 3 x 32 x 32 needs at least"),
        (["prior=GeneralizedNormal", "prior.tau=1e308"], "prior.tau must be a number"),
        (["decoder=SpatialBroadcast", "decoder.width=1e308"], "decoder.width must be a whole number"),
        (["data=pinwheel", "data.seed=-1"], "seed of Pinwheel must be at least 0"),
        (["data=pinwheel", "data.radial=1e38"], "give points that are not finite"),
        (
            ["objective=DecompositionVAE", "objective.divergence=mmd", "batch_size=1"],
            "objective.divergence=mmd needs a batch_size of at least 2",
        ),
        (["steps=${oc.env:HOME}"], "is not taken"),
    ],
)
def test_values_beyond_all_bounds_are_told_and_leave_no_run(
    words: list[str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    slot = words[0].split("=")[0] + "."
    given = [word for word in TINY[1:] if slot not in ("data.", "decoder.") or not word.startswith(slot)]
    start = [] if words[0].startswith("data=") else ["circles"]
    assert expected in sentence(capsys, "train", *start, *given, *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("data: circles\nsteps: ${oc.env:HOME}\n", r"\${oc.env:...} is not taken"),
        ("data: circles\nsteps: ${oc.decode:5}\n", "is not taken"),
        ("a: " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        (LAUGHS, "more than 100,000 values"),
        ("a: &a [*a]", "more than 100,000 values|not a config file"),
        ("#" * (1 << 21), "more than 1,048,576"),
    ],
)
def test_a_config_file_reaches_nothing_outside_and_has_bounds(
    text: str, expected: str, tmp_path: Path
) -> None:
    from unweave.runs.config import read_file

    file = tmp_path / "a.yaml"
    file.write_text(text)
    with pytest.raises(UnweaveError, match=expected):
        read_file(file)


def test_pipes_and_devices_do_not_hang(tmp_path: Path) -> None:
    from unweave.runs.config import read_file

    os.mkfifo(tmp_path / "a.yaml")
    with pytest.raises(UnweaveError, match="a pipe or a device"):
        read_file(tmp_path / "a.yaml")
    (tmp_path / "pictures").mkdir()
    os.mkfifo(tmp_path / "pictures" / "a.png")
    with pytest.raises(UnweaveError, match="a pipe or a device"):
        data.Folder(tmp_path / "pictures")


def test_an_npz_that_claims_more_than_it_can_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNWEAVE_CACHE", str(tmp_path / "cache"))
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (3000000, 64, 64), }"
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "images.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(10**6)
        )
    with pytest.raises(
        UnweaveError, match=r"images claims 12,288,000,000 bytes, the file holds [\d,]+ at most"
    ):
        data.Arrays(path)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_no_damaged_byte_of_an_npz_gives_another_array_or_a_traceback(
    tmp_path: Path, save: Callable[..., None]
) -> None:
    """A flipped bit may also say that a member is encrypted, or compressed in a way that does not exist."""
    path, images = tmp_path / "a.npz", np.arange(50, dtype=np.uint8).reshape(2, 5, 5)
    save(path, images=images)
    content = path.read_bytes()
    told = set()
    for place, bits in itertools.product(range(len(content)), (0x01, 0x80, 0xFF)):
        path.write_bytes(content[:place] + bytes([content[place] ^ bits]) + content[place + 1 :])
        try:
            file = Npz(path)
            if "images" in file.keys:
                assert file.read("images").tolist() == images.tolist()
                assert file.array("images", "test").tolist() == images.tolist()
        except UnweaveError as error:
            told.add(str(error).split("(")[-1])
    assert "That compression method is not supported)" in told
    assert any("encrypted" in sentence for sentence in told)


def test_a_picture_of_too_many_pixels_and_one_that_starts_a_program_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "MOST_PIXELS", 99)
    PIL.Image.new("RGB", (10, 10)).save(tmp_path / "a.png")
    with pytest.raises(UnweaveError, match="it has 10 x 10 pixels, more than 99"):
        data.Folder(tmp_path)
    (tmp_path / "a.png").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"
    )
    with pytest.raises(UnweaveError, match="is not an image"):
        data.Folder(tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e39])
def test_constructors_take_finite_weights_only(value: float) -> None:
    for make in (
        lambda: objectives.BetaVAE(beta=value),
        lambda: objectives.BetaTCVAE(beta=value),
        lambda: priors.GeneralizedNormal(2, tau=value),
        lambda: priors.StudentT(2, nu=value),
    ):
        with pytest.raises(UnweaveError, match="must be"):
            make()


@pytest.mark.parametrize("of", [data.XYSquares, data.Circles])
def test_an_image_that_no_memory_holds_is_refused(of: type[data.Dataset]) -> None:
    with pytest.raises(
        UnweaveError, match=r"one image of .* at this size needs at least 1\.38e\+10 GB of memory"
    ):
        of(size=2**31)  # type: ignore[call-arg]


def test_memory_that_numpy_does_not_find_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        memory, "available", lambda: None
    )  # as on a system that does not say how much is free
    with pytest.raises(
        UnweaveError, match=r"data XYSquares needs more memory than there is \(Unable to allocate"
    ):
        data.XYSquares(size=2**26)


def test_a_negative_number_of_images_is_told() -> None:
    rng = np.random.default_rng(0)
    pixels = data.Arrays.from_arrays(np.zeros((3, 8, 8), np.uint8))
    for dataset in (data.Circles(size=32), data.XYSquares(), data.Pinwheel(), pixels):
        with pytest.raises(
            UnweaveError, match="number of images to draw must be a whole number from 0 up, got -1"
        ):
            dataset.sample(-1, rng)


def test_the_mmd_of_one_point_is_told() -> None:
    with pytest.raises(UnweaveError, match="at least 2 points, got 1"):
        mmd(torch.zeros(1, 2), torch.zeros(3, 2), inverse_multiquadratic)


def test_the_budget_counts_before_it_allocates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 4 * 4 * 110)
    with memory.Budget("the model"):
        torch.nn.Linear(10, 10)  # 110 numbers of 4 bytes, held 4 times
    with pytest.raises(UnweaveError, match="the model needs at least"), memory.Budget("the model"):
        torch.nn.Linear(10, 11)


def test_pages_load_nothing_and_run_their_own_script_alone() -> None:
    page = render("page.html", title="A", writer="me")
    assert "Content-Security-Policy\" content=\"default-src 'none'; img-src data:;" in page
    [script] = re.findall(r"<script>(.*?)</script>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in page and page.count("<script") == 1
