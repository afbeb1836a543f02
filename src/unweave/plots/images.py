"""Sheets of images in which every image pixel is a whole number of picture pixels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.plots.style import FAINT, bare, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 100
_TARGET_SIDE = 72
"""Small images are enlarged by an integer factor to about this many pixels."""


def as_rgb(images: ArrayLike) -> NDArray[np.uint8]:
    """Images (..., C, H, W), uint8 or float in [0, 1], as uint8 (..., H, W, 3).

    Example:
        >>> as_rgb(np.ones((2, 1, 4, 4))).shape
        (2, 4, 4, 3)

    """
    array = np.asarray(images)
    if array.ndim < 3 or array.shape[-3] not in (1, 3):
        raise UnweaveError(f"images must have shape (..., 1 or 3 channels, height, width), got {array.shape}")
    if array.dtype != np.uint8:
        array = np.rint(np.clip(np.nan_to_num(array.astype(np.float64)), 0, 1) * 255).astype(np.uint8)
    array = np.moveaxis(array, -3, -1)
    return np.broadcast_to(array, (*array.shape[:-1], 3))


def contact_sheet(
    images: ArrayLike, *, gap: int = 2, scale: int = 1, background: int = 255
) -> NDArray[np.uint8]:
    """Images (rows, columns, C, H, W) side by side as one (height, width, 3) array; gaps in enlarged pixels.

    Example:
        >>> contact_sheet(np.zeros((2, 3, 1, 8, 8)), gap=2).shape
        (18, 28, 3)

    """
    rgb = as_rgb(images)
    if rgb.ndim != 5:
        raise UnweaveError(f"images must have shape (rows, columns, C, H, W), got {np.shape(images)}")
    rgb = rgb.repeat(scale, axis=2).repeat(scale, axis=3)
    rows, columns, height, width, _ = rgb.shape
    sheet = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap, 3), background, np.uint8)
    for i in range(rows):
        for j in range(columns):
            top, left = i * (height + gap), j * (width + gap)
            sheet[top : top + height, left : left + width] = rgb[i, j]
    return sheet


def image_grid(
    images: ArrayLike,
    *,
    columns: int | None = None,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    column_title: str | None = None,
    title: str | None = None,
) -> "Figure":
    """A sheet of images with labels; every image pixel is a whole number of picture pixels.

    Args:
        images: (rows, columns, C, H, W), or (n, C, H, W), which are arranged in ``columns``.
        columns: images per row, for the second form (default: near square).
        row_labels: one per row, written to its left.
        column_labels: one per column, written below.
        column_title: what the column labels mean.
        title: above the sheet.

    Example:
        >>> image_grid(np.zeros((4, 1, 32, 32)), title="four").get_size_inches().tolist()
        [1.46, 1.66]

    """
    array = np.asarray(images)
    if array.ndim == 4:
        array = _in_rows(array, columns)
    scale = max(1, round(_TARGET_SIDE / max(array.shape[-2:]))) if array.ndim == 5 else 1
    sheet = contact_sheet(array, scale=scale)
    rows, count = array.shape[:2]
    _check_labels("row_labels", row_labels, rows)
    _check_labels("column_labels", column_labels, count)
    left = 12 + max(int(6.2 * len(label)) for label in row_labels) if row_labels else 8
    bottom = 8 + (16 if column_labels else 0) + (14 if column_title else 0)
    top = 28 + 14 * title.count("\n") if title else 8
    height, width = sheet.shape[:2]
    total_w, total_h = left + width + 8, bottom + height + top
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(total_w / _DPI, total_h / _DPI), dpi=_DPI)
        axes = figure.add_axes((left / total_w, bottom / total_h, width / total_w, height / total_h))
        axes.imshow(sheet, interpolation="none", aspect="auto", extent=(0, width, height, 0))
        bare(axes)
        beside: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": 8, "family": "DejaVu Sans"}
        below: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 8, "color": FAINT}
        for i, label in enumerate(row_labels or ()):
            axes.text(-6, (i + 0.5) * (height + 2) / rows - 1, label, **beside)
        for j, label in enumerate(column_labels or ()):
            axes.text((j + 0.5) * (width + 2) / count - 1, height + 5, label, **below)
        if column_title:
            axes.text(width / 2, height + 20, column_title, **below)
        if title:
            axes.text(0, -7, title, ha="left", va="bottom", fontsize=10, fontweight="bold")
    return figure


def _check_labels(name: str, labels: Sequence[str] | None, number: int) -> None:
    if labels is not None and len(labels) != number:
        raise UnweaveError(f"{name} must have {number} entries, got {len(labels)}")


def reconstructions(originals: ArrayLike, reconstructed: ArrayLike, *, title: str | None = None) -> "Figure":
    """Originals above, their reconstructions below; both (n, C, H, W).

    Example:
        >>> x = np.zeros((8, 1, 64, 64))
        >>> len(reconstructions(x, x).axes)
        1

    """
    above, below = as_rgb(originals), as_rgb(reconstructed)
    if above.shape != below.shape:
        raise UnweaveError(
            f"originals and reconstructions must have the same shape, got {above.shape} and {below.shape}"
        )
    pairs: NDArray[Any] = np.moveaxis(np.stack([above, below]), -1, -3)
    return image_grid(pairs, row_labels=["data", "model"], title=title)


def _in_rows(images: NDArray[Any], columns: int | None) -> NDArray[Any]:
    n = len(images)
    if n == 0:
        raise UnweaveError("images must contain at least one image, got none")
    columns = columns or int(np.ceil(np.sqrt(n)))
    rows = -(-n // columns)
    white = 255 if images.dtype == np.uint8 else 1
    full = np.full((rows * columns, *images.shape[1:]), white, images.dtype)
    full[:n] = images
    return full.reshape(rows, columns, *images.shape[1:])
