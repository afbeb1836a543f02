"""Cars3D, SmallNORB, 3D Chairs, 3D Faces, CelebA and MPI3D, read from their original files."""

import gzip
import io
import math
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unweave.data.array_files import Npz, converted, source_key
from unweave.data.dataset import Channels
from unweave.data.files import RealFile
from unweave.data.folder import load_files
from unweave.data.indexed import IndexedDataset
from unweave.data.pictures import check_size, fit, resized
from unweave.data.space import FactorSpace
from unweave.errors import UnweaveError, unknown

Tell = Callable[[int], None]


class Cars3D(IndexedDataset):
    """Cars3D: 183 car models seen from 24 azimuths and 4 elevations, 17,568 images 64 x 64 x 3.

    Factors, last fastest: elevation 4, azimuth 24, object_type 183 (in the order of list.txt, or of the file names).
    Read from nips2015-analogy-data.tar.gz or from its unpacked folder data/cars (cars/ in the data folder), resized
    from 128 x 128 with an antialiasing bilinear filter, converted once.

    Reference: Reed et al., Deep visual analogy-making, 2015; used in REC tables A1 and A2.

    Args:
        size: height and width in pixels.

    Example:
        >>> Cars3D.originals[0].name
        'nips2015-analogy-data.tar.gz'
    """

    description = "183 cars from 24 azimuths and 4 elevations (file)"
    originals = (
        RealFile(
            "nips2015-analogy-data.tar.gz",
            "cars",
            "Reed et al., deep visual analogy-making",
            md5="4e866a7919c1beedf53964e6f7a23686",
            also=("cars3d/nips2015-analogy-data.tar.gz", "cars/data/cars", "data/cars", "cars"),
        ),
    )
    stand_in = "data=Objects3D"

    def __init__(self, *, size: int = 64) -> None:
        check_size(size, self.name)
        path = self.originals[0].require(self.name, self.stand_in)
        if path.is_dir() and not any(path.glob("*.mat")):
            raise UnweaveError(
                f"{path} holds no car_XXX_mesh.mat: {self.name} needs {self.originals[0].told} there"
            )
        names = _car_names(path)
        shape = (4 * 24 * len(names), size, size, 3)

        def fill(out: NDArray[Any], tell: Tell) -> None:
            grid = out.reshape(4, 24, len(names), size, size, 3)
            for done, (name, content) in enumerate(_cars(path), 1):
                views = _car(content, name)  # (128, 128, 3, azimuth, elevation)
                rows = views.transpose(4, 3, 0, 1, 2).reshape(96, *views.shape[:3])
                grid[:, :, names.index(name)] = resized(rows, size).reshape(4, 24, size, size, 3)
                tell(96 * done)

        pixels = converted(self.name, source_key(path, size), shape, fill)
        self._store(pixels, FactorSpace(("elevation", "azimuth", "object_type"), (4, 24, len(names))))

    def channels(self) -> Channels:
        """The constants of REC table A2."""
        return Channels(
            (0.897667614997663, 0.889165802006751, 0.885147515814868),
            (0.225031955315030, 0.239946127898126, 0.247921063196844),
            "REC table A2",
        )


def _car_names(path: Path) -> list[str]:
    """Names of the models, in the order of list.txt if there is one."""
    if path.is_dir():
        found = sorted(file.stem for file in path.glob("*.mat"))
        listed = (path / "list.txt").read_text().split() if (path / "list.txt").exists() else []
    else:
        found, listed = [], []
        with _tar(path) as archive:
            for member in _members(archive, path):
                inside = Path(member.name)
                if inside.parent.name == "cars" and inside.suffix == ".mat":
                    found.append(inside.stem)
                elif inside.parent.name == "cars" and inside.name == "list.txt":
                    listed = _content(archive, member).read().decode().split()
    if not found:
        raise UnweaveError(f"{path} holds no data/cars/car_XXX_mesh.mat")
    order = [name for name in listed if name in set(found)]
    return order if set(order) == set(found) else sorted(found)


