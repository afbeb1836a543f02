import gzip
from pathlib import Path

import numpy as np
import pytest

from unweave.data import MNIST, FashionMNIST
from unweave.data.mnist import read_idx
from unweave.errors import UnweaveError


def idx(values: np.ndarray) -> bytes:
    """The format by its definition: two zeros, 8 for uint8, the number of dimensions, sizes, bytes; big-endian."""
    header = bytes([0, 0, 8, values.ndim]) + b"".join(int(n).to_bytes(4, "big") for n in values.shape)
    return header + values.astype(np.uint8).tobytes()


def write(folder: Path, prefix: str, n: int, *, packed: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    images = rng.integers(0, 256, (n, 28, 28), dtype=np.uint8)
    labels = np.arange(n, dtype=np.uint8) % 10
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels)):
        content = idx(values)
        path = folder / f"{prefix}-{name}{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(content) if packed else content)
    return images, labels


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNWEAVE_DATA", str(tmp_path))
    return tmp_path / "MNIST" / "raw"


@pytest.mark.parametrize("packed", [False, True])
def test_images_and_digits_are_those_of_the_files(folder: Path, packed: bool) -> None:
    images, labels = write(folder, "train", 30, packed=packed)
    data = MNIST()
    assert data.image_shape == (1, 28, 28)
    assert data.count == 30
    assert (data.at(np.arange(30))[:, 0] == images).all()
    assert (data.factors_at(np.arange(30))[:, 0] == labels).all()
    assert data.space is not None
    assert data.space.names == ("digit",)
    batch = data.sample(100, np.random.default_rng(0))
    rows = {image.tobytes(): label for image, label in zip(images, labels, strict=True)}
    found = [rows[np.ascontiguousarray(image[0]).tobytes()] for image in batch.images]
    assert batch.factors is not None
    assert found == batch.factors[:, 0].tolist()


def test_splits(folder: Path) -> None:
    train, test = write(folder, "train", 30)[0], write(folder, "t10k", 20)[0]
    assert (MNIST(split="test").at(np.arange(20))[:, 0] == test).all()
    both = MNIST(split="all")
    assert both.count == 50
    assert (both.at(np.arange(50))[:, 0] == np.concatenate([train, test])).all()


def test_a_missing_file_says_what_to_fetch_and_what_stands_in(folder: Path) -> None:
    with pytest.raises(
        UnweaveError, match=r"MNIST needs the file train-images-idx3-ubyte .*md5 6bbc9ace.*MNIST/raw"
    ):
        MNIST()
    with pytest.raises(UnweaveError, match=r"FashionMNIST needs .*fashion-mnist.*FashionMNIST/raw"):
        FashionMNIST()


def test_fashion_is_read_from_its_own_folder(folder: Path) -> None:
    images, _ = write(folder.parent.parent / "FashionMNIST" / "raw", "train", 12, packed=True)
    assert (FashionMNIST().at(np.arange(12))[:, 0] == images).all()


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b + b"x", lambda b: b"\0\0\x08\x01" + b[4:], lambda _: b""]
)
def test_damaged_files_are_named(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "images"
    path.write_bytes(damage(idx(np.zeros((2, 3, 3)))))  # type: ignore[operator]
    with pytest.raises(UnweaveError, match="is not an IDX file of 3 dimensions"):
        read_idx(path, 3)
    packed = tmp_path / "images.gz"
    packed.write_bytes(gzip.compress(idx(np.zeros((2, 3, 3))))[:-9])
    with pytest.raises(UnweaveError, match=r"cannot read .*images\.gz"):
        read_idx(packed, 3)


def test_files_that_do_not_belong_together_are_named(folder: Path) -> None:
    write(folder, "train", 30)
    (folder / "train-labels-idx1-ubyte").write_bytes(idx(np.zeros(29)))
    with pytest.raises(UnweaveError, match="30 images but 29 labels"):
        MNIST()


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("kind", [MNIST, FashionMNIST])
def test_idx_round_trip(place: Path, kind: type[MNIST] | type[FashionMNIST], zipped: bool) -> None:
    folder = place / kind.folder
    folder.mkdir(parents=True)
    images = np.random.default_rng(0).integers(256, size=(12, 28, 28), dtype=np.uint8)
    labels = np.arange(12, dtype=np.uint8) % 10
    for name, array in (("train-images-idx3-ubyte", images), ("train-labels-idx1-ubyte", labels)):
        content = np.array([0x800 + array.ndim, *array.shape], ">u4").tobytes() + array.tobytes()
        (folder / (f"{name}.gz" if zipped else name)).write_bytes(
            gzip.compress(content) if zipped else content
        )
    dataset = kind()
    np.testing.assert_array_equal(dataset.at(np.arange(12))[:, 0], images)
    np.testing.assert_array_equal(dataset.factors_at(np.arange(12))[:, 0], labels)
    with pytest.raises(UnweaveError, match="needs the file t10k-images-idx3-ubyte"):
        kind(split="test")
