"""The user's own folder of image files."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from unweave.data.dataset import Batch, Dataset, channels_last, user_path
from unweave.data.space import check_index
from unweave.errors import UnweaveError

if TYPE_CHECKING:
    from PIL.Image import Image

_GREY = {"1", "L", "LA", "La", "I;16", "I;16L", "I;16B", "I;16N"}
_COLOUR = {"P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB", "HSV"}


class Folder(Dataset):
    """All image files of a folder and its subfolders, without factors (SPEC DAT-10).

    Files (png, jpg, webp, bmp, gif and whatever else Pillow reads) are taken in the order of their paths;
    names that begin with a dot are ignored, any other file that is not an image is an error. Each image is
    turned as its EXIF tag says, laid over black where it is transparent, cropped to its central square and
    resized with an antialiasing bilinear filter; one that already has the right size keeps its pixels. An
    animation gives its first frame. All images are loaded once, as uint8.

    Args:
        path: the folder.
        size: height and width in pixels.
        channels: 1 (grey) or 3 (RGB) to convert every image; None takes what the files have, if they agree.

    Example:
        >>> import tempfile, PIL.Image
        >>> with tempfile.TemporaryDirectory() as path:
        ...     PIL.Image.new("RGB", (80, 100), "red").save(Path(path) / "a.png")
        ...     folder = Folder(path, size=32)
        >>> folder.count, folder.image_shape, folder.at([0])[0, :, 5, 5].tolist()
        (1, (3, 32, 32), [255, 0, 0])
    """

    description = "your own folder of images: path, size, channels"

    def __init__(self, path: str | Path, *, size: int = 64, channels: int | None = None) -> None:
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise UnweaveError(f"size of Folder must be a whole number of pixels from 1 up, got {size!r}")
        if channels not in (None, 1, 3):
            raise UnweaveError(
                f"channels of Folder must be 1 (grey), 3 (RGB) or None (as the files), got {channels!r}"
            )
        root = user_path(path)
        self.files = tuple(_files(root))
        channels = channels or _channels(self.files)
        self._pixels = np.empty((len(self.files), size, size, channels), np.uint8)
        for i, file in enumerate(self.files):
            self._pixels[i] = _load(file, size, channels)
        self.image_shape = (channels, size, size)
        self.space = None
        self.count: int = len(self.files)

    def at(self, index: ArrayLike) -> NDArray[Any]:
        """Images (n, C, size, size), uint8, of the files with these numbers (n,)."""
        return channels_last(self._pixels[check_index(index, self.count)])

    def sample(self, n: int, rng: Generator) -> Batch:
        """`n` images, drawn uniformly with replacement; no factors."""
        return Batch(channels_last(self._pixels[rng.integers(self.count, size=n)]), None)


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
            kinds.setdefault(1 if image.mode in _GREY else 3, file)
    if len(kinds) == 2:
        raise UnweaveError(
            f"{kinds[1]} is grey but {kinds[3]} is in colour: set channels=3 or channels=1 to convert all"
        )
    return next(iter(kinds))


def _open(file: Path) -> "Image":
    import PIL.Image

    try:
        image = PIL.Image.open(file)
    except PIL.UnidentifiedImageError:
        raise UnweaveError(f"{file} is not an image: remove it from the folder or hide it (.name)") from None
    except (OSError, ValueError, SyntaxError, PIL.Image.DecompressionBombError) as error:
        raise UnweaveError(f"{file} cannot be opened as an image ({error})") from None
    if image.mode not in _GREY | _COLOUR:
        image.close()
        raise UnweaveError(
            f"{file} has pixels of kind {image.mode}: expected an image with 8 or 16 bits a channel"
        )
    return image


def _load(file: Path, size: int, channels: int) -> NDArray[np.uint8]:
    """Pixels (size, size, channels) of one file."""
    import PIL.Image
    import PIL.ImageOps

    mode = "L" if channels == 1 else "RGB"
    with _open(file) as image:
        try:
            picture = PIL.ImageOps.exif_transpose(image)
            if picture.mode.startswith("I;16"):
                # Pillow's own conversion clips 16 bits at 255 instead of scaling them.
                picture = PIL.Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
            if picture.has_transparency_data:
                over = picture.convert("RGBA")
                picture = PIL.Image.alpha_composite(PIL.Image.new("RGBA", over.size, "black"), over)
            picture = picture.convert(mode)
            side = min(picture.size)
            left, top = (picture.width - side) // 2, (picture.height - side) // 2
            # Not resize(box=...): its filter looks beyond the box.
            square = picture.crop((left, top, left + side, top + side))
            if side != size:
                square = square.resize((size, size), PIL.Image.Resampling.BILINEAR)
            return np.asarray(square, np.uint8).reshape(size, size, channels)
        except (OSError, ValueError, SyntaxError, EOFError, PIL.Image.DecompressionBombError) as error:
            raise UnweaveError(f"{file} is a broken image ({error}): replace or remove it") from None
