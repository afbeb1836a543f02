"""Traversals: one latent is varied, the others are fixed."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.plots.images import as_rgb, contact_sheet, image_grid
from unweave.plots.saving import write_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image


def traversal_codes(
    center: ArrayLike,
    order: Sequence[int] | None = None,
    *,
    low: float = -2.0,
    high: float = 2.0,
    steps: int = 9,
) -> NDArray[np.float64]:
    """Codes (len(order), steps, latents) that vary one latent at a time around ``center``.

    Args:
        center: (latents,) the code at which all other latents are fixed.
        order: latents to vary, in the order of the rows; all by default.
        low: first value of the latent.
        high: last value.
        steps: number of values.

    References:
        SBD figure 2: from -2 to +2 around the code of an image.

    Example:
        >>> traversal_codes([5.0, 7.0], order=[1], steps=3).tolist()
        [[[5.0, -2.0], [5.0, 0.0], [5.0, 2.0]]]

    """
    middle = np.asarray(center, dtype=np.float64)
    if middle.ndim != 1 or steps < 2:
        raise UnweaveError(
            f"a traversal needs a code of shape (latents,) and at least 2 steps, got {middle.shape} and {steps}"
        )
    chosen = list(range(len(middle))) if order is None else [int(j) for j in order]
    codes = np.tile(middle, (len(chosen), steps, 1))
    for row, j in zip(codes, chosen, strict=True):
        row[:, j] = np.linspace(low, high, steps)
    return codes


def traversal_labels(
    order: Sequence[int], kl: ArrayLike | None = None, names: Sequence[str] | None = None
) -> list[str]:
    """Row labels such as "z3  KL 2.41"; ``kl`` holds the KL of all latents, ``names`` what they are called.

    Example:
        >>> traversal_labels([1, 0], [0.5, 2.414])
        ['z1  KL 2.41', 'z0  KL 0.50']

    """
    called = [f"z{j}" if names is None else names[j] for j in order]
    if kl is None:
        return called
    values = np.asarray(kl, dtype=np.float64)
    return [f"{name}  KL {values[j]:.2f}" for name, j in zip(called, order, strict=True)]


def traversals(
    images: ArrayLike,
    labels: Sequence[str] | None = None,
    *,
    low: float = -2.0,
    high: float = 2.0,
    title: str | None = None,
) -> "Figure":
    """One row of images per latent, which is varied from ``low`` to ``high``; rows in the given order.

    Args:
        images: (latents, steps, C, H, W).
        labels: one per row, see :func:`traversal_labels`.
        low: value of the first column.
        high: value of the last.
        title: above the sheet.

    Example:
        >>> len(traversals(np.zeros((3, 5, 1, 16, 16)), ["z0", "z1", "z2"]).axes)
        1

    """
    steps = np.shape(images)[1]
    values = [
        f"{value:+.1f}".replace("+0.0", "0").replace("-", "−") for value in np.linspace(low, high, steps)
    ]
    return image_grid(
        images,
        row_labels=labels,
        column_labels=values,
        column_title="value of the latent, the others fixed",
        title=title,
    )


def traversal_gif_bytes(
    images: ArrayLike,
    labels: Sequence[str] | None = None,
    *,
    columns: int | None = None,
    milliseconds: int = 90,
) -> bytes:
    """:func:`traversal_gif` as bytes.

    Example:
        >>> traversal_gif_bytes(np.zeros((4, 3, 1, 16, 16)))[:6]
        b'GIF89a'

    """
    from PIL import Image

    frames = [
        frame.quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        for frame in _frames(images, labels, columns)
    ]
    buffer = io.BytesIO()
    # Each frame has its own palette: a common one would show bands in colours that few latents use.
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], duration=milliseconds, loop=0)
    return buffer.getvalue()


def traversal_webp_bytes(
    images: ArrayLike,
    labels: Sequence[str] | None = None,
    *,
    columns: int | None = None,
    milliseconds: int = 90,
) -> bytes:
    """The same animation as WebP: all colours, and pixels as they are.

    Example:
        >>> traversal_webp_bytes(np.zeros((4, 3, 1, 16, 16)))[8:12]
        b'WEBP'

    """
    frames = _frames(images, labels, columns)
    buffer = io.BytesIO()
    frames[0].save(
        buffer,
        "WEBP",
        save_all=True,
        append_images=frames[1:],
        duration=milliseconds,
        loop=0,
        lossless=True,
    )
    return buffer.getvalue()


def _frames(images: ArrayLike, labels: Sequence[str] | None, columns: int | None) -> "list[Image]":
    """One picture for each step, there and back, with a tile for each latent."""
    import PIL.Image
    from PIL import ImageDraw, ImageFont

    array = np.asarray(images)
    if array.ndim != 5:
        raise UnweaveError(f"images must have shape (latents, steps, C, H, W), got {array.shape}")
    latents, steps = array.shape[:2]
    if labels is not None and len(labels) != latents:
        raise UnweaveError(f"labels must have {latents} entries, got {len(labels)}")
    scale = max(1, round(64 / max(array.shape[-2:])))
    columns = min(latents, columns or 5)
    rows = -(-latents // columns)
    height, width = array.shape[-2] * scale, array.shape[-1] * scale
    strip, gap = (14 if labels else 0), 4
    font = ImageFont.load_default(10)
    frames = []
    for step in [*range(steps), *range(steps - 2, 0, -1)]:
        shown = as_rgb(array[:, step])
        canvas = PIL.Image.new(
            "RGB", (columns * (width + gap) - gap, rows * (height + strip + gap) - gap), "white"
        )
        pen = ImageDraw.Draw(canvas)
        for j in range(latents):
            left, top = j % columns * (width + gap), j // columns * (height + strip + gap)
            tile = contact_sheet(np.moveaxis(shown[j], -1, -3)[None, None], scale=scale)
            canvas.paste(PIL.Image.fromarray(tile), (left, top))
            if labels:
                pen.text((left + 2, top + height + 1), labels[j], fill=(31, 41, 51), font=font)
        frames.append(canvas)
    return frames


def traversal_gif(
    images: ArrayLike,
    path: str | Path,
    labels: Sequence[str] | None = None,
    *,
    columns: int | None = None,
    milliseconds: int = 90,
) -> Path:
    """Writes a looping animation in which all latents vary back and forth at the same time, each in its own tile.

    Args:
        images: (latents, steps, C, H, W).
        path: the .gif file.
        labels: one per latent, written under its tile.
        columns: tiles per row (default 5).
        milliseconds: duration of one frame.

    Example:
        >>> import tempfile
        >>> traversal_gif(np.zeros((2, 3, 1, 16, 16)), Path(tempfile.mkdtemp()) / "z.gif").name
        'z.gif'

    """
    content = traversal_gif_bytes(images, labels, columns=columns, milliseconds=milliseconds)
    return write_picture(Path(path), content)
