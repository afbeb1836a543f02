"""CelebA, read from its original files."""

import zipfile
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from unweave.atomic import ARCHIVE_DAMAGE
from unweave.data.cache import Progress, converted, source_key
from unweave.data.files import OriginalFile
from unweave.data.indexed import IndexedDataset
from unweave.data.pictures import check_size, decoded_picture
from unweave.data.space import FactorSpace
from unweave.errors import UnweaveError, check_choice, unknown

_SPLITS = ("train", "valid", "test")


@final
class CelebA(IndexedDataset):
    """CelebA: 202,599 aligned photographs of faces, 64 x 64 x 3; attributes as factors on request.

    Read from img_align_celeba.zip (celeba/ in the data folder), in the order of the file names. The whole picture of
    178 x 218 is squeezed into the frame unless a crop is set; resized with an antialiasing bilinear filter, converted
    once.

    Reference: Liu et al. 2015, Deep learning face attributes in the wild; used in FAC section 6 and DEC section 6.

    Args:
        size: height and width in pixels.
        crop: side of the central square that is cut out first (at most 178); none: the whole picture.
        attributes: names in list_attr_celeba.txt that become factors with two classes.
        split: of list_eval_partition.txt.

    Example:
        >>> CelebA.originals[0].size
        1443490838
    """

    description = "202,599 photographs of faces; attributes as factors on request (files)"
    originals = (
        OriginalFile(
            "img_align_celeba.zip",
            "celeba",
            "Liu et al., CelebA",
            1_443_490_838,
            sha256="46fb89443c578308acf364d7d379fe1b9efb793042c0af734b6112e4fd3a8c74",
            md5="00d2c5bc6d35e252742224ab0c1e8fcb",
        ),
        # Only attributes and splits need these.
        OriginalFile("list_attr_celeba.txt", "celeba", "Liu et al., CelebA", 26_721_026, needed=False),
        OriginalFile("list_eval_partition.txt", "celeba", "Liu et al., CelebA", 2_836_386, needed=False),
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
        if split != "all" and split not in _SPLITS:
            raise unknown("split of CelebA", str(split), ("all", *_SPLITS))
        path = self.originals[0].require(self.name, self.stand_in)
        members = _pictures(path)
        pixels = _pixels(path, members, size, crop)
        names = [Path(member).name for member in members]
        chosen = np.arange(len(names)) if split == "all" else self._rows_of(split, names)
        space = classes = None
        if attributes:
            classes = self._classes(attributes, names)[chosen]
            space = FactorSpace(attributes, (2,) * len(attributes))
        # Splits are contiguous, so that this is a view of the mapped file, not a copy.
        first, last = int(chosen[0]), int(chosen[-1]) + 1
        contiguous = len(chosen) == last - first
        self._store(pixels[first:last] if contiguous else pixels[chosen], space, classes)

    def _rows_of(self, split: str, names: list[str]) -> NDArray[np.int64]:
        _, rows = celeba_table(self.originals[2].require(self.name, self.stand_in), header=False)
        chosen = np.flatnonzero([rows[name][0] == _SPLITS.index(split) for name in _known(names, rows)])
        if not chosen.size:
            raise UnweaveError(f"no image of {self.originals[0].name} belongs to the split {split}")
        return chosen

    def _classes(self, attributes: tuple[str, ...], names: list[str]) -> NDArray[np.int64]:
        header, rows = celeba_table(self.originals[1].require(self.name, self.stand_in))
        for attribute in attributes:
            check_choice("attribute of CelebA", attribute, header)
        columns = [header.index(attribute) for attribute in attributes]
        values = np.array([[rows[name][c] for c in columns] for name in _known(names, rows)])
        return (values > 0).astype(np.int64)


def _pictures(path: Path) -> list[str]:
    """Names of the pictures in the archive, sorted."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = sorted(name for name in archive.namelist() if name.endswith(".jpg"))
    except ARCHIVE_DAMAGE as error:
        raise UnweaveError(f"{path} cannot be read as a zip archive ({error})") from None
    if not members:
        raise UnweaveError(f"{path} holds no img_align_celeba/*.jpg")
    return members


def _pixels(path: Path, members: list[str], size: int, crop: int | None) -> NDArray[np.uint8]:
    """All pictures (n, size, size, 3), converted once."""
    shape = (len(members), size, size, 3)

    def fill(out: NDArray[Any], tell: Progress) -> None:
        with zipfile.ZipFile(path) as archive:
            for i, member in enumerate(members):
                try:
                    content = archive.read(member)
                except ARCHIVE_DAMAGE as error:
                    raise UnweaveError(f"{member} in {path} is damaged ({error})") from None
                out[i] = decoded_picture(content, member, size, 3, crop)
                tell(i + 1)

    return converted("CelebA", source_key(path, *shape, crop), shape, fill)


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
                raise UnweaveError(f"{path} is truncated: {len(lines)} of {count} rows are there")
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
