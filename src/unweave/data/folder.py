"""The user's own folder of image files."""

import logging
from pathlib import Path
from typing import Any, final

from numpy.typing import NDArray

from unweave.data.dataset import user_path
from unweave.data.image_files import find_files, kinds_of, load_files, load_readable, tell_others
from unweave.data.indexed import IndexedDataset
from unweave.data.labels import TABLE, find_labels
from unweave.data.pictures import check_colour, check_size
from unweave.errors import UnweaveError

logger = logging.getLogger("unweave")


@final
class Folder(IndexedDataset):
    """All image files of a folder and its subfolders, with the factors that a table or the folders' names give.

    Files (png, jpg, webp, bmp, gif and whatever else Pillow reads) are taken in the order of their paths. Other files
    are ignored and counted in one line; names that begin with a dot are ignored. Each image is turned as its EXIF tag
    says, laid over a background where it is transparent, cropped to its central square and resized with an
    antialiasing bilinear filter; one that already has the right size keeps its pixels. An animation gives its first
    frame. All images are read once, as uint8: into memory, or, if they would take more than 128 MB, into a file of the
    cache folder that is mapped and found again next time.

    Factors come from ``labels.csv`` in the folder, if there is one: its first column holds file names, each other
    column is a factor, of words or of numbers. Without it, the names of the subfolders are the classes of a factor
    ``folder``, if every image lies in one.

    Args:
        path: the folder.
        size: height and width in pixels.
        channels: 1 (grey) or 3 (RGB) to convert every image; None: 3 if any image is in colour.
        crop: side of the central square that is cut out before resizing; 0: as large as fits; none: nothing is cut
            off, a picture that is not square is squeezed.
        background: the colour behind transparent parts, a name or "#rrggbb".
        labels: a csv file; ``folders``; ``none``; ``auto``: as above.
        skip_bad: go on without images that cannot be read; else they are an error that names all of them.

    Example:
        >>> import tempfile, PIL.Image
        >>> with tempfile.TemporaryDirectory() as path:
        ...     PIL.Image.new("RGB", (80, 100), "red").save(Path(path) / "a.png")
        ...     folder = Folder(path, size=32)
        >>> folder.count, folder.image_shape, folder.at([0])[0, :, 5, 5].tolist()
        (1, (3, 32, 32), [255, 0, 0])
    """

    description = "your own folder of images: path, size, channels, crop, background, labels, skip_bad"

    def __init__(
        self,
        path: str | Path,
        *,
        size: int = 64,
        channels: int | None = None,
        crop: int | None = 0,
        background: str = "black",
        labels: str = "auto",
        skip_bad: bool = False,
    ) -> None:
        check_size(size, "Folder")
        check_colour(background)
        if channels not in (None, 1, 3):
            raise UnweaveError(
                f"channels of Folder must be 1 (grey), 3 (RGB) or None (as the files), got {channels!r}"
            )
        root = user_path(path)
        found = find_files(root)
        tell_others(root, found, labels=root / TABLE)
        if channels is None:
            channels = _channels(found.images, background)
        read = (self.name, found.images, size, channels, crop, background)
        pixels, self.files = load_readable(*read) if skip_bad else (load_files(*read), found.images)
        if bad := len(found.images) - len(self.files):
            logger.info("skipped %d of %d images that cannot be read", bad, len(found.images))
        if not self.files:
            raise UnweaveError(f"folder {root} holds no image that can be read")
        self.values: tuple[NDArray[Any], ...] = ()
        known = find_labels(root, self.files, labels)
        if known is None:
            self._store(pixels)
            return
        logger.info("%s", known.summary)
        self.values = known.values
        # Runs that were begun before folders' names were read go on.
        self.factors_identify = known.by_table
        self._store(pixels, known.space, known.classes)


def _channels(files: tuple[Path, ...], background: str) -> int:
    kinds = kinds_of(files).values()
    grey = sum(channels == 1 for channels, _ in kinds)
    if clear := sum(transparent for _, transparent in kinds):
        logger.info(
            "%d of %d images have transparent parts: laid over %s (data.background)",
            clear,
            len(kinds),
            background,
        )
    if 0 < grey < len(kinds):
        logger.info(
            "%d of %d images are grey, the others in colour: all become colour (data.channels=1: all grey)",
            grey,
            len(kinds),
        )
    return 1 if grey == len(kinds) and kinds else 3
