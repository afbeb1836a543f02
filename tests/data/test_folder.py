from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from unweave.data import Folder, image_files
from unweave.errors import UnweaveError

RNG = np.random.default_rng(0)
GREY = RNG.integers(256, size=(4, 16, 16), dtype=np.uint8)
COLOUR = RNG.integers(256, size=(4, 16, 16, 3), dtype=np.uint8)


def save(pixels: np.ndarray, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    PIL.Image.fromarray(pixels).save(path)


@pytest.mark.parametrize("images", [GREY, COLOUR])
def test_round_trip_is_exact_and_in_the_order_of_paths(tmp_path: Path, images: np.ndarray) -> None:
    for name, pixels in zip(("b.png", "a/z.bmp", "c.tiff", "a/b/c.png"), images, strict=True):
        save(pixels, tmp_path / name)
    (tmp_path / ".hidden").write_text("not an image")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("not an image")
    folder = Folder(tmp_path, size=16)
    assert [str(f.relative_to(tmp_path)) for f in folder.files] == ["a/b/c.png", "a/z.bmp", "b.png", "c.tiff"]
    assert (folder.count, folder.space, folder.name) == (4, None, "Folder")
    expected = images[[3, 1, 0, 2]].reshape(4, 16, 16, -1).transpose(0, 3, 1, 2)
    assert folder.image_shape == expected.shape[1:]
    got = folder.at([0, 1, 2, 3])
    np.testing.assert_array_equal(got, expected)
    assert got.transpose(0, 2, 3, 1).flags.c_contiguous
    batch = folder.sample(4000, np.random.default_rng(0))
    assert batch.factors is None
    shares = [(batch.images == image).all(axis=(1, 2, 3)).mean() for image in expected]
    np.testing.assert_allclose(shares, 0.25, atol=0.035)


def test_central_square_is_kept_and_averaged(tmp_path: Path) -> None:
    wide = np.zeros((32, 64), np.uint8)
    wide[:, 16:48] = 200
    save(wide, tmp_path / "wide.png")
    save(wide.T.copy(), tmp_path / "tall.png")
    assert (Folder(tmp_path, size=8).at([0, 1]) == 200).all()
    fine = np.indices((64, 64)).sum(axis=0) % 2 * 255  # a chessboard of single pixels: grey when antialiased
    save(fine.astype(np.uint8), tmp_path / "wide.png")
    save(fine.astype(np.uint8), tmp_path / "tall.png")
    shrunk = Folder(tmp_path, size=8).at([0])[0, 0]
    assert 122 <= shrunk.min() <= shrunk.max() <= 133


def test_channels_convert(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    save(np.full((16, 16, 3), [255, 0, 0], np.uint8), tmp_path / "a.png")
    save(np.full((16, 16), 77, np.uint8), tmp_path / "b.png")
    assert Folder(tmp_path, size=16, channels=3).at([0, 1])[:, :, 0, 0].tolist() == [
        [255, 0, 0],
        [77, 77, 77],
    ]
    # ITU-R 601: 0.299 of full red
    assert Folder(tmp_path, size=16, channels=1).at([0, 1])[:, :, 0, 0].tolist() == [[76], [77]]
    with caplog.at_level("INFO", "unweave"):
        mixed = Folder(tmp_path, size=16)
    assert mixed.at([0, 1])[:, :, 0, 0].tolist() == [[255, 0, 0], [77, 77, 77]]
    assert caplog.messages == [
        "1 of 2 images are grey, the others in colour: all become colour (data.channels=1: all grey)"
    ]


def test_transparency_depth_rotation_and_animation(tmp_path: Path) -> None:
    half = np.full((16, 16, 4), [200, 100, 50, 255], np.uint8)
    half[:, 8:, 3] = 0
    save(half, tmp_path / "a.png")
    deep = np.arange(256, dtype=np.uint16).reshape(16, 16) * 257
    save(deep, tmp_path / "b.png")
    turned = np.zeros((16, 16, 3), np.uint8)
    turned[:, :8] = 255
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # to be shown turned by 90 degrees clockwise
    PIL.Image.fromarray(turned).save(tmp_path / "c.png", exif=exif)
    frames = [PIL.Image.new("RGB", (16, 16), c) for c in ("blue", "red")]
    frames[0].save(tmp_path / "d.gif", save_all=True, append_images=frames[1:])
    images = Folder(tmp_path, size=16, channels=3).at([0, 1, 2, 3])
    assert images[0, :, 3, [3, 12]].tolist() == [[200, 100, 50], [0, 0, 0]]
    np.testing.assert_array_equal(images[1, 0], np.arange(256).reshape(16, 16))
    assert images[2, 0, [3, 12]].tolist() == [[255] * 16, [0] * 16]
    assert images[3, :, 5, 5].tolist() == [0, 0, 255]
    on_blue = Folder(tmp_path, size=16, background="#0000ff").at([0])[0]
    assert on_blue[:, 3, [3, 12]].T.tolist() == [[200, 100, 50], [0, 0, 255]]
    for wrong in ("no colour", "#00000000", 3):
        with pytest.raises(UnweaveError, match="background must be an opaque colour"):
            Folder(tmp_path, background=wrong)


@pytest.mark.parametrize("kind", ["jpg", "webp"])
def test_lossy_formats_load(tmp_path: Path, kind: str) -> None:
    save(np.full((40, 40, 3), [200, 100, 50], np.uint8), tmp_path / f"a.{kind}")
    np.testing.assert_allclose(Folder(tmp_path).at([0])[0, :, 30, 30], [200, 100, 50], atol=3)


def test_wrong_folders_and_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnweaveError, match="none does not exist: give the path of a folder with images"):
        Folder(tmp_path / "none")
    with pytest.raises(UnweaveError, match="holds no images: put image files"):
        Folder(tmp_path)
    (tmp_path / ".DS_Store").write_text("hidden")
    with pytest.raises(UnweaveError, match="holds no images"):
        Folder(tmp_path)
    save(COLOUR[0], tmp_path / "good.png")
    with pytest.raises(UnweaveError, match=r"good.png is a file, not a folder"):
        Folder(tmp_path / "good.png")
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "notes.txt").write_text("these are my images")
    with pytest.raises(UnweaveError, match=r"holds no images: .*; 1 other file \(notes.txt\) cannot be read"):
        Folder(tmp_path / "only")


