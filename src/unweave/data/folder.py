"""The user's own folder of image files."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from unweave.data.array_files import IN_MEMORY
from unweave.data.cache import Progress, converted
from unweave.data.dataset import user_path
from unweave.data.indexed import IndexedDataset
from unweave.data.pictures import COLOUR, GREY, check_size, fit, open_picture
from unweave.errors import UnweaveError

if TYPE_CHECKING:
    from PIL.Image import Image


@final
class Folder(IndexedDataset):
    """All image files of a folder and its subfolders, without factors.

    Files (png, jpg, webp, bmp, gif and whatever else Pillow reads) are taken in the order of their paths;
    names that begin with a dot are ignored, any other file that is not an image is an error. Each image is
    turned as its EXIF tag says, laid over black where it is transparent, cropped to its central square and
    resized with an antialiasing bilinear filter; one that already has the right size keeps its pixels. An
    animation gives its first frame. All images are read once, as uint8: into memory, or, if they would take more
    than 128 MB, into a file of the cache folder that is mapped and found again next time.

    Args:
        path: the folder.
        size: height and width in pixels.
        channels: 1 (grey) or 3 (RGB) to convert every image; None takes what the files have, if they agree.
        crop: side of the central square that is cut out before resizing; 0: as large as fits; none: nothing is cut
            off, a picture that is not square is squeezed.

    Example:
        >>> import tempfile, PIL.Image
        >>> with tempfile.TemporaryDirectory() as path:
        ...     PIL.Image.new("RGB", (80, 100), "red").save(Path(path) / "a.png")
        ...     folder = Folder(path, size=32)
        >>> folder.count, folder.image_shape, folder.at([0])[0, :, 5, 5].tolist()
        (1, (3, 32, 32), [255, 0, 0])
    """

    description = "your own folder of images: path, size, channels, crop"

    def __init__(
        self, path: str | Path, *, size: int = 64, channels: int | None = None, crop: int | None = 0
    ) -> None:
        check_size(size, "Folder")
        if channels not in (None, 1, 3):
            raise UnweaveError(
                f"channels of Folder must be 1 (grey), 3 (RGB) or None (as the files), got {channels!r}"
            )
        root = user_path(path)
        self.files = tuple(_files(root))
        channels = channels or _channels(self.files)
        self._store(load_files(self.name, self.files, size, channels, crop))


def load_files(
    name: str, files: tuple[Path, ...], size: int, channels: int, crop: int | None
) -> NDArray[np.uint8]:
    """Pixels (n, size, size, channels) of image files: in memory if they are few, else mapped from the cache.

    Example:
        >>> load_files("Nothing", (), 64, 3, 0).shape
        (0, 64, 64, 3)
    """
    shape = (len(files), size, size, channels)

    def fill(out: NDArray[Any], tell: Progress) -> None:
        for i, file in enumerate(files):
            out[i] = _load(file, size, channels, crop)
            tell(i + 1)

    if np.prod(shape) <= IN_MEMORY:
        pixels = np.empty(shape, np.uint8)
        fill(pixels, lambda _: None)
        return pixels
    state = hashlib.sha256(repr((shape, crop)).encode())
    for file in files:
        found = file.stat()
        state.update(f"{file.resolve()} {found.st_size} {found.st_mtime_ns}\n".encode())
    return converted(name, state.hexdigest()[:16], shape, fill)


def _files(root: Path) -> list[Path]:
    if not root.exists():
        raise UnweaveError(f"folder {root} does not exist: give the path of a folder with images")
    if not root.is_dir():
        raise UnweaveError(f"{root} is a file, not a folder: give the path of a folder with images")
    found = sorted(_visible(root))
    if not found:
        raise UnweaveError(f"folder {root} holds no images: put image files (png, jpg ...) into it")
    return found


def _visible(root: Path) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        raise UnweaveError(f"folder {error.filename} cannot be read ({error.strerror})") from None

    for folder, below, files in os.walk(root, onerror=unreadable):
        below[:] = [name for name in below if not name.startswith(".")]
        yield from (Path(folder) / name for name in files if not name.startswith("."))


def _channels(files: tuple[Path, ...]) -> int:
    kinds: dict[int, Path] = {}
    for file in files:
        with _open(file) as image:
            kinds.setdefault(1 if image.mode in GREY else 3, file)
    if len(kinds) == 2:
        raise UnweaveError(
            f"{kinds[1]} is grey but {kinds[3]} is in colour: set channels=3 or channels=1 to convert all"
        )
    return next(iter(kinds))


def _open(file: Path) -> "Image":
    import PIL.Image

    try:
        image = open_picture(file)
    except PIL.UnidentifiedImageError:
        raise UnweaveError(f"{file} is not an image: remove it, or let its name begin with a dot") from None
    except UnweaveError as error:
        raise UnweaveError(f"{file}: {error}") from None
    except (OSError, ValueError, SyntaxError, PIL.Image.DecompressionBombError) as error:
        raise UnweaveError(f"{file} cannot be opened as an image ({error})") from None
    if image.mode not in GREY | COLOUR:
        image.close()
        raise UnweaveError(
            f"{file} has pixels of kind {image.mode}: expected an image with 8 or 16 bits a channel"
        )
    return image


def _load(file: Path, size: int, channels: int, crop: int | None) -> NDArray[np.uint8]:
    """Pixels (size, size, channels) of one file."""
    import PIL.Image

    with _open(file) as image:
        try:
            return fit(image, size, channels, crop=crop)
        except UnweaveError as error:
            raise UnweaveError(f"{file}: {error}") from None
        except (OSError, ValueError, SyntaxError, EOFError, PIL.Image.DecompressionBombError) as error:
            raise UnweaveError(f"{file} is a broken image ({error}): replace or remove it") from None
