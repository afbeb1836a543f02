"""Cars3D, read from its original files."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, final

import numpy as np
from numpy.typing import NDArray

from unweave.data.archives import content_of, members_of, open_tar
from unweave.data.cache import Progress, converted, source_key
from unweave.data.dataset import Channels
from unweave.data.files import OriginalFile
from unweave.data.indexed import IndexedDataset
from unweave.data.pictures import check_size, resized
from unweave.data.space import FactorSpace
from unweave.errors import UnweaveError


@final
class Cars3D(IndexedDataset):
    """Cars3D: 183 car models seen from 24 azimuths and 4 elevations, 17,568 images 64 x 64 x 3.

    Factors, last fastest: elevation 4, azimuth 24, object_type 183 (in the order of list.txt, or of the file names).
    Read from nips2015-analogy-data.tar.gz or from its unpacked folder data/cars (cars/ in the data folder), resized
    from 128 x 128 with an antialiasing bilinear filter, converted once.

    Reference: Reed et al. 2015, Deep visual analogy-making; used in REC tables A1 and A2.

    Args:
        size: height and width in pixels.

    Example:
        >>> Cars3D.originals[0].name
        'nips2015-analogy-data.tar.gz'
    """

    description = "183 cars from 24 azimuths and 4 elevations (file)"
    originals = (
        OriginalFile(
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
                f"{path} holds no car_XXX_mesh.mat: {self.name} needs the content of {self.originals[0].summary}"
            )
        names = _car_names(path)
        shape = (4 * 24 * len(names), size, size, 3)

        def fill(out: NDArray[Any], tell: Progress) -> None:
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
        with open_tar(path) as archive:
            for member in members_of(archive, path):
                inside = Path(member.name)
                if inside.parent.name == "cars" and inside.suffix == ".mat":
                    found.append(inside.stem)
                elif inside.parent.name == "cars" and inside.name == "list.txt":
                    listed = content_of(archive, member).read().decode().split()
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
    with open_tar(path) as archive:
        for member in members_of(archive, path):
            inside = Path(member.name)
            if inside.parent.name == "cars" and inside.suffix == ".mat":
                yield inside.stem, io.BytesIO(content_of(archive, member).read())


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
