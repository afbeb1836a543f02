"""Image files of a folder: which there are, which can be read, and their pixels at one size."""

import hashlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unweave import atomic
from unweave.data.array_files import IN_MEMORY
from unweave.data.cache import Progress, cache_folder, converted
from unweave.data.pictures import COLOUR, FORMATS, GREY, fit, open_picture
from unweave.errors import UnweaveError

if TYPE_CHECKING:
    from PIL.Image import Image

logger = logging.getLogger("unweave")

NAMED = 20
"""Files that an error names at most; all are counted."""


class UnreadableImageError(Exception):
    """Why one file cannot be read; a sentence without its subject, the file.

    Example:
        >>> str(UnreadableImageError("is not an image"))
        'is not an image'
    """


class UnreadableImagesError(UnweaveError):
    """Image files that cannot be read, with the reason for each.

    Example:
        >>> str(UnreadableImagesError({Path("a.png"): "is not an image"}, 1))
        'a.png is not an image: replace or remove it, or go on without it (--skip-bad, or data.skip_bad=true)'
    """

    def __init__(
        self,
        reasons: Mapping[Path, str] | Mapping[str, str],
        total: int,
        remedy: str = "--skip-bad, or data.skip_bad=true",
    ) -> None:
        self.reasons = {Path(file): reason for file, reason in reasons.items()}
        named = "; ".join(f"{file} {reason}" for file, reason in list(reasons.items())[:NAMED])
        if len(reasons) > NAMED:
            named += f"; and {len(reasons) - NAMED:,} more"
        many = f"{len(reasons):,} of {total:,} images cannot be read: " if len(reasons) > 1 else ""
        them = "them" if many else "it"
        super().__init__(f"{many}{named}: replace or remove {them}, or go on without {them} ({remedy})")


@dataclass(frozen=True)
class FoundFiles:
    """The image files of a folder in the order of their paths, and its other files.

    Example:
        >>> FoundFiles((Path("a.png"),), (Path("notes.txt"),)).images
        (PosixPath('a.png'),)
    """

    images: tuple[Path, ...]
    others: tuple[Path, ...]


def find_files(root: Path) -> FoundFiles:
    """The files of a folder and its subfolders, without those whose names begin with a dot.

    A file is an image by the ending of its name; one without an ending is an image if it begins as one.

    Example:
        >>> find_files(Path("/nowhere"))
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: folder /nowhere does not exist: give the path of a folder with images
    """
    if not root.exists():
        raise UnweaveError(f"folder {root} does not exist: give the path of a folder with images")
    if not root.is_dir():
        raise UnweaveError(f"{root} is a file, not a folder: give the path of a folder with images")
    endings = image_endings()
    images: list[Path] = []
    others: list[Path] = []
    for file in sorted(_visible(root)):
        ending = file.suffix.lower()
        is_image = ending in endings or (not ending and _begins_as_image(file))
        (images if is_image else others).append(file)
    return FoundFiles(tuple(images), tuple(others))


def image_endings() -> frozenset[str]:
    """The endings of names of image files.

    Example:
        >>> ".jpg" in image_endings(), ".eps" in image_endings()
        (True, False)
    """
    import PIL.Image

    known = PIL.Image.registered_extensions()
    return frozenset(ending for ending, name in known.items() if name in FORMATS)


def kinds_of(files: tuple[Path, ...]) -> dict[Path, tuple[int, bool]]:
    """Channels (1 or 3) of each file that can be opened, and whether it has transparent parts.

    Example:
        >>> kinds_of((Path("nowhere.png"),))
        {}
    """
    kinds = {}
    for file in files:
        try:
            with _open(file) as image:
                kinds[file] = (1 if image.mode in GREY else 3, image.has_transparency_data)
        except UnreadableImageError:
            continue  # told, with all others, when the pixels are read
    return kinds


def load_files(
    name: str, files: tuple[Path, ...], size: int, channels: int, crop: int | None, background: str = "black"
) -> NDArray[np.uint8]:
    """Pixels (n, size, size, channels) of image files: in memory if they are few, else mapped from the cache.

    All that cannot be read are told at once, in an :class:`UnreadableImagesError`.

    Example:
        >>> load_files("Nothing", (), 64, 3, 0).shape
        (0, 64, 64, 3)
    """
    shape = (len(files), size, size, channels)

    def fill(out: NDArray[Any], tell: Progress) -> None:
        reasons = {}
        for i, file in enumerate(files):
            try:
                out[i] = _load(file, size, channels, crop, background)
            except UnreadableImageError as error:
                reasons[file] = str(error)
            tell(i + 1)
        if reasons:
            raise UnreadableImagesError(reasons, len(files))

    if np.prod(shape) <= IN_MEMORY:
        pixels = np.empty(shape, np.uint8)
        fill(pixels, lambda _: None)
        return pixels
    return converted(name, _state(files, shape, crop, background), shape, fill)


