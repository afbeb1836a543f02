"""Images as PNG files in a folder."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unweave import atomic
from unweave.errors import UnweaveError
from unweave.models.encode import Tell, silent
from unweave.plots.images import as_rgb

if TYPE_CHECKING:
    from unweave.models.images import ImageSource
    from unweave.models.trained import TrainedModel


def write_images(folder: Path, blocks: Iterable[NDArray[Any]], count: int, tell: Tell = silent) -> list[Path]:
    """Write blocks of images ``(n, channels, height, width)`` as ``000000.png`` and so on.

    Example:
        >>> import tempfile
        >>> write_images(Path(tempfile.mkdtemp()), [np.zeros((2, 1, 8, 8))], 2)[1].name
        '000001.png'
    """
    written: list[Path] = []
    for block in blocks:
        for image in block:
            written.append(write_image(folder / f"{len(written):06d}.png", image))
        tell(len(written), count)
    return written


def write_image(path: Path | str, image: NDArray[Any]) -> Path:
    """Write an image (channels, height, width), uint8 or in [0, 1].

    Example:
        >>> import tempfile
        >>> write_image(Path(tempfile.mkdtemp()) / "a.png", np.ones((3, 8, 8))).exists()
        True
    """
    import PIL.Image

    path, rgb = Path(path), as_rgb(image)
    picture = PIL.Image.fromarray(np.ascontiguousarray(rgb[..., 0] if image.shape[0] == 1 else rgb))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(path)
    except OSError as error:
        raise atomic.explain(error, path) from error
    return path


def write_reconstructions(
    model: "TrainedModel", images: "ImageSource", folder: Path, tell: Tell = silent
) -> int:
    """Write the reconstruction of every image under the name that the image has; returns how many there are.

    Example:
        >>> import tempfile
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> write_reconstructions(model, model.images(np.zeros((3, 32, 32, 3), np.uint8)), Path(tempfile.mkdtemp()))
        3
    """
    done = 0
    for block in images.blocks():
        for name, image in zip(block.names, model.reconstruct(block.images), strict=True):
            path = folder / (f"{name}.png" if images.by_file else f"{int(name):06d}.png")
            if not path.resolve().is_relative_to(folder.resolve()):
                raise UnweaveError(f"the picture {name} lies outside of its folder")
            write_image(path, image)
            done += 1
        tell(done, images.count)
    return done
