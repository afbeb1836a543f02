"""The commands about a trained model."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import unweave
from unweave.cli import main
from unweave.data import Arrays, Circles
from unweave.metrics import load_encoded
from unweave.models import Preparation, TrainedModel
from unweave.runs import Config, Run

from .conftest import SMALL


@pytest.fixture
def place(finished: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a copy of the run, and two pictures."""
    shutil.copytree(finished.folder, tmp_path / "run")
    images = Circles(size=32).sample(2, np.random.default_rng(0)).images
    (tmp_path / "both").mkdir()
    for name, image in zip(("a.png", "b.png"), images, strict=True):
        Image.fromarray(image.transpose(1, 2, 0)).save(tmp_path / name)
        Image.fromarray(image.transpose(1, 2, 0)).save(tmp_path / "both" / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    capsys.readouterr()
    try:
        main(list(words))
        assert code == 0
    except SystemExit as ended:
        assert (ended.code or 0) == code, capsys.readouterr()
    output = capsys.readouterr()
    return output.out if code == 0 else output.err


def pixels(path: str) -> np.ndarray:
    return np.asarray(Image.open(path))


def test_what_is_decoded_is_what_was_encoded(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = unweave.load("run")
    for name in ("codes.csv", "codes.npz", "codes.parquet"):
        assert told(capsys, "encode", "run", "both", "--out", name) == f"2 images: {name}\n"
        assert told(capsys, "decode", "run", name, "--out", "decoded") == "2 images: decoded\n"
        expected = np.rint(model.reconstruct("both") * 255).astype(np.uint8)
        for i in range(2):
            difference = pixels(f"decoded/00000{i}.png").astype(int) - expected[i].transpose(1, 2, 0)
            assert np.abs(difference).max() <= 1  # a half may be rounded either way
    Path("one.csv").write_text("z0\n1\n")
    assert "must have 3 numbers each" in told(capsys, "decode", "run", "one.csv", code=2)


def test_a_data_set_is_encoded_with_its_factors_and_can_be_scored(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("codes.npz", "codes.csv"):
        told(capsys, "encode", "run", "circles", "-n", "300", "--out", name)
        encoded = load_encoded(name)
        assert encoded.factor_names == ("x", "y")
        assert encoded.codes.shape == (300, 3)
        assert encoded.scales is not None
        assert encoded.factors is not None
    told(capsys, "score", "codes.csv", "--metrics", "mig")
    assert "no last image: say how many" in told(capsys, "encode", "run", "circles", code=2)
    assert "did you mean Circles" in told(capsys, "encode", "run", "circle", code=2)


def test_npz_files_are_read_as_the_data_set_reads_them(place: Path) -> None:
    model = unweave.load("run")
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 256, (300, 32, 32, 3)).astype(np.uint8)
    binary = rng.integers(0, 2, (300, 32, 32, 3)).astype(np.uint8)
    cases = {
        "plain": colour,
        "first": colour.transpose(0, 3, 1, 2),
        "float": (colour / 255).astype(np.float32),
        "binary": binary,
        "bool": binary.astype(bool),
        "fortran": np.asfortranarray(colour),
        "three": colour[:3],
    }
    for name, images in cases.items():
        (np.savez_compressed if name == "plain" else np.savez)(f"{name}.npz", images=images)
        means, _ = model.model.codes(Arrays(f"{name}.npz").at(np.arange(len(images))))
        np.testing.assert_allclose(model.encode(f"{name}.npz").means, means, atol=1e-6, err_msg=name)
    assert model.encode_to("plain.npz", "codes.csv") == 300
    assert np.loadtxt("codes.csv", delimiter=",", skiprows=1)[:, 0].tolist() == list(range(300))
    content = Path("float.npz").read_bytes()
    Path("short.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(unweave.UnweaveError, match=r"cannot read short\.npz"):
        model.encode("short.npz")


def test_arrays_and_tensors_of_any_layout(place: Path) -> None:
    model = unweave.load("run")
    images = np.random.default_rng(0).integers(0, 256, (4, 3, 32, 32)).astype(np.uint8)
    expected = model.encode(images).means
    last = images.transpose(0, 2, 3, 1)
    for given in (
        last,
        torch.from_numpy(images),
        torch.from_numpy(images).float() / 255,
        images.astype(np.int64),
        [Image.fromarray(each) for each in last],
        (images / 255).astype(np.float64),
    ):
        np.testing.assert_allclose(model.encode(given).means, expected, atol=1e-6)
    for one in (images[0], last[0], Image.fromarray(last[0])):
        np.testing.assert_allclose(model.code(one), expected[0], atol=1e-6)
    for wrong, why in (
        (images.astype(np.float32), "must lie between 0 and 1"),
        (np.zeros((4, 5, 32, 32)), "one image or several"),
        (np.zeros(7), "one image or several"),
        (np.zeros((2, 8, 8, 3)), "must be uint8 to be resized"),
        ([[1, 2], [3]], "must have one shape"),
        (np.array(["a"]), "must be uint8"),
    ):
        with pytest.raises(unweave.UnweaveError, match=why):
            model.encode(wrong)


def test_a_picture_that_is_not_square_fits_a_model_that_is_not() -> None:
    oblong = Preparation((3, 8, 16))
    picture = Image.new("RGB", (64, 64), "red")
    picture.paste("blue", (0, 16, 64, 48))  # the middle half is what is left of a square
    assert oblong.picture(picture)[2].min() == 255
    assert Preparation((3, 8, 16), crop=None).picture(picture)[0].max() == 255


def test_the_traversal_varies_what_it_says(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = unweave.load("run")
    code = model.code("a.png")
    found = model.traverse("a.png", latents=["z2", 0], span=(-3, 3), steps=4)
    assert found.latents == (2, 0)
    codes = np.tile(code, (4, 1))
    codes[:, 2] = [-3, -1, 1, 3]
    np.testing.assert_allclose(found.images[0], model.decode(codes), atol=1e-6)
    for name, kind in (("t.png", "PNG"), ("t.gif", "GIF"), ("t.webp", "WEBP")):
        told(capsys, "traverse", "run", "a.png", "--latents", "0,z2", "--range", "-3,3", "--out", name)
        picture = Image.open(name)
        assert picture.format == kind
        assert getattr(picture, "n_frames", 1) == (1 if kind == "PNG" else 16)
    assert "unknown latent 'z9'" in told(capsys, "traverse", "run", "--latents", "z9", code=2)
    assert "the lower one first" in told(capsys, "traverse", "run", "--range", "3,-3", code=2)
    assert "two numbers with a comma" in told(capsys, "traverse", "run", "--range", "3", code=2)
    assert "pictures are written as" in told(capsys, "traverse", "run", "--out", "t.bmp", code=2)


def test_editing_sets_or_moves_a_latent(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = unweave.load("run")
    model.name("z1", "height")
    code = model.code("a.png")
    found = model.edit("a.png", {"z0": 1.5, "height": "+=0.5", "2": "-=1"})
    np.testing.assert_allclose(found.changed_code, [1.5, code[1] + 0.5, code[2] - 1], atol=1e-6)
    np.testing.assert_allclose(found.after, model.decode(found.changed_code)[0], atol=1e-6)
    output = told(capsys, "edit", "run", "a.png", "z0=+1.5", "height+=0.5", "z2-=1")
    assert output.splitlines()[:2] == [
        f"z0: {code[0]:+.2f} -> +1.50",
        f"height: {code[1]:+.2f} -> {code[1] + 0.5:+.2f}",
    ]
    assert "expected LATENT=VALUE" in told(capsys, "edit", "run", "a.png", "z0", code=2)
    assert "must be a number" in told(capsys, "edit", "run", "a.png", "z0=much", code=2)
    assert "unknown latent 'heigt': did you mean height?" in told(
        capsys, "edit", "run", "a.png", "heigt=1", code=2
    )
    assert "one image is expected, got 2" in told(capsys, "edit", "run", "both", "z0=1", code=2)


def test_an_interpolation_ends_at_its_ends(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = unweave.load("run")
    found = model.interpolate("a.png", "b.png", steps=5)
    np.testing.assert_allclose(found.images[[0, 4]], model.reconstruct(["a.png", "b.png"]), atol=1e-6)
    np.testing.assert_allclose(
        found.codes[1], 0.75 * model.code("a.png") + 0.25 * model.code("b.png"), atol=1e-6
    )
    told(capsys, "interpolate", "run", "a.png", "b.png", "--out", "i.svg")
    assert "needs two images" in told(capsys, "interpolate", "run", "both", "a.png", code=2)


def test_samples_are_those_of_the_prior_and_the_seed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = unweave.load("run")
    torch.manual_seed(3)
    codes = torch.randn(6, 3).numpy()
    np.testing.assert_allclose(model.sample(6, seed=3), model.decode(codes), atol=1e-6)
    assert told(capsys, "sample", "run", "-n", "6", "--seed", "3", "--out", "drawn/") == "6 images: drawn\n"
    expected = np.rint(model.sample(6, seed=3)[5].transpose(1, 2, 0) * 255)
    assert np.abs(pixels("drawn/000005.png") - expected).max() <= 1
    assert told(capsys, "sample", "run", "-n", "6") == "6 images: samples.png\n"


def test_reconstructions_have_the_names_of_the_pictures(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, "reconstruct", "run", "both", "--out", "again")
    assert sorted(path.name for path in Path("again").iterdir()) == ["a.png.png", "b.png.png"]
    output = told(capsys, "reconstruct", "run", "both")
    model = unweave.load("run")
    images = model.images(["a.png", "b.png"]).all().images / 255
    error = np.square(model.reconstruct(["a.png", "b.png"]) - images).mean()
    assert output == f"2 images: reconstructions.png (mean squared error {error:.4f})\n"


def test_neighbours_come_with_a_picture(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = told(capsys, "neighbours", "run", "a.png", "--among", "both", "-k", "2")
    lines = [line.split() for line in output.splitlines()]
    assert lines[:2] == [["image", "distance"], ["a.png", "0.000"]]
    assert lines[2][0] == "b.png"
    assert Image.open("neighbours.png").size[0] > 200


def test_names_are_given_listed_suggested_and_used(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    relations = json.loads(Path("run/relations.json").read_text())
    relations["information"] = [[0.1, 0.9], [0.0, 0.0], [0.7, 0.2]]
    Path("run/relations.json").write_text(json.dumps(relations))
    Path("run/manifest.jsonl").unlink()
    rows = [line.split() for line in told(capsys, "name", "run").splitlines()]
    assert rows[0] == ["latent", "name", "KL", "suggested"]
    assert [row[2:] for row in rows[1:]] == [["y"], [], ["x"]]
    told(capsys, "name", "run", "z1", "nothing much")
    told(capsys, "name", "run", "--suggested")
    assert unweave.load("run").latent_names == ("y", "nothing much", "x")
    told(capsys, "encode", "run", "both", "--out", "codes.csv")
    assert Path("codes.csv").read_text().startswith("image,z0 y,z1 nothing much,z2 x,std_z0,")
    assert unweave.load("run").traverse().labels[0].split("  ")[0] in ("y", "nothing much", "x")
    shutil.copy("run/model.safetensors", "lone.safetensors")
    assert "give that folder, not a file" in told(capsys, "name", "lone.safetensors", "z0", "x", code=2)


def test_a_prior_that_does_not_factorise_has_one_kl(tmp_path: Path) -> None:
    config = Config.read(words=["data=circles", "prior=ISA", *SMALL, "latents=4"])
    model = TrainedModel.untrained(config, (3, 32, 32))
    images = np.random.default_rng(0).integers(0, 256, (3, 3, 32, 32)).astype(np.uint8)
    one, two = model.encode(images), model.encode(images)
    np.testing.assert_array_equal(one.kl, two.kl)
    assert one.kl.shape == (3, 1)
    one.save(tmp_path / "codes.csv")
    assert (tmp_path / "codes.csv").read_text().splitlines()[0].endswith(",std_z3,kl_z")


def test_gans_answer_too(tmp_path: Path) -> None:
    words = [
        "data=circles",
        "model=InfoGAN",
        "model.channels=[4,4]",
        "model.hidden=8",
        "model.categorical=[3]",
    ]
    model = TrainedModel.untrained(Config.read(words=words), (3, 32, 32))
    images = np.random.default_rng(0).integers(0, 256, (3, 3, 32, 32)).astype(np.uint8)
    assert model.encode(images).means.shape == (3, model.latents)
    assert model.sample(70).shape == (70, 3, 32, 32)
    assert model.traverse(images[0]).images.shape[:2] == (model.latents, 9)
    found = model.export(tmp_path, "torchscript")
    assert max(file.difference or 0 for file in found) < 1e-5


def test_what_is_wrong_is_one_sentence(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, expected in (
        (("encode", "nowhere/x", "."), "there is no nowhere/x: give the folder of a run or a model"),
        (("encode", "dsprite-vae", "."), "(did you mean dsprites-vae?)"),
        (("encode", "run", "nowhere/"), "does not exist"),
        (("encode", "run", ".", "--out", "codes.txt"), "codes are written as .npz, .csv or .parquet"),
        (("encode", "run", "run/config.yaml"), "config.yaml is not an image: replace or remove it"),
        (("encode", ".", "."), "neither a run nor a model"),
        (("export", "run", "--format", "onyx"), "unknown format 'onyx': did you mean onnx?"),
        (("decode", "run", "nowhere.csv"), "does not exist"),
        (("decode", "run", "a.png"), "must be an npz, npy, csv or parquet file"),
    ):
        message = told(capsys, *words, code=2)
        assert expected in message, words
        assert message.count("\n") == 1
    assert not list(Path().glob(".new-*"))


def test_the_page_and_the_tables_use_the_names(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "name", "run", "z1", "altitude")
    output = told(capsys, "evaluate", "run", "--metrics", "mig")
    assert "\naltitude  " in output
    from unweave.reports.run_parts import kl_chart
    from unweave.reports.run_summary import summarise

    summary = summarise(Run("run"))
    assert summary.names == ("z0", "altitude", "z2")
    assert kl_chart(summary) != kl_chart(dataclasses.replace(summary, names=("z0", "z1", "z2")))


def test_every_call_that_decodes_tells_how_far_it_is(place: Path) -> None:
    """Over more than a block: how many are done, and of how many; what comes out does not depend on it."""
    model = unweave.load(place / "run")
    pictures = np.random.default_rng(0).integers(0, 256, (70, *model.image_shape), dtype=np.uint8)
    calls = {
        "sample": lambda **tell: model.sample(70, **tell),
        "decode": lambda **tell: model.decode(np.ones((70, model.latents)), **tell),
        "traverse": lambda **tell: model.traverse(latents=[0, 1], steps=35, **tell).images,
        "interpolate": lambda **tell: model.interpolate(pictures[0], pictures[1], steps=70, **tell).images,
        "reconstruct": lambda **tell: model.reconstruct(pictures, **tell),
    }
    for name, call in calls.items():
        told: list[tuple[int, int]] = []
        shown = call(tell=lambda *numbers, told=told: told.append(numbers))
        assert told == [(64, 70), (70, 70)], name
        np.testing.assert_array_equal(shown, call())
