"""From photographs to a model that is carried elsewhere: every number is the run's own, and no data set is there."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

import unweave
from unweave import UnweaveError
from unweave.cli import main
from unweave.data import Folder
from unweave.runs import Config, Run, opened

from .conftest import SMALL

KINDS = ("RGB", "L", "RGBA", "P", "LA", "I;16", "CMYK")


def photograph(path: Path, rng: np.random.Generator, kind: str) -> None:
    """A disc before a gradient, in one of the kinds of pixels that photographs come in."""
    width, height = rng.integers(40, 150, 2).tolist()
    shade = np.linspace(*rng.uniform(0, 255, 2), width, dtype=np.float32).astype(np.uint8)
    picture = Image.fromarray(np.broadcast_to(shade[None, :, None], (height, width, 3)).copy())
    x, y, r = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(5, 30)
    ImageDraw.Draw(picture).ellipse(
        (x - r, y - r, x + r, y + r), fill=tuple(rng.integers(0, 256, 3).tolist())
    )
    if kind == "I;16":
        deep = Image.fromarray(np.asarray(picture.convert("L"), np.uint16) * 257)
        deep.save(path.with_suffix(".png"))
    elif kind == "CMYK":
        picture.convert("CMYK").save(path.with_suffix(".jpg"))
    else:
        made = picture.convert(kind)
        if kind in ("RGBA", "LA"):
            made.putalpha(Image.linear_gradient("L").resize(made.size))
        exif = Image.Exif()
        exif[0x0112] = int(rng.integers(1, 9))  # turned
        made.save(path.with_suffix(".jpg" if kind in ("RGB", "L") else ".png"), exif=exif)


def photographs(folder: Path, count: int, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    (folder / "more").mkdir(parents=True)
    for i in range(count):
        photograph(folder / ("more" if i % 5 == 0 else "") / f'{i:03d}, a "b"', rng, KINDS[i % len(KINDS)])
    return folder


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path, Path]:
    """The run, a copy of its model in another place, and new pictures; the photographs are gone."""
    place = tmp_path_factory.mktemp("photographs")
    photos = photographs(place / "photos", 200, 0)
    config = Config.read(words=[f"data={photos}", "data.size=32", "data.channels=3", *SMALL])
    run = Run.create(config, place / "runs" / "x")
    assert run.train().status == "finished"
    shutil.rmtree(photos)
    opened._MODELS.clear()
    opened._DATA.clear()
    opened._LATEST.clear()
    saved = unweave.load(run.folder).save(place / "saved")
    elsewhere = Path(shutil.copytree(saved, tmp_path_factory.mktemp("elsewhere") / "model"))
    return run, elsewhere, photographs(place / "new", 50, 1)


def test_the_data_are_gone(carried: tuple[Run, Path, Path]) -> None:
    with pytest.raises(UnweaveError, match="does not exist"):
        carried[0].config.make_dataset()


def test_codes_go_to_a_table_with_the_names_of_the_files(
    carried: tuple[Run, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, elsewhere, new = carried
    for place, model in (("own", run.folder), ("other", elsewhere)):
        (tmp_path / place).mkdir()
        monkeypatch.chdir(tmp_path / place)
        main(["encode", str(model), str(new), "--out", "codes.csv", "--quiet"])
        main(["encode", str(model), str(new), "--out", "codes.npz", "--quiet"])
        main(["encode", str(model), str(new), "--out", "codes.parquet", "--quiet"])
        assert sorted(path.name for path in Path().iterdir()) == ["codes.csv", "codes.npz", "codes.parquet"]
    with (tmp_path / "other" / "codes.csv").open() as file:
        head, *rows = csv.reader(file)
    assert head == ["image", *(f"{kind}z{j}" for kind in ("", "std_", "kl_") for j in range(3))]
    names = [row[0] for row in rows]
    assert names == sorted(p.relative_to(new).as_posix() for p in new.rglob("*") if p.is_file())
    numbers = np.array([row[1:] for row in rows], np.float64)

    # As the run itself sees them: its own way to read a folder, and its own model.
    images = Folder(new, size=32, channels=3)
    assert [file.relative_to(new).as_posix() for file in images.files] == names
    means, scales = run.model().codes(images.at(np.arange(50)))
    kl = 0.5 * (means.astype(np.float64) ** 2 + scales.astype(np.float64) ** 2 - 1) - np.log(
        scales.astype(np.float64)
    )
    np.testing.assert_allclose(numbers, np.concatenate([means, scales, kl], 1), atol=1e-6)

    for place in ("own", "other"):
        with np.load(tmp_path / place / "codes.npz") as stored:
            assert stored["image"].tolist() == names
            np.testing.assert_array_equal(stored["codes"], means)
            np.testing.assert_array_equal(stored["scales"], scales)
            np.testing.assert_allclose(stored["kl"], kl, atol=1e-6)
    import duckdb

    table = duckdb.sql(f"SELECT * FROM '{tmp_path / 'other' / 'codes.parquet'}'").fetchnumpy()
    assert list(table["image"]) == names
    np.testing.assert_allclose(table["z2"], means[:, 2], atol=1e-7)
    one, two = ((tmp_path / place / "codes.csv").read_bytes() for place in ("own", "other"))
    assert one == two


def test_pictures_and_exports_are_those_of_the_run(carried: tuple[Run, Path, Path], tmp_path: Path) -> None:
    run, elsewhere, new = carried
    own, other = unweave.load(run.folder), unweave.load(elsewhere)
    files = sorted(path for path in new.rglob("*") if path.is_file())
    for ours, theirs in (
        (own.traverse(files[0]).images, other.traverse(files[0]).images),
        (own.traverse(span=(-3, 3)).images, other.traverse(span=(-3, 3)).images),
        (own.edit(files[0], {"z2": 1.5}).after, other.edit(files[0], {"z2": 1.5}).after),
        (own.interpolate(*files[:2]).images, other.interpolate(*files[:2]).images),
        (own.sample(5), other.sample(5)),
        (own.reconstruct(new), other.reconstruct(new)),
        (own.neighbours(files[3], new).distances, other.neighbours(files[3], new).distances),
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    found = other.export(tmp_path, "torchscript")
    assert max(file.difference or 0 for file in found) < 1e-5
    import torch

    encoder = torch.jit.load(str(tmp_path / "encoder.pt"))
    pictures = Folder(new, size=32, channels=3).at(np.arange(50)).transpose(0, 2, 3, 1)
    mean, deviation = encoder(torch.from_numpy(pictures.copy()))
    expected = own.encode(new)
    np.testing.assert_allclose(mean.numpy(), expected.means, atol=1e-6)
    np.testing.assert_allclose(deviation.numpy(), expected.scales, atol=1e-6)


def test_neighbours_are_those_of_a_plain_search(carried: tuple[Run, Path, Path]) -> None:
    model, new = unweave.load(carried[1]), carried[2]
    codes = model.encode(new)
    here = 7
    distances = np.linalg.norm(codes.means.astype(np.float64) - codes.means[here], axis=1)
    order = np.argsort(distances, kind="stable")[:5]
    found = model.neighbours(new / str(codes.names[here]), new, k=5)
    assert found.names == tuple(codes.names[order])
    assert found.names[0] == codes.names[here]
    np.testing.assert_allclose(found.distances, distances[order], atol=1e-6)
    shown = model.images(new / found.names[2]).all().images[0]
    np.testing.assert_allclose(found.images[2] * 255, shown, atol=1e-3)


def test_a_broken_file_is_told_or_left_out(
    carried: tuple[Run, Path, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, folder = unweave.load(carried[1]), Path(shutil.copytree(carried[2], tmp_path / "new"))
    whole = sorted(folder.glob("*.jpg"))[0].read_bytes()
    (folder / "broken.jpg").write_bytes(whole[:300])
    (folder / "no picture.png").write_text("hello")
    (folder / "notes.txt").write_text("hello")
    (folder / ".DS_Store").write_text("hello")
    with pytest.raises(UnweaveError) as caught:
        model.encode_to(folder, tmp_path / "codes.csv")
    assert str(caught.value).startswith("2 of 52 images cannot be read: broken.jpg ")
    assert "no picture.png is not an image" in str(caught.value)
    assert not (tmp_path / "codes.csv").exists()
    with caplog.at_level("INFO", logger="unweave"):
        assert model.encode_to(folder, tmp_path / "codes.csv", skip_bad=True) == 50
    assert "ignored 1 other file (notes.txt)" in caplog.text
    assert "skipped 2 of 52 images that cannot be read" in caplog.text
    assert (tmp_path / "codes.csv").read_text().count("\n") == 51


def test_transparent_parts_get_the_background_of_training(tmp_path: Path) -> None:
    folder = tmp_path / "clear"
    folder.mkdir()
    clear = np.zeros((16, 16, 4), np.uint8)  # wholly transparent: nothing but the background is seen
    for k in range(2):
        Image.fromarray(clear).save(folder / f"{k}.png")
    words = [
        f"data={folder}",
        "data.size=16",
        'data.background="#204060"',
        "latents=2",
        "steps=1",
        "batch_size=2",
    ]
    run = Run.create(Config.read(words=words), tmp_path / "run")
    run.train()
    assert run.dataset().at([0])[0, :, 3, 3].tolist() == [32, 64, 96]
    model = unweave.load(unweave.load(run.folder).save(tmp_path / "model"))
    assert model.images(folder / "0.png").all().images[0, :, 3, 3].tolist() == [32, 64, 96]