def load_readable(
    name: str, files: tuple[Path, ...], size: int, channels: int, crop: int | None, background: str = "black"
) -> tuple[NDArray[np.uint8], tuple[Path, ...]]:
    """As :func:`load_files`, but without the files that cannot be read; and the files that can.

    Of a large folder, which they are is recorded in the cache, so that it is read once.

    Example:
        >>> load_readable("Nothing", (), 64, 3, 0)[1]
        ()
    """
    shape = (len(files), size, size, channels)
    record = cache_folder() / f"{name.lower()}-{_state(files, shape, crop, background)}.unreadable.json"
    is_large = np.prod(shape) > IN_MEMORY
    known = atomic.read_json(record, default={}).get("files", []) if is_large else []
    left = tuple(file for file in files if str(file) not in set(known))
    try:
        return load_files(name, left, size, channels, crop, background), left
    except UnreadableImagesError as error:
        bad = error.reasons
    if is_large:
        record.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_json(record, {"files": [*known, *map(str, bad)]})
    left = tuple(file for file in left if file not in bad)
    return load_files(name, left, size, channels, crop, background), left


def _state(files: tuple[Path, ...], shape: tuple[int, ...], crop: int | None, background: str) -> str:
    """Changes with the files and with what is made of them."""
    options = (shape, crop) if background == "black" else (shape, crop, background)
    state = hashlib.sha256(repr(options).encode())
    for file in files:
        found = file.stat()
        state.update(f"{file.resolve()} {found.st_size} {found.st_mtime_ns}\n".encode())
    return state.hexdigest()[:16]


def _visible(root: Path) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        raise UnweaveError(f"folder {error.filename} cannot be read ({error.strerror})") from None

    for folder, below, files in os.walk(root, onerror=unreadable):
        below[:] = [name for name in below if not name.startswith(".")]
        yield from (Path(folder) / name for name in files if not name.startswith("."))


def _begins_as_image(file: Path) -> bool:
    try:
        _open(file).close()
    except UnreadableImageError:
        return False
    return True


def _open(file: Path) -> "Image":
    import PIL.Image

    if not file.exists():
        raise UnreadableImageError("does not exist")
    try:
        image = open_picture(file)
    except PIL.UnidentifiedImageError:
        raise UnreadableImageError("is not an image") from None
    except UnweaveError as error:
        raise UnreadableImageError(f"cannot be taken: {error}") from None
    except (OSError, ValueError, SyntaxError, PIL.Image.DecompressionBombError) as error:
        raise UnreadableImageError(f"cannot be opened as an image ({error})") from None
    if image.mode not in GREY | COLOUR:
        image.close()
        raise UnreadableImageError(
            f"has pixels of kind {image.mode} (expected an image with 8 or 16 bits a channel)"
        )
    return image


def _load(file: Path, size: int, channels: int, crop: int | None, background: str) -> NDArray[np.uint8]:
    """Pixels (size, size, channels) of one file."""
    return read_picture(file, lambda picture: fit(picture, size, channels, crop=crop, background=background))


def read_picture(file: Path, make: "Callable[[Image], NDArray[np.uint8]]") -> NDArray[np.uint8]:
    """What is made of the picture in a file; an :class:`UnreadableImageError` if it cannot be read to its end.

    Example:
        >>> read_picture(Path("/nowhere.png"), lambda picture: fit(picture, 8, 3))
        Traceback (most recent call last):
        ...
        unweave.data.image_files.UnreadableImageError: does not exist
    """
    import PIL.Image

    with _open(file) as image:
        try:
            return make(image)
        except UnweaveError as error:
            raise UnreadableImageError(f"cannot be taken: {error}") from None
        except (OSError, ValueError, SyntaxError, EOFError, PIL.Image.DecompressionBombError) as error:
            raise UnreadableImageError(f"is a broken image ({' '.join(str(error).split())[:100]})") from None


def tell_others(root: Path, found: FoundFiles, labels: Path | None = None) -> None:
    """One line that counts the files that are not images, without the table of labels; an error without images.

    Example:
        >>> tell_others(Path("photos"), FoundFiles((), ()))
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: folder photos holds no images: put image files (png, jpg ...) into it
    """
    others = [file for file in found.others if file != labels]
    told = ""
    if others:
        few = ", ".join(file.name for file in others[:3]) + (" ..." if len(others) > 3 else "")
        told = f"{len(others):,} other file{'s' if len(others) > 1 else ''} ({few})"
    if not found.images:
        ignored = f"; {told} cannot be read as images" if told else ""
        raise UnweaveError(f"folder {root} holds no images: put image files (png, jpg ...) into it{ignored}")
    if told:
        logger.info("%s: ignored %s", root, told)
