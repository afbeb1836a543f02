"""Original files: the tiny true-format ones, and the other formats written here byte for byte as they are published."""

import gzip
import io
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import torch
from scipy.io import savemat

from unweave.data import (
    MNIST,
    MPI3D,
    Cars3D,
    CelebA,
    Chairs3D,
    DSprites,
    Faces3D,
    FashionMNIST,
    Shapes3D,
    SmallNORB,
)
from unweave.data.catalogue import catalogue, check, where_to_get
from unweave.data.originals import read_norb
from unweave.errors import UnweaveError

FORMATS = Path(__file__).parents[3] / "shared" / "data" / "formats"
DSPRITES = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64"
RNG = np.random.default_rng(0)

golden = pytest.mark.skipif(
    not FORMATS.exists(), reason="the tiny true-format files are not part of the repository"
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder and a cache folder of the test's own."""
    monkeypatch.setenv("UNWEAVE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("UNWEAVE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def link(place: Path, folder: str, *names: str) -> None:
    (place / folder).mkdir(exist_ok=True)
    for name in names:
        (place / folder / name).symlink_to(FORMATS / name)


def is_mapped(array: np.ndarray | None) -> bool:
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return isinstance(array, np.memmap)


class Bomb:
    """What a pickle in a data file could do."""

    def __reduce__(self) -> tuple[object, ...]:
        return (pytest.fail, ("a pickle of a data file was executed",))


# dSprites ----------------------------------------------------------------------------------------------------------


@golden
def test_dsprites_hdf5_round_trip(place: Path) -> None:
    import h5py

    link(place, "dsprites", f"{DSPRITES}.hdf5")
    with h5py.File(FORMATS / f"{DSPRITES}.hdf5") as file:
        images, classes = file["imgs"][()], file["latents/classes"][()][:, 1:]
    dataset = DSprites(source="file")
    assert (dataset.count, dataset.image_shape) == (5, (1, 64, 64))
    assert dataset.space is not None
    assert dataset.space.sizes == (3, 6, 40, 32, 32)
    np.testing.assert_array_equal(dataset.at(np.arange(5))[:, 0], images)
    np.testing.assert_array_equal(dataset.factors_at(np.arange(5)), classes)
    np.testing.assert_array_equal(dataset.images(classes[[3, 1]])[:, 0], images[[3, 1]])
    assert dataset.held_out([[0, 0, 0, 0, 0]]).all()
    with pytest.raises(
        UnweaveError, match="no image has shape = 0, scale = 0, orientation = 0, x = 0, y = 0"
    ):
        dataset.images([[0, 0, 0, 0, 0]])


@pytest.mark.parametrize("compressed", [False, True])
def test_dsprites_npz_is_read_without_its_pickle(place: Path, compressed: bool) -> None:
    rendered = DSprites()
    factors = rendered.factor_space().sample(30, RNG)
    images = (rendered.images(factors)[:, 0] // 255).astype(np.uint8)
    classes = np.column_stack([np.zeros(30, np.int64), factors])
    (place / "dsprites").mkdir()
    save = np.savez_compressed if compressed else np.savez
    metadata = np.array(Bomb(), dtype=object)
    save(
        place / "dsprites" / f"{DSPRITES}.npz",
        metadata=metadata,
        imgs=images,
        latents_classes=classes,
        latents_values=classes * 0.5,
    )
    dataset = DSprites(source="file")
    np.testing.assert_array_equal(dataset.images(factors), rendered.images(factors))
    assert set(np.unique(dataset.sample(50, RNG).images)) == {0, 255}


def test_the_bomb_would_explode() -> None:
    with pytest.raises(pytest.fail.Exception):
        pickle.loads(pickle.dumps(Bomb()))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"images": np.zeros((2, 64, 64), np.uint8)}, "is not dSprites: it has no array 'imgs'"),
        (
            {"imgs": np.zeros((2, 32, 32), np.uint8), "latents_classes": np.zeros((2, 6), np.int64)},
            r"imgs must have shape \(n, 64, 64\) .* got \(2, 32, 32\)",
        ),
    ],
)
def test_wrong_dsprites_are_named(place: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    (place / "dsprites").mkdir()
    np.savez(place / "dsprites" / f"{DSPRITES}.npz", **arrays)
    with pytest.raises(UnweaveError, match=message):
        DSprites(source="file")


@golden
def test_truncated_files_are_named(place: Path) -> None:
    (place / "dsprites").mkdir()
    file = place / "dsprites" / f"{DSPRITES}.npz"
    np.savez(file, imgs=np.zeros((2, 64, 64), np.uint8), latents_classes=np.zeros((2, 6), np.int64))
    file.write_bytes(file.read_bytes()[:3000])
    with pytest.raises(UnweaveError, match=r"cannot read .*npz as an npz file"):
        DSprites(source="file")
    (place / "3dshapes").mkdir()
    (place / "3dshapes" / "3dshapes.h5").write_bytes((FORMATS / "3dshapes.h5").read_bytes()[:5000])
    with pytest.raises(UnweaveError, match=r"cannot read .*3dshapes.h5 as an HDF5 file"):
        Shapes3D(source="file")


# 3D Shapes ---------------------------------------------------------------------------------------------------------


@golden
def test_shapes3d_round_trip(place: Path) -> None:
    import h5py

    link(place, "3dshapes", "3dshapes.h5")
    with h5py.File(FORMATS / "3dshapes.h5") as file:
        images, labels = file["images"][()], file["labels"][()]
    dataset = Shapes3D(source="file")
    assert (dataset.count, dataset.image_shape) == (5, (3, 64, 64))
    np.testing.assert_array_equal(dataset.at(np.arange(5)).transpose(0, 2, 3, 1), images)
    classes = dataset.factors_at(np.arange(5))
    values = [*[np.arange(10) / 10] * 3, np.linspace(0.75, 1.25, 8), np.arange(4), np.linspace(-30, 30, 15)]
    found = np.column_stack([value[column] for value, column in zip(values, classes.T, strict=True)])
    np.testing.assert_allclose(found, labels, atol=1e-6)


def test_wrong_shapes3d_are_named(place: Path) -> None:
    import h5py

    (place / "3dshapes").mkdir()
    path = place / "3dshapes" / "3dshapes.h5"
    with h5py.File(path, "w") as file:
        file["images"], file["labels"] = np.zeros((3, 64, 64, 3), np.uint8), np.full((3, 6), 0.05)
    with pytest.raises(UnweaveError, match=r"has a label 0.05 in column 0: expected one of 0, 0.1, 0.2"):
        Shapes3D(source="file")
    with h5py.File(path, "w") as file:
        file["images"], file["labels"] = np.zeros((3, 32, 32, 3), np.uint8), np.zeros((3, 6))
    with pytest.raises(
        UnweaveError, match=r"is not 3D Shapes: images must have shape .* got \(3, 32, 32, 3\)"
    ):
        Shapes3D(source="file")
    with h5py.File(path, "w") as file:
        file["pictures"] = np.zeros(3)
    with pytest.raises(UnweaveError, match=r"has no array 'images' \(it has: pictures\)"):
        Shapes3D(source="file")


# SmallNORB ---------------------------------------------------------------------------------------------------------

NORB = ("5x46789x9x18x6x2x96x96-training", "5x01235x9x18x6x2x96x96-testing")


def norb_bytes(array: np.ndarray) -> bytes:
    magic = {"uint8": 0x1E3D4C55, "int32": 0x1E3D4C54}[array.dtype.name]
    sizes = [*array.shape, 1, 1][: max(3, array.ndim)]
    return np.array([magic, array.ndim, *sizes], "<i4").tobytes() + array.tobytes()


def literal_norb(path: Path, kind: str) -> np.ndarray:
    content = path.read_bytes()
    ndim = int.from_bytes(content[4:8], "little")
    sizes = [int.from_bytes(content[8 + 4 * i : 12 + 4 * i], "little") for i in range(ndim)]
    return np.frombuffer(content[8 + 4 * max(3, ndim) :], kind).reshape(sizes)


@golden
@pytest.mark.parametrize("split", ["train", "test", "all"])
def test_smallnorb_golden_round_trip(place: Path, split: str) -> None:
    names = [f"smallnorb-{stem}-{part}.mat" for stem in NORB for part in ("dat", "cat", "info")]
    link(place, "small_norb", *names)
    stems = NORB if split == "all" else (NORB[split == "test"],)
    dataset = SmallNORB(split=split, size=96)
    dat, cat, info = (
        np.concatenate([literal_norb(FORMATS / f"smallnorb-{stem}-{part}.mat", kind) for stem in stems])
        for part, kind in (("dat", "u1"), ("cat", "<i4"), ("info", "<i4"))
    )
    assert dataset.count == len(dat)
    instances = np.unique(info[:, 0])
    for i in range(dataset.count):
        category, instance, elevation, azimuth, lighting = dataset.factors_at([i])[0]
        wanted = [instances[instance], elevation, 2 * azimuth, lighting]
        rows = np.flatnonzero((cat == category) & (info == wanted).all(axis=1))
        assert any((dataset.at([i])[0, 0] == dat[row, 0]).all() for row in rows)
    assert SmallNORB(split=split).image_shape == (1, 64, 64)


def norb_files(place: Path, zipped: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """A complete training set of smaller pictures, in random order; images and the row of each grid point."""
    grid = np.stack(np.meshgrid(*map(np.arange, (5, 5, 9, 18, 6)), indexing="ij"), -1).reshape(-1, 5)
    order = RNG.permutation(len(grid))
    shuffled = grid[order]
    dat = RNG.integers(256, size=(len(grid), 2, 4, 4), dtype=np.uint8)
    info = np.column_stack(
        [np.array([4, 6, 7, 8, 9])[shuffled[:, 1]], shuffled[:, 2], 2 * shuffled[:, 3], shuffled[:, 4]]
    )
    (place / "small_norb").mkdir()
    for part, array in (
        ("dat", dat),
        ("cat", shuffled[:, 0].astype(np.int32)),
        ("info", info.astype(np.int32)),
    ):
        name, content = f"smallnorb-{NORB[0]}-{part}.mat", norb_bytes(array)
        if zipped:
            name, content = f"{name}.gz", gzip.compress(content, 1)
        (place / "small_norb" / name).write_bytes(content)
    return dat, order


def test_smallnorb_is_sorted_into_its_grid(place: Path) -> None:
    dat, order = norb_files(place)
    dataset = SmallNORB(size=4)
    assert (dataset.count, dataset.factor_space().sizes) == (24_300, (5, 5, 9, 18, 6))
    row_of = np.argsort(order)
    np.testing.assert_array_equal(dataset.at(np.arange(24_300))[:, 0], dat[row_of, 0])
    np.testing.assert_array_equal(dataset.images([[4, 4, 8, 17, 5]])[0, 0], dat[row_of[-1], 0])


def test_wrong_norb_files_are_named(place: Path, tmp_path: Path) -> None:
    good = norb_bytes(np.arange(6, dtype=np.int32).reshape(3, 2))
    path = tmp_path / "a.mat"
    path.write_bytes(good)
    np.testing.assert_array_equal(read_norb(path), np.arange(6).reshape(3, 2))
    path.write_bytes(b"\x55\x4c\x3d\x00" + good[4:])
    with pytest.raises(UnweaveError, match="magic number 0x003d4c55, which is not one of the NORB format"):
        read_norb(path)
    path.write_bytes(good[:-5])
    with pytest.raises(UnweaveError, match="is cut off: 2 of 3 rows are there"):
        read_norb(path)
    path.write_bytes(good[:6])
    with pytest.raises(UnweaveError, match="is cut off or damaged"):
        read_norb(path)
    path.write_bytes(gzip.compress(good)[:-12])
    with pytest.raises(UnweaveError, match="is cut off or damaged"):
        read_norb(path)
    norb_files(place)
    cat = place / "small_norb" / f"smallnorb-{NORB[0]}-dat.mat.gz"
    cat.write_bytes(gzip.compress(norb_bytes(np.zeros((7, 2, 4, 4), np.uint8))))
    with pytest.raises(
        UnweaveError, match=r"must hold \(24300, 2, height, width\) images, got \(7, 2, 4, 4\)"
    ):
        SmallNORB(size=4)


# Cars3D ------------------------------------------------------------------------------------------------------------


def car_files(folder: Path, names: list[str]) -> dict[str, np.ndarray]:
    folder.mkdir(parents=True)
    views = {name: RNG.integers(256, size=(8, 8, 3, 24, 4), dtype=np.uint8) for name in names}
    for name, im in views.items():
        savemat(folder / f"{name}.mat", {"im": im, "mask": np.zeros((8, 8, 24, 4), np.uint8)})
    (folder / "list.txt").write_text("\n".join(names) + "\n")
    return views


@pytest.mark.parametrize("packed", [False, True])
def test_cars3d_round_trip(place: Path, tmp_path: Path, packed: bool) -> None:
    names = ["car_007_mesh", "car_001_mesh", "car_003_mesh"]
    views = car_files(tmp_path / "data" / "cars" if not packed else tmp_path / "raw" / "data" / "cars", names)
    if packed:
        (place / "cars").mkdir()
        with tarfile.open(place / "cars" / "nips2015-analogy-data.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / "raw" / "data", "data")
    dataset = Cars3D(size=8)
    assert dataset.factor_space().names == ("elevation", "azimuth", "object_type")
    assert dataset.factor_space().sizes == (4, 24, 3)
    for kind, name in enumerate(names):  # the order of list.txt, not of the alphabet
        for elevation, azimuth in ((0, 0), (1, 5), (3, 23)):
            got = dataset.images([[elevation, azimuth, kind]])[0].transpose(1, 2, 0)
            np.testing.assert_array_equal(got, views[name][:, :, :, azimuth, elevation])


def test_cars3d_are_resized_bilinearly(place: Path, tmp_path: Path) -> None:
    views = car_files(tmp_path / "data" / "cars", ["car_001_mesh"])["car_001_mesh"]
    got = Cars3D(size=4).images([[2, 3, 0]])[0].transpose(1, 2, 0)
    picture = PIL.Image.fromarray(np.ascontiguousarray(views[:, :, :, 3, 2]))
    np.testing.assert_array_equal(got, np.asarray(picture.resize((4, 4), PIL.Image.Resampling.BILINEAR)))


def test_wrong_cars_are_named(place: Path, tmp_path: Path) -> None:
    (place / "cars").mkdir()
    with pytest.raises(UnweaveError, match=r"holds no car_XXX_mesh.mat"):
        Cars3D()
    savemat(place / "cars" / "car_001_mesh.mat", {"im": np.zeros((8, 8, 3, 5, 4), np.uint8)})
    with pytest.raises(
        UnweaveError, match=r"car_001_mesh.mat must hold im, uint8 of shape .* got uint8 \(8, 8, 3, 5, 4\)"
    ):
        Cars3D()
    (place / "cars" / "car_001_mesh.mat").write_bytes(b"nothing")
    with pytest.raises(UnweaveError, match=r"car_001_mesh.mat cannot be read"):
        Cars3D()
    (place / "cars" / "nips2015-analogy-data.tar.gz").write_bytes(b"nothing")
    with pytest.raises(UnweaveError, match="cannot be read as a tar archive"):
        Cars3D()


# Chairs, faces, CelebA ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_chairs_are_cropped_and_resized(place: Path, tmp_path: Path, packed: bool) -> None:
    root = (tmp_path / "raw" if packed else place / "chairs") / "rendered_chairs"
    pictures = []
    for model in ("b", "a"):
        (root / model / "renders").mkdir(parents=True)
        for view in (1, 0):
            pixels = RNG.integers(256, size=(60, 60, 3), dtype=np.uint8)
            PIL.Image.fromarray(pixels).save(root / model / "renders" / f"image_{view:03}.png")
            pictures.append((f"{model}{view}", pixels))
    if packed:
        (place / "chairs").mkdir()
        with tarfile.open(place / "chairs" / "rendered_chairs.tar", "w") as archive:
            archive.add(root, "rendered_chairs")
    dataset = Chairs3D(size=40, crop=40)
    assert (dataset.count, dataset.space, dataset.image_shape) == (4, None, (3, 40, 40))
    expected = [pixels[10:50, 10:50] for _, pixels in sorted(pictures)]
    np.testing.assert_array_equal(dataset.at(np.arange(4)).transpose(0, 2, 3, 1), expected)
    grey = np.asarray(
        PIL.Image.fromarray(expected[0]).convert("L").resize((20, 20), PIL.Image.Resampling.BILINEAR)
    )
    np.testing.assert_array_equal(Chairs3D(size=20, crop=40, channels=1).at([0])[0, 0], grey)
    with pytest.raises(UnweaveError, match=r"cannot crop 400 x 400 pixels from 60 x 60"):
        Chairs3D()


@pytest.mark.parametrize("legacy", [False, True])
def test_faces_are_mapped_without_unpickling(place: Path, legacy: bool) -> None:
    faces = torch.randint(
        256, (1, 21, 11, 11, 64, 64), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    (place / "basel_faces").mkdir()
    torch.save(
        faces, place / "basel_faces" / "basel_face_renders.pth", _use_new_zipfile_serialization=not legacy
    )
    dataset = Faces3D()
    assert dataset.factor_space().sizes == (1, 21, 11, 11)
    got = dataset.images([[0, 20, 3, 7], [0, 0, 10, 0]])[:, 0]
    np.testing.assert_array_equal(got, faces[0, [20, 0], [3, 10], [7, 0]].numpy())


def test_wrong_faces_are_named(place: Path) -> None:
    (place / "basel_faces").mkdir()
    torch.save(torch.zeros(5, dtype=torch.uint8), place / "basel_faces" / "basel_face_renders.pth")
    with pytest.raises(UnweaveError, match=r"it holds 5 bytes of images, not a multiple of"):
        Faces3D()
    (place / "basel_faces" / "basel_face_renders.pth").write_bytes(b"x" * 5000)
    with pytest.raises(UnweaveError, match="is not 3D Faces: expected a torch file"):
        Faces3D()


CELEBA = ("img_align_celeba.zip", "list_attr_celeba.txt", "list_eval_partition.txt")


@golden
def test_celeba_golden_round_trip(place: Path) -> None:
    link(place, "celeba", *CELEBA)
    dataset = CelebA()
    assert (dataset.count, dataset.space, dataset.image_shape) == (6, None, (3, 64, 64))
    with zipfile.ZipFile(FORMATS / CELEBA[0]) as archive:
        for i in range(6):
            with PIL.Image.open(io.BytesIO(archive.read(f"img_align_celeba/{i + 1:06}.jpg"))) as picture:
                whole = picture.convert("RGB")
                expected = np.asarray(whole.resize((64, 64), PIL.Image.Resampling.BILINEAR))
            np.testing.assert_array_equal(dataset.at([i])[0].transpose(1, 2, 0), expected)
    lines = (FORMATS / CELEBA[1]).read_text().splitlines()
    column = lines[1].split().index("Smiling")
    smiling = [int(line.split()[1 + column]) > 0 for line in lines[2:]]
    asked = CelebA(attributes=("Smiling",))
    np.testing.assert_array_equal(asked.factors_at(np.arange(6))[:, 0], smiling)
    parts = dict(line.split() for line in (FORMATS / CELEBA[2]).read_text().splitlines())
    for number, split in enumerate(("train", "valid", "test")):
        many = sum(value == str(number) for value in parts.values())
        if many:
            assert CelebA(split=split).count == many
        else:
            with pytest.raises(UnweaveError, match=f"belongs to the split {split}"):
                CelebA(split=split)
    side = min(whole.size)
    assert CelebA(crop=side).image_shape == (3, 64, 64)
    with pytest.raises(UnweaveError, match="unknown attribute of CelebA 'Smilin': did you mean Smiling"):
        CelebA(attributes=("Smilin",))


@golden
def test_wrong_celeba_is_named(place: Path) -> None:
    (place / "celeba").mkdir()
    (place / "celeba" / CELEBA[0]).write_bytes((FORMATS / CELEBA[0]).read_bytes()[:900])
    with pytest.raises(UnweaveError, match="cannot be read as a zip archive"):
        CelebA()
    (place / "celeba" / CELEBA[0]).write_bytes((FORMATS / CELEBA[0]).read_bytes())
    lines = (FORMATS / CELEBA[1]).read_text().splitlines()
    (place / "celeba" / CELEBA[1]).write_text("\n".join(lines[:-2]))
    with pytest.raises(UnweaveError, match=r"list_attr_celeba.txt is cut off: 4 of 6 rows are there"):
        CelebA(attributes=("Smiling",))


# MPI3D, MNIST ------------------------------------------------------------------------------------------------------


def test_mpi3d_is_mapped_or_converted(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "unweave.data.originals._MPI3D_SIZES",
        {"toy": (2, 2, 2, 3, 3, 2, 2), "complex": (1, 1, 2, 3, 3, 2, 2)},
    )
    monkeypatch.setattr("unweave.data.array_files.IN_MEMORY", 1000)
    images = RNG.integers(256, size=(288, 64, 64, 3), dtype=np.uint8)
    (place / "mpi3d_toy").mkdir()
    (place / "mpi3d").mkdir()
    np.savez(place / "mpi3d_toy" / "mpi3d_toy.npz", images=images)
    np.savez_compressed(
        place / "mpi3d" / "real3d_complicated_shapes_ordered.npz",
        images=images[:72].reshape(1, 1, 2, 3, 3, 2, 2, 64, 64, 3),
    )
    toy = MPI3D()
    assert is_mapped(toy._pixels)
    np.testing.assert_array_equal(toy.at(np.arange(288)).transpose(0, 2, 3, 1), images)
    np.testing.assert_array_equal(toy.images([[1, 1, 1, 2, 2, 1, 1]])[0].transpose(1, 2, 0), images[-1])
    cache = place.parent / "cache"
    assert not cache.exists()  # nothing was copied
    other = MPI3D(variant="complex")
    np.testing.assert_array_equal(other.at(np.arange(72)).transpose(0, 2, 3, 1), images[:72])
    assert len(list(cache.glob("mpi3d-*.npy"))) == 1
    np.savez(place / "mpi3d_toy" / "mpi3d_toy.npz", images=images[:5])
    with pytest.raises(
        UnweaveError, match=r"is not MPI3D: images must have shape \(288, 64, 64, 3\), got \(5, 64"
    ):
        MPI3D()


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("kind", [MNIST, FashionMNIST])
def test_idx_round_trip(place: Path, kind: type[MNIST] | type[FashionMNIST], zipped: bool) -> None:
    folder = place / kind.folder
    folder.mkdir(parents=True)
    images = RNG.integers(256, size=(12, 28, 28), dtype=np.uint8)
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


# Missing and wrong files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: DSprites(source="file"), (f"{DSPRITES}.npz", "dsprites", "data.source=rendered")),
        (
            lambda: Shapes3D(source="file"),
            ("3dshapes.h5", "267,573,662 bytes", "sha256 0a0f6ed9", "data.source=rendered"),
        ),
        (Cars3D, ("nips2015-analogy-data.tar.gz", "md5 4e866a79", "cars", "data=Objects3D")),
        (SmallNORB, ("131,896,188 bytes", "md5 66054832", "small_norb", "data=Objects3D data.channels=1")),
        (MPI3D, ("mpi3d_toy.npz", "md5 55889cb7", "mpi3d_toy", "data=Shapes3D")),
        (Chairs3D, ("rendered_chairs.tar", "chairs", "data=Objects3D")),
        (Faces3D, ("basel_face_renders.pth", "data=Objects3D")),
        (CelebA, ("img_align_celeba.zip", "1,443,490,838 bytes", "sha256 46fb8944", "data=Objects3D")),
        (MNIST, ("train-images-idx3-ubyte", "md5 6bbc9ace", "MNIST/raw", "data=Glyphs")),
    ],
)
def test_a_missing_file_is_told_with_all_that_is_known(place: Path, make, parts) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnweaveError) as caught:
        make()
    for part in (*parts, str(place), "UNWEAVE_DATA", "can stand in"):
        assert part in str(caught.value)


@golden
def test_hashes_are_compared(place: Path) -> None:
    assert {v.result for v in check()} == {"missing"}
    link(place, "3dshapes", "3dshapes.h5")
    (verdict,) = check(["shapes3d"])
    assert verdict.result == "wrong"
    assert "63,824 bytes instead of 267,573,662" in verdict.detail
    folder = place / "MNIST" / "raw"
    folder.mkdir(parents=True)
    (folder / "train-labels-idx1-ubyte").write_bytes(b"other")
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(b"other"))
    found = {v.file: v for v in check(["MNIST"])}
    for name in ("train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte"):
        assert found[name].result == "wrong"
        assert "its md5 is 795f3202b17cb6bc3d4b771d8c6c9eaf instead of" in found[name].detail
    assert found["train-images-idx3-ubyte"].result == "missing"
    link(place, "small_norb", f"smallnorb-{NORB[0]}-cat.mat")
    assert {v.result for v in check(["SmallNORB"])} == {"missing", "not verified"}


@golden
def test_the_catalogue_knows_what_is_here(place: Path) -> None:
    states = {entry.name: entry.state for entry in catalogue()}
    assert states["CelebA"] == states["MNIST"] == "missing"
    assert states["Shapes3D"] == states["Objects3D"] == "made here"
    link(place, "celeba", CELEBA[0])
    entry = next(entry for entry in catalogue() if entry.name == "CelebA")
    assert entry.state == "partly here"
    assert "list_attr_celeba.txt (26,721,026 bytes)" in where_to_get([entry])[0]
    link(place, "celeba", *CELEBA[1:], "list_landmarks_align_celeba.txt", "identity_CelebA.txt")
    assert next(entry for entry in catalogue() if entry.name == "CelebA").state == "here"
