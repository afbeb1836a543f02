"""Pictures of any size and kind as arrays of one size: orientation, transparency, crop, antialiased resize."""

import io
import warnings
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unweave import memory
from unweave.errors import UnweaveError

if TYPE_CHECKING:
    from PIL.Image import Image

GREY = {"1", "L", "LA", "La", "I;16", "I;16L", "I;16B", "I;16N"}
FORMATS = (
    *("PNG", "JPEG", "MPO", "WEBP", "BMP", "DIB", "GIF", "TIFF", "PPM", "TGA", "ICO", "JPEG2000", "AVIF"),
    *("PCX", "SGI", "QOI"),
)
"""What is read; formats for which Pillow starts a program (EPS) are not among them."""

MOST_PIXELS = 64_000_000
"""Pixels of one picture at most; while it is converted, each takes up to 12 bytes."""

COLOUR = {"P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB", "HSV"}


def fit(
    picture: "Image", size: int, channels: int, *, crop: int | None = 0, background: str = "black"
) -> NDArray[np.uint8]:
    """Pixels (size, size, channels) of a picture.

    It is turned as its EXIF tag says, laid over a background where it is transparent, cropped and resized with an
    antialiasing filter; one that already has the right size keeps its pixels.

    Args:
        picture: with 8 or 16 bits a channel.
        size: height and width in pixels.
        channels: 1 (grey) or 3 (RGB).
        crop: side of the central square that is cut out first; 0: as large as fits; None: nothing is truncated, a
            picture that is not square is squeezed.
        background: the colour behind transparent parts.

    Example:
        >>> import PIL.Image
        >>> fit(PIL.Image.new("RGB", (80, 100), "red"), 32, 3)[5, 5].tolist()
        [255, 0, 0]
    """
    import PIL.Image

    picture = opaque(picture, channels, background)
    if crop is not None:
        side = crop or min(picture.size)
        if side > min(picture.size):
            raise UnweaveError(
                f"cannot crop {side} x {side} pixels from {picture.width} x {picture.height}: crop less (data.crop)"
            )
        left, top = (picture.width - side) // 2, (picture.height - side) // 2
        # Not resize(box=...): its filter looks beyond the box.
        picture = picture.crop((left, top, left + side, top + side))
    if picture.size != (size, size):
        picture = picture.resize((size, size), PIL.Image.Resampling.BILINEAR)
    return np.asarray(picture, np.uint8).reshape(size, size, channels)


def open_picture(source: "Path | IO[bytes]") -> "Image":
    """A picture, of which only the header is read; one of another format or too large is refused.

    Example:
        >>> open_picture(io.BytesIO(b"%!PS-Adobe-3.0 EPSF-3.0"))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        PIL.UnidentifiedImageError: cannot identify image file ...
    """
    import PIL.Image

    PIL.Image.init()
    if isinstance(source, Path) and not source.is_file():
        raise UnweaveError("it is not a file but a pipe or a device")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PIL.Image.DecompressionBombWarning)  # our own bound is lower
        picture = PIL.Image.open(source, formats=[name for name in FORMATS if name in PIL.Image.OPEN])
    if picture.width * picture.height > MOST_PIXELS:
        picture.close()
        raise UnweaveError(
            f"it has {picture.width:,} x {picture.height:,} pixels, more than {MOST_PIXELS:,}: make it smaller first"
        )
    return picture


def opaque(picture: "Image", channels: int, background: str = "black") -> "Image":
    """A picture of 8 bits a channel, grey or RGB: turned as its EXIF tag says, and without transparent parts.

    Example:
        >>> import PIL.Image
        >>> opaque(PIL.Image.new("I;16", (2, 2), 40_000), 1).getpixel((0, 0))  # 40,000 / 256
        156
    """
    import PIL.Image
    import PIL.ImageOps

    picture = PIL.ImageOps.exif_transpose(picture)
    if picture.mode.startswith("I;16"):
        # Pillow's own conversion clips 16 bits at 255 instead of scaling them.
        picture = PIL.Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    if picture.mode in ("La", "RGBa"):  # premultiplied by its opacity, which converts to nothing else
        picture = picture.convert("LA" if picture.mode == "La" else "RGBA")
    if picture.has_transparency_data:
        over = picture.convert("RGBA")
        picture = PIL.Image.alpha_composite(PIL.Image.new("RGBA", over.size, background), over)
    return picture.convert("L" if channels == 1 else "RGB")


def decoded_picture(
    content: bytes, name: str, size: int, channels: int, crop: int | None
) -> NDArray[np.uint8]:
    """Pixels (size, size, channels) of the bytes of an image file, as by :func:`fit`; errors begin with `name`.

    Example:
        >>> decoded_picture(b"no image", "a.png", 64, 3, None)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: a.png is a broken image (cannot identify image file ...)
    """
    import PIL.Image

    try:
        with open_picture(io.BytesIO(content)) as picture:
            return fit(picture, size, channels, crop=crop)
    except UnweaveError as error:
        raise UnweaveError(f"{name}: {error}") from None
    except (OSError, ValueError, SyntaxError, EOFError, PIL.Image.DecompressionBombError) as error:
        raise UnweaveError(f"{name} is a broken image ({error})") from None


def resized(pixels: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Images (n, H, W, C), C = 1 or 3, as (n, size, size, C).

    Example:
        >>> resized(np.full((2, 96, 96, 1), 7, np.uint8), 64).shape
        (2, 64, 64, 1)
    """
    n, height, width, channels = pixels.shape
    if (height, width) == (size, size):
        return pixels
    import PIL.Image

    out = np.empty((n, size, size, channels), np.uint8)
    for i, image in enumerate(pixels):
        picture = PIL.Image.fromarray(image[..., 0] if channels == 1 else image)
        out[i] = fit(picture, size, channels, crop=None)
    return out


def pixels_of(item: Any) -> "NDArray[Any] | Image":
    """An image as Python hands it over: a Pillow picture as it is, anything else as an array.

    Example:
        >>> pixels_of([[0, 255]]).tolist()
        [[0, 255]]
    """
    if hasattr(item, "convert") and hasattr(item, "size"):
        picture: Image = item
        return picture
    return np.asarray(item)


def check_size(size: object, of: str) -> int:
    """`size` if it is a whole number of pixels and one image of that height and width fits into memory, else an error.

    Example:
        >>> check_size(64, "Folder")
        64
    """
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise UnweaveError(f"size of {of} must be a whole number of pixels from 1 up, got {size!r}")
    memory.check(3.0 * size**2, f"one image of {of} at this size", "choose a smaller data.size")
    return size


def check_colour(colour: str) -> str:
    """`colour` if Pillow knows it and it is opaque, else an error.

    Example:
        >>> check_colour("#8080ff")
        '#8080ff'
    """
    import PIL.ImageColor

    try:
        opacity = (*PIL.ImageColor.getrgb(colour), 255)[3]
    except (ValueError, AttributeError, TypeError):
        opacity = 0
    if opacity != 255:
        raise UnweaveError(f"background must be an opaque colour such as white or '#8080ff', got {colour!r}")
    return colour