def _cars(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if path.is_dir():
        for file in sorted(path.glob("*.mat")):
            with file.open("rb") as content:
                yield file.stem, content
        return
    with _tar(path) as archive:
        for member in _members(archive, path):
            inside = Path(member.name)
            if inside.parent.name == "cars" and inside.suffix == ".mat":
                yield inside.stem, io.BytesIO(_content(archive, member).read())


def _car(content: IO[bytes], name: str) -> NDArray[np.uint8]:
    from scipy.io import loadmat

    try:
        views = loadmat(content, variable_names=["im"])["im"]
    except Exception as error:  # scipy raises many kinds for a broken file
        raise UnweaveError(f"{name}.mat cannot be read ({error})") from None
    if views.shape[2:] != (3, 24, 4) or views.dtype != np.uint8:
        raise UnweaveError(
            f"{name}.mat must hold im, uint8 of shape (128, 128, 3, 24, 4), got {views.dtype} {views.shape}"
        )
    return np.asarray(views)


def _tar(path: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(path)
    except (OSError, tarfile.TarError) as error:
        raise UnweaveError(f"{path} cannot be read as a tar archive ({error})") from None


def _members(archive: tarfile.TarFile, path: Path) -> Iterator[tarfile.TarInfo]:
    try:
        yield from archive
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        raise UnweaveError(f"{path} is cut off or damaged ({error})") from None


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = archive.extractfile(member)
    if content is None:
        raise UnweaveError(f"{member.name} in {archive.name!r} is not a file")
    return content


_NORB = {
    "train": ("5x46789x9x18x6x2x96x96-training", (131_896_188, 348, 71_052)),
    "test": ("5x01235x9x18x6x2x96x96-testing", (130_799_817, 347, 10_428)),
}
_NORB_MD5 = {
    "train": (
        "66054832f9accfe74a0f4c36a75bc0a2",
        "23c8b86101fbf0904a000b43d3ed2fd9",
        "51dee1210a742582ff607dfd94e332e3",
    ),
    "test": (
        "e4ad715691ed5a3a5f138751a4ceb071",
        "5aa791cd7e6016cf957ce9bdb93b8603",
        "a9454f3864d7fd4bb3ea7fc3eb84924e",
    ),
}
_NORB_MAGIC: dict[int, np.dtype[Any]] = {
    0x1E3D4C55: np.dtype("u1"),
    0x1E3D4C54: np.dtype("<i4"),
    0x1E3D4C56: np.dtype("<i2"),
    0x1E3D4C51: np.dtype("<f4"),
    0x1E3D4C53: np.dtype("<f8"),
}

Split = Literal["train", "test", "all"]


def _norb_file(split: str, part: int) -> RealFile:
    stem, sizes = _NORB[split]
    name = f"smallnorb-{stem}-{('dat', 'cat', 'info')[part]}.mat"
    return RealFile(
        f"{name}.gz",
        "small_norb",
        "LeCun et al., small NORB",
        sizes[part],
        md5=_NORB_MD5[split][part],
        also=(f"small_norb/{name}", name, f"smallnorb/{name}.gz", f"smallnorb/{name}"),
    )


class SmallNORB(IndexedDataset):
    """SmallNORB: toys of 5 categories, 10 instances each, in grey, 64 x 64 (left camera).

    Factors: category (animal, human, plane, truck, car), instance, elevation (30 .. 70 degrees), azimuth (0 .. 340
    degrees), lighting. The training files have 5 instances a category (24,300 images, the set of REC), both together 10
    (48,600). Files are read gzipped or not, sorted into the grid of factors, resized from 96 x 96 with an antialiasing
    bilinear filter, converted once.

    Reference: LeCun et al., Learning methods for generic object recognition, 2004; used in REC tables A1 and A2.

    Args:
        split: which files.
        size: height and width in pixels.

    Example:
        >>> len(SmallNORB.originals)
        6
    """

    description = "toys in grey: category 5, instance 5 or 10, elevation 9, azimuth 18, lighting 6 (files)"
    originals = tuple(_norb_file(split, part) for split in _NORB for part in range(3))
    stand_in = "data=Objects3D data.channels=1"

    def __init__(self, *, split: Split = "train", size: int = 64) -> None:
        if split not in get_args(Split):
            raise unknown("split of SmallNORB", str(split), get_args(Split))
        check_size(size, self.name)
        parts = ("train", "test") if split == "all" else (split,)
        files = [[_norb_file(p, i).require(self.name, self.stand_in) for i in range(3)] for p in parts]
        labels = []
        for _, cat, info in files:
            category = read_norb(cat)
            labels.append(np.column_stack([category, read_norb(info)]).astype(np.int64))
            if labels[-1].shape[1] != 5:
                raise UnweaveError(f"{info} must hold (n, 4) numbers, got {labels[-1].shape[1] - 1} columns")
        found = np.concatenate(labels)
        found[:, 3] //= 2
        instances, found[:, 1] = np.unique(found[:, 1], return_inverse=True)
        space = FactorSpace(
            ("category", "instance", "elevation", "azimuth", "lighting"), (5, len(instances), 9, 18, 6)
        )
        order = np.argsort(space.index(found), kind="stable")
        classes = found[order]
        shape = (len(found), size, size, 1)

        def fill(out: NDArray[Any], tell: Tell) -> None:
            place = np.argsort(order)
            done = 0
            for (dat, _, _), many in zip(files, map(len, labels), strict=True):
                for pair in read_norb_rows(dat, many):
                    out[place[done : done + len(pair)]] = resized(
                        np.ascontiguousarray(pair[:, 0, ..., None]), size
                    )
                    done += len(pair)
                    tell(done)

        key = source_key(files[0][0], split, size)
        whole = space.count == len(found) and bool((space.index(classes) == np.arange(len(found))).all())
        self._store(converted(self.name, key, shape, fill), space, None if whole else classes)

    def channels(self) -> Channels:
        """The constants of REC table A2."""
        return Channels((0.752091840108860,), (0.095638790168273,), "REC table A2")


def _norb_open(path: Path) -> tuple[IO[bytes], np.dtype[Any], tuple[int, ...]]:
    """A file of the NORB format, read up to its data; the type and shape of the data."""
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
    file: IO[bytes] = gzip.open(path) if zipped else path.open("rb")  # type: ignore[assignment]  # noqa: SIM115
    try:
        magic, ndim = np.frombuffer(file.read(8), "<u4")
        if int(magic) not in _NORB_MAGIC:
            raise UnweaveError(
                f"{path} has the magic number {int(magic):#010x}, which is not one of the NORB format"
            )
        sizes = np.frombuffer(file.read(4 * max(3, int(ndim))), "<i4")
    except (ValueError, OSError, EOFError, zlib.error) as error:
        if isinstance(error, UnweaveError):
            raise
        raise UnweaveError(f"{path} is cut off or damaged ({error})") from None
    return file, _NORB_MAGIC[int(magic)], tuple(sizes[: int(ndim)].tolist())


def read_norb(path: Path) -> NDArray[Any]:
    """The whole array of a file in the NORB format, gzipped or not.

    Little-endian int32: magic number (the type), number of dimensions, at least three sizes; then the data.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "cat.mat"
        >>> _ = path.write_bytes(np.array([0x1E3D4C54, 1, 2, 1, 1, 3, 4], "<i4").tobytes())
        >>> read_norb(path).tolist()
        [3, 4]
    """
    return np.concatenate(list(read_norb_rows(path)))


def read_norb_rows(path: Path, rows: int | None = None, block: int = 500) -> Iterator[NDArray[Any]]:
    """The rows of a file in the NORB format, in blocks.

    Args:
        path: the file.
        rows: how many there must be; none: as many as the file says.
        block: rows at a time.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "cat.mat"
        >>> _ = path.write_bytes(np.array([0x1E3D4C54, 1, 3, 1, 1, 3, 4, 5], "<i4").tobytes())
        >>> [part.tolist() for part in read_norb_rows(path, block=2)]
        [[3, 4], [5]]
    """
    file, kind, shape = _norb_open(path)
    with file:
        if rows is not None and (shape[0] != rows or shape[1:2] != (2,) or len(shape) != 4):
            raise UnweaveError(f"{path} must hold ({rows}, 2, height, width) images, got {shape}")
        row = math.prod(shape[1:]) * kind.itemsize
        for start in range(0, shape[0], block):
            n = min(block, shape[0] - start)
            try:
                content = file.read(n * row)
            except (OSError, EOFError, zlib.error) as error:
                raise UnweaveError(f"{path} is cut off or damaged ({error})") from None
            if len(content) < n * row:
                raise UnweaveError(
                    f"{path} is cut off: {start + len(content) // row} of {shape[0]} rows are there"
                )
            yield np.frombuffer(content, kind).reshape(n, *shape[1:])


class Chairs3D(IndexedDataset):
    """3D Chairs: 86,366 renders of 1,393 chairs, 64 x 64, without factors.

    Read from rendered_chairs.tar or its unpacked folder (rendered_chairs/<model>/renders/*.png), in the order of the
    paths; the central 400 x 400 pixels, resized with an antialiasing bilinear filter, converted once.

    Reference: Aubry et al., Seeing 3D chairs, 2014; used in FAC 5.

    Args:
        size: height and width in pixels.
        channels: 3 (RGB, as in FAC) or 1 (grey).
        crop: side of the central square that is cut out first.

    Example:
        >>> Chairs3D.stand_in
        'data=Objects3D'
    """

    description = "86,366 renders of chairs, no factors (file)"
    originals = (
        RealFile(
            "rendered_chairs.tar",
            "chairs",
            "Aubry et al., seeing 3D chairs",
            also=("3dchairs/rendered_chairs.tar", "chairs/rendered_chairs", "rendered_chairs"),
        ),
    )
    stand_in = "data=Objects3D"

    def __init__(self, *, size: int = 64, channels: Literal[1, 3] = 3, crop: int = 400) -> None:
        check_size(size, self.name)
        if channels not in (1, 3):
            raise UnweaveError(f"channels of Chairs3D must be 1 (grey) or 3 (RGB), got {channels!r}")
        path = self.originals[0].require(self.name, self.stand_in)
        if path.is_dir():
            files = tuple(sorted(path.glob("*/*/*.png")))
            if not files:
                raise UnweaveError(f"{path} holds no <model>/renders/*.png")
            self._store(load_files(self.name, files, size, channels, crop))
            return
        with _tar(path) as archive:
            names = sorted(m.name for m in _members(archive, path) if m.isfile() and m.name.endswith(".png"))
        if not names:
            raise UnweaveError(f"{path} holds no png")
        place = {name: i for i, name in enumerate(names)}

        def fill(out: NDArray[Any], tell: Tell) -> None:
            with _tar(path) as opened:
                for done, member in enumerate((m for m in _members(opened, path) if m.name in place), 1):
                    out[place[member.name]] = _picture(
                        _content(opened, member).read(), member.name, size, channels, crop
                    )
                    tell(done)

        shape = (len(names), size, size, channels)
        self._store(converted(self.name, source_key(path, *shape, crop), shape, fill))


def _picture(content: bytes, name: str, size: int, channels: int, crop: int | None) -> NDArray[np.uint8]:
    import PIL.Image

    try:
        with PIL.Image.open(io.BytesIO(content)) as picture:
            return fit(picture, size, channels, crop=crop)
    except UnweaveError as error:
        raise UnweaveError(f"{name}: {error}") from None
    except (OSError, ValueError, SyntaxError) as error:
        raise UnweaveError(f"{name} is a broken image ({error})") from None


class Faces3D(IndexedDataset):
    """3D Faces (Basel): renders of 50 faces in grey, 127,050 images 64 x 64.

    Factors: identity 50, azimuth 21, elevation 11, lighting 11, last fastest. Read from basel_face_renders.pth, a torch
    file with one uint8 tensor: its bytes are mapped where they lie, without unpickling anything.

    Reference: Paysan et al., A 3D face model, 2009; used in FAC 5 (in another rendering) and ISA.

    Example:
        >>> Faces3D.originals[0].name
        'basel_face_renders.pth'
    """

    description = (
        "faces in grey: identity 50, azimuth 21, elevation 11, lighting 11 (file, not distributable)"
    )
    originals = (
        RealFile(
            "basel_face_renders.pth",
            "basel_faces",
            "Paysan et al., Basel face model",
            also=("faces/basel_face_renders.pth",),
        ),
    )
    stand_in = "data=Objects3D data.channels=1"

    def __init__(self) -> None:
        path = self.originals[0].require(self.name, self.stand_in)
        start, size = _torch_bytes(path)
        one = 21 * 11 * 11 * 64 * 64
        if size == 0 or size % one:
            raise UnweaveError(
                f"{path} is not 3D Faces: it holds {size:,} bytes of images, not a multiple of {one:,}"
            )
        pixels = np.memmap(path, np.uint8, mode="r", offset=start, shape=(size // 4096, 64, 64, 1)).view(
            np.ndarray
        )
        space = FactorSpace(("identity", "azimuth", "elevation", "lighting"), (size // one, 21, 11, 11))
        self._store(pixels, space)


def _torch_bytes(path: Path) -> tuple[int, int]:
    """Where the bytes of the only tensor of a torch file begin, and how many there are."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            inside = [i for i in archive.infolist() if re.search(r"(^|/)data/\d+$", i.filename)]
        if len(inside) != 1 or inside[0].compress_type != zipfile.ZIP_STORED:
            raise UnweaveError(f"{path} must hold one tensor, got {len(inside)}")
        with path.open("rb") as file:
            file.seek(inside[0].header_offset + 26)
            name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
            return file.tell() + name + extra, inside[0].file_size
    # The older format ends with the number of values (int64) and the values.
    whole, one = path.stat().st_size, 21 * 11 * 11 * 64 * 64
    with path.open("rb") as file:
        for identities in range(whole // one, 0, -1):
            file.seek(whole - identities * one - 8)
            if int.from_bytes(file.read(8), "little") == identities * one:
                return whole - identities * one, identities * one
    raise UnweaveError(
        f"{path} is not 3D Faces: expected a torch file with one uint8 tensor (n, 21, 11, 11, 64, 64)"
    )


class CelebA(IndexedDataset):
    """CelebA: 202,599 aligned photographs of faces, 64 x 64 x 3; attributes as factors if asked for.

    Read from img_align_celeba.zip (celeba/ in the data folder), in the order of the file names. The whole picture of
    178 x 218 is squeezed into the frame unless a crop is set; resized with an antialiasing bilinear filter, converted
    once.

    Reference: Liu et al., Deep learning face attributes in the wild, 2015; used in FAC 5 and DEC 6.

    Args:
        size: height and width in pixels.
        crop: side of the central square that is cut out first (at most 178); none: the whole picture.
        attributes: names in list_attr_celeba.txt that become factors with two classes.
        split: of list_eval_partition.txt.

    Example:
        >>> CelebA.originals[0].size
        1443490838
    """

    description = "202,599 photographs of faces; attributes as factors if asked for (files)"
    originals = (
        RealFile(
            "img_align_celeba.zip",
            "celeba",
            "Liu et al., CelebA",
            1_443_490_838,
            sha256="46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74",
            md5="00d2c5bc6d35e252742224ab0c1e8fcb",
        ),
        RealFile("list_attr_celeba.txt", "celeba", "Liu et al., CelebA", 26_721_026),
        RealFile("list_eval_partition.txt", "celeba", "Liu et al., CelebA", 2_836_386),
        RealFile("list_landmarks_align_celeba.txt", "celeba", "Liu et al., CelebA", 12_156_055),
        RealFile("identity_CelebA.txt", "celeba", "Liu et al., CelebA", 3_424_458),
    )
    stand_in = "data=Objects3D"

    def __init__(
        self,
        *,
        size: int = 64,
        crop: int | None = None,
        attributes: tuple[str, ...] = (),
        split: Literal["all", "train", "valid", "test"] = "all",
    ) -> None:
        check_size(size, self.name)
        splits = ("train", "valid", "test")
        if split != "all" and split not in splits:
            raise unknown("split of CelebA", str(split), ("all", *splits))
        path = self.originals[0].require(self.name, self.stand_in)
        try:
            with zipfile.ZipFile(path) as archive:
                names = sorted(name for name in archive.namelist() if name.endswith(".jpg"))
        except (OSError, zipfile.BadZipFile) as error:
            raise UnweaveError(f"{path} cannot be read as a zip archive ({error})") from None
        if not names:
            raise UnweaveError(f"{path} holds no img_align_celeba/*.jpg")
        shape = (len(names), size, size, 3)

        def fill(out: NDArray[Any], tell: Tell) -> None:
            with zipfile.ZipFile(path) as opened:
                for i, name in enumerate(names):
                    try:
                        content = opened.read(name)
                    except (OSError, zipfile.BadZipFile, zlib.error) as error:
                        raise UnweaveError(f"{name} in {path} is damaged ({error})") from None
                    out[i] = _picture(content, name, size, 3, crop)
                    tell(i + 1)

        pixels = converted(self.name, source_key(path, *shape, crop), shape, fill)
        shown = [Path(name).name for name in names]
        kept = np.arange(len(names))
        if split != "all":
            _, rows = celeba_table(self.originals[2].require(self.name, self.stand_in), header=False)
            kept = np.flatnonzero([rows[name][0] == splits.index(split) for name in _known(shown, rows)])
            if not kept.size:
                raise UnweaveError(f"no image of {path} belongs to the split {split}")
        space = classes = None
        if attributes:
            header, rows = celeba_table(self.originals[1].require(self.name, self.stand_in))
            for name in attributes:
                if name not in header:
                    raise unknown("attribute of CelebA", name, header)
            columns = [header.index(name) for name in attributes]
            values = np.array([[rows[name][c] for c in columns] for name in _known(shown, rows)])
            classes = (values > 0).astype(np.int64)[kept]
            space = FactorSpace(attributes, (2,) * len(attributes))
        # Splits are contiguous, so that this is a view of the mapped file, not a copy.
        first, last = int(kept[0]), int(kept[-1]) + 1
        together = len(kept) == last - first
        self._store(pixels[first:last] if together else pixels[kept], space, classes)


def _known(names: list[str], rows: dict[str, list[int]]) -> list[str]:
    for name in names:
        if name not in rows:
            raise UnweaveError(f"{name} is not in the table of CelebA that goes with the images")
    return names


def celeba_table(path: Path, header: bool = True) -> tuple[list[str], dict[str, list[int]]]:
    r"""The column names and, by file name, the numbers of one of CelebA's text files.

    Args:
        path: the file.
        header: whether it begins with the number of rows and the names of the columns.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "list_attr_celeba.txt"
        >>> _ = path.write_text("1\nBald Smiling\n000001.jpg -1  1\n")
        >>> celeba_table(path)
        (['Bald', 'Smiling'], {'000001.jpg': [-1, 1]})
    """
    lines = path.read_text().splitlines()
    names: list[str] = []
    try:
        if header:
            count, names, lines = int(lines[0]), lines[1].split(), lines[2:]
            if count != len(lines):
                raise UnweaveError(f"{path} is cut off: {len(lines)} of {count} rows are there")
        rows = {line.split()[0]: [int(word) for word in line.split()[1:]] for line in lines if line.strip()}
    except (ValueError, IndexError) as error:
        if isinstance(error, UnweaveError):
            raise
        raise UnweaveError(f"{path} is not a table of CelebA ({error})") from None
    wrong = [name for name, values in rows.items() if header and len(values) != len(names)]
    if wrong:
        raise UnweaveError(
            f"{path} has {len(names)} columns, but {wrong[0]} has {len(rows[wrong[0]])} values"
        )
    return names, rows


_MPI3D = {
    "toy": ("mpi3d_toy.npz", "55889cb7c7dfc655d6e0277beee88868"),
    "realistic": ("mpi3d_realistic.npz", "59a6225b88b635365f70c91b3e52f70f"),
    "real": ("mpi3d_real.npz", "0f33f609918fb5c97996692f91129802"),
    "complex": ("real3d_complicated_shapes_ordered.npz", None),
}
_MPI3D_SIZES = {"toy": (6, 6, 2, 3, 3, 40, 40), "complex": (4, 4, 2, 3, 3, 40, 40)}
_MPI3D_CHANNELS = {
    "toy": ((0.2243732557, 0.2214187735, 0.2262545785), (0.0690013612, 0.0634338707, 0.0760751976)),
    "realistic": ((0.1798694580, 0.2047467861, 0.1814815424), (0.0874647649, 0.0933099533, 0.0924223280)),
    "real": ((0.1284857706, 0.1648033279, 0.1397158306), (0.0932921057, 0.0920340152, 0.1032298373)),
}


class MPI3D(IndexedDataset):
    """MPI3D: an object on a robot arm, 1,036,800 images 64 x 64 x 3 (460,800 for ``complex``).

    Factors, last fastest: object_color, object_shape, object_size, camera_height, background_color, horizontal_axis,
    vertical_axis; sizes 6, 6, 2, 3, 3, 40, 40 (``complex``: 4, 4, 2, 3, 3, 40, 40). The npz (12 GB unpacked) is mapped,
    or, if it is compressed, converted once.

    Reference: Gondal et al., On the transfer of inductive bias, 2019.

    Args:
        variant: which of the sets.

    Example:
        >>> [file.name for file in MPI3D.originals][:2]
        ['mpi3d_toy.npz', 'mpi3d_realistic.npz']
    """

    description = "object on a robot arm, 7 factors: variant toy, realistic, real, complex (file)"
    originals = tuple(
        RealFile(name, folder, "Gondal et al., MPI3D", md5=md5, also=(f"mpi3d/{name}",))
        for (name, md5), folder in zip(
            _MPI3D.values(), ("mpi3d_toy", "mpi3d_realistic", "mpi3d_real", "mpi3d_complex"), strict=True
        )
    )
    stand_in = "data=Shapes3D or data=Objects3D"

    def __init__(self, *, variant: Literal["toy", "realistic", "real", "complex"] = "toy") -> None:
        if variant not in _MPI3D:
            raise unknown("variant of MPI3D", str(variant), _MPI3D)
        self.variant = variant
        path = self.originals[list(_MPI3D).index(variant)].require(self.name, self.stand_in)
        file = Npz(path)
        if "images" not in file.keys:
            raise UnweaveError(
                f"{path} is not MPI3D: it has no array 'images' (it has: {', '.join(file.keys)})"
            )
        names = (
            "object_color",
            "object_shape",
            "object_size",
            "camera_height",
            "background_color",
            "horizontal_axis",
        )
        space = FactorSpace(
            (*names, "vertical_axis"), _MPI3D_SIZES["complex" if variant == "complex" else "toy"]
        )
        shape = file.shape("images")
        if shape[-3:] != (64, 64, 3) or math.prod(shape[:-3]) != space.count:
            raise UnweaveError(
                f"{path} is not MPI3D: images must have shape ({space.count}, 64, 64, 3), got {shape}"
            )
        self._store(file.array("images", self.name).reshape(-1, 64, 64, 3), space)

    def channels(self) -> Channels:
        """The published constants where there are some."""
        if self.variant not in _MPI3D_CHANNELS:
            return super().channels()
        return Channels(*_MPI3D_CHANNELS[self.variant], "the normalisation constants of REC's code")