def test_other_files_are_ignored_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    save(COLOUR[0], tmp_path / "good.png")
    save(COLOUR[1], tmp_path / "below" / "good.png")
    (tmp_path / "good.png").rename(tmp_path / "no ending")  # an image by its content
    for name in ("notes.txt", "Thumbs.db", "below/page.html", "read me", "picture.eps"):
        (tmp_path / name).write_text("not an image")
    with caplog.at_level("INFO", "unweave"):
        folder = Folder(tmp_path, size=16)
    assert [file.name for file in folder.files] == ["good.png", "no ending"]
    np.testing.assert_array_equal(folder.at([1])[0], COLOUR[0].transpose(2, 0, 1))
    assert caplog.messages == [f"{tmp_path}: ignored 5 other files (Thumbs.db, page.html, notes.txt ...)"]


def broken(folder: Path) -> list[str]:
    """Four images, and four that cannot be read; the names of the good ones."""
    for k in range(4):
        save(COLOUR[k], folder / f"good {k}.png")
    whole = (folder / "good 0.png").read_bytes()
    (folder / "broken.png").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.jpg").touch()
    (folder / "text.jpg").write_text("not an image")
    save(np.zeros((16, 16), np.float32), folder / "float.tiff")
    return [f"good {k}.png" for k in range(4)]


@pytest.mark.parametrize("channels", [None, 3])
def test_unreadable_images_are_named_all_at_once(tmp_path: Path, channels: int | None) -> None:
    broken(tmp_path)
    with pytest.raises(UnweaveError) as caught:
        Folder(tmp_path, channels=channels)
    told = str(caught.value)
    assert told.startswith("4 of 8 images cannot be read: ")
    for part in (
        "broken.png is a broken image",
        "empty.jpg is not an image",
        "text.jpg is not an image",
        "float.tiff has pixels of kind F",
        "go on without them (--skip-bad, or data.skip_bad=true)",
    ):
        assert part in told


def test_unreadable_images_can_be_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good = broken(tmp_path)
    with caplog.at_level("INFO", "unweave"):
        folder = Folder(tmp_path, size=16, skip_bad=True)
    assert [file.name for file in folder.files] == good
    np.testing.assert_array_equal(folder.at(range(4)), COLOUR.transpose(0, 3, 1, 2))
    assert caplog.messages == ["skipped 4 of 8 images that cannot be read"]
    for name in good:
        (tmp_path / name).unlink()
    with pytest.raises(UnweaveError, match="holds no image that can be read"):
        Folder(tmp_path, skip_bad=True)


def test_which_images_of_a_large_folder_are_unreadable_is_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_files, "IN_MEMORY", 100)
    monkeypatch.setenv("UNWEAVE_CACHE", str(tmp_path / "cache"))
    good = broken(tmp_path / "pictures")
    first = Folder(tmp_path / "pictures", size=16, skip_bad=True)
    monkeypatch.setattr(image_files, "_load", lambda *_: pytest.fail("an image is read again"))
    again = Folder(tmp_path / "pictures", size=16, skip_bad=True)
    assert [file.name for file in again.files] == good
    assert again.fingerprint() == first.fingerprint()
    np.testing.assert_array_equal(again.at(range(4)), COLOUR.transpose(0, 3, 1, 2))


def test_wrong_options_and_calls_are_named(tmp_path: Path) -> None:
    save(COLOUR[0], tmp_path / "good.png")
    with pytest.raises(
        UnweaveError, match="size of Folder must be a whole number of pixels from 1 up, got 0"
    ):
        Folder(tmp_path, size=0)
    with pytest.raises(
        UnweaveError, match=r"channels of Folder must be 1 \(grey\), 3 \(RGB\) or None .* got 2"
    ):
        Folder(tmp_path, channels=2)
    folder = Folder(tmp_path)
    with pytest.raises(UnweaveError, match="Folder has no known factors: ask for images by row number"):
        folder.images([[0]])
    with pytest.raises(UnweaveError, match="Folder has no known factors"):
        folder.evaluation(3, RNG)
    with pytest.raises(UnweaveError, match="index must be from 0 to 0, got 1"):
        folder.at([1])
